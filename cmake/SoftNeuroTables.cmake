# Tables of what is built in, generated from the files. Nothing registers itself by a static
# initialiser: such objects get lost when an archive is linked, or run twice.
#
#   src/routines/<type>/<file>.cpp    Status register_routine_<type>_<file>(Registry&);
#       files named cpu_* are routines, others their helpers
#   src/core/layers/<file>.cpp        Status register_layer_<file>(LayerTypes&);
#   src/import/onnx/operators/<file>.cpp
#                                     std::span<const Operator> <file>_operators();

function(_softneuro_check_identifier name file)
  if(NOT name MATCHES "^[a-z][a-z0-9_]*$")
    message(FATAL_ERROR "${file}: the name becomes part of a function's name; "
                        "use lower-case letters, digits and _")
  endif()
endfunction()

# softneuro_routine_table(<output.cpp> <routine files>...)
function(softneuro_routine_table output)
  set(SN_DECLARATIONS "")
  set(SN_ROWS "")
  set(SN_COUNT 0)
  foreach(file IN LISTS ARGN)
    get_filename_component(name ${file} NAME_WE)
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(type ${folder} NAME)
    if(file MATCHES "\\.isa\\.cpp$" OR NOT name MATCHES "^cpu_")
      continue()
    endif()
    _softneuro_check_identifier(${name} ${file})
    _softneuro_check_identifier(${type} ${file})
    string(APPEND SN_DECLARATIONS "Status register_routine_${type}_${name}(Registry&);\n")
    string(APPEND SN_ROWS "    {\"${type}/${name}\", &register_routine_${type}_${name}},\n")
    math(EXPR SN_COUNT "${SN_COUNT} + 1")
  endforeach()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/builtin_routines.cpp.in" "${output}" @ONLY)
endfunction()

# softneuro_layer_table(<output.cpp> <layer files>...)
function(softneuro_layer_table output)
  set(SN_DECLARATIONS "")
  set(SN_ROWS "")
  set(SN_COUNT 0)
  foreach(file IN LISTS ARGN)
    get_filename_component(name ${file} NAME_WE)
    _softneuro_check_identifier(${name} ${file})
    string(APPEND SN_DECLARATIONS "Status register_layer_${name}(LayerTypes&);\n")
    string(APPEND SN_ROWS "    {\"${name}\", &register_layer_${name}},\n")
    math(EXPR SN_COUNT "${SN_COUNT} + 1")
  endforeach()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/builtin_layers.cpp.in" "${output}" @ONLY)
endfunction()

# softneuro_operator_table(<output.cpp> <files of operators>...)
function(softneuro_operator_table output)
  set(SN_DECLARATIONS "")
  set(SN_ROWS "")
  set(SN_COUNT 0)
  foreach(file IN LISTS ARGN)
    get_filename_component(name ${file} NAME_WE)
    _softneuro_check_identifier(${name} ${file})
    string(APPEND SN_DECLARATIONS "std::span<const Operator> ${name}_operators();\n")
    string(APPEND SN_ROWS "    &${name}_operators,\n")
    math(EXPR SN_COUNT "${SN_COUNT} + 1")
  endforeach()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/onnx_operators.cpp.in" "${output}" @ONLY)
endfunction()
