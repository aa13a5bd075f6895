# SPDX-License-Identifier: Apache-2.0
"""tests/device.sh ends as its page says where there is no device, and its result is written from whatever a run left."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(TESTS, "device"))

import ctest_files  # noqa: E402
import result  # noqa: E402
import sanitize  # noqa: E402

GPU = {"name": "H200", "count": 1, "computeCapability": "9.0", "multiprocessors": 132, "memoryBytes": 1,
       "peakBytesPerSecond": 1, "cudaDriverApi": 13000, "cudaRuntime": 13000}


def bench(backend, rate, placed=10):
    return json.dumps({"runs": [{"backend": backend, "nodes": 1, "pods": 10, "placed": placed, "classes": 1,
                                 "compileSeconds": 0, "scheduleSeconds": 1, "podsPerSecond": rate}]})


def listed(name, *labels, within="Suite.Case"):
    return {"name": name, "command": ["exe", f"--gtest_filter={within}"],
            "properties": [{"name": "LABELS", "value": list(labels)}, {"name": "WORKING_DIRECTORY", "value": "."}]}


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_folder = folder.name

    def write(self, **files):
        """Names have __ for a dot and _ for a dash."""
        for name, text in files.items():
            path = os.path.join(self.run_folder, name.replace("__", ".").replace("_", "-"))
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

    def compose(self, *steps, **files):
        lines = "".join(f"{name}\t{status}\t1\t9\t{message}\n" for name, status, message in steps)
        self.write(steps__tsv=lines, **files)
        return result.compose(self.run_folder)

    def test_an_empty_run_has_not_passed(self):
        self.assertFalse(self.compose()["passed"])

    def test_the_result_has_the_members_of_its_schema(self):
        with open(os.path.join(TESTS, "..", "docs", "schemas", "device-result.schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        made = self.compose(("tools", "passed", ""))
        self.assertEqual(set(made), set(schema["required"]))
        for member in ("hardware", "versions"):
            self.assertEqual(set(made[member]), set(schema["properties"][member]["required"]))

    def test_what_a_broken_run_left_is_kept(self):
        made = self.compose(("tools", "passed", ""), ("device", "failed", "no GPU"), ("build", "skipped", "no machine"),
                            gpu__json="", tests__json="{", bench_a_cpu__json="")
        self.assertFalse(made["passed"])
        self.assertEqual(made["steps"][1]["message"], "no GPU")
        self.assertIsNone(made["hardware"]["gpu"])
        self.assertIsNone(made["tests"])

    def test_both_figures_and_their_ratio_are_told(self):
        made = self.compose(("bench-a-b-cpu", "passed", ""), ("bench-a-b-cuda", "passed", ""), gpu__json=json.dumps(GPU),
                            bench_a_b_cpu__json=bench("cpu", 100), bench_a_b_cuda__json=bench("cuda", 250))
        self.assertTrue(made["passed"])
        self.assertEqual(made["workloads"][0]["name"], "a-b")
        self.assertEqual(made["workloads"][0]["cudaByCpu"], 2.5)
        self.assertEqual(made["hardware"]["gpu"]["name"], "H200")

    def test_a_backend_that_was_stopped_leaves_the_figure_of_the_other(self):
        made = self.compose(("bench-a-cpu", "timedOut", "stopped"), ("bench-a-cuda", "passed", ""),
                            bench_a_cpu__json=bench("cpu", 1), bench_a_cuda__json=bench("cuda", 250))
        self.assertFalse(made["passed"])
        self.assertEqual(list(made["workloads"][0]["backends"]), ["cuda"])

    def test_backends_that_place_differently_fail_the_run(self):
        made = self.compose(("bench-a-cpu", "passed", ""), ("bench-a-cuda", "passed", ""),
                            bench_a_cpu__json=bench("cpu", 1), bench_a_cuda__json=bench("cuda", 1, placed=9))
        self.assertFalse(made["passed"])
        self.assertEqual(made["steps"][-1]["message"], "cpu placed 10, cuda placed 9")

    def test_a_backend_that_another_one_stood_in_for_fails_the_run(self):
        made = self.compose(("bench-a-cuda", "passed", ""), bench_a_cuda__json=bench("cpu", 1))
        self.assertEqual(made["steps"][-1]["message"], "cpu served cuda")

    def test_a_repeated_step_counts_as_it_ended_last(self):
        self.assertTrue(self.compose(("tests", "failed", "x"), ("tests", "passed", ""))["passed"])

    def test_tests_are_counted_by_label_and_on_the_device(self):
        self.write(tests__json=json.dumps({"tests": [
            listed("a", "contract", within="All/S.C/cuda"), listed("b", "contract", within="All/S.C/cuda_emulated"),
            listed("c", "cuda"), listed("d", "unit")]}),
            tests__xml='<testsuite><testcase name="a" status="run"/><testcase name="b" status="run"/>'
                       '<testcase name="c" status="fail"/></testsuite>')
        found = ctest_files.summary(self.run_folder)
        self.assertEqual(found["labels"]["contract"], {"passed": 2, "failed": 0, "skipped": 0})
        self.assertEqual(found["onDevice"], {"passed": 1, "failed": 1, "skipped": 0})
        self.assertEqual(found["failures"], ["c"])
        self.assertEqual(ctest_files.unproved(self.run_folder),
                         [f"no test of the label {label} passed" for label in ("golden", "property", "cuda")])

    def test_a_contract_that_ran_on_other_backends_alone_proves_nothing_of_the_device(self):
        self.write(tests__json=json.dumps({"tests": [
            listed("a", "contract", "golden", "property", within="All/S.C/cpu"), listed("b", "cuda")]}),
            tests__xml='<testsuite><testcase name="a" status="run"/><testcase name="b" status="run"/></testsuite>')
        self.assertEqual(ctest_files.unproved(self.run_folder), ["no contract test passed on the backend cuda"])

    def test_a_sanitizer_runs_device_tests_that_are_short_and_keep_the_device(self):
        tests = [listed("a", "contract", within="All/S.C/cuda"), listed("b", "contract", "golden", within="All/S.C/cuda"),
                 listed("c", "contract", within="All/S.C/cpu"), listed("d", "cuda", "unit"),
                 listed("cuda_lost_test.S.C", "cuda"), {"name": "e", "command": ["cmake", "-P"],
                                                        "properties": [{"name": "LABELS", "value": ["cuda"]}]}]
        self.assertEqual([each["name"] for each in tests if sanitize.is_sanitized(ctest_files.Test(each))], ["a", "d"])

    def test_sanitizer_runs_are_cut_into_batches(self):
        tests = [ctest_files.Test(listed(f"t{i}", "cuda", within=f"S.C{i}")) for i in range(sanitize.BATCH + 1)]
        self.assertEqual([len(filters) for _, _, filters in sanitize.batches_of(tests)], [sanitize.BATCH, 1])


class Script(unittest.TestCase):
    def device(self, *options):
        done = subprocess.run([os.path.join(TESTS, "device.sh"), *options], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False,
                              env={**os.environ, "CUDACXX": "/nowhere/nvcc"})
        return done.returncode, done.stdout

    def test_an_option_that_is_not_known_is_not_a_run(self):
        for options in (["--nonsense"], ["--steps", "dance"], ["--deps", "/nowhere"], ["--out"], ["--jobs", "0"]):
            self.assertEqual(self.device(*options)[0], 2, options)

    def test_without_nvcc_the_result_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "result.json")
            status, output = self.device("--run", os.path.join(folder, "run"), "--out", path)
            with open(path, encoding="utf-8") as file:
                made = json.load(file)
        self.assertEqual(status, 1, output)
        self.assertEqual(made["steps"][0]["message"], "no nvcc: CUDACXX is /nowhere/nvcc")
        self.assertEqual({step["status"] for step in made["steps"][1:]}, {"skipped"})


if __name__ == "__main__":
    unittest.main()
