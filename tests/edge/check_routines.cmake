# cmake -D SAMPLES=… -D TOOL=… -D SOURCE_DIR=… -D WORK_DIR=… -P check_routines.cmake
# With -D LIST=… instead of SAMPLES and TOOL: only follows that list.

cmake_minimum_required(VERSION 3.25)

include("${SOURCE_DIR}/cmake/SoftNeuroEdge.cmake")
set(src "${SOURCE_DIR}/src")
file(GLOB all_files "${src}/routines/*/cpu_*.cpp" "${src}/adapt/cpu_*.cpp")
list(SORT all_files)

# select(<selection> <out files> <out float32>)
function(select selection out_files out_float32)
  softneuro_edge_routines("${selection}" "${src}" files float32 ${all_files})
  set(${out_files} "${files}" PARENT_SCOPE)
  set(${out_float32} ${float32} PARENT_SCOPE)
endfunction()

if(LIST)
  select("${LIST}" files float32)
  return()
endif()

function(expect what actual wanted)
  if(NOT actual STREQUAL wanted)
    message(SEND_ERROR "${what}\n  is     ${actual}\n  wanted ${wanted}")
  endif()
endfunction()

file(MAKE_DIRECTORY "${WORK_DIR}")
execute_process(COMMAND "${SAMPLES}" "${WORK_DIR}" COMMAND_ERROR_IS_FATAL ANY)

# Every routine of the library is found in the file that registers it.
file(STRINGS "${WORK_DIR}/all_routines.txt" rows)
list(LENGTH rows count)
if(count LESS 300)
  message(SEND_ERROR "only ${count} routines are listed")
endif()
foreach(row IN LISTS rows)
  string(REPLACE " " ";" row "${row}")
  list(GET row 0 folder)
  list(GET row 1 descriptor)
  list(GET row 2 name)
  softneuro_routine_file("${src}" ${folder} ${descriptor} file type)
  if(folder STREQUAL "adapt")
    expect("file of '${row}'" "${file}" "${src}/${name}.cpp")
  else()
    expect("file of '${row}'" "${file}" "${src}/routines/${name}.cpp")
  endif()
  set(wanted float32)
  if(descriptor MATCHES "bfloat16|float16|qint8")
    set(wanted ${CMAKE_MATCH_0})
  endif()
  expect("type of '${row}'" "${type}" ${wanted})
endforeach()

# small: plain float32 and all layer types but the steps of Winograd; all: everything.
select(small small float32)
expect("float32 alone in small" ${float32} ON)
foreach(file IN LISTS all_files)
  string(REGEX REPLACE "/[^/]+$" "/cpu_naive.cpp" naive "${file}")
  if(NOT naive IN_LIST small AND NOT file MATCHES "/wg[a-z]+/")
    message(SEND_ERROR "small has nothing for ${file}")
  endif()
endforeach()
foreach(name IN ITEMS conv2/cpu_gemm conv2/cpu_direct dense/cpu_gemm max_pool2/cpu_direct)
  if(NOT "${src}/routines/${name}.cpp" IN_LIST small)
    message(SEND_ERROR "small lacks ${name}")
  endif()
endforeach()
select(all files float32)
expect("float32 alone in all" ${float32} OFF)
expect("all" "${files}" "${all_files}")

# What the tool lists of a tuned net is what is added to the small set: childnets with what is
# inside, and no routine of another library.
execute_process(COMMAND "${TOOL}" inspect --routines "${WORK_DIR}/tuned.dnn"
                OUTPUT_FILE "${WORK_DIR}/tuned.txt" COMMAND_ERROR_IS_FATAL ANY)
select("${WORK_DIR}/tuned.txt" files float32)
expect("float32 alone in a list of float32" ${float32} ON)
list(REMOVE_ITEM files ${small})
list(TRANSFORM files REPLACE "^${src}/" "")
expect("files of the tuned net" "${files}" "\
routines/conv2/cpu_nhwc_direct.cpp;routines/conv2/cpu_wg.cpp;\
routines/conv2/cpu_wgnet.cpp;routines/dense/cpu_convnet.cpp;routines/wgconv/cpu_gemm.cpp;\
routines/wgdec/cpu_direct.cpp;routines/wgenc/cpu_direct.cpp;routines/wgweights/cpu_direct.cpp")
file(READ "${WORK_DIR}/tuned.txt" text)
if(NOT text MATCHES "\n# conv2 cpu:float32:nhwc/elsewhere: of a plugin")
  message(SEND_ERROR "the routine of a plugin is not told:\n${text}")
endif()

# The same as JSON.
execute_process(COMMAND "${TOOL}" inspect --json --routines "${WORK_DIR}/tuned.dnn"
                OUTPUT_VARIABLE json COMMAND_ERROR_IS_FATAL ANY)
string(JSON value GET "${json}" default_choices 0 routine)
expect("routine of a plugin" "${value}" "cpu:float32:nhwc/elsewhere")
string(JSON value GET "${json}" nets 0 tuned_paths 0 machine)
expect("machine" "${value}" "another machine, avx2")
string(JSON value GET "${json}" routines 0 folder)
expect("folder of the adapt layers" "${value}" "adapt")

# A pool in another type brings the kernels of all types.
file(WRITE "${WORK_DIR}/pool.txt" "# a comment [\n\nmax_pool2 cpu:qint8:nhwc/direct  # 1 layer\n")
select("${WORK_DIR}/pool.txt" files float32)
expect("float32 alone in a list with qint8" ${float32} OFF)
expect("files of a list that small has" "${files}" "${small}")

# What cannot be followed is an error that names line and reason.
function(expect_refused text reason)
  set(list "${WORK_DIR}/refused.txt")
  file(WRITE "${list}" "${text}")
  execute_process(COMMAND "${CMAKE_COMMAND}" -D "LIST=${list}" -D "SOURCE_DIR=${SOURCE_DIR}"
                          -P "${CMAKE_CURRENT_LIST_FILE}"
                  RESULT_VARIABLE result ERROR_VARIABLE error)
  string(REGEX REPLACE "[ \n]+" " " error "${error}")
  if(result EQUAL 0 OR NOT error MATCHES "${reason}")
    message(SEND_ERROR "'${text}' should be refused with '${reason}':\n${error}")
  endif()
endfunction()
expect_refused("# nets[0\n\nconv2 cpu/gemm\nconv2 cpu/gem\n" "line 4, 'conv2 cpu/gem': there is no [^ ]*conv2/cpu_gem\\.cpp")
expect_refused("conv2 cpu:float32:nhcw/direct\n" "line 1.*'nhcw' in .* is no data type or layout")
expect_refused("conv9 cpu/gemm\n" "line 1.*there is no")
expect_refused("conv2\n" "line 1.*expected a folder")
expect_refused("conv2 gemm\n" "line 1.*is no descriptor")
