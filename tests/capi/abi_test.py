# SPDX-License-Identifier: Apache-2.0
"""Programs that were compiled against the header of before still run: its binary interface is that of tests/capi/libberth.abi.

`make abi` writes that file anew, where a change is wanted: fields are appended, and BERTH_ABI_VERSION and the soname count up with
whatever breaks programs."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import abi_stub

SOURCE = os.environ.get("BERTH_SOURCE", os.getcwd())
BASELINE = os.path.join(SOURCE, "tests/capi/libberth.abi")


def headers():
    texts = {}
    for name in ("berth.h", "plugin.h"):
        with open(os.path.join(SOURCE, "include/berth", name), encoding="utf-8") as file:
            texts[f"berth/{name}"] = file.read()
    return texts


def replaced(name, old, new):
    """The headers, with another text in one of them."""
    texts = headers()
    if texts[name].count(old) != 1:
        raise AssertionError(f"{old!r} stands {texts[name].count(old)} times in {name}")
    return {**texts, name: texts[name].replace(old, new)}


def write_baseline():
    with tempfile.TemporaryDirectory() as folder:
        abi_stub.describe(abi_stub.build(headers(), folder), BASELINE)


@unittest.skipUnless(shutil.which("abidw"), "abidw is not installed: scripts/install_dependencies.sh reference")
class BinaryInterface(unittest.TestCase):
    def differences(self, texts):
        """What abidiff says of headers beside the baseline; empty: nothing."""
        with tempfile.TemporaryDirectory() as folder:
            described = os.path.join(folder, "now.abi")
            abi_stub.describe(abi_stub.build(texts, folder), described)
            run = subprocess.run(("abidiff", "--no-show-locs", BASELINE, described), stdout=subprocess.PIPE, text=True, check=False)
            self.assertEqual(run.returncode != 0, run.stdout != "", run.stdout)
            return run.stdout

    def test_the_stub_has_every_function(self):
        for text in headers().values():
            declared = set(re.findall(r"^BERTH_API [^;(]*?\b(berth_\w+)\(", text, re.MULTILINE))
            self.assertEqual({name for _, name, _ in abi_stub.declarations(text)}, declared)

    def test_it_is_the_one_of_the_baseline(self):
        self.assertEqual(self.differences(headers()), "", "make abi takes over a change that is wanted")

    def test_another_field_is_seen(self):
        self.assertIn("berth_check_options", self.differences(
            replaced("berth/berth.h", "} berth_check_options;", "  uint64_t more;\n} berth_check_options;")))

    def test_another_parameter_is_seen(self):
        self.assertIn("berth_cluster_version", self.differences(
            replaced("berth/berth.h", "berth_cluster_version(const berth_cluster* cluster, uint64_t* version,",
                     "berth_cluster_version(const berth_cluster* cluster, uint64_t* version, int more,")))

    def test_another_entry_of_plugins_is_seen(self):
        self.assertIn("berth_plugin", self.differences(
            replaced("berth/plugin.h", "  uint32_t reserved;\n  const char* name;", "  uint64_t reserved;\n  const char* name;")))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write_baseline()
    else:
        unittest.main()
