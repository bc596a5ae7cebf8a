# cmake -D PREFIX=… -D WORK_DIR=… -D SOURCE_DIR=… … -P build_consumer.cmake
# Builds two users that know nothing but the PREFIX of an installed SoftNeuro: a CMake project
# (find_package) and a C program (pkg-config).

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}\nfailed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")
run("${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${SOURCE_DIR}" -B "${WORK_DIR}/cmake"
    "-DCMAKE_PREFIX_PATH=${PREFIX}" "-DCMAKE_BUILD_TYPE=${CONFIG}"
    "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/cmake" --config "${CONFIG}")
run("${WORK_DIR}/cmake/consumer")
message(STATUS "find_package: ${output}")
run("${WORK_DIR}/cmake/consumer_c")
message(STATUS "find_package, C: ${output}")

find_program(pkg_config NAMES pkg-config pkgconf)
if(NOT pkg_config)
  message(STATUS "pkg-config not found: its file was not tried")
  return()
endif()
set(ENV{PKG_CONFIG_PATH} "${PREFIX}/${LIBDIR}/pkgconfig")
if(SHARED)
  run("${pkg_config}" --cflags --libs softneuro)
else()
  run("${pkg_config}" --static --cflags --libs softneuro)
endif()
separate_arguments(flags UNIX_COMMAND "${output}")
list(APPEND flags "-Wl,-rpath,${PREFIX}/${LIBDIR}")
if(EXISTS "${PREFIX}/${LIBDIR}/pkgconfig/softneuro_import.pc" AND SHARED)
  run("${pkg_config}" --cflags --libs softneuro_import)
  separate_arguments(importing UNIX_COMMAND "${output}")
  run("${CXX_COMPILER}" -std=c++20 -Wall -Wextra -Werror -DCONSUMER_IMPORTS
      "${SOURCE_DIR}/consumer.cpp" -o "${WORK_DIR}/importing" ${importing}
      "-Wl,-rpath,${PREFIX}/${LIBDIR}")
  run("${WORK_DIR}/importing")
  message(STATUS "pkg-config, importer: ${output}")
endif()
run("${CXX_COMPILER}" -std=c++20 -Wall -Wextra -Werror "${SOURCE_DIR}/consumer.cpp"
    -o "${WORK_DIR}/from_pkg_config" ${flags})
run("${WORK_DIR}/from_pkg_config")
message(STATUS "pkg-config: ${output}")
run("${C_COMPILER}" -std=c11 -Wall -Wextra -Wpedantic -Werror "${SOURCE_DIR}/consumer.c"
    -o "${WORK_DIR}/from_pkg_config_c" ${flags})
run("${WORK_DIR}/from_pkg_config_c")
message(STATUS "pkg-config, C: ${output}")
