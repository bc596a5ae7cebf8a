# cmake -D OBJECTS=a.o;b.o -D OBJDUMP=… -P check_isa.cmake
# Fails where an object of the baseline holds an instruction that only newer processors know: such
# a machine would stop with SIGILL. Any instruction on ymm or zmm registers gives it away.

foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND "${OBJDUMP}" -d --no-show-raw-insn "${object}"
                  COMMAND grep -m1 -E "%[yz]mm[0-9]"
                  OUTPUT_VARIABLE hit)
  if(hit)
    message(FATAL_ERROR "${object} is baseline code, but has ${hit}")
  endif()
endforeach()
list(LENGTH OBJECTS count)
message(STATUS "${count} baseline objects without newer instructions")
