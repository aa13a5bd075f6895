# SPDX-License-Identifier: Apache-2.0
"""examples/c_minimal builds and runs against an installed libberth: by find_package, by pkg-config, and with the archive.

examples/plugin too, which then passes its own tests and runs in the program. valgrind finds no error in either, and no memory that
was lost, directly or indirectly."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ["BERTH_BUILD"]
SOURCE = os.environ["BERTH_SOURCE"]
COMPILER = os.environ["BERTH_CC"]
HAS_ARCHIVE = os.environ["BERTH_HAS_ARCHIVE"] == "1"
EXAMPLE = os.path.join(SOURCE, "examples", "c_minimal")
PLUGIN = os.path.join(SOURCE, "examples", "plugin")
VALGRIND = shutil.which("valgrind")
EXPECTED = """small        no: Insufficient cpu
busy         no: Insufficient cpu
roomy        fits
goes to roomy
"""


def output_of(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **options).stdout


class Library(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        first = os.path.join(cls.folder.name, "first")
        cls.prefix = os.path.join(cls.folder.name, "moved", "here")
        output_of(os.environ["BERTH_CMAKE"], "--install", BUILD, "--component", "library", "--prefix", first)
        os.makedirs(os.path.dirname(cls.prefix))
        shutil.move(first, cls.prefix)
        cls.library_folder = os.path.dirname(cls.find("libberth.so"))
        cls.pkg_config = {**os.environ, "PKG_CONFIG_PATH": os.path.join(cls.library_folder, "pkgconfig")}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def find(cls, name):
        for at, _, names in os.walk(cls.prefix):
            if name in names:
                return os.path.join(at, name)
        raise AssertionError(f"{name} is not installed")

    def flags(self, *what):
        return output_of("pkg-config", *what, "berth", env=self.pkg_config).split()

    def run_example(self, *program):
        cluster, pod = os.path.join(EXAMPLE, "cluster.json"), os.path.join(EXAMPLE, "pod.json")
        self.assertEqual(output_of(*program, cluster, pod, env=self.environment()), EXPECTED)

    def environment(self):
        return {**os.environ, "LD_LIBRARY_PATH": self.library_folder}

    def under_valgrind(self, *program):
        """The command line, which fails with valgrind's report on an error and on lost memory."""
        return (VALGRIND, "--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite,indirect",
                "--errors-for-leak-kinds=definite,indirect", *program)

    def test_find_package(self):
        build = os.path.join(self.folder.name, "build")
        output_of(os.environ["BERTH_CMAKE"], "-S", EXAMPLE, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
                  f"-DCMAKE_C_COMPILER={COMPILER}")
        output_of(os.environ["BERTH_CMAKE"], "--build", build)
        self.run_example(os.path.join(build, "c_minimal"))
        if VALGRIND is not None:
            self.run_example(*self.under_valgrind(os.path.join(build, "c_minimal")))

    def test_the_plugin_builds_and_passes_its_own_tests(self):
        build = os.path.join(self.folder.name, "plugin")
        cmake = os.environ["BERTH_CMAKE"]
        output_of(cmake, "-S", PLUGIN, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
                  f"-DCMAKE_C_COMPILER={COMPILER}", "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror -pedantic")
        output_of(cmake, "--build", build)
        self.assertIn("100% tests passed, 0 tests failed out of 1", output_of(os.environ["BERTH_CTEST"], "--test-dir", build))
        self.assertIn("default/evicts", self.scheduled_with(os.path.join(build, "licenses.so")))
        if VALGRIND is not None:
            output_of(*self.under_valgrind(os.path.join(build, "licenses_test")), os.path.join(build, "licenses.so"), PLUGIN,
                      env=self.environment())

    def test_the_plugin_builds_with_pkg_config_and_links_nothing(self):
        plugin = os.path.join(self.folder.name, "licenses.so")
        output_of(COMPILER, "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC",
                  os.path.join(PLUGIN, "licenses.c"), *self.flags("--cflags"), "-o", plugin)
        self.assertNotIn("libberth", output_of("readelf", "-d", plugin))
        self.assertIn("default/evicts", self.scheduled_with(plugin))

    def scheduled_with(self, plugin):
        """The pods that a pod of the example preempts for, by the program."""
        report = json.loads(output_of(
            os.path.join(BUILD, "berth"), "schedule", "--plugin", plugin, "--config", os.path.join(PLUGIN, "scheduler.yaml"),
            "-q", "-o", "json", "-f", os.path.join(PLUGIN, "cluster.json"), "-f", os.path.join(PLUGIN, "pods.json")))
        return [placed["pod"] for placed in report["placements"] if placed.get("preempted") == ["default/holds-one"]]

    def test_pkg_config(self):
        program = os.path.join(self.folder.name, "with_pkg_config")
        output_of(COMPILER, "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", os.path.join(EXAMPLE, "main.c"),
                  *self.flags("--cflags", "--libs"), "-o", program)
        self.run_example(program)

    @unittest.skipUnless(HAS_ARCHIVE, "this build makes no archive")
    def test_the_archive_links_with_what_pkg_config_names(self):
        program = os.path.join(self.folder.name, "static")
        libraries = [flag for flag in self.flags("--libs", "--static") if flag != "-lberth"]
        output_of(COMPILER, "-std=c99", os.path.join(EXAMPLE, "main.c"), *self.flags("--cflags"),
                  self.find("libberth.a"), *libraries, "-o", program)
        needed = output_of("readelf", "-d", program)
        self.assertNotIn("libberth", needed)
        self.run_example(program)


if __name__ == "__main__":
    unittest.main()
