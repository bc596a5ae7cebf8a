# cmake -D PROGRAM=… -D LIBRARY=… -D STRIP=… -D LIMIT_BYTES=… -P PrintSize.cmake
# Prints the binary size of the program without symbols, and what it would be of the library if all
# of it were linked. Fails where the program is larger than the limit.

set(stripped "${PROGRAM}.stripped")
execute_process(COMMAND "${STRIP}" -o "${stripped}" "${PROGRAM}" COMMAND_ERROR_IS_FATAL ANY)
file(SIZE "${stripped}" bytes)
get_filename_component(program_name "${PROGRAM}" NAME)
get_filename_component(library_name "${LIBRARY}" NAME)
message(STATUS "size: ${program_name}, stripped: ${bytes} bytes")

# Sums `size -t`: the last line holds the totals, text (code and constants) first, then data.
function(print_total label file)
  execute_process(COMMAND size -t "${file}" OUTPUT_VARIABLE output RESULT_VARIABLE failed)
  if(NOT failed AND output MATCHES "([0-9]+)[ \t]+([0-9]+)[ \t]+[0-9]+[ \t]+[0-9]+[ \t]+[0-9a-f]+[ \t]+\\(TOTALS\\)")
    math(EXPR text "(${CMAKE_MATCH_1} + 1023) / 1024")
    math(EXPR data "(${CMAKE_MATCH_2} + 1023) / 1024")
    message(STATUS "size: ${label}: ${text} KiB code and constants, ${data} KiB data")
  endif()
endfunction()
print_total("${program_name}" "${PROGRAM}")
print_total("all of ${library_name}" "${LIBRARY}")
if(bytes GREATER LIMIT_BYTES)
  message(FATAL_ERROR "${program_name} is larger than ${LIMIT_BYTES} bytes")
endif()
