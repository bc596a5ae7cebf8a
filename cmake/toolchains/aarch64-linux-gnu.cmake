# Cross-compiles for 64-bit ARM with Debian's compiler; programs run under qemu's user mode.
#
# The libraries that the runtime uses by their headers alone (fmt, FlatBuffers, xxHash, Eigen,
# Catch2) are those of the build machine: their headers are the same everywhere.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

find_program(SOFTNEURO_QEMU_AARCH64 NAMES qemu-aarch64-static qemu-aarch64)
mark_as_advanced(SOFTNEURO_QEMU_AARCH64)
if(SOFTNEURO_QEMU_AARCH64)
  # Debian keeps the target's C library here.
  set(CMAKE_CROSSCOMPILING_EMULATOR "${SOFTNEURO_QEMU_AARCH64};-L;/usr/aarch64-linux-gnu")
endif()

# Where CMake does not look, since it holds libraries of another architecture.
foreach(package IN ITEMS fmt FlatBuffers)
  string(TOLOWER "${package}" folder)
  file(GLOB folders "/usr/lib/*-linux-gnu/cmake/${folder}")
  if(folders AND NOT ${package}_DIR)
    list(GET folders 0 folder)
    set(${package}_DIR "${folder}" CACHE PATH "CMake package, used for its headers")
  endif()
endforeach()
