# SPDX-License-Identifier: Apache-2.0
"""A throw-away source tree on which a check of scripts/ is run."""

import os
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts")


class TreeTest(unittest.TestCase):
    script = None  # file name in scripts/

    def check(self, files):
        """Writes {path: text}, runs the script on that tree and returns (exit status, lines it printed)."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run([sys.executable, os.path.join(SCRIPTS, self.script), "--root", root],
                                  stdout=subprocess.PIPE, text=True, check=False)
            return done.returncode, done.stdout.splitlines()

    def assert_clean(self, files):
        status, lines = self.check(files)
        self.assertEqual(status, 0, lines)

    def assert_found(self, files, *beginnings):
        """The script fails and prints one line for each beginning, and no other but its summary."""
        status, lines = self.check(files)
        self.assertEqual(status, 1, lines)
        self.assertEqual(len(lines) - 1, len(beginnings), lines)
        for line, beginning in zip(lines, beginnings):
            self.assertTrue(line.startswith(beginning), (line, beginning))
