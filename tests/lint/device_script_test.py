# SPDX-License-Identifier: Apache-2.0
"""tests/device.sh ends as its page says where there is no device, and its result is written from whatever a run left. Stand-ins
of the programs, the device and the sanitizer show how it runs, what it counts and what it keeps of a run that breaks off."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(TESTS, "device"))

import programs  # noqa: E402
import result  # noqa: E402
import run_tests  # noqa: E402

GPU = {"name": "H200", "count": 1, "computeCapability": "9.0", "multiprocessors": 132, "memoryBytes": 1,
       "peakBytesPerSecond": 1, "cudaDriverApi": 13000, "cudaRuntime": 13000}


def bench(backend, rate, placed=10, **more):
    return json.dumps({"runs": [{"backend": backend, "nodes": 1, "pods": 10, "placed": placed, "classes": 1,
                                 "compileSeconds": 0, "scheduleSeconds": 1, "podsPerSecond": rate, **more}]})


def test_run(step, *rows, failures=(), tool=None, backend="cuda"):
    """What run_tests.py leaves; rows are (program, labels, passed, failed)."""
    return json.dumps({
        "step": step, "suite": "contract", "team": None, "tool": tool, "backend": backend, "problems": [],
        "failures": [{"test": name, "message": "m"} for name in failures],
        "programs": [{"name": name, "labels": labels, "starts": 1, "passed": passed, "failed": failed, "skipped": 0,
                      "notRun": 0} for name, labels, passed, failed in rows]})


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
        self.assertEqual(set(made), set(schema["properties"]))
        for member in ("hardware", "versions"):
            self.assertEqual(set(made[member]), set(schema["properties"][member]["required"]))

    def test_what_a_broken_run_left_is_kept(self):
        made = self.compose(("tools", "passed", ""), ("device", "failed", "no GPU"), ("build", "skipped", "no machine"),
                            gpu__json="", tests_contract__json="{", bench_a_cpu__json="")
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
        made = self.compose(("tests-contract", "failed", "x"), ("tests-contract-grid", "passed", ""), ("sanitizer-a", "passed", ""),
                            tests_contract__json=test_run("tests-contract", ("a", ["contract"], 2, 1), failures=["a.X"]),
                            tests_contract_grid__json=test_run("tests-contract-grid", ("a", ["contract", "golden"], 3, 0)),
                            sanitizer_a__json=test_run("sanitizer-a", ("a", ["contract"], 7, 0), tool="memcheck"))
        found = made["tests"]
        self.assertEqual(found["labels"]["contract"], {"passed": 5, "failed": 1, "skipped": 0})
        self.assertEqual(found["labels"]["golden"], {"passed": 3, "failed": 0, "skipped": 0})
        self.assertEqual(found["onDevice"], {"passed": 5, "failed": 1, "skipped": 0})
        self.assertEqual(found["failures"], ["a.X"])
        self.assertEqual([each["step"] for each in found["runs"]], ["tests-contract", "tests-contract-grid"])
        self.assertEqual(made["sanitizers"], [{"tool": "memcheck", "tests": 7, "runs": 1, "failedRuns": 0}])

    def test_a_rehearsal_is_nothing_on_a_device(self):
        made = self.compose(("tests-a", "passed", ""), rehearsal="yes",
                            tests_a__json=test_run("tests-a", ("a", ["cuda"], 2, 0), backend="cuda_emulated"))
        self.assertTrue(made["rehearsal"])
        self.assertEqual(made["tests"]["passed"], 2)
        self.assertEqual(made["tests"]["onDevice"]["passed"], 0)

    def answers(self, cpu, cuda, expected=None):
        self.write(steps__tsv="bench-a-cpu\tpassed\t1\t9\t\nbench-a-cuda\tpassed\t1\t9\t\n",
                   bench_a_cpu__json=bench("cpu", 1, **cpu), bench_a_cuda__json=bench("cuda", 1, **cuda))
        made = result.compose(self.run_folder, expected)
        return made["workloads"][0]["answers"], made["passed"]

    def test_hashes_of_answers_are_compared(self):
        self.assertEqual(self.answers({"answers": "aa"}, {"answers": "aa"}), ("equal: cpu, cuda", True))
        self.assertEqual(self.answers({"answers": "aa"}, {"answers": "bb"}), ("different: cpu, cuda", False))
        self.assertEqual(self.answers({}, {"answers": "bb"}), ("not compared: no hash of the answers from cpu", True))

    def test_hashes_are_compared_with_an_earlier_result(self):
        path = os.path.join(self.run_folder, "earlier")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"workloads": [{"name": "a", "backends": {"cpu": {"placed": 10, "answers": "aa"}, "cuda": {}}}]}, file)
        expected = result.expected_figures(path)
        self.assertEqual(list(expected["a"]), ["cpu"])
        self.assertEqual(self.answers({"answers": "aa"}, {"answers": "aa"}, expected),
                         ("equal: cpu elsewhere, cpu, cuda", True))
        self.assertFalse(self.answers({"answers": "bb"}, {"answers": "bb"}, expected)[1])

    def test_a_result_of_a_bundle_is_of_its_commit(self):
        made = self.compose(("bundle", "passed", ""), commit="there",
                            bundle__json='{"commit": "here", "dirty": "no", "arch": "90", "source": "/x", "nvcc": "13"}')
        self.assertEqual((made["commit"], made["bundle"]["checkoutCommit"]), ("here", "there"))
        self.assertEqual(made["versions"]["nvcc"], "13")


class Cases(unittest.TestCase):
    def test_the_backend_is_a_word_of_the_parameter(self):
        for case in ("S.C/cuda", "All/S.C/cuda_1_35", "All/S.C/file_cuda_7", "S.C/cuda_block_33_cells"):
            self.assertTrue(programs.is_on_backend(case), case)
            self.assertFalse(programs.is_on_backend(case, "cuda_emulated"), case)
        for case in ("S.C/cuda_emulated", "All/S.C/cpu", "All/cuda.C/cpu", "cuda.C"):
            self.assertFalse(programs.is_on_backend(case), case)
        self.assertTrue(programs.is_on_backend("S.C/cuda_emulated_1", "cuda_emulated"))

    def test_a_list_of_cases_is_read(self):
        text = "Running main() from x.cc\nA.\n  One\nAll/B.\n  Two/cuda  # GetParam() = \"cuda\"\n"
        self.assertEqual(programs.parse_list(text), ["A.One", "All/B.Two/cuda"])

    def test_the_log_of_a_crash_names_the_case(self):
        done, broken = run_tests.read_log("[ RUN      ] A.B\n[       OK ] A.B (1 ms)\n[ RUN      ] A.C\nwrong: 7\n"
                                          "[  FAILED  ] A.C (1 ms)\n[ RUN      ] A.D\n")
        self.assertEqual({name: each.state for name, each in done.items()}, {"A.B": "passed", "A.C": "failed"})
        self.assertEqual(done["A.C"].message, "wrong: 7")
        self.assertEqual(broken, "A.D")


# A stand-in of a test program: FAKE names what a case does. Cases in the list that are not the device's must not run.
PROGRAM = r"""#!/usr/bin/env python3
import json, os, sys, time
name = os.path.basename(sys.argv[0])
fake = json.loads(os.environ.get("FAKE", "{}"))
cases = ["C%d/%s" % (i, backend) for i in range(4) for backend in ("cpu", "cuda_emulated", "cuda")]
if sys.argv[1] == "--gtest_list_tests":
    print("S.\n" + "\n".join("  " + case for case in cases))
    sys.exit(0)
options = dict(word[2:].split("=", 1) for word in sys.argv[1:])
if os.environ.get("SEEN"):
    with open(os.environ["SEEN"], "a") as file:
        print(name, os.environ.get("BERTH_COMMIT_TEAM"), os.environ.get("BERTH_REQUIRE_DEVICE"), file=file)
rows, code, sick = [], 0, False
for case in options["gtest_filter"].split(":"):
    print("[ RUN      ] " + case, flush=True)
    what = fake.get(name + ":" + case)
    if what == "crash": os.kill(os.getpid(), 11)
    if what == "hang": time.sleep(600)
    sick = sick or what == "lose"
    if sick or what == "fail":
        text = "device 0 was lost: an illegal memory access" if sick else "not equal"
        code, row = 1, "<failure message='%s'/>" % text
        print(text + "\n[  FAILED  ] " + case, flush=True)
    else:
        row = ""
        print("[       OK ] " + case, flush=True)
    rows.append("<testcase name='%s' classname='S' status='run' result='completed'>%s</testcase>" % (case[2:], row))
with open(options["gtest_output"][4:], "w") as file:
    file.write("<testsuites><testsuite>" + "".join(rows) + "</testsuite></testsuites>")
sys.exit(code)
"""
BERTH = """#!/bin/sh
sleep ${FAKE_SECONDS:-0}
for word; do case $last in --backends) backend=$word ;; esac; last=$word; done
echo '{"runs": [{"backend": "'$backend'", "nodes": 1, "pods": 1, "placed": 1, "classes": 1, "compileSeconds": 0,' \
  '"scheduleSeconds": 1, "podsPerSecond": 1, "answers": "aa"}]}'
"""
SANITIZER = """#!/bin/sh
tool=$2
while [ ! -x "$1" ]; do shift; done
[ $tool != racecheck ] || { echo "========= Race reported"; exit 86; }
exec "$@"
"""


class Bundle(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = os.path.join(self.folder, "out")
        self.tree = os.path.join(self.folder, "tree")  # a checkout elsewhere, with what a run reads
        for name in ("device", "device.sh"):
            source = os.path.join(TESTS, name)
            (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, self.place("tree/tests/" + name))
        shutil.copytree(os.path.join(TESTS, "..", "bench", "workloads"), self.place("tree/bench/workloads"))
        self.bundle = self.make_bundle()
        self.script(os.path.join(self.folder, "bin", "compute-sanitizer"), SANITIZER)

    def place(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def script(self, path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def make_bundle(self):
        texts = {"berth": BERTH, "probe": f"#!/bin/sh\necho '{json.dumps(GPU)}'\n",
                 "bundle.json": '{"commit": "c", "dirty": "no", "source": "/x", "arch": "90"}',
                 **{program.path: PROGRAM for program in programs.PROGRAMS}}
        path = os.path.join(self.folder, "bundle.tar.xz")
        with tarfile.open(path, "w:xz") as tar:
            for name, text in texts.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(text), 0o755
                tar.addfile(entry, io.BytesIO(text.encode()))
        return path

    def start(self, *options, fake=None, **environment):
        """Without CUDA's folders, nvcc and cmake: a bundle needs none of them."""
        path = os.path.join(self.folder, "bin") + ":/usr/bin:/bin"
        return subprocess.Popen([os.path.join(self.tree, "tests", "device.sh"), "--bundle", self.bundle, *options],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env={"PATH": path, "OUT": self.out, "FAKE": json.dumps(fake or {}), **environment,
                                     "PYTHONDONTWRITEBYTECODE": "1"})

    def result(self):
        with open(os.path.join(self.out, "result.json"), encoding="utf-8") as file:
            return json.load(file)

    def device(self, *options, **more):
        process = self.start(*options, **more)
        output = process.communicate(timeout=100)[0]
        made = self.result()
        return process.returncode, made, {step["name"]: step for step in made["steps"]}, output

    def test_a_whole_run_leaves_few_files_and_finds_what_the_sanitizer_says(self):
        seen = os.path.join(self.folder, "seen")
        status, made, steps, output = self.device(SEEN=seen)
        self.assertEqual([name for name, step in steps.items() if step["status"] != "passed"], ["sanitizer-racecheck"], output)
        self.assertIn("Race reported", steps["sanitizer-racecheck"]["message"])
        self.assertEqual(status, 1)
        groups = [name.split("-")[0] + ("-quick" if "quick" in name else "") for name in steps]
        self.assertEqual(list(dict.fromkeys(groups)), ["bundle", "device", "tests", "bench-quick", "sanitizer", "bench"])
        self.assertEqual(made["commit"], "c")
        self.assertEqual(made["tests"]["labels"]["golden"], {"passed": 4, "failed": 0, "skipped": 0})
        self.assertEqual(made["workloads"][0]["name"], "quick-classes-256")
        self.assertEqual(sorted(os.listdir(self.out)), ["result.json", "run.tar.gz", "steps.log"])
        with open(seen, encoding="utf-8") as file:
            runs = set(file.read().splitlines())
        teams = ("None", "block", "cluster", "grid")
        self.assertLessEqual({f"{name} {team} 1" for team in teams for name in ("scenario_test", "device_agrees_test")}, runs)

    def test_a_crash_or_a_hang_is_of_one_case(self):
        options = ("--steps", "tests", "--teams", "block", "--jobs", "1")
        fake = {"backend_contract_test:S.C1/cuda": "crash", "golden_test:S.C0/cuda": "fail"}
        _, made, steps, output = self.device(*options, fake=fake)
        self.assertEqual([name for name, step in steps.items() if step["status"] != "passed"],
                         ["tests-contract", "tests-contract-block", "tests-golden"], output)
        messages = {each["test"]: each["message"] for run in made["tests"]["runs"] for each in run["failures"]}
        self.assertEqual(list(messages), ["backend_contract_test.S.C1/cuda", "golden_test.S.C0/cuda"])
        self.assertIn("SIGSEGV", messages["backend_contract_test.S.C1/cuda"])
        self.assertEqual(messages["golden_test.S.C0/cuda"], "not equal")

    def run_suite(self, suite, fake, *options):
        root = os.path.join(self.folder, "programs")
        for program in programs.PROGRAMS:
            self.script(os.path.join(root, program.path), PROGRAM)
        subprocess.run([sys.executable, os.path.join(TESTS, "device", "run_tests.py"), self.folder, "--name", "t", "--suite", suite,
                        "--programs", root, *options], check=False, stdout=subprocess.PIPE,
                       env={**os.environ, "FAKE": json.dumps(fake), "PYTHONDONTWRITEBYTECODE": "1"})
        with open(os.path.join(self.folder, "t.json"), encoding="utf-8") as file:
            found = json.load(file)
        return {row["name"]: row for row in found["programs"]}, found

    def test_what_follows_a_broken_case_runs_in_another_process(self):
        for what in ("crash", "hang", "lose"):
            rows, found = self.run_suite("cuda", {"cuda_test:S.C4/cpu": "", "cuda_test:S.C1/cuda": what}, "--case-seconds", "1")
            row = rows["cuda_test"]
            self.assertEqual((row["passed"], row["failed"], row["notRun"], row["starts"]), (11, 1, 0, 2), (what, found))

    def test_a_program_that_breaks_on_every_case_ends(self):
        fake = {f"cuda_test:S.C{i}/{backend}": "crash" for i in range(4) for backend in ("cpu", "cuda", "cuda_emulated")}
        rows, _ = self.run_suite("cuda", fake)
        self.assertEqual((rows["cuda_test"]["failed"], rows["cuda_test"]["notRun"]), (5, 7))
        self.assertEqual(rows["cuda_lost_test"]["passed"], 12)

    def test_a_program_that_is_not_there_is_told(self):
        rows, found = self.run_suite("golden", {}, "--backend", "cuda", "--programs", "/nowhere")
        self.assertEqual(rows, {})
        self.assertIn("golden_test does not list its cases", found["problems"][0])

    def test_a_team_that_a_program_does_not_know_is_not_proved(self):
        _, found = self.run_suite("property", {}, "--team", "grid")
        self.assertEqual(found["problems"], [])
        for text in ("BERTH_COMMIT_TEAM", "BERTH_OTHER"):
            changed = PROGRAM.replace("BERTH_COMMIT_TEAM", text)
            path = os.path.join(self.folder, "programs", "one")
            self.script(path, changed)
            self.assertEqual(run_tests.knows_teams(path), text == "BERTH_COMMIT_TEAM")

    def test_the_script_keeps_its_time(self):
        begin = time.monotonic()
        _, made, steps, output = self.device("--seconds", "14", "--steps", "quick,bench", FAKE_SECONDS="7")
        self.assertLess(time.monotonic() - begin, 16, output)
        self.assertEqual(steps["bench-quick-classes-256-cuda"]["status"], "passed", output)
        self.assertEqual(steps["bench-distinct-million-cuda"]["status"], "skipped")
        self.assertEqual(steps["bench-distinct-million-cuda"]["message"], "no time left of --seconds 14")
        self.assertEqual(len(made["workloads"][0]["backends"]), 1)

    def test_a_run_that_is_killed_leaves_what_it_had(self):
        process = self.start("--steps", "tests,bench", FAKE_SECONDS="60")
        for _ in range(400):
            time.sleep(0.1)
            if os.path.exists(os.path.join(self.out, "result.json")) and self.result()["steps"][-1]["name"] == "tests-property-grid":
                break
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        made = self.result()
        self.assertEqual(made["steps"][-1]["name"], "tests-property-grid")
        self.assertEqual(made["tests"]["labels"]["cuda"]["passed"], 24)
        self.assertIn("result.json", os.listdir(self.out))

    def test_the_emulated_device_rehearses(self):
        status, made, _, output = self.device("--steps", "tests", BERTH_REHEARSAL="yes")
        self.assertEqual(status, 0, output)
        self.assertTrue(made["rehearsal"])
        self.assertEqual(made["tests"]["onDevice"]["passed"], 0)

    def test_programs_are_packed_with_their_libraries(self):
        root = os.path.join(self.folder, "built")
        for path in ["berth", *(program.path for program in programs.PROGRAMS)]:
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            shutil.copy("/bin/ls", os.path.join(root, path))
        packed, unpacked = os.path.join(self.folder, "p.tar.xz"), os.path.join(self.folder, "unpacked")
        script = os.path.join(TESTS, "device", "bundle.py")
        subprocess.run([sys.executable, script, "pack", packed, "--programs", root, "--probe", "/bin/ls", "--facts", "a=b"],
                       check=True, stdout=subprocess.PIPE)
        said = subprocess.run([sys.executable, script, "unpack", packed, unpacked], check=True, stdout=subprocess.PIPE, text=True)
        self.assertEqual(json.loads(said.stdout), {"a": "b"})
        self.assertEqual(subprocess.run([os.path.join(unpacked, "berth"), "/"], stdout=subprocess.PIPE, check=False).returncode, 0)
        self.assertFalse([name for name in os.listdir(os.path.join(unpacked, "lib")) if name.startswith("libc.so")])


class Script(unittest.TestCase):
    def device(self, *options):
        done = subprocess.run([os.path.join(TESTS, "device.sh"), *options], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False,
                              env={**os.environ, "CUDACXX": "/nowhere/nvcc"})
        return done.returncode, done.stdout

    def test_an_option_that_is_not_known_is_not_a_run(self):
        for options in (["--nonsense"], ["--steps", "dance"], ["--deps", "/nowhere"], ["--out"], ["--jobs", "0"],
                        ["--bundle", "/nowhere"], ["--seconds", "x"], ["--teams", "pair"], ["--expect", "/nowhere"]):
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
