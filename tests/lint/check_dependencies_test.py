# SPDX-License-Identifier: Apache-2.0
"""scripts/check_dependencies.py says so when the build asks for a library that no source includes."""

import unittest

from tree import TreeTest

INSTALL = """packages_of() {
  case "$1" in
    build) echo g++ libfmt-dev \\
                libtbb-dev ;;
    test)  echo libgtest-dev python3 ;;
    *)     echo "unknown" >&2; return 2 ;;
  esac
}
"""
CMAKE = "find_package(Threads REQUIRED)\nfind_package(fmt REQUIRED)\nfind_package(TBB REQUIRED)\nfind_package(GTest)\n"


def tree(install=INSTALL, cmake=CMAKE, **sources):
    files = {"scripts/install_dependencies.sh": install, "cmake/dependencies.cmake": cmake,
             "host/cli/a.cpp": "#include <fmt/core.h>\n", "host/objects/b.cpp": "#include <tbb/task.h>\n",
             "tests/unit/a_test.cpp": "#include <gtest/gtest.h>\n"}
    files.update({path.replace("__", "/") + ".cpp": text for path, text in sources.items()})
    return files


class CheckDependencies(TreeTest):
    script = "check_dependencies.py"

    def test_libraries_that_are_included_are_fine(self):
        self.assert_clean(tree())

    def test_a_package_that_no_source_includes_is_found(self):
        files = tree()
        del files["host/objects/b.cpp"]
        self.assert_found(files, "scripts/install_dependencies.sh:4: no source of host")

    def test_a_package_of_the_build_that_only_tests_include_is_found(self):
        files = tree(tests__unit__c_test="#include <tbb/task.h>\n")
        del files["host/objects/b.cpp"]
        self.assert_found(files, "scripts/install_dependencies.sh:4: no source of host")

    def test_a_package_that_the_table_lacks_is_found(self):
        self.assert_found(tree(install=INSTALL.replace("libgtest-dev", "libgtest-dev libnew-dev")),
                          "scripts/install_dependencies.sh:5: libnew-dev is not in the table")

    def test_a_library_that_is_asked_for_and_not_installed_is_found(self):
        self.assert_found(tree(cmake=CMAKE + "berth_use_pkg_config(zstd libzstd)\n"), "cmake/dependencies.cmake:5: zstd")


if __name__ == "__main__":
    unittest.main()
