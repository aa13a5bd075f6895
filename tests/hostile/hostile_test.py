# SPDX-License-Identifier: Apache-2.0
"""Each check of hostile.py can fail: programs that do one thing wrong are found, and a good one is not."""

import os
import stat
import subprocess
import sys
import tempfile
import unittest

import corpus
import derived
import mutations
import outcome

HERE = os.path.dirname(os.path.abspath(__file__))
PROMISED = {0, 1, 2, 3, 4, 5}
LIMITS = outcome.Limits(seconds=1, rss_bytes=200 << 20)


class Checks(unittest.TestCase):
    def problem(self, script, **fields):
        """The problem of a run of `script` by the shell."""
        with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
            file.write(script)
            file.flush()
            given = outcome.Input("test", fields.pop("arguments", []), **fields)
            result = outcome.run(["/bin/sh", file.name], given, LIMITS)
            return outcome.problem_of(given, result, LIMITS, PROMISED)

    def test_a_good_program_has_no_problem(self):
        self.assertEqual(self.problem("echo done"), "")
        self.assertEqual(self.problem("echo 'berth: bad input' >&2; exit 1"), "")
        self.assertEqual(self.problem('echo "berth: caf\u00e9" >&2'), "")

    def test_a_crash_is_found(self):
        self.assertIn("SIGABRT", self.problem("kill -ABRT $$"))
        self.assertIn("SIGSEGV", self.problem("kill -SEGV $$"))

    def test_a_hang_is_found(self):
        self.assertIn("hangs", self.problem("while :; do :; done"))
        self.assertIn("hangs", self.problem("exec sleep 100"))

    def test_memory_beyond_the_limit_is_found(self):
        hungry = f"exec {sys.executable} -c 'x = bytearray(300 << 20)'"
        self.assertIn("MiB of memory", self.problem(hungry))

    def test_an_exit_code_that_is_not_promised_is_found(self):
        self.assertIn("ends with 7", self.problem("echo 'berth: x' >&2; exit 7"))

    def test_an_unexpected_exit_code_is_found(self):
        self.assertIn("expected 2", self.problem("echo 'berth: x' >&2; exit 1", expected=(2,)))

    def test_control_bytes_on_standard_error_are_found(self):
        for text in (r"\033[31m", r"\r", r"\007", r"\177", r"\302\233", r"\342\200\256", r"\342\200\250", r"\377"):
            self.assertIn("control byte on stderr", self.problem(f"printf 'berth: {text}\\n' >&2"), text)

    def test_control_bytes_on_standard_output_are_found(self):
        self.assertIn("control byte on stdout", self.problem(r"printf '\033[31m\n'"))

    def test_a_forged_line_is_found(self):
        self.assertIn("not the program's", self.problem("printf 'berth: a\\nwarning\\n' >&2"))

    def test_a_silent_error_is_found(self):
        self.assertIn("says nothing", self.problem("exit 1"))
        self.assertEqual(self.problem("exit 1", streams={2: "full"}), "")

    def test_streams_are_what_they_are_called(self):
        write = 'echo x >&{n} && exit 3; exit 4'
        for number in (1, 2):
            for kind in ("closed", "full"):
                given = outcome.Input("test", ["-c", write.format(n=number)], streams={number: kind})
                self.assertEqual(outcome.run(["/bin/sh"], given, LIMITS).exit_code, 4, kind)
            given = outcome.Input("test", ["-c", write.format(n=number)], streams={number: "pipe"})
            self.assertEqual(outcome.run(["/bin/sh"], given, LIMITS).exit_code, -13)

    def test_the_promised_codes_are_those_of_the_page(self):
        with open(os.path.join(HERE, "..", "..", "docs", "cli.md"), encoding="utf-8") as page:
            self.assertEqual(outcome.promised_exit_codes(page.read()), PROMISED)


class Inputs(unittest.TestCase):
    def test_names_are_unique_and_there_are_more_than_a_thousand(self):
        names = [given.name for group in (corpus, derived) for given in group.inputs()]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreater(len(names), 1000)

    def test_mutations_depend_on_seed_and_number_alone(self):
        first = [given.stdin for given in mutations.inputs(20, 1)]
        self.assertEqual(first, [given.stdin for given in mutations.inputs(20, 1)])
        self.assertEqual(first[:10], [given.stdin for given in mutations.inputs(10, 1)])
        self.assertNotEqual(first, [given.stdin for given in mutations.inputs(20, 2)])


class Program(unittest.TestCase):
    def run_script(self, script):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "berth")
            with open(program, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n" + script)
            os.chmod(program, stat.S_IRWXU)
            return subprocess.run([sys.executable, os.path.join(HERE, "hostile.py"), "--berth", program, "--inputs", "0",
                                   "--only", "usage/unknown"], capture_output=True, text=True, check=False)

    def test_the_last_line_counts_and_the_exit_status_tells(self):
        good = self.run_script("echo 'berth: usage' >&2; exit 2\n")
        self.assertEqual((good.returncode, good.stdout.splitlines()[-1]), (0, "hostile: 3 inputs, 0 failed"))
        bad = self.run_script("kill -ABRT $$\n")
        self.assertEqual((bad.returncode, bad.stdout.splitlines()[-1]), (1, "hostile: 3 inputs, 3 failed"))


if __name__ == "__main__":
    unittest.main()
