# softneuro_discover_tests(<target> [<label>]): every Catch2 test case becomes a ctest test, listed
# when ctest starts. Label `slow` for cases tagged [slow], `fast` for the rest, and <label>. No other
# test runs beside a case tagged [alone], whose kernels' times decide what is tuned. A case that
# skips itself (tests/support/skip.h) is reported as skipped, not as passed.

function(softneuro_discover_tests target)
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${target}_discover-$<CONFIG>.cmake")
  file(GENERATE OUTPUT "${script}" CONTENT "
set(TEST_PROGRAM [==[$<TARGET_FILE:${target}>]==])
set(TEST_EMULATOR [==[$<TARGET_PROPERTY:${target},CROSSCOMPILING_EMULATOR>]==])
set(TEST_LABELS [==[${ARGN}]==])
set(TEST_WORKING_DIRECTORY [==[${PROJECT_SOURCE_DIR}]==])
set(TEST_ENVIRONMENT
    [==[SOFTNEURO_SOURCE_DIR=${PROJECT_SOURCE_DIR}]==]
    [==[SOFTNEURO_BUILD_DIR=${PROJECT_BINARY_DIR}]==]
    [==[SOFTNEURO_SHARED_DIR=${SOFTNEURO_SHARED_DIR}]==])
include([==[${PROJECT_SOURCE_DIR}/cmake/ListCatchTests.cmake]==])
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES
    "${CMAKE_CURRENT_BINARY_DIR}/${target}_discover-${CMAKE_BUILD_TYPE}.cmake")
endfunction()
