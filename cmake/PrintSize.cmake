# cmake -D PROGRAM=… -D LIBRARY=… -D STRIP=… -P PrintSize.cmake
# Prints what the program weighs without symbols, and how much of it is code of the library.

set(stripped "${PROGRAM}.stripped")
execute_process(COMMAND "${STRIP}" -o "${stripped}" "${PROGRAM}" COMMAND_ERROR_IS_FATAL ANY)
file(SIZE "${stripped}" bytes)
math(EXPR kib "(${bytes} + 1023) / 1024")
message(STATUS "size: ${PROGRAM} stripped: ${kib} KiB")

# Sums `size -t`: the last line holds the totals, text (code and constants) first, then data.
function(print_total label file)
  execute_process(COMMAND size -t "${file}" OUTPUT_VARIABLE output RESULT_VARIABLE failed)
  if(NOT failed AND output MATCHES "([0-9]+)[ \t]+([0-9]+)[ \t]+[0-9]+[ \t]+[0-9]+[ \t]+[0-9a-f]+[ \t]+\\(TOTALS\\)")
    math(EXPR text "(${CMAKE_MATCH_1} + 1023) / 1024")
    math(EXPR data "(${CMAKE_MATCH_2} + 1023) / 1024")
    message(STATUS "size: ${label}: ${text} KiB code and constants, ${data} KiB data")
  endif()
endfunction()
print_total("linked into the program" "${PROGRAM}")
print_total("the whole of ${LIBRARY}" "${LIBRARY}")
