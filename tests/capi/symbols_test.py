# SPDX-License-Identifier: Apache-2.0
"""What libberth.so exports is what berth.h declares, and the archive too; the C test calls every function."""

import ctypes
import glob
import os
import re
import subprocess
import unittest

SOURCE = os.environ["BERTH_SOURCE"]
LIBRARY = os.environ["BERTH_LIBRARY"]
ARCHIVE = os.environ["BERTH_ARCHIVE"]


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def declared():
    return set(re.findall(r"^BERTH_API [^;(]*?\b(berth_\w+)\(", read("include/berth/berth.h"), re.MULTILINE))


def defined_symbols(*command):
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    # "<address> <type> <name>@@<version>"; the version itself is a symbol of type A, and an archive names its members
    fields = [line.split() for line in lines]
    return {field[2].split("@")[0] for field in fields if len(field) == 3 and field[1] != "A"}


class Symbols(unittest.TestCase):
    def test_the_header_declares_functions(self):
        self.assertIn("berth_snapshot_check", declared())
        self.assertGreater(len(declared()), 50)

    def test_the_library_exports_what_the_header_declares_and_no_more(self):
        self.assertEqual(defined_symbols("nm", "-D", "--defined-only", LIBRARY), declared())

    def test_the_archive_exports_what_the_header_declares_and_no_more(self):
        if not ARCHIVE:
            self.skipTest("this build makes no archive")
        symbols = defined_symbols("nm", "-g", "--defined-only", ARCHIVE)
        # Unique symbols of the standard library's templates are shared by all objects of a program on purpose.
        unique = {name for name in symbols if name.startswith("_Z")}
        lines = subprocess.run(("nm", "-g", "--defined-only", ARCHIVE), stdout=subprocess.PIPE, text=True, check=True).stdout
        for name in unique:
            self.assertRegex(lines, rf" u {re.escape(name)}\n")
        self.assertEqual(symbols - unique, declared())

    def test_of_cpp_libraries_the_library_takes_what_the_page_names_and_no_more(self):
        """A program that exports other definitions of these gives them to the library."""
        undefined = subprocess.run(("nm", "-D", "--undefined-only", LIBRARY), stdout=subprocess.PIPE, text=True, check=True).stdout
        names = {line.split()[-1].split("@")[0] for line in undefined.splitlines()}
        self.assertEqual({name for name in names if re.search("simdjson|fmt2v|spdlog", name)},
                         {"_ZN8simdjson25get_active_implementationEv", "_ZN8simdjson8internal11error_codesE",
                          "_ZN8simdjson8internal8to_charsEPcPKcd"} & names)

    def test_the_c_test_calls_every_function(self):
        parts = glob.glob("tests/capi/embedding_*.c", root_dir=SOURCE)
        called = {name for part in parts for name in re.findall(r"\b(berth_\w+)\(", read(part))}
        self.assertEqual(declared() - called, set())

    def test_columns_have_the_names_of_their_constants(self):
        constants = re.findall(r"\bBERTH_COLUMN_(\w+) =\s*(\d+)", read("include/berth/berth.h"))
        self.assertGreater(len(constants), 40)
        name_of = ctypes.CDLL(LIBRARY).berth_column_name
        name_of.restype = ctypes.c_char_p
        self.assertEqual({name: name_of(int(number)).decode() for name, number in constants},
                         {name: name.lower() for name, _ in constants})

    def test_the_library_has_a_soname_and_needs_no_library_of_the_program(self):
        dynamic = subprocess.run(("readelf", "-d", LIBRARY), stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertRegex(dynamic, r"SONAME.*\[libberth\.so\.0\]")
        needed = re.findall(r"NEEDED.*\[(\S+?)\.so", dynamic)
        self.assertLessEqual(set(needed), {"libtbb", "libsimdjson", "libyaml-0", "libz", "libzstd", "libstdc++", "libm",
                                           "libgcc_s", "libc", "ld-linux-x86-64", "ld-linux-aarch64", "libpthread"})


if __name__ == "__main__":
    unittest.main()
