# SPDX-License-Identifier: Apache-2.0
"""The reference that doxygen makes of include/berth: no warning, and for each function programs that call it. The programs are
tests, or are built and run by tests."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = os.environ.get("BERTH_SOURCE", os.getcwd())


@unittest.skipUnless(shutil.which("doxygen"), "doxygen is not installed: scripts/install_dependencies.sh reference")
class Reference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        with open(os.path.join(SOURCE, "docs/reference/Doxyfile"), encoding="utf-8") as file:
            settings = file.read() + f"OUTPUT_DIRECTORY = {cls.folder}\n"
        run = subprocess.run(("doxygen", "-"), input=settings, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, check=False)
        cls.warnings = run.stdout

    def sections(self, page):
        """{function: the text of its section}"""
        with open(os.path.join(self.folder, "html", page), encoding="utf-8") as file:
            parts = re.split(r'<h2 class="memtitle">', file.read())[1:]
        named = ((re.search(r"</span>(\w+)\(\)</h2>", part), part) for part in parts)
        return {name[1]: part for name, part in named if name}

    def test_doxygen_warns_of_nothing(self):
        self.assertEqual(self.warnings, "")

    def test_every_function_has_an_example(self):
        with open(os.path.join(SOURCE, "include/berth/berth.h"), encoding="utf-8") as file:
            declared = set(re.findall(r"^BERTH_API [^;(]*?\b(berth_\w+)\(", file.read(), re.MULTILINE))
        sections = self.sections("berth_8h.html")
        self.assertEqual(declared - set(sections), set())
        self.assertEqual({name for name in declared if 'class="section examples"' not in sections[name]}, set())


if __name__ == "__main__":
    unittest.main()
