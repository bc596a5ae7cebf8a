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

# Headers alone: the plugin opens the driver and the libraries when it runs. A toolkit has them in one
# folder, NVIDIA's wheels (of the active Python environment, or of this checkout's) in several.
file(GLOB softneuro_cuda_wheels
  "$ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/*/include"
  "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*/include")
function(softneuro_find_cuda_header variable header)
  find_path(${variable} ${header} HINTS ENV CUDA_HOME ENV CUDA_PATH
    PATHS /usr/local/cuda ${softneuro_cuda_wheels} PATH_SUFFIXES include)
  mark_as_advanced(${variable})
endfunction()
set(SOFTNEURO_CUDA_FOUND OFF)
set(SOFTNEURO_CUDNN_FOUND OFF)
if(SOFTNEURO_CUDA)
  softneuro_find_cuda_header(SOFTNEURO_CUDA_INCLUDE cuda.h)
  softneuro_find_cuda_header(SOFTNEURO_NVRTC_INCLUDE nvrtc.h)
  softneuro_find_cuda_header(SOFTNEURO_CUBLASLT_INCLUDE cublasLt.h)
  softneuro_find_cuda_header(SOFTNEURO_CUDNN_INCLUDE cudnn_graph.h)  # cudnn.h is of any version
  if(SOFTNEURO_CUDA_INCLUDE AND SOFTNEURO_NVRTC_INCLUDE AND SOFTNEURO_CUBLASLT_INCLUDE)
    set(SOFTNEURO_CUDA_FOUND ON)
    set(SOFTNEURO_CUDA_INCLUDES
      ${SOFTNEURO_CUDA_INCLUDE} ${SOFTNEURO_NVRTC_INCLUDE} ${SOFTNEURO_CUBLASLT_INCLUDE})
    if(SOFTNEURO_CUDNN_INCLUDE)
      set(SOFTNEURO_CUDNN_FOUND ON)
      list(APPEND SOFTNEURO_CUDA_INCLUDES ${SOFTNEURO_CUDNN_INCLUDE})
    else()
      message(STATUS "softneuro: cuDNN's headers not found: doctor does not know of cuDNN")
    endif()
    list(REMOVE_DUPLICATES SOFTNEURO_CUDA_INCLUDES)
    message(STATUS "softneuro: CUDA's headers in ${SOFTNEURO_CUDA_INCLUDES}")
  elseif(SOFTNEURO_CUDA STREQUAL "AUTO")
    message(STATUS "softneuro: CUDA's headers not found: no cuda routines")
  else()
    message(FATAL_ERROR "SOFTNEURO_CUDA is ${SOFTNEURO_CUDA}, but not all of cuda.h "
      "(${SOFTNEURO_CUDA_INCLUDE}), nvrtc.h (${SOFTNEURO_NVRTC_INCLUDE}) and cublasLt.h "
      "(${SOFTNEURO_CUBLASLT_INCLUDE}) were found")
  endif()
endif()
