# Which routines an edge build holds (SOFTNEURO_EDGE_ROUTINES):
#
#   small   what untuned float32 plans of edge builds take, which are plain; every layer type is there
#   all     everything
#   FILE    small, and what tuned nets take: lists by `softneuro inspect --routines NET.dnn...`
#
# A line of a list is a folder of routines and a descriptor; # begins a comment:
#
#   conv2 cpu:qint8:nhwc/direct
#
# Its file is src/routines/conv2/cpu_qint8_direct.cpp: named after the descriptor, with or without
# its layout and data type, since one file may serve several of them. What no file registers, the
# linker drops. A choice of a tuned path that is not there is replaced by a default one.

# Files of routines that untuned float32 plans do not take: formats other than the plain one, and
# what tuning alone tries. They would take dense/cpu_tiled and matmul/cpu_tiled, but their kernels
# weigh 220 KiB, and cpu_gemm of the same folders does the same with those of conv2.
set(SOFTNEURO_EDGE_LEFT_OUT
    "/cpu_(nhwc|nchw[0-9]+c|qint8|b?float16)_[^/]*\\.cpp$"
    "/conv2/cpu_wg[^/]*\\.cpp$" "/routines/wg[a-z]+/"
    "/(dense|matmul)/cpu_(amx|convnet|tiled)\\.cpp$" "/reduce/cpu_pool\\.cpp$")

# Folders whose kernels exist once per element type. They are compiled for float32 alone where no
# other type is asked for (SN_FLOAT32_KERNELS, see cpu/tensor/kernel_types.h).
set(SOFTNEURO_EDGE_TYPED_FOLDERS max_pool2 avg_pool2 reduce resize)

set(SOFTNEURO_EDGE_TYPES float32 float16 bfloat16 qint8)

# softneuro_routine_file(<src> <folder> <descriptor> <out file> <out type>): the file of a listed
# routine and its data type; <out file> is empty, and <out type> says why, if there is none.
function(softneuro_routine_file src folder descriptor out_file out_type)
  set(${out_file} "" PARENT_SCOPE)
  if(NOT descriptor MATCHES "^cpu((:[a-z0-9]+)*)/([a-z0-9_]+)$")
    set(${out_type} "'${descriptor}' is no descriptor like cpu:float32:nhwc/direct" PARENT_SCOPE)
    return()
  endif()
  set(algorithm "${CMAKE_MATCH_3}")
  string(REPLACE ":" ";" parts "${CMAKE_MATCH_1}")
  set(type float32)
  set(type_part "")
  set(layout_part "")
  foreach(part IN LISTS parts)
    if(part STREQUAL "")
      continue()
    elseif(part IN_LIST SOFTNEURO_EDGE_TYPES AND NOT type_part AND NOT layout_part)
      set(type ${part})
      set(type_part "_${part}")
    elseif(part MATCHES "^(nhwc|nchw[0-9]+c)$" AND NOT layout_part)
      set(layout_part "_${part}")
    else()
      set(${out_type} "'${part}' in '${descriptor}' is no data type or layout" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(path "${src}/routines/${folder}")
  if(folder STREQUAL "adapt")
    set(path "${src}/adapt")
  endif()
  foreach(middle IN ITEMS "${type_part}${layout_part}" "${type_part}" "${layout_part}" "")
    set(file "${path}/cpu${middle}_${algorithm}.cpp")
    if(EXISTS "${file}")
      set(${out_file} "${file}" PARENT_SCOPE)
      set(${out_type} ${type} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${out_type} "there is no ${file}" PARENT_SCOPE)
endfunction()

# softneuro_listed_routines(<list file> <src> <out files> <out types>): the files of the routines
# in a list, and the data types other than float32 that it asks of SOFTNEURO_EDGE_TYPED_FOLDERS.
# Every line that cannot be followed is named in one error.
function(softneuro_listed_routines list_file src out_files out_types)
  set(files "")
  set(types "")
  set(errors "")
  set(number 0)
  file(READ "${list_file}" lines)
  string(REGEX REPLACE "#[^\n]*" "" lines "${lines}")
  string(REGEX REPLACE "[][;\\]" "?" lines "${lines}")  # what lists of CMake do not bear
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line IN LISTS lines)
    math(EXPR number "${number} + 1")
    string(STRIP "${line}" line)
    if(line STREQUAL "")
      continue()
    endif()
    if(line MATCHES "^([a-z0-9_]+)[ \t]+([^ \t]+)$")
      set(folder "${CMAKE_MATCH_1}")
      softneuro_routine_file("${src}" "${folder}" "${CMAKE_MATCH_2}" file type)
    else()
      set(file "")
      set(type "expected a folder of src/routines and a descriptor")
    endif()
    if(file STREQUAL "")
      string(APPEND errors "\n  line ${number}, '${line}': ${type}")
      continue()
    endif()
    list(APPEND files "${file}")
    if(folder IN_LIST SOFTNEURO_EDGE_TYPED_FOLDERS AND NOT type STREQUAL "float32")
      list(APPEND types ${type})
    endif()
  endforeach()
  if(errors)
    message(FATAL_ERROR "SOFTNEURO_EDGE_ROUTINES: ${list_file} asks for routines that are not here:"
                        "${errors}\n`softneuro inspect --routines NET.dnn` writes such a list.")
  endif()
  list(REMOVE_DUPLICATES files)
  list(REMOVE_DUPLICATES types)
  set(${out_files} "${files}" PARENT_SCOPE)
  set(${out_types} "${types}" PARENT_SCOPE)
endfunction()

# softneuro_edge_routines(<selection> <src> <out files> <out float32> <files>...): which of the
# files of routines an edge build with SOFTNEURO_EDGE_ROUTINES=<selection> registers, and whether
# the kernels of SOFTNEURO_EDGE_TYPED_FOLDERS are compiled for float32 alone.
function(softneuro_edge_routines selection src out_files out_float32)
  set(kept ${ARGN})
  set(listed "")
  set(float32 OFF)
  if(NOT selection STREQUAL "all")
    set(types "")
    if(NOT selection STREQUAL "small")
      get_filename_component(list_file "${selection}" ABSOLUTE BASE_DIR "${src}/..")
      if(NOT EXISTS "${list_file}" OR IS_DIRECTORY "${list_file}")
        message(FATAL_ERROR "SOFTNEURO_EDGE_ROUTINES is '${selection}': expected small, all, or a "
                            "list of routines, and there is no file ${list_file}")
      endif()
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list_file}")
      softneuro_listed_routines("${list_file}" "${src}" listed types)
    endif()
    if(types STREQUAL "")
      set(float32 ON)
    endif()
    foreach(left_out IN LISTS SOFTNEURO_EDGE_LEFT_OUT)
      list(FILTER kept EXCLUDE REGEX "${left_out}")
    endforeach()
    list(APPEND kept ${listed})
    list(REMOVE_DUPLICATES kept)
    list(SORT kept)
  endif()
  set(${out_files} "${kept}" PARENT_SCOPE)
  set(${out_float32} ${float32} PARENT_SCOPE)
endfunction()
