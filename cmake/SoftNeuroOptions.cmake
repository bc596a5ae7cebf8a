# Everything that can be switched, in one place.

option(BUILD_SHARED_LIBS "Build libsoftneuro as a shared library" ON)
option(SOFTNEURO_EDGE
       "Smallest runtime: static, no importer, no plugin loader, no tuner, no exceptions" OFF)
# See SoftNeuroEdge.cmake.
set(SOFTNEURO_EDGE_ROUTINES small CACHE STRING
    "Routines of an edge build: small, all, or a list by `softneuro inspect --routines`")
# Library plugins, loaded at run time from softneuro/plugins beside libsoftneuro. AUTO: where the
# library is found (of CUDA: the headers); ON: an error where it is not; OFF: never.
set(SOFTNEURO_ONEDNN AUTO CACHE STRING
    "Build the oneDNN plugin: AUTO, ON or OFF; 2 or 3: ON, with that major version")
set(SOFTNEURO_ONEDNN_ROOT "" CACHE PATH
    "Folder with the include/ and lib/ of the oneDNN to take; empty: the one of scripts/setup where it \
is there, else the system's")
set(SOFTNEURO_XNNPACK AUTO CACHE STRING "Build the XNNPACK plugin: AUTO, ON or OFF")
set(SOFTNEURO_EIGEN AUTO CACHE STRING "Build the plugin over Eigen: AUTO, ON or OFF")
set(SOFTNEURO_CUDA AUTO CACHE STRING "Build the plugin for NVIDIA's GPUs: AUTO, ON or OFF")
set_property(CACHE SOFTNEURO_ONEDNN PROPERTY STRINGS AUTO ON OFF 2 3)
set_property(CACHE SOFTNEURO_XNNPACK SOFTNEURO_EIGEN SOFTNEURO_CUDA PROPERTY STRINGS AUTO ON OFF)

option(SOFTNEURO_ISA "Also compile for instruction sets newer than the plain processor's" ON)
option(SOFTNEURO_IMPORT "Build the model importers (needs protobuf)" ON)
option(SOFTNEURO_TOOLS "Build the softneuro command" ${PROJECT_IS_TOP_LEVEL})
option(SOFTNEURO_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(SOFTNEURO_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(SOFTNEURO_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(SOFTNEURO_INSTALL "Generate the install rules" ${PROJECT_IS_TOP_LEVEL})

option(SOFTNEURO_WERROR "Treat warnings as errors" OFF)
option(SOFTNEURO_PCH "Precompile the heavy standard headers" ON)
option(SOFTNEURO_CCACHE "Compile through ccache where it is found" ${PROJECT_IS_TOP_LEVEL})
set(SOFTNEURO_SANITIZE "" CACHE STRING
    "Sanitizers for everything, as for -fsanitize: address,undefined or thread")
set(SOFTNEURO_LINKER "" CACHE STRING "Linker for -fuse-ld; auto takes mold or lld where found")

# Tests read models from a folder beside the checkout and skip, with a message, where it is absent.
set(_shared "")
foreach(_candidate IN ITEMS shared ../shared ../../shared)
  if(NOT _shared AND EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${_candidate}/models/MANIFEST.md")
    get_filename_component(_shared "${CMAKE_CURRENT_SOURCE_DIR}/${_candidate}" ABSOLUTE)
  endif()
endforeach()
set(SOFTNEURO_SHARED_DIR "${_shared}" CACHE PATH
    "Folder with the models/ and suites/ that the larger tests read")

if(SOFTNEURO_EDGE)
  # What a small device does not need is not an option there.
  set(BUILD_SHARED_LIBS OFF)
  set(SOFTNEURO_IMPORT OFF)
  set(SOFTNEURO_TOOLS OFF)
  set(SOFTNEURO_TESTS OFF)
  set(SOFTNEURO_BENCH OFF)
  set(SOFTNEURO_CUDA OFF)
  set(SOFTNEURO_ONEDNN OFF)
  set(SOFTNEURO_XNNPACK OFF)
  set(SOFTNEURO_EIGEN OFF)
endif()
