# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` copies: the program, its man page and shell completions (host/cli writes them), the schemas of its
# documents, libberth with its header and what find_package() and pkg-config read, and the licence. No file names the prefix,
# so the tree can be moved. Nothing here when no program is built.

if(NOT TARGET berth)
  return()
endif()

install(TARGETS berth RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(FILES "${berth_pages}/berth.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES "${berth_pages}/berth.bash" RENAME berth
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
install(FILES "${berth_pages}/_berth" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
install(FILES "${berth_pages}/berth.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
install(FILES docs/schemas/schedule-report.schema.json docs/schemas/explain-record.schema.json
              docs/schemas/simulate-report.schema.json docs/schemas/result-record.schema.json
        DESTINATION "${CMAKE_INSTALL_DATADIR}/berth/schemas")

# The component "library" is libberth alone. Optional: a build of the program has no library.
install(TARGETS berth_library EXPORT berthTargets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library NAMELINK_COMPONENT library OPTIONAL)
if(TARGET berth_archive)
  install(FILES "${PROJECT_BINARY_DIR}/libberth.a" DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT library OPTIONAL)
endif()
install(FILES include/berth/berth.h include/berth/plugin.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/berth" COMPONENT library)
set(berth_cmake_folder "${CMAKE_INSTALL_LIBDIR}/cmake/berth")
install(EXPORT berthTargets NAMESPACE berth:: DESTINATION "${berth_cmake_folder}" COMPONENT library)
include(CMakePackageConfigHelpers)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/berthConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES cmake/berthConfig.cmake "${PROJECT_BINARY_DIR}/berthConfigVersion.cmake"
        DESTINATION "${berth_cmake_folder}" COMPONENT library)
file(RELATIVE_PATH berth_pc_up "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" berth_pc_up "${berth_pc_up}")
configure_file(cmake/berth.pc.in "${PROJECT_BINARY_DIR}/berth.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/berth.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT library)

install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
