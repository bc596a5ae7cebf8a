# Read by ctest: lists TEST_PROGRAM's cases and adds each as a test, see SoftNeuroTests.cmake.
# TEST_EMULATOR is the command that runs programs of another processor; empty for this one's,
# TEST_LABELS are labels of all its cases.

cmake_policy(VERSION 3.25)

if(NOT EXISTS "${TEST_PROGRAM}")
  get_filename_component(name "${TEST_PROGRAM}" NAME)
  add_test(${name}_not_built "${TEST_PROGRAM}")
  return()
endif()

# Catch2's exit status here is the number of cases, so only the text tells.
function(list_cases out)
  execute_process(COMMAND ${TEST_EMULATOR} "${TEST_PROGRAM}" --list-test-names-only ${ARGN}
                  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
  if(NOT status MATCHES "^[0-9]+$")
    message(FATAL_ERROR "${TEST_PROGRAM} cannot list its tests: ${status}\n${errors}")
  endif()
  string(REPLACE ";" "\\;" output "${output}")
  string(REGEX REPLACE "\n+" ";" output "${output}")
  set(${out} "${output}" PARENT_SCOPE)
endfunction()

list_cases(cases)
list_cases(slow_cases "[slow]")
list_cases(alone_cases "[alone]")
foreach(case IN LISTS cases)
  if(case STREQUAL "")
    continue()
  endif()
  # What a Catch2 test specification would read as syntax.
  string(REGEX REPLACE "([][,\\\\*])" "\\\\\\1" pattern "${case}")
  set(labels fast ${TEST_LABELS})
  if(case IN_LIST slow_cases)
    set(labels slow ${TEST_LABELS})
  endif()
  set(alone FALSE)
  if(case IN_LIST alone_cases)
    set(alone TRUE)
  endif()
  add_test("${case}" ${TEST_EMULATOR} "${TEST_PROGRAM}" "${pattern}")
  set_tests_properties("${case}" PROPERTIES
    LABELS "${labels}"
    RUN_SERIAL ${alone}
    SKIP_RETURN_CODE 77
    WORKING_DIRECTORY "${TEST_WORKING_DIRECTORY}"
    ENVIRONMENT "${TEST_ENVIRONMENT}")
endforeach()
