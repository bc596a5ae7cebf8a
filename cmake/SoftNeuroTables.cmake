# Tables of what is built in, generated from the files. Nothing registers itself by a static
# initialiser: such objects get lost when an archive is linked, or run twice.
#
#   src/routines/<type>/<file>.cpp    Status register_routine_<type>_<file>(Registry&);
#       files named cpu_* are routines, others their helpers
#   src/core/layers/<file>.cpp        Status register_layer_<file>(LayerTypes&);
#   src/import/onnx/operators/<file>.cpp
#                                     std::span<const Operator> <file>_operators();

# _softneuro_table(<template> <output.cpp> <declaration> <row> <files>...): the template with a
# declaration and a row for each file, in which @name@ is the file's name and @type@ its folder's.
function(_softneuro_table template output declaration row)
  set(SN_DECLARATIONS "")
  set(SN_ROWS "")
  list(LENGTH ARGN SN_COUNT)
  foreach(file IN LISTS ARGN)
    get_filename_component(name ${file} NAME_WE)
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(type ${folder} NAME)
    if(NOT "${type}/${name}" MATCHES "^[a-z][a-z0-9_]*/[a-z][a-z0-9_]*$")
      message(FATAL_ERROR "${file}: the names of file and folder become parts of a function's name; "
                          "use lower-case letters, digits and _")
    endif()
    string(CONFIGURE "${declaration};\n" declared @ONLY)
    string(CONFIGURE "    ${row},\n" entered @ONLY)
    string(APPEND SN_DECLARATIONS "${declared}")
    string(APPEND SN_ROWS "${entered}")
  endforeach()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${template}" "${output}" @ONLY)
endfunction()

# softneuro_routine_table(<output.cpp> <routine files>...)
function(softneuro_routine_table output)
  list(FILTER ARGN EXCLUDE REGEX "\\.isa\\.cpp$")
  foreach(file IN LISTS ARGN)
    if(file MATCHES "/(cuda|gpu)_[^/]*$")
      message(FATAL_ERROR "${file}: routines of this room are those of the processor, cpu_*; "
                          "those of other devices are in src/plugins")
    endif()
  endforeach()
  list(FILTER ARGN INCLUDE REGEX "/cpu_[^/]*$")
  _softneuro_table(builtin_routines.cpp.in "${output}"
    "Status register_routine_@type@_@name@(Registry&)"
    "{\"@type@/@name@\", &register_routine_@type@_@name@}" ${ARGN})
endfunction()

# softneuro_layer_table(<output.cpp> <layer files>...)
function(softneuro_layer_table output)
  _softneuro_table(builtin_layers.cpp.in "${output}" "Status register_layer_@name@(LayerTypes&)"
    "{\"@name@\", &register_layer_@name@}" ${ARGN})
endfunction()

# softneuro_operator_table(<output.cpp> <files of operators>...)
function(softneuro_operator_table output)
  _softneuro_table(onnx_operators.cpp.in "${output}"
    "std::span<const Operator> @name@_operators()" "&@name@_operators" ${ARGN})
endfunction()
