# softneuro_numeric_table(<output.cpp> <problems_*.cpp files>...): the table of problem sets, and a
# test case "numeric: <name>" for each.

function(softneuro_numeric_table output)
  set(SN_DECLARATIONS "")
  set(SN_ROWS "")
  set(SN_CASES "")
  set(SN_COUNT 0)
  foreach(file IN LISTS ARGN)
    get_filename_component(name ${file} NAME_WE)
    string(REGEX REPLACE "^problems_" "" name ${name})
    string(APPEND SN_DECLARATIONS "void add_problems_${name}(ProblemSet&);\n")
    string(APPEND SN_ROWS "    {\"${name}\", &add_problems_${name}},\n")
    string(APPEND SN_CASES
      "TEST_CASE(\"numeric: ${name}\", \"[numeric]\") { check_problems(&add_problems_${name}); }\n")
    math(EXPR SN_COUNT "${SN_COUNT} + 1")
  endforeach()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/numeric_problems.cpp.in" "${output}" @ONLY)
endfunction()
