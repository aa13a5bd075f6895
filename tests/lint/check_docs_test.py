# SPDX-License-Identifier: Apache-2.0
"""scripts/check_docs.py says so when a page names a path that is not there."""

import unittest

from tree import TreeTest


class CheckDocs(TreeTest):
    script = "check_docs.py"

    def test_paths_that_exist_and_words_that_are_none_are_fine(self):
        page = "`host/pod.h` `host/{pod,node}.h` `host/*.h` `Gt/Lt` `host/<name>` `build/host/berth` [x](docs/a.md)\n"
        self.assert_clean({"README.md": page, "host/pod.h": "", "host/node.h": "", "docs/a.md": ""})

    def test_a_path_in_backticks_that_is_missing_is_found(self):
        self.assert_found({"README.md": "see\n`host/nod.h`\n", "host/pod.h": ""}, "README.md:2: ")

    def test_a_link_that_leads_nowhere_is_found(self):
        self.assert_found({"docs/a.md": "[x](b.md)\n"}, "docs/a.md:1: ")

    def test_a_missing_alternative_in_braces_is_found(self):
        self.assert_found({"docs/a.md": "`host/{pod,node}.h`\n", "host/pod.h": ""}, "docs/a.md:1: ")

    def test_what_stands_in_a_code_block_is_not_looked_at(self):
        self.assert_clean({"docs/a.md": "```\n`host/no.h`\n```\n", "host/pod.h": ""})


if __name__ == "__main__":
    unittest.main()
