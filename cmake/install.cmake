# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` copies: the program, its man page and shell completions (host/cli writes them), the schemas of its
# documents, and the licence. No file names the prefix, so the tree can be moved. Nothing here when no program is built.

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
              docs/schemas/simulate-report.schema.json
        DESTINATION "${CMAKE_INSTALL_DATADIR}/berth/schemas")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
