# Install rules, the CMake package and the pkg-config file.

if(NOT SOFTNEURO_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)

set(_package "${CMAKE_INSTALL_LIBDIR}/cmake/softneuro")
set(_libraries softneuro softneuro_plugin)
if(TARGET softneuro_import)
  list(APPEND _libraries softneuro_import)
endif()

# The importer and the tool find libsoftneuro beside themselves, wherever the tree is put.
file(RELATIVE_PATH _bin_to_lib "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
if(TARGET softneuro_import)
  set_target_properties(softneuro_import PROPERTIES INSTALL_RPATH "$ORIGIN")
endif()
if(TARGET softneuro_cli)
  set_target_properties(softneuro_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${_bin_to_lib}")
  install(TARGETS softneuro_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

get_property(_plugins GLOBAL PROPERTY SOFTNEURO_LIBRARY_PLUGINS)
if(_plugins)
  install(TARGETS ${_plugins} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/softneuro/plugins)
endif()
# An oneDNN that is not the system's, under the name that the plugin is linked with, and its texts.
if(TARGET softneuro_onednn AND SOFTNEURO_ONEDNN_BUNDLED)
  file(REAL_PATH "${SOFTNEURO_ONEDNN_LIBRARY}" _file)
  string(REGEX MATCH "^[0-9]+" _major "${SOFTNEURO_ONEDNN_VERSION}")
  install(PROGRAMS "${_file}" DESTINATION ${CMAKE_INSTALL_LIBDIR}/softneuro
          RENAME libdnnl.so.${_major})
  if(EXISTS "${SOFTNEURO_ONEDNN_PREFIX}/share/doc/onednn/LICENSE")
    install(DIRECTORY "${SOFTNEURO_ONEDNN_PREFIX}/share/doc/onednn"
            DESTINATION ${CMAKE_INSTALL_DOCDIR}/third-party)
  endif()
endif()

install(TARGETS ${_libraries} EXPORT softneuro
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/softneuro" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT softneuro NAMESPACE softneuro:: FILE softneuroTargets.cmake DESTINATION ${_package})

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/softneuroConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/softneuroConfig.cmake" INSTALL_DESTINATION ${_package})
# Below 1.0 a minor version may break its users.
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/softneuroConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/softneuroConfig.cmake"
              "${PROJECT_BINARY_DIR}/softneuroConfigVersion.cmake" DESTINATION ${_package})

file(RELATIVE_PATH SOFTNEURO_PC_PREFIX
     "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" SOFTNEURO_PC_PREFIX "${SOFTNEURO_PC_PREFIX}")
set(SOFTNEURO_PC_CFLAGS "")
set(SOFTNEURO_PC_LIBS "-lstdc++ -lm -pthread -ldl")
if(BUILD_SHARED_LIBS)
  set(SOFTNEURO_PC_CFLAGS " -DSOFTNEURO_SHARED")
endif()
set(_packages softneuro)
if(TARGET softneuro_import)
  list(APPEND _packages softneuro_import)
endif()
foreach(_name IN LISTS _packages)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${_name}.pc.in"
                 "${PROJECT_BINARY_DIR}/${_name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${_name}.pc"
          DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endforeach()

# The documents, and what they link to (tests/docs/check_links.cmake).
foreach(_linked IN ITEMS cmake/toolchains fuzz/README.md tests/differential/README.md
                         tests/tuned/README.md)
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/${_linked}")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${_linked}/"
            DESTINATION "${CMAKE_INSTALL_DOCDIR}/${_linked}")
  else()
    cmake_path(GET _linked PARENT_PATH _folder)
    install(FILES "${PROJECT_SOURCE_DIR}/${_linked}"
            DESTINATION "${CMAKE_INSTALL_DOCDIR}/${_folder}")
  endif()
endforeach()
foreach(_document IN ITEMS LICENSE README.md CHANGELOG.md CONTRIBUTING.md HACKING.md docs examples
                           schemas)
  set(_path "${PROJECT_SOURCE_DIR}/${_document}")
  if(IS_DIRECTORY "${_path}")
    install(DIRECTORY "${_path}/" DESTINATION ${CMAKE_INSTALL_DOCDIR}/${_document})
  elseif(EXISTS "${_path}")
    install(FILES "${_path}" DESTINATION ${CMAKE_INSTALL_DOCDIR})
  endif()
endforeach()
