# cmake -D PREFIX=… -D BINDIR=… -D DOCDIR=… -D LICENSES=… -P check_onednn.cmake
# The oneDNN that is installed with the plugin is the one that is loaded, from wherever the tree was
# put, and the texts of the folder LICENSES, where it has them, are installed, too.

unset(ENV{LD_LIBRARY_PATH})
execute_process(COMMAND "${PREFIX}/${BINDIR}/softneuro" doctor
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "softneuro doctor failed (${status}):\n${output}")
endif()
string(REGEX MATCH "oneDNN +onednn +[0-9.]+ +([^\n]+)" line "${output}")
file(REAL_PATH "${PREFIX}" prefix)
if(NOT CMAKE_MATCH_1)
  message(FATAL_ERROR "softneuro doctor tells of no oneDNN:\n${output}")
endif()
file(REAL_PATH "${CMAKE_MATCH_1}" file)
string(FIND "${file}" "${prefix}/" at)
if(NOT at EQUAL 0)
  message(FATAL_ERROR "not the one in ${prefix}: ${line}")
endif()
foreach(text IN ITEMS LICENSE THIRD-PARTY-PROGRAMS)
  if(EXISTS "${LICENSES}/${text}" AND NOT EXISTS "${PREFIX}/${DOCDIR}/third-party/onednn/${text}")
    message(FATAL_ERROR "third-party/onednn/${text} is not installed")
  endif()
endforeach()
message(STATUS "${line}")
