# Compiler, linker and ccache settings. Targets take them by softneuro_target_defaults().

include(CheckCXXCompilerFlag)
include(CheckLinkerFlag)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()

string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" _processor)
if(_processor MATCHES "^(x86_64|amd64)$")
  set(SOFTNEURO_ARCH x86_64)
elseif(_processor MATCHES "^(aarch64|arm64)$")
  set(SOFTNEURO_ARCH aarch64)
else()
  set(SOFTNEURO_ARCH other)
endif()

# ccache. Precompiled headers need the two sloppiness values and -fpch-preprocess; the base
# directory and the prefix map let several checkouts of the project share one cache.
if(SOFTNEURO_CCACHE)
  find_program(CCACHE_PROGRAM ccache)
  mark_as_advanced(CCACHE_PROGRAM)
  if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER
        env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
  endif()
endif()

if(SOFTNEURO_LINKER STREQUAL "auto")
  set(_linkers mold lld)
else()
  set(_linkers ${SOFTNEURO_LINKER})
endif()
set(SOFTNEURO_LINKER_FLAG "")
foreach(_linker IN LISTS _linkers)
  if(NOT SOFTNEURO_LINKER_FLAG)
    check_linker_flag(CXX "-fuse-ld=${_linker}" SOFTNEURO_HAS_LINKER_${_linker})
    if(SOFTNEURO_HAS_LINKER_${_linker})
      set(SOFTNEURO_LINKER_FLAG "-fuse-ld=${_linker}")
    endif()
  endif()
endforeach()

set(SOFTNEURO_COMPILE_OPTIONS
    # Products and sums are rounded as written, so that the naive routines give the same bits on
    # every machine; files for one instruction set may fuse (SoftNeuroIsa.cmake).
    -fno-math-errno -ffp-contract=off
    # No address of this machine in the binaries, and objects that ccache can share.
    "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND SOFTNEURO_PCH)
  list(APPEND SOFTNEURO_COMPILE_OPTIONS -fpch-preprocess)
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND SOFTNEURO_PCH)
  # ccache compares a precompiled header's content, in which clang would write when it was made.
  list(APPEND SOFTNEURO_COMPILE_OPTIONS "SHELL:-Xclang -fno-pch-timestamp")
endif()

set(SOFTNEURO_WARNINGS
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
    -Wunused -Wvla -Wimplicit-fallthrough)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Designated initialisers of option structs leave out what keeps its default.
  list(APPEND SOFTNEURO_WARNINGS -Wno-missing-field-initializers -Wduplicated-cond -Wlogical-op)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
    # False alarms inside std::string and std::vector once inlined (GCC bugs 105329, 105651 and
    # kin); the address sanitizer watches over what these would find.
    list(APPEND SOFTNEURO_WARNINGS -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread
         -Wno-array-bounds)
  endif()
else()
  # Clang's own f16cintrin.h has macros with compound literals.
  list(APPEND SOFTNEURO_WARNINGS -Wno-missing-field-initializers -Wno-c99-extensions)
endif()
if(SOFTNEURO_WERROR)
  list(APPEND SOFTNEURO_WARNINGS -Werror)
endif()

set(SOFTNEURO_SANITIZE_OPTIONS "")
if(SOFTNEURO_SANITIZE)
  set(SOFTNEURO_SANITIZE_OPTIONS
      -fsanitize=${SOFTNEURO_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC's manual warns of false alarms from this one under sanitizers.
    list(APPEND SOFTNEURO_WARNINGS -Wno-maybe-uninitialized)
  endif()
  if(SOFTNEURO_SANITIZE MATCHES "address.*undefined")
    # These two guard every access and double the compiler's time. Beside the address sanitizer,
    # which stops at null by itself, the preset ubsan is the place for them.
    list(APPEND SOFTNEURO_SANITIZE_OPTIONS -fno-sanitize=null,alignment)
  endif()
endif()

# What the fuzzers of fuzz/ read files with tells them which branches ran.
set(SOFTNEURO_FUZZ OFF)
set(SOFTNEURO_COVERAGE_OPTIONS "")
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND SOFTNEURO_SANITIZE MATCHES "address")
  set(SOFTNEURO_FUZZ ON)
  set(SOFTNEURO_COVERAGE_OPTIONS -fsanitize=fuzzer-no-link)
endif()

# Settings that every target of this build shares. NO_WARNINGS is for generated sources.
function(softneuro_target_defaults target)
  cmake_parse_arguments(arg "NO_WARNINGS" "" "" ${ARGN})
  set_target_properties(${target} PROPERTIES
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    C_STANDARD 11 C_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${SOFTNEURO_COMPILE_OPTIONS}>"
    "$<$<COMPILE_LANGUAGE:CXX>:${SOFTNEURO_SANITIZE_OPTIONS}>")
  if(arg_NO_WARNINGS)
    target_compile_options(${target} PRIVATE -w)
  else()
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${SOFTNEURO_WARNINGS}>")
  endif()
  target_link_options(${target} PRIVATE ${SOFTNEURO_SANITIZE_OPTIONS} ${SOFTNEURO_LINKER_FLAG})
endfunction()

# Settings of the runtime's own code: the libraries that it wraps, and the edge build.
function(softneuro_runtime_defaults target)
  target_compile_definitions(${target} PRIVATE
    SOFTNEURO_BUILDING
    XXH_INLINE_ALL
    FLATBUFFERS_MAX_ALIGNMENT=64
    $<$<BOOL:${BUILD_SHARED_LIBS}>:SOFTNEURO_SHARED>
    $<$<BOOL:${SOFTNEURO_EDGE}>:SOFTNEURO_EDGE SOFTNEURO_NO_PLUGINS FMT_EXCEPTIONS=0>
    $<$<BOOL:${SOFTNEURO_FLOAT32_KERNELS}>:SN_FLOAT32_KERNELS>)
  if(SOFTNEURO_EDGE)
    target_compile_options(${target} PRIVATE
      -fno-exceptions -fno-rtti -Os -ffunction-sections -fdata-sections
      -fno-asynchronous-unwind-tables
      # This pass clones functions with fewer arguments, those of std::string and std::vector in
      # nearly every object. The linker keeps one copy of a function, but all of its clones.
      $<$<CXX_COMPILER_ID:GNU>:-fno-ipa-sra>)
  endif()
endfunction()

# For programs whose own code is never hot (the tool, the tests): half the optimiser's time. Clang
# takes half the time where it does not optimise what the sanitizers add; COMPARES: unless the
# target compares tensors, which would take longer than compiling.
function(softneuro_compile_quickly target)
  cmake_parse_arguments(arg COMPARES "" "" ${ARGN})
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(NOT arg_COMPARES)
    target_compile_options(${target} PRIVATE
      $<$<AND:$<CONFIG:Debug>,$<CXX_COMPILER_ID:Clang>>:-O0>)
  endif()
endfunction()
