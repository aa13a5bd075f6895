# SPDX-License-Identifier: Apache-2.0
"""scripts/check_sources.py says so when a source file lacks what it must have."""

import unittest

from tree import TreeTest

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"


class CheckSources(TreeTest):
    script = "check_sources.py"

    def test_a_proper_header_is_fine(self):
        self.assert_clean({"host/objects/pod.h": SPDX + "#pragma once\n"})

    def test_a_missing_licence_line_is_found(self):
        self.assert_found({"host/objects/pod.cpp": "int x;\n"}, "host/objects/pod.cpp:1: ")

    def test_a_missing_include_guard_is_found(self):
        self.assert_found({"host/objects/pod.h": SPDX}, "host/objects/pod.h:1: ")

    def test_a_header_that_says_why_it_has_no_guard_is_fine(self):
        self.assert_clean({"host/engine/body.h": SPDX + "// No include guard: compiled once per instruction set.\n"})

    def test_an_open_end_is_found(self):
        self.assert_found({"host/objects/pod.cpp": SPDX + "// TO" + "DO: later\n"}, "host/objects/pod.cpp:2: ")

    def test_a_long_line_is_found(self):
        self.assert_found({"host/objects/pod.cpp": SPDX + "//" + "x" * 119 + "\n"}, "host/objects/pod.cpp:2: ")

    def test_a_file_of_too_many_lines_is_found(self):
        def text(lines):
            return SPDX + "// a line\n" * (lines - 1)
        self.assert_clean({"host/objects/pod.cpp": text(450)})
        self.assert_found({"host/objects/pod.cpp": text(451)}, "host/objects/pod.cpp:450: ")

    def test_a_library_that_prints_is_found_and_the_program_may(self):
        self.assert_found({"host/objects/pod.cpp": SPDX + "void f() { std::cout << 1; }\n",
                           "host/cli/main.cpp": SPDX + "void f() { print_message(text); }\n"},
                          "host/objects/pod.cpp:2: ")

    def test_a_message_beside_the_one_function_for_messages_is_found(self):
        for line in ("std::cerr << 1;", "fmt::print(stderr, text);", "fputs(text, stdout);", 'printf("x");'):
            self.assert_found({"host/cli/main.cpp": SPDX + f"void f() {{ {line} }}\n"}, "host/cli/main.cpp:2: ")


if __name__ == "__main__":
    unittest.main()
