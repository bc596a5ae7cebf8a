# One instruction set, one merged object.
#
# The library is built for the plain processor of its architecture; files for a newer instruction
# set are compiled with that set's flags and called only after cpuid has said yes:
#
#   conv2/gemm_avx512.cpp   one instruction set, by the file's suffix
#   conv2/gemm.isa.cpp      compiled once as `baseline` and once for each VARIANT of the table;
#                           SN_ISA names the set (baseline, avx2, avx512) and SN_ISA_NAMESPACE the
#                           namespace to define things in:
#                             namespace softneuro::SN_ISA_NAMESPACE { … }
#                           Callers choose by what the set requires: core/base/isa_variants.h.
#
# What is wrong with merely setting flags per file: templates and inline functions (Eigen, std,
# our own headers) are compiled into several objects under the same name, and the linker keeps
# *one*. Either the avx512 code runs on a machine without it, or every variant gets the same
# Eigen kernel. So the objects of one instruction set are merged (ld -r), and in the merged object
# all symbols become local but those that name the set's namespace (softneuro::…::avx2::…). Nothing
# compiled with the flags can be reached by another way.
#
# The price: an inline variable or a static local of an inline function exists once per set.

include(CheckCXXCompilerFlag)

set(SOFTNEURO_ISA_SUFFIXES "")  # of all architectures: such a file is never baseline code
set(SOFTNEURO_ISA_SETS "")      # that this build has
set(SOFTNEURO_ISA_VARIANTS "")  # of these, what *.isa.cpp files are compiled for

# softneuro_isa(<set> <architecture> [VARIANT] [OPTIONAL] [EXTENDS <set>]
#               REQUIRES <CpuFeature>... FLAGS <flag>...)
# A row of the table: the compiler's flags for a set, and the features of the processor
# (core/base/cpu.h) without which its code must not run; both in addition to those of the set that
# it extends. A later variant is better than an earlier one. OPTIONAL: not every compiler knows it.
function(softneuro_isa set architecture)
  cmake_parse_arguments(PARSE_ARGV 2 row "VARIANT;OPTIONAL" "EXTENDS" "REQUIRES;FLAGS")
  set(SOFTNEURO_ISA_FLAGS_${set} ${SOFTNEURO_ISA_FLAGS_${row_EXTENDS}} ${row_FLAGS} PARENT_SCOPE)
  set(SOFTNEURO_ISA_REQUIRES_${set}
      ${SOFTNEURO_ISA_REQUIRES_${row_EXTENDS}} ${row_REQUIRES} PARENT_SCOPE)
  set(SOFTNEURO_ISA_SUFFIXES ${SOFTNEURO_ISA_SUFFIXES} ${set} PARENT_SCOPE)
  if(NOT SOFTNEURO_ISA OR NOT architecture STREQUAL SOFTNEURO_ARCH)
    return()
  endif()
  if(row_OPTIONAL)
    string(TOUPPER ${set} name)
    list(JOIN row_FLAGS " " flags)
    check_cxx_compiler_flag("${flags}" SOFTNEURO_COMPILES_${name})
    if(NOT SOFTNEURO_COMPILES_${name})
      return()
    endif()
  endif()
  set(SOFTNEURO_ISA_SETS ${SOFTNEURO_ISA_SETS} ${set} PARENT_SCOPE)
  if(row_VARIANT)
    set(SOFTNEURO_ISA_VARIANTS ${SOFTNEURO_ISA_VARIANTS} ${set} PARENT_SCOPE)
  endif()
endfunction()

softneuro_isa(avx2 x86_64 VARIANT REQUIRES avx2 FLAGS -mavx2 -mfma -mf16c)
softneuro_isa(avx512 x86_64 VARIANT EXTENDS avx2 REQUIRES avx512
  FLAGS -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
softneuro_isa(avx512vnni x86_64 EXTENDS avx512 REQUIRES avx512_vnni FLAGS -mavx512vnni)
softneuro_isa(avx512bf16 x86_64 OPTIONAL EXTENDS avx512 REQUIRES avx512_bf16 FLAGS -mavx512bf16)
softneuro_isa(avx512fp16 x86_64 OPTIONAL EXTENDS avx512 REQUIRES avx512_fp16 FLAGS -mavx512fp16)
softneuro_isa(amxbf16 x86_64 OPTIONAL EXTENDS avx512 REQUIRES avx512_bf16 amx_bf16
  FLAGS -mavx512bf16 -mamx-tile -mamx-bf16)

# softneuro_isa_header(<output.h>): the table for C++.
function(softneuro_isa_header output)
  set(SN_ISA_REQUIREMENTS "inline constexpr CpuFeatures baseline;\n")
  set(SN_ISA_ROWS "    {\"baseline\", isa::baseline, true},\n")
  set(SN_ISA_FOR_EACH "")
  set(SN_ISA_MACROS "")
  foreach(set IN LISTS SOFTNEURO_ISA_SUFFIXES)
    list(TRANSFORM SOFTNEURO_ISA_REQUIRES_${set} PREPEND "CpuFeature::" OUTPUT_VARIABLE features)
    list(JOIN features ", " features)
    string(APPEND SN_ISA_REQUIREMENTS "inline constexpr CpuFeatures ${set} = {${features}};\n")
    set(here 0)
    if(set IN_LIST SOFTNEURO_ISA_SETS)
      set(here 1)
      set(is_variant false)
      if(set IN_LIST SOFTNEURO_ISA_VARIANTS)
        set(is_variant true)
        string(PREPEND SN_ISA_FOR_EACH " X(${set}, __VA_ARGS__)")
      endif()
      string(APPEND SN_ISA_ROWS "    {\"${set}\", isa::${set}, ${is_variant}},\n")
    endif()
    string(TOUPPER ${set} name)
    string(APPEND SN_ISA_MACROS "#define SN_HAS_${name} ${here}\n")
  endforeach()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/isa_sets.h.in" "${output}" @ONLY)
endfunction()

# Sets with an instruction for a * b + c use it. Clang's `fast` fuses what the optimiser leaves side
# by side, which differs from one instance of a template to the next; its `on` fuses each x += a * b
# as it is written, so that equal rows and columns give equal bits. GCC knows no `on`.
set(SOFTNEURO_ISA_FUSE -ffp-contract=fast)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(SOFTNEURO_ISA_FUSE -ffp-contract=on)
endif()
# The plain processor of 64-bit ARM has it, that of x86-64 not.
set(SOFTNEURO_ISA_FLAGS_baseline "")
if(SOFTNEURO_ARCH STREQUAL "aarch64")
  set(SOFTNEURO_ISA_FLAGS_baseline ${SOFTNEURO_ISA_FUSE})
endif()

# softneuro_split_by_isa(<files> <prefix>): sorts into <prefix>_baseline, <prefix>_variants
# (*.isa.cpp) and <prefix>_<set>; files of sets that this architecture lacks are dropped.
function(softneuro_split_by_isa files prefix)
  list(JOIN SOFTNEURO_ISA_SUFFIXES "|" suffixes)
  set(baseline "")
  set(variants "")
  foreach(set IN LISTS SOFTNEURO_ISA_SETS)
    set(of_${set} "")
  endforeach()
  foreach(file IN LISTS ${files})
    if(file MATCHES "/cpu_[^/]*_(${suffixes})\\.cpp$")
      message(FATAL_ERROR "${file}: what registers a routine runs on every processor, "
                          "its kernels belong into files of their own")
    endif()
    if(file MATCHES "\\.isa\\.cpp$")
      list(APPEND variants ${file})
    elseif(file MATCHES "_(${suffixes})\\.cpp$")
      list(APPEND of_${CMAKE_MATCH_1} ${file})
    else()
      list(APPEND baseline ${file})
    endif()
  endforeach()
  set(${prefix}_baseline ${baseline} PARENT_SCOPE)
  set(${prefix}_variants ${variants} PARENT_SCOPE)
  foreach(set IN LISTS SOFTNEURO_ISA_SETS)
    set(${prefix}_${set} ${of_${set}} PARENT_SCOPE)
  endforeach()
endfunction()

# softneuro_isa_baseline(<target> <sources>...): an OBJECT library for the plain processor.
function(softneuro_isa_baseline target)
  add_library(${target} OBJECT ${ARGN})
  softneuro_target_defaults(${target})
  softneuro_runtime_defaults(${target})
  target_compile_options(${target} PRIVATE ${SOFTNEURO_ISA_FLAGS_baseline})
  target_compile_definitions(${target} PRIVATE SN_ISA=baseline SN_ISA_NAMESPACE=baseline)
endfunction()

# softneuro_isa_object(<prefix> <set> <out> <sources>...): an OBJECT library <prefix>_<set> and the
# merged object built from it. <out> receives the object's path.
function(softneuro_isa_object prefix set out)
  set(target ${prefix}_${set})
  add_library(${target} OBJECT ${ARGN})
  softneuro_target_defaults(${target})
  softneuro_runtime_defaults(${target})
  # -fno-gnu-unique: a unique symbol would be shared with the rest again, at load time.
  target_compile_options(${target} PRIVATE
    ${SOFTNEURO_ISA_FLAGS_${set}} ${SOFTNEURO_ISA_FUSE}
    $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC's own avx512fintrin.h sets these off when inlined (GCC bug 105593).
    target_compile_options(${target} PRIVATE -Wno-uninitialized -Wno-maybe-uninitialized)
  endif()
  target_compile_definitions(${target} PRIVATE SN_ISA=${set} SN_ISA_NAMESPACE=${set})

  string(LENGTH ${set} length)
  set(object "${CMAKE_CURRENT_BINARY_DIR}/isa/${target}.o")
  add_custom_command(
    OUTPUT "${object}"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${CMAKE_CURRENT_BINARY_DIR}/isa"
    COMMAND ${SOFTNEURO_LD_BFD} -r --force-group-allocation -o "${object}.merged"
            $<TARGET_OBJECTS:${target}>
    COMMAND ${CMAKE_OBJCOPY} --wildcard
            "--keep-global-symbol=*${length}${set}*"
            "${object}.merged" "${object}"
    DEPENDS $<TARGET_OBJECTS:${target}>
    COMMENT "Merging the objects for ${set}"
    COMMAND_EXPAND_LISTS VERBATIM)
  set(${out} "${object}" PARENT_SCOPE)
endfunction()

if(SOFTNEURO_ISA_SETS)
  # Only the GNU linker knows --force-group-allocation; it need not be the one that links.
  find_program(SOFTNEURO_LD_BFD NAMES ld.bfd ld REQUIRED)
  mark_as_advanced(SOFTNEURO_LD_BFD)
endif()
