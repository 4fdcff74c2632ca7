# The installation for embedders: include/eris, the libraries that eris::engine needs, and a package that
# find_package(eris) finds. The program installs itself in clients/cli/CMakeLists.txt.
#   cmake --install build/release --prefix <prefix>                           everything
#   cmake --install build/release --prefix <prefix> --component Development   for embedders only
include(CMakePackageConfigHelpers)

set(ERIS_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/eris)
set(exported eris_api eris_flags)
foreach(name IN LISTS ERIS_LAYERS)
  if(TARGET eris_${name})
    list(APPEND exported eris_${name})
  endif()
endforeach()
set_target_properties(eris_flags PROPERTIES EXPORT_NAME flags)

install(TARGETS ${exported} EXPORT erisTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Development
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT Development)
# The C interface: liberis.so with eris.pc, which moves with the prefix.
if(TARGET eris_shared)
  install(TARGETS eris_shared EXPORT erisTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Development)
  file(RELATIVE_PATH ERIS_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" ERIS_PREFIX_FROM_PC "${ERIS_PREFIX_FROM_PC}")
  configure_file(${CMAKE_CURRENT_LIST_DIR}/eris.pc.in ${PROJECT_BINARY_DIR}/eris.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/eris.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT Development)
endif()
install(EXPORT erisTargets NAMESPACE eris:: DESTINATION ${ERIS_CMAKE_DIR} COMPONENT Development)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/erisConfig.cmake.in
  ${PROJECT_BINARY_DIR}/erisConfig.cmake INSTALL_DESTINATION ${ERIS_CMAKE_DIR})
# 0.x: any minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/erisConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/erisConfig.cmake ${PROJECT_BINARY_DIR}/erisConfigVersion.cmake
  DESTINATION ${ERIS_CMAKE_DIR} COMPONENT Development)
