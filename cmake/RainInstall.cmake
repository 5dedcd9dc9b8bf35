# What `cmake --install` puts down: the command, the client and worker libraries with all they link, their headers, and
# the files by which find_package(rain) and pkg-config find them. tests/install builds a program against the result.
include(CMakePackageConfigHelpers)

set(RAIN_LIBRARIES rain_base rain_wire rain_rpc rain_transport rain_client rain_control_block rain_worker)
# Beside them, where there is gRPC: rain_client_share. A component of its own, so that nobody else needs what it needs.
# The headers below src/ that the public ones include, as "base/...": installed beside them, where a compiler looks for
# such names first, so that users need no further include folder. They must not include each other.
set(RAIN_BASE_HEADERS drop_reasons.h endpoint.h ids.h time.h)

install(TARGETS ${RAIN_LIBRARIES} EXPORT rainTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT rainTargets NAMESPACE rain:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rain)
install(DIRECTORY include/rain DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} PATTERN client_share.h EXCLUDE)
list(TRANSFORM RAIN_BASE_HEADERS PREPEND src/base/ OUTPUT_VARIABLE base_headers)
install(FILES ${base_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rain/base)
if(RAIN_HAS_CONTROLLER)
  install(TARGETS rain_client_share rain_control_messages EXPORT rainClientShareTargets)
  install(EXPORT rainClientShareTargets NAMESPACE rain:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rain)
  install(FILES include/rain/client_share.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rain)
endif()
if(TARGET rain)
  install(TARGETS rain)
endif()

configure_package_config_file(cmake/rainConfig.cmake.in ${PROJECT_BINARY_DIR}/rainConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rain)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rainConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rainConfig.cmake ${PROJECT_BINARY_DIR}/rainConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rain)

# Relative to the .pc file itself, so that --prefix at install time needs no other file.
set(RAIN_PC_LIBS)
foreach(library IN LISTS RAIN_LIBRARIES)
  get_target_property(type ${library} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    set(RAIN_PC_LIBS "-l${library} ${RAIN_PC_LIBS}")  # a library stands before those that it needs
  endif()
endforeach()
file(RELATIVE_PATH RAIN_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/rain.pc.in ${PROJECT_BINARY_DIR}/rain.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rain.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(RAIN_HAS_CONTROLLER)
  string(JOIN " " RAIN_PC_SHARE_LIBS ${RAIN_GRPCPP_LIBRARY} ${RAIN_GRPC_LIBRARY} ${RAIN_GPR_LIBRARY}
    ${RAIN_PROTOBUF_LIBRARY} ${RAIN_ABSL_LIBRARY} -lcrypto -lfmt -lpthread)
  configure_file(cmake/rain_client_share.pc.in ${PROJECT_BINARY_DIR}/rain_client_share.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/rain_client_share.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
