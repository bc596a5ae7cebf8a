# One instruction set, one merged object.
#
# The library is built for the plain processor of its architecture; files for a newer instruction
# set are compiled with that set's flags and called only after cpuid has said yes:
#
#   conv2/gemm_avx512.cpp   one instruction set, by the file's suffix
#   conv2/gemm.isa.cpp      compiled once as `baseline` and once for each set in
#                           SOFTNEURO_ISA_VARIANTS; SN_ISA names the set (baseline, avx2, avx512)
#                           and SN_ISA_NAMESPACE the namespace to define things in:
#                             namespace softneuro::SN_ISA_NAMESPACE { void gemm(…); }
#                           Callers declare the function in each namespace and pick by cpuid;
#                           SN_ISA_X86 is defined everywhere where the x86 variants exist.
#
# What is wrong with merely setting flags per file: templates and inline functions (Eigen, std,
# our own headers) are compiled into several objects under the same name, and the linker keeps
# *one*. Either the avx512 code runs on a machine without it, or every variant gets the same
# Eigen kernel. So the objects of one instruction set are merged (ld -r), and in the merged object
# all symbols become local but those that name the set's namespace (softneuro::…::avx2::…) or
# register a routine. Nothing compiled with the flags can be reached by another way.
#
# The price: an inline variable or a static local of an inline function exists once per set.

set(SOFTNEURO_ISA_SETS "")
set(SOFTNEURO_ISA_VARIANTS "")
if(SOFTNEURO_ARCH STREQUAL "x86_64" AND SOFTNEURO_ISA)
  set(SOFTNEURO_ISA_SETS avx2 avx512 avx512vnni)
  set(SOFTNEURO_ISA_VARIANTS avx2 avx512)
  # What not every compiler knows: SN_ISA_AVX512FP16, SN_ISA_AMXBF16 say whether the set is there.
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag("-mavx512fp16" SOFTNEURO_COMPILES_AVX512FP16)
  if(SOFTNEURO_COMPILES_AVX512FP16)
    list(APPEND SOFTNEURO_ISA_SETS avx512fp16)
  endif()
  check_cxx_compiler_flag("-mamx-bf16" SOFTNEURO_COMPILES_AMXBF16)
  if(SOFTNEURO_COMPILES_AMXBF16)
    list(APPEND SOFTNEURO_ISA_SETS amxbf16)
  endif()
endif()

set(SOFTNEURO_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(SOFTNEURO_ISA_FLAGS_avx512
    ${SOFTNEURO_ISA_FLAGS_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl
    -mprefer-vector-width=512)
set(SOFTNEURO_ISA_FLAGS_avx512vnni ${SOFTNEURO_ISA_FLAGS_avx512} -mavx512vnni)
set(SOFTNEURO_ISA_FLAGS_avx512fp16 ${SOFTNEURO_ISA_FLAGS_avx512} -mavx512fp16)
set(SOFTNEURO_ISA_FLAGS_amxbf16 ${SOFTNEURO_ISA_FLAGS_avx512} -mavx512bf16 -mamx-tile -mamx-bf16)

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

# Every suffix that this file knows, on any architecture: such a file is never baseline code.
set(SOFTNEURO_ISA_SUFFIXES "avx2|avx512|avx512vnni|avx512fp16|amxbf16")

# softneuro_split_by_isa(<files> <prefix>): sorts into <prefix>_baseline, <prefix>_variants
# (*.isa.cpp) and <prefix>_<set>; files of sets that this architecture lacks are dropped.
function(softneuro_split_by_isa files prefix)
  set(baseline "")
  set(variants "")
  foreach(set IN LISTS SOFTNEURO_ISA_SETS)
    set(of_${set} "")
  endforeach()
  foreach(file IN LISTS ${files})
    if(file MATCHES "\\.isa\\.cpp$")
      list(APPEND variants ${file})
    elseif(file MATCHES "_(${SOFTNEURO_ISA_SUFFIXES})\\.cpp$")
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
            "--keep-global-symbol=*register_routine_*"
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
