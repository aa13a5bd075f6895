# SPDX-License-Identifier: Apache-2.0
"""scripts/check_citations.py reports a citation of a section or worked example that does not exist."""

import unittest

from tree import TreeTest

PAGE = "docs/behaviour/plugins-node.md"
PAGES = {
    PAGE: "# Node\n\n## 1. Quantities\n\n### 1.1 Reading\n\n### 1.2 Names\n\n| E-Q-1 | cpu |\n\n## 2. Cycle\n",
    "docs/behaviour/plugins-topology.md": "# Topology\n\n## 0. Quirks\n\n| Q2 | x |\n\n## 1. Words\n\n**P1, skew.** x\n",
}


class CheckCitations(TreeTest):
    script = "check_citations.py"

    def assert_cites(self, path, text, *beginnings):
        if beginnings:
            self.assert_found({**PAGES, path: text}, *beginnings)
        else:
            self.assert_clean({**PAGES, path: text})

    def test_sections_that_exist_pass(self):
        self.assert_cites("host/a.h", f"// Rounds up: {PAGE} 1.1, 1.2 and 2. Never down.\n// See {PAGE}.\n")

    def test_a_missing_section_is_found(self):
        self.assert_cites("host/a.h", f"int x;\n// {PAGE} 1.3.\n", f"host/a.h:2: {PAGE} has no section 1.3")

    def test_each_number_of_a_list_is_checked(self):
        self.assert_cites("plugins/a.cpp", f"// {PAGE} 1.1, 1.7 and 9\n", "plugins/a.cpp:1: ", "plugins/a.cpp:1: ")

    def test_both_ends_of_a_range_are_checked(self):
        self.assert_cites("host/a.cu", f"// {PAGE} 1.1 to 1.4\n", "host/a.cu:1: ")

    def test_a_citation_that_is_wrapped_is_checked(self):
        self.assert_cites("host/a.h", f"/// {PAGE}\n/// 1.9 says so\n", "host/a.h:1: ")

    def test_a_missing_page_is_found(self):
        self.assert_cites("docs/a.md", "docs/behaviour/queue.md 1\n", "docs/a.md:1: there is no page")

    def test_a_link_between_pages_is_checked(self):
        page = "docs/behaviour/scheduler-core.md"
        self.assert_cites(page, "# Core\n\nsee [x](plugins-node.md) 1.2 and\n[x](plugins-node.md) 7.\n", f"{page}:4: ")

    def test_the_former_path_is_found(self):
        self.assert_cites("host/a.h", "// spec/plugins-node.md 1.1\n", "host/a.h:1: spec/plugins-node.md is")

    def test_a_section_without_its_page_is_found(self):
        self.assert_cites("host/a.h", "// as section 1.1 has it\n", "host/a.h:1: 'section 1.1' names no page")

    def test_examples_that_exist_pass(self):
        self.assert_cites("tests/a_test.cpp", "TEST(Q, E_Q_1_RoundsUp) {}\nTEST(P, E_P1_Skew) {}\nTEST(P, E_Q2_All) {}\n")

    def test_a_missing_example_is_found(self):
        self.assert_cites("tests/a_test.cpp", "TEST(Q, E_Q_2_RoundsUp) {}\n", "tests/a_test.cpp:1: docs/behaviour has no")

    def test_a_missing_example_without_dashes_is_found(self):
        self.assert_cites("tests/a_test.cpp", "TEST(P, E_P7_Skew) {}\n", "tests/a_test.cpp:1: docs/behaviour has no")


if __name__ == "__main__":
    unittest.main()
