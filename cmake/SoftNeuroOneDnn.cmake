# oneDNN for the plugin over it: SOFTNEURO_ONEDNN_FOUND, _VERSION, _INCLUDE, _LIBRARY, and _BUNDLED
# where the library is none of the system's and is therefore installed with the plugin.
#
# The one in SOFTNEURO_ONEDNN_ROOT; or the first that will do of the one that scripts/setup puts into
# .onednn of the checkout and the system's. Debian's CMake package of oneDNN asks for OpenCL, and the
# other lies where its package was unpacked: found by hand.

set(SOFTNEURO_ONEDNN_FOUND OFF)
if(NOT SOFTNEURO_ONEDNN)
  return()
endif()

set(_roots system)
if(SOFTNEURO_ONEDNN_ROOT)
  set(_roots "${SOFTNEURO_ONEDNN_ROOT}")
elseif(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  list(PREPEND _roots "${PROJECT_SOURCE_DIR}/.onednn")
endif()

set(_reason "not found")
foreach(_root IN LISTS _roots)
  # Never kept between configurations: what scripts/setup brings is seen the next time.
  unset(_include)
  unset(_library)
  if(_root STREQUAL "system")
    find_path(_include oneapi/dnnl/dnnl.hpp NO_CACHE)
    find_library(_library dnnl NO_CACHE)
  else()
    find_path(_include oneapi/dnnl/dnnl.hpp PATHS "${_root}/include" NO_DEFAULT_PATH
              NO_CMAKE_FIND_ROOT_PATH NO_CACHE)
    find_library(_library dnnl PATHS "${_root}/lib" "${_root}/lib64" NO_DEFAULT_PATH
                 NO_CMAKE_FIND_ROOT_PATH NO_CACHE)
  endif()
  if(NOT _include OR NOT _library)
    continue()
  endif()
  file(STRINGS "${_include}/oneapi/dnnl/dnnl_version.h" _version
       REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH)")
  string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]+([0-9]+)[^0-9]+([0-9]+).*" "\\1.\\2.\\3"
         _version "${_version}")
  string(REGEX MATCH "^[0-9]+" _major "${_version}")
  if(SOFTNEURO_ONEDNN MATCHES "^[23]$" AND NOT _major EQUAL SOFTNEURO_ONEDNN)
    set(_reason "version ${_version} in ${_library}, wanted is ${SOFTNEURO_ONEDNN}.x")
  elseif((_version VERSION_GREATER_EQUAL 2.6 AND _version VERSION_LESS 3)
         OR (_version VERSION_GREATER_EQUAL 3.1 AND _version VERSION_LESS 4))
    set(SOFTNEURO_ONEDNN_FOUND ON)
    set(SOFTNEURO_ONEDNN_VERSION "${_version}")
    set(SOFTNEURO_ONEDNN_INCLUDE "${_include}")
    set(SOFTNEURO_ONEDNN_LIBRARY "${_library}")
    set(SOFTNEURO_ONEDNN_BUNDLED OFF)
    if(NOT _root STREQUAL "system")
      set(SOFTNEURO_ONEDNN_BUNDLED ON)
      set(SOFTNEURO_ONEDNN_PREFIX "${_root}")
    endif()
    message(STATUS "softneuro: oneDNN ${_version} in ${_library}")
    break()
  else()
    set(_reason "version ${_version} in ${_library}, expected 2.6 or a later 2.x, or 3.1 or a later 3.x")
  endif()
endforeach()

if(NOT SOFTNEURO_ONEDNN_FOUND)
  if(SOFTNEURO_ONEDNN STREQUAL "AUTO")
    message(STATUS "softneuro: oneDNN: ${_reason}: no onednn routines")
  else()
    message(FATAL_ERROR "SOFTNEURO_ONEDNN is ${SOFTNEURO_ONEDNN}, but oneDNN: ${_reason}")
  endif()
endif()
