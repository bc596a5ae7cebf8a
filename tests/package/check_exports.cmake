# cmake -D LIBRARY=… -D NM=… -P check_exports.cmake
# Fails where a shared library shows a name that is not ours (cmake/exports.map keeps them in).

execute_process(COMMAND "${NM}" -D -C --defined-only "${LIBRARY}"
                OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE ";" "," output "${output}")
string(REGEX REPLACE "\n+" ";" lines "${output}")
set(ours 0)
set(strangers "")
foreach(line IN LISTS lines)
  if(line STREQUAL "")
    continue()
  endif()
  string(REGEX REPLACE "^[0-9a-f]* *[A-Za-z] " "" name "${line}")
  if(name MATCHES "^sn_[a-z0-9_]+$" OR name MATCHES "^softneuro::"
     OR name MATCHES "^(typeinfo|typeinfo name|vtable|VTT|guard variable) for softneuro::"
     OR name MATCHES "thunk to softneuro::")
    math(EXPR ours "${ours} + 1")
  else()
    string(APPEND strangers "  ${name}\n")
  endif()
endforeach()
if(strangers)
  message(FATAL_ERROR "${LIBRARY} exports names that are not softneuro's:\n${strangers}")
endif()
if(ours EQUAL 0)
  message(FATAL_ERROR "${LIBRARY} exports nothing: is SN_API missing from the declarations?")
endif()
message(STATUS "${LIBRARY}: ${ours} exported names, all softneuro's")
