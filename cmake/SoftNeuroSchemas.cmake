# Code generated from schemas, in the build tree.

# softneuro_flatbuffers(<out> <file.fbs>...): <name>_generated.h into generated/schemas, which is
# to be included as "schemas/<name>_generated.h".
function(softneuro_flatbuffers out)
  set(headers "")
  set(folder "${PROJECT_BINARY_DIR}/generated/schemas")
  foreach(schema IN LISTS ARGN)
    get_filename_component(name ${schema} NAME_WE)
    set(header "${folder}/${name}_generated.h")
    add_custom_command(
      OUTPUT "${header}"
      COMMAND ${SOFTNEURO_FLATC} --cpp --cpp-std c++17 --scoped-enums --no-prefix
              -o "${folder}" "${schema}"
      DEPENDS "${schema}"
      COMMENT "flatc ${name}.fbs"
      VERBATIM)
    list(APPEND headers "${header}")
  endforeach()
  set(${out} ${headers} PARENT_SCOPE)
endfunction()

# softneuro_protobuf(<sources out> <headers out> <file.proto>...): for src/import/x/y.proto the
# header is to be included as "import/x/y.pb.h".
function(softneuro_protobuf sources_out headers_out)
  set(sources "")
  set(headers "")
  set(folder "${PROJECT_BINARY_DIR}/generated/protos")
  file(MAKE_DIRECTORY "${folder}")
  foreach(proto IN LISTS ARGN)
    file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}/src" "${proto}")
    string(REGEX REPLACE "\\.proto$" "" stem "${path}")
    add_custom_command(
      OUTPUT "${folder}/${stem}.pb.cc" "${folder}/${stem}.pb.h"
      COMMAND protobuf::protoc "--cpp_out=lite:${folder}" -I "${PROJECT_SOURCE_DIR}/src" "${proto}"
      DEPENDS "${proto}"
      COMMENT "protoc ${path}"
      VERBATIM)
    list(APPEND sources "${folder}/${stem}.pb.cc")
    list(APPEND headers "${folder}/${stem}.pb.h")
  endforeach()
  set(${sources_out} ${sources} PARENT_SCOPE)
  set(${headers_out} ${headers} PARENT_SCOPE)
endfunction()
