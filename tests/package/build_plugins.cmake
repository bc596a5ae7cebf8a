# cmake -D PREFIX=… -D WORK_DIR=… -D SOURCE_DIR=… … -P build_plugins.cmake
# Builds the projects of plugins under SOURCE_DIR with nothing but the PREFIX of an installed
# SoftNeuro: each into WORK_DIR/<its folder's name>.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}\nfailed (${status}):\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
foreach(project IN ITEMS examples/plugin tests/plugin/invalid_plugins)
  get_filename_component(name ${project} NAME)
  run("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${SOURCE_DIR}/${project}" -B "${WORK_DIR}/${name}"
      "-DCMAKE_PREFIX_PATH=${PREFIX}" "-DCMAKE_BUILD_TYPE=${CONFIG}"
      "-DCMAKE_C_COMPILER=${C_COMPILER}")
  run("${CMAKE_COMMAND}" --build "${WORK_DIR}/${name}" --config "${CONFIG}")
endforeach()
