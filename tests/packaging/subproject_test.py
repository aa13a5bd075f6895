# SPDX-License-Identifier: Apache-2.0
"""The consumer of tests/packaging/subproject is compiled and linked with its own flags, and runs no test of Berth's."""

import json
import os
import re
import subprocess
import unittest

CONSUMER = os.environ["BERTH_CONSUMER"]
# What every user of Berth's headers needs: scores would differ where a multiply-add is fused.
NEEDED = {"-ffp-contract=off"}


class Subproject(unittest.TestCase):
    def test_the_consumer_is_compiled_with_its_own_flags(self):
        with open(os.path.join(CONSUMER, "compile_commands.json"), encoding="utf-8") as file:
            commands = [entry["command"] for entry in json.load(file)]
        own = [command for command in commands if command.endswith("consumer.cpp")]
        self.assertEqual(len(own), 1, commands)
        foreign = set(re.findall(r"\s(-[Wfm]\S+)", own[0])) - NEEDED
        self.assertEqual(foreign, set(), own[0])

    def test_the_consumer_is_linked_with_its_own_flags(self):
        done = subprocess.run(["ninja", "-C", CONSUMER, "-t", "commands", "consumer"],
                              stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            self.skipTest("not a build of Ninja")
        link = done.stdout.splitlines()[-1]
        self.assertIn(" -o consumer ", link)
        self.assertEqual(re.findall(r"\s-(?:fuse-ld|fsanitize|flto)\S*", link), [], link)

    def test_no_test_of_berth_is_added(self):
        done = subprocess.run([os.environ["BERTH_CTEST"], "--test-dir", CONSUMER, "-N"],
                              stdout=subprocess.PIPE, text=True, check=True)
        self.assertNotIn("Test #", done.stdout)


if __name__ == "__main__":
    unittest.main()
