# cmake -D BUILD_DIR=… -D WORK_DIR=… -D CONFIG=… -P install.cmake
# Installs the build and moves the result to WORK_DIR/prefix: an installed tree may be put elsewhere.

file(REMOVE_RECURSE "${WORK_DIR}")
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${WORK_DIR}/first"
                        --config "${CONFIG}"
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "installing failed (${status}):\n${output}")
endif()
file(RENAME "${WORK_DIR}/first" "${WORK_DIR}/prefix")
