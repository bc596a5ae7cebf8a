# cmake -D LIST=objects.txt -D OBJDUMP=… -P check_isa.cmake
# Fails where an object of the baseline holds an instruction that only newer processors know: an
# older machine would stop with SIGILL. Any use of a ymm or zmm register gives it away.

file(STRINGS "${LIST}" objects REGEX "\\.o$")
foreach(object IN LISTS objects)
  execute_process(COMMAND "${OBJDUMP}" -d --no-show-raw-insn "${object}"
                  COMMAND grep -m1 -E "%[yz]mm[0-9]"
                  OUTPUT_VARIABLE hit)
  if(hit)
    message(FATAL_ERROR "${object} is baseline code, but has ${hit}")
  endif()
endforeach()
list(LENGTH objects count)
if(count EQUAL 0)
  message(FATAL_ERROR "${LIST} names no objects")
endif()
message(STATUS "${count} baseline objects without newer instructions")
