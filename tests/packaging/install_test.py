# SPDX-License-Identifier: Apache-2.0
"""What `cmake --install` puts under a prefix is complete, and works from another place."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ["BERTH_BUILD"]
SOURCE = os.environ["BERTH_SOURCE"]
EMULATOR = os.environ["BERTH_EMULATOR"].split()
INSTALLED = {
    "bin/berth",
    "share/man/man1/berth.1",
    "share/bash-completion/completions/berth",
    "share/zsh/site-functions/_berth",
    "share/fish/vendor_completions.d/berth.fish",
    "share/berth/schemas/schedule-report.schema.json",
    "share/berth/schemas/explain-record.schema.json",
    "share/berth/schemas/simulate-report.schema.json",
    "share/berth/schemas/result-record.schema.json",
    "share/doc/berth/LICENSE",
    "include/berth/berth.h",
    "include/berth/plugin.h",
}
# Below the folder of libraries, whose name is the system's.
LIBRARY = {
    "libberth.so",
    "libberth.so.0",
    "libberth.so.0.1.0",
    "cmake/berth/berthConfig.cmake",
    "cmake/berth/berthConfigVersion.cmake",
    "cmake/berth/berthTargets.cmake",
    "cmake/berth/berthTargets-" + os.environ["BERTH_BUILD_TYPE"].lower() + ".cmake",
    "pkgconfig/berth.pc",
} | ({"libberth.a"} if os.environ["BERTH_HAS_ARCHIVE"] == "1" else set())


def files_below(folder):
    return {os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names}


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.first = os.path.join(cls.folder.name, "first")
        cls.prefix = os.path.join(cls.folder.name, "moved", "here")
        subprocess.run([os.environ["BERTH_CMAKE"], "--install", BUILD, "--prefix", cls.first],
                       stdout=subprocess.DEVNULL, check=True)
        os.makedirs(os.path.dirname(cls.prefix))
        shutil.move(cls.first, cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def berth(self, *arguments):
        done = subprocess.run(EMULATOR + [os.path.join(self.prefix, "bin", "berth"), *arguments],
                              cwd=self.folder.name, stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout

    def read(self, path):
        with open(os.path.join(self.prefix, path), encoding="utf-8") as file:
            return file.read()

    def test_every_file_is_installed_and_no_other(self):
        library = {os.path.join(os.environ["BERTH_LIBRARY_FOLDER"], name) for name in LIBRARY}
        self.assertEqual(files_below(self.prefix), INSTALLED | library)

    def test_the_moved_program_places_pods(self):
        cluster = os.path.join(self.folder.name, "cluster.json")
        self.berth("generate", "--spec", os.path.join(SOURCE, "examples", "cluster.yaml"), "--seed", "1", "-o", cluster)
        report = json.loads(self.berth("schedule", "-f", cluster, "-o", "json", "--threads", "1"))
        self.assertGreater(len(report["placements"]), 0)

    def test_pages_are_those_of_the_program(self):
        self.assertEqual(self.read("share/man/man1/berth.1"), self.berth("man"))
        self.assertEqual(self.read("share/bash-completion/completions/berth"), self.berth("completion", "bash"))
        self.assertEqual(self.read("share/zsh/site-functions/_berth"), self.berth("completion", "zsh"))
        self.assertEqual(self.read("share/fish/vendor_completions.d/berth.fish"), self.berth("completion", "fish"))

    def test_no_file_names_the_prefix_it_was_installed_to(self):
        for path in sorted(files_below(self.prefix)):
            with open(os.path.join(self.prefix, path), "rb") as file:
                self.assertNotIn(self.first.encode(), file.read(), path)

    def test_building_the_program_alone_writes_its_pages(self):
        """`make run` builds no other target, and `cmake --install` has to work after it."""
        if os.environ["BERTH_GENERATOR"] != "Ninja":
            self.skipTest("asks Ninja what the target berth builds")
        commands = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", "berth"],
                                  stdout=subprocess.PIPE, text=True, check=True).stdout
        for page in ("berth.1", "berth.bash", "_berth", "berth.fish"):
            self.assertIn(f"/pages/{page}", commands)


if __name__ == "__main__":
    unittest.main()
