# The libraries, found once. The runtime itself links none of them: fmt, FlatBuffers and xxHash
# are used by their headers alone.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
# Compiled once where we know how (cmake/fmt_once.cpp), else header-only: that builds, slowly.
set(SOFTNEURO_FMT_ONCE OFF)
if(fmt_VERSION VERSION_LESS 10)
  set(SOFTNEURO_FMT_ONCE ON)
endif()
find_package(FlatBuffers REQUIRED NO_MODULE)
find_program(SOFTNEURO_FLATC flatc REQUIRED)
find_path(SOFTNEURO_FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h REQUIRED)
find_path(SOFTNEURO_XXHASH_INCLUDE xxhash.h REQUIRED)
mark_as_advanced(SOFTNEURO_FLATC SOFTNEURO_FLATBUFFERS_INCLUDE SOFTNEURO_XXHASH_INCLUDE)

if(SOFTNEURO_IMPORT)
  find_package(Protobuf 3.21 REQUIRED)
endif()
if(SOFTNEURO_TOOLS)
  find_package(CLI11 2.1 REQUIRED)
  find_package(nlohmann_json 3.11 REQUIRED)
  find_path(SOFTNEURO_STB_INCLUDE stb_image_resize.h PATH_SUFFIXES stb)
  mark_as_advanced(SOFTNEURO_STB_INCLUDE)
endif()
if(SOFTNEURO_EXAMPLES OR SOFTNEURO_TOOLS OR SOFTNEURO_TESTS)
  find_package(PNG)
endif()
if(SOFTNEURO_TESTS)
  find_package(Catch2 2.13 REQUIRED)
  find_package(nlohmann_json 3.11)  # the tests on real models read their descriptions with it
endif()
if(SOFTNEURO_BENCH)
  find_package(benchmark)
endif()

# Libraries that plugins wrap.
include(SoftNeuroOneDnn)

# Without a CMake or pkg-config file. Its header includes pthreadpool's.
set(SOFTNEURO_XNNPACK_FOUND OFF)
if(SOFTNEURO_XNNPACK)
  find_path(SOFTNEURO_XNNPACK_INCLUDE xnnpack.h)
  find_path(SOFTNEURO_PTHREADPOOL_INCLUDE pthreadpool.h)
  find_library(SOFTNEURO_XNNPACK_LIBRARY XNNPACK)
  mark_as_advanced(SOFTNEURO_XNNPACK_INCLUDE SOFTNEURO_PTHREADPOOL_INCLUDE
                   SOFTNEURO_XNNPACK_LIBRARY)
  if(SOFTNEURO_XNNPACK_INCLUDE AND SOFTNEURO_PTHREADPOOL_INCLUDE AND SOFTNEURO_XNNPACK_LIBRARY)
    set(SOFTNEURO_XNNPACK_FOUND ON)
    message(STATUS "softneuro: XNNPACK in ${SOFTNEURO_XNNPACK_LIBRARY}")
  elseif(SOFTNEURO_XNNPACK STREQUAL "AUTO")
    message(STATUS "softneuro: XNNPACK or pthreadpool not found: no xnnpack routines")
  else()
    message(FATAL_ERROR "SOFTNEURO_XNNPACK is ${SOFTNEURO_XNNPACK}, but XNNPACK or pthreadpool was "
                        "not found")
  endif()
endif()

# Headers alone. EIGEN_MPL2_ONLY keeps out what has another licence.
set(SOFTNEURO_EIGEN_FOUND OFF)
if(SOFTNEURO_EIGEN)
  find_package(Eigen3 3.4 NO_MODULE QUIET)
  if(TARGET Eigen3::Eigen)
    set(SOFTNEURO_EIGEN_FOUND ON)
    message(STATUS "softneuro: Eigen ${Eigen3_VERSION}")
  elseif(SOFTNEURO_EIGEN STREQUAL "AUTO")
    message(STATUS "softneuro: Eigen 3.4 not found: no eigen routines")
  else()
    message(FATAL_ERROR "SOFTNEURO_EIGEN is ${SOFTNEURO_EIGEN}, but Eigen 3.4 was not found")
  endif()
endif()

# Headers alone: the plugin opens the driver and the libraries when it runs.
set(SOFTNEURO_CUDA_FOUND OFF)
if(SOFTNEURO_CUDA)
  find_path(SOFTNEURO_CUDA_INCLUDE cublasLt.h
    HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include)
  mark_as_advanced(SOFTNEURO_CUDA_INCLUDE)
  if(EXISTS "${SOFTNEURO_CUDA_INCLUDE}/cuda.h" AND EXISTS "${SOFTNEURO_CUDA_INCLUDE}/nvrtc.h")
    set(SOFTNEURO_CUDA_FOUND ON)
    message(STATUS "softneuro: CUDA's headers in ${SOFTNEURO_CUDA_INCLUDE}")
  elseif(SOFTNEURO_CUDA STREQUAL "AUTO")
    message(STATUS "softneuro: CUDA's headers not found: no cuda routines")
  else()
    message(FATAL_ERROR "SOFTNEURO_CUDA is ${SOFTNEURO_CUDA}, but cuda.h, nvrtc.h and cublasLt.h "
                        "were not found in one folder")
  endif()
endif()
