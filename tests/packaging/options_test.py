# SPDX-License-Identifier: Apache-2.0
"""BERTH_LTO and BERTH_MARCH reach every object, and leave the kernels' instruction sets and the rounding alone."""

import json
import os
import platform
import subprocess
import tempfile
import unittest

ARM = platform.machine() in ("aarch64", "arm64")
MARCH = "armv8.1-a" if ARM else "x86-64-v2"
KERNELS = {} if ARM else {"slot_kernel_avx2.cpp": "x86-64-v3", "slot_kernel_avx512.cpp": "x86-64-v4"}


class Options(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as build:
            subprocess.run([os.environ["BERTH_CMAKE"], "-S", os.environ["BERTH_SOURCE"], "-B", build, "-G", "Ninja",
                            "-DBERTH_TESTS=OFF", "-DBERTH_CUDA=OFF", "-DBERTH_LTO=ON", f"-DBERTH_MARCH={MARCH}"],
                           stdout=subprocess.DEVNULL, check=True)
            with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
                cls.words = {os.path.basename(entry["file"]): entry["command"].split() for entry in json.load(file)}

    def last(self, file, option):
        return [word for word in self.words[file] if word.startswith(option)][-1:]

    def test_every_object_is_compiled_for_the_processor_and_kernels_for_their_own(self):
        for file in self.words:
            self.assertEqual(self.last(file, "-march="), ["-march=" + KERNELS.get(file, MARCH)], file)

    def test_every_object_is_optimised_when_linking(self):
        for file, words in self.words.items():
            self.assertTrue(any(word.startswith("-flto") for word in words), file)

    def test_no_object_may_fuse_or_reorder_arithmetic(self):
        for file, words in self.words.items():
            self.assertEqual(self.last(file, "-ffp-contract="), ["-ffp-contract=off"], file)
            self.assertFalse({"-ffast-math", "-Ofast", "-fassociative-math"} & set(words), file)


if __name__ == "__main__":
    unittest.main()
