# SPDX-License-Identifier: Apache-2.0
# Installs the program, its man page and its shell completions; the program prints the latter two itself, from the
# same source as --help. Nothing here when no program is built.

if(NOT TARGET berth)
  return()
endif()

set_target_properties(berth PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
install(TARGETS berth RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")

set(berth_pages "${PROJECT_BINARY_DIR}/pages")
# berth_add_page(<file> <arguments of berth ...>): the file holds what `berth <arguments>` prints.
function(berth_add_page file)
  add_custom_command(OUTPUT "${berth_pages}/${file}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${berth_pages}"
    COMMAND berth ${ARGN} > "${berth_pages}/${file}"
    DEPENDS berth COMMENT "Writing ${file}" VERBATIM)
endfunction()
berth_add_page(berth.1 man)
berth_add_page(berth.bash completion bash)
berth_add_page(_berth completion zsh)
berth_add_page(berth.fish completion fish)
add_custom_target(berth_pages ALL
  DEPENDS "${berth_pages}/berth.1" "${berth_pages}/berth.bash" "${berth_pages}/_berth" "${berth_pages}/berth.fish")

install(FILES "${berth_pages}/berth.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES "${berth_pages}/berth.bash" RENAME berth
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
install(FILES "${berth_pages}/_berth" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
install(FILES "${berth_pages}/berth.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
