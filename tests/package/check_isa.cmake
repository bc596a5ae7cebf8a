# cmake -D LIST=objects.txt -D OBJDUMP=… -D LEVEL=baseline -P check_isa.cmake
# Fails where an object for an instruction set holds an instruction that only newer processors know:
# an older machine would stop with SIGILL. Registers give it away: ymm and zmm in the baseline; zmm,
# masks and the upper half of the others in avx2. (Needs objdump's AT&T syntax, its default.)

set(newer_baseline "%[yz]mm[0-9]")
set(newer_avx2 "%zmm[0-9]|%[xy]mm(1[6-9]|2[0-9]|3[01])|%k[0-7]")

file(STRINGS "${LIST}" objects REGEX "\\.o$")
foreach(object IN LISTS objects)
  execute_process(COMMAND "${OBJDUMP}" -d --no-show-raw-insn "${object}"
                  COMMAND grep -m1 -E "${newer_${LEVEL}}"
                  OUTPUT_VARIABLE hit)
  if(hit)
    message(FATAL_ERROR "${object} is ${LEVEL} code, but has ${hit}")
  endif()
endforeach()
list(LENGTH objects count)
if(count EQUAL 0)
  message(FATAL_ERROR "${LIST} names no objects")
endif()
message(STATUS "${count} ${LEVEL} objects without newer instructions")
