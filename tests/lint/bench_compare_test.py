# SPDX-License-Identifier: Apache-2.0
"""bench/compare.py tells a loss from a gain, and says so when two files cannot be compared."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

COMPARE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "compare.py")


def bench(**rates):
    return {"schemaVersion": 1, "runs": [
        {"backend": backend, "nodes": 5, "pods": 10, "placed": 10, "classes": 1, "podsPerSecond": rate}
        for backend, rate in rates.items()]}


def device(gpu="H200", quick=False, date="2026-01-01T00:00:00Z", tried=(), **rates):
    return {"kind": "device-result", "date": date, "quick": quick,
            "hardware": {"gpu": {"name": gpu}, "cpu": {"model": "x", "cores": 2}},
            "steps": [{"name": f"bench-{name}-cuda"} for name in [*rates, *tried]],
            "workloads": [{"name": name, "backends": {"cuda": {"podsPerSecond": rate}}} for name, rate in rates.items()] +
                         [{"name": name, "backends": {}} for name in tried]}


def google(cores=2, unit="ns", **times):
    return {"context": {"num_cpus": cores, "caches": [{"size": 1}], "library_build_type": "release"},
            "benchmarks": [{"name": name, "run_name": name, "run_type": "iteration", "real_time": time, "time_unit": unit}
                           for name, found in times.items() for time in found]}


class Compare(unittest.TestCase):
    def compare(self, old, new, *options):
        """Texts stand for themselves, other values for their JSON; a dict {file: value} within a list is a folder."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("old", "new")]
            for path, value in zip(paths, (old, new)):
                files = {path: value}
                if isinstance(value, list):
                    os.mkdir(path)
                    files = {os.path.join(path, name): each for name, each in value[0].items()}
                for name, each in files.items():
                    with open(name, "w", encoding="utf-8") as file:
                        file.write(each if isinstance(each, str) else json.dumps(each))
            done = subprocess.run([sys.executable, COMPARE, *paths, *options], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
        self.assertNotIn("Traceback", done.stdout)
        return done.returncode, done.stdout

    def assert_verdict(self, status, text, old, new, *options):
        found, output = self.compare(old, new, *options)
        self.assertEqual(found, status, output)
        self.assertIn(text, output)

    def test_a_loss_beyond_the_threshold_is_slower(self):
        self.assert_verdict(1, "| 100 | 89 | 0.890 | SLOWER |", bench(cpu=100), bench(cpu=89))

    def test_a_loss_within_the_threshold_is_the_same(self):
        self.assert_verdict(0, "| 0.910 | same |", bench(cpu=100), bench(cpu=91))
        self.assert_verdict(1, "SLOWER", bench(cpu=100), bench(cpu=91), "--threshold", "5")

    def test_a_gain_is_faster_and_no_error(self):
        self.assert_verdict(0, "| 2.000 | faster |", bench(cpu=100), bench(cpu=200))

    def test_one_slow_workload_among_quick_ones_is_named(self):
        self.assert_verdict(1, "slower by more than 10 %, or have no figure any more: b, cuda",
                            device(a=100, b=100), device(a=300, b=50))

    def test_a_workload_that_lost_its_figure_counts_as_slower(self):
        self.assert_verdict(1, "| LOST |", device(a=1, b=100), device(a=1, tried=["b"]))
        self.assert_verdict(0, "| new figure |", device(a=1, tried=["b"]), device(a=1, b=100))
        self.assert_verdict(0, "| no figure |", device(a=1, tried=["b"]), device(a=1, tried=["b"]))

    def test_other_hardware_is_not_compared(self):
        self.assert_verdict(2, "GPU was H100, is H200", device("H100", a=1), device("H200", a=1))
        self.assert_verdict(2, "cores was 2, is 4", google(cores=2, a=[1]), google(cores=4, a=[1]))
        self.assert_verdict(2, "quick was False, is True", device(a=1), device(quick=True, a=1))

    def test_other_workloads_are_not_compared_unless_asked(self):
        self.assert_verdict(2, "b, cuda: only in the old file", device(a=1, b=1), device(a=1))
        self.assert_verdict(0, "left out: b, cuda", device(a=1, b=1), device(a=1), "--common")
        self.assert_verdict(2, "no workload in common", device(b=1), device(a=1), "--common")

    def test_files_of_two_kinds_are_not_compared(self):
        self.assert_verdict(2, "the old file is a berth bench", bench(cpu=1), google(a=[1]))

    def test_what_is_not_json_is_said(self):
        self.assert_verdict(2, "not JSON", bench(cpu=1), "{")
        self.assert_verdict(2, "expected one of the members", "[]", bench(cpu=1))

    def test_a_missing_key_is_said(self):
        self.assert_verdict(2, "not as expected: KeyError: 'podsPerSecond'", bench(cpu=1),
                            {"runs": [{"backend": "cpu", "pods": 1, "classes": 1, "nodes": 1}]})
        self.assert_verdict(2, "not as expected", {"runs": 7}, bench(cpu=1))
        self.assert_verdict(2, "holds no workload", {"runs": []}, bench(cpu=1))

    def test_a_missing_file_is_said(self):
        done = subprocess.run([sys.executable, COMPARE, "/nowhere", "/nowhere"], stderr=subprocess.PIPE, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (2, "compare: /nowhere: No such file or directory\n"))

    def test_google_benchmarks_are_compared_by_the_median_of_their_repetitions(self):
        self.assert_verdict(1, "| 0.500 | SLOWER |", google(a=[100, 1, 900]), google(a=[200, 200, 200]))
        self.assert_verdict(0, "| 1.000 | same |", google(a=[1000]), google(unit="us", a=[1]))

    def test_a_folder_stands_for_its_youngest_result_of_this_hardware(self):
        recorded = {"a.json": device(date="2026-02-01T00:00:00Z", a=100), "b.json": device(a=1),
                    "c.json": device("H100", date="2026-03-01T00:00:00Z", a=1), "README.md": "not a result"}
        self.assert_verdict(1, "a.json", [recorded], device(a=50))

    def test_a_folder_without_this_hardware_is_nothing_to_compare_with(self):
        self.assert_verdict(0, "nothing is recorded", [{"c.json": device("H100", a=1)}], device(a=50))
        self.assert_verdict(0, "nothing is recorded", [{}], device(a=50))


if __name__ == "__main__":
    unittest.main()
