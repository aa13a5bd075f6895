#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the cases of one suite that use the device, and leaves RUN/NAME.json and the output of each process in RUN/NAME/.

    tests/device/run_tests.py RUN --name tests-contract --suite contract --programs DIR [options] [-- SANITIZER COMMAND]

A program runs once, or in a few processes that share its cases. Where a case ends the process, hangs or loses the device, the
others of that process run again in a new one, at most RESTARTS times. Exit status 1, and the reason in the last line, when a
case failed or did not run, or none passed.
"""

import argparse
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as xml

import programs

RESTARTS = 4
FOUND = 86  # exit status for an error that the sanitizer reports, which no test has
SICK = re.compile(r"device [^\n]*lost|illegal (memory|address|instruction)|launch failure|misaligned address|"
                  r"device-side assert|hardware stack|launch timed out|unknown error", re.IGNORECASE)
LINE = re.compile(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] ([^\s,]+)")
STATES = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
MESSAGE_MAX = 600


class Outcome:
    def __init__(self, state, message=""):
        self.state = state
        self.message = message.strip()[:MESSAGE_MAX]


def read_xml(path):
    """{case: Outcome} in the order of the run; None when there is no whole file, as after a crash."""
    try:
        root = xml.parse(path).getroot()
    except (OSError, xml.ParseError):
        return None
    outcomes = {}
    for case in root.iter("testcase"):
        if case.get("status") != "run":
            continue
        failures = [each.get("message", "") for each in case.iter("failure")]
        state = "failed" if failures else "skipped" if case.get("result") == "skipped" else "passed"
        outcomes[f"{case.get('classname')}.{case.get('name')}"] = Outcome(state, "\n".join(failures))
    return outcomes


def read_log(text):
    """({case: Outcome}, the case that began and did not end, or None) of the output of a program that broke off."""
    outcomes, open_case, begin = {}, None, 0
    for match in LINE.finditer(text):
        if match[1] == "RUN":
            open_case, begin = match[2], match.end()
        elif match[2] == open_case:
            state = STATES[match[1]]
            outcomes[open_case] = Outcome(state, text[begin:match.start()] if state == "failed" else "")
            open_case = None
    return outcomes, open_case


def why_ended(code):
    if code < 0:
        try:
            return f"ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"ended by signal {-code}"
    return f"exit status {code}"


class Runner:
    """What all processes of a step share. Its members are called from the threads that start processes."""

    def __init__(self, options):
        self.options = options
        self.folder = os.path.join(options.run, options.name)
        os.makedirs(self.folder, exist_ok=True)
        self.end = time.monotonic() + options.seconds
        self.environment = dict(os.environ)
        if options.backend == "cuda":
            self.environment["BERTH_REQUIRE_DEVICE"] = "1"
        if options.team:
            self.environment["BERTH_COMMIT_TEAM"] = options.team
        if options.libraries:
            given = os.environ.get("LD_LIBRARY_PATH")
            self.environment["LD_LIBRARY_PATH"] = options.libraries + (":" + given if given else "")
        # A case is drawn from one number, which has no smaller form; a search for one looks like a hang.
        self.environment["RC_PARAMS"] = f"max_success={options.property_cases} noshrink=1"
        self.running = set()
        self.lock = threading.Lock()

    def stop_all(self):
        self.end = 0
        with self.lock:
            for process in self.running:
                kill_group(process)

    def run_process(self, command, log):
        """(exit status, None or why it was ended here)"""
        with open(log, "wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=self.environment,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
        with self.lock:
            self.running.add(process)
        size, changed, reason = 0, time.monotonic(), None
        while process.poll() is None:
            time.sleep(0.05)
            now = time.monotonic()
            if os.path.getsize(log) != size:
                size, changed = os.path.getsize(log), now
            if now > self.end:
                reason = "no time left"
            elif now - changed > self.options.case_seconds:
                reason = f"said nothing for {self.options.case_seconds} s"
            if reason:
                kill_group(process)
                try:
                    process.wait(timeout=10)
                except subprocess.TimeoutExpired:  # it hangs in the driver
                    return -signal.SIGKILL, reason
        with self.lock:
            self.running.discard(process)
        return process.returncode, reason


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Share:
    """Some cases of a program, run in one process while nothing breaks."""

    def __init__(self, runner, program, cases, number):
        self.runner = runner
        self.program = program
        self.pending = list(cases)
        self.base = os.path.join(runner.folder, f"{program.name}.{number}")
        self.outcomes = {}
        self.problems = []  # of the program, not of a case
        self.starts = 0

    def run(self):
        while self.pending and self.starts <= RESTARTS and time.monotonic() < self.runner.end:
            before = len(self.pending)
            self.run_once()
            if len(self.pending) == before:
                break
        return self

    def run_once(self):
        base = f"{self.base}.{self.starts}"
        self.starts += 1
        command = [*self.runner.options.sanitizer, os.path.join(self.runner.options.programs, self.program.path),
                   "--gtest_filter=" + ":".join(self.pending), f"--gtest_output=xml:{base}.xml"]
        try:
            code, stopped = self.runner.run_process(command, base + ".log")
        except OSError as error:
            self.problems.append(f"{self.program.name}: {error}")
            return
        with open(base + ".log", encoding="utf-8", errors="replace") as file:
            text = file.read()
        outcomes = read_xml(base + ".xml")
        if outcomes is None:
            self.take_broken(text, stopped or why_ended(code), at_end_of_time=stopped == "no time left")
        else:
            self.take(outcomes)
            if code == FOUND and self.runner.options.sanitizer:
                self.problems.append(f"{self.program.name}: {what_sanitizer_said(text)}")
            elif code != 0 and not any(each.state == "failed" for each in outcomes.values()):
                self.problems.append(f"{self.program.name}: {why_ended(code)} after its cases")

    def take(self, outcomes):
        """What follows the case that lost the device fails with it, so it runs again."""
        for case, outcome in outcomes.items():
            self.outcomes[case] = outcome
            if outcome.state == "failed" and SICK.search(outcome.message) and self.starts <= RESTARTS:
                break
        self.pending = [case for case in self.pending if case not in self.outcomes]

    def take_broken(self, text, reason, at_end_of_time):
        outcomes, open_case = read_log(text)
        self.outcomes.update(outcomes)
        if open_case and not at_end_of_time:
            self.outcomes[open_case] = Outcome("failed", f"{self.program.name} {reason}; {' '.join(text[-300:].split())}")
        elif not outcomes and not at_end_of_time:
            self.problems.append(f"{self.program.name} {reason}: {' '.join(text[-300:].split())}")
        self.pending = [case for case in self.pending if case not in self.outcomes]


def what_sanitizer_said(text):
    lines = [line.lstrip("= ").strip() for line in text.splitlines() if line.startswith("=========")]
    findings = [line for line in lines if line and not line.startswith(("COMPUTE-SANITIZER", "ERROR SUMMARY"))]
    return "; ".join(findings[:3] + lines[-1:])[:MESSAGE_MAX]


def knows_teams(path):
    """A program that does not read the variable would pass whatever it says."""
    with open(path, "rb") as file:
        return b"BERTH_COMMIT_TEAM" in file.read()


def shares_of(runner, problems):
    for program in programs.programs_of(runner.options.suite):
        try:
            cases = programs.cases_of(program, runner.options.programs, runner.environment, runner.options.suite,
                                      runner.options.backend)
        except (OSError, subprocess.SubprocessError) as error:
            said = (getattr(error, "stderr", None) or "").strip()
            problems.append(f"{program.name} does not list its cases: {error} {said}"[:MESSAGE_MAX])
            continue
        if runner.options.team and not knows_teams(os.path.join(runner.options.programs, program.path)):
            problems.append(f"{program.name} does not know BERTH_COMMIT_TEAM: the team was its own choice")
        if not cases:
            problems.append(f"{program.name} has no case of the backend {runner.options.backend}")
        count = min(program.shares, len(cases))
        for number in range(count):
            yield Share(runner, program, cases[number::count], number)


def summary(runner, shares, problems):
    """The form of `tests.runs` in docs/schemas/device-result.schema.json."""
    rows = {}
    for share in shares:
        row = rows.setdefault(share.program.name, {"name": share.program.name, "labels": share.program.labels, "starts": 0,
                                                   "passed": 0, "failed": 0, "skipped": 0, "notRun": 0})
        row["starts"] += share.starts
        row["notRun"] += len(share.pending)
        for outcome in share.outcomes.values():
            row[outcome.state] += 1
    return {
        "step": runner.options.name,
        "suite": runner.options.suite,
        "team": runner.options.team or None,
        "tool": runner.options.tool or None,
        "backend": runner.options.backend,
        "programs": list(rows.values()),
        "failures": [{"test": f"{share.program.name}.{case}", "message": outcome.message} for share in shares
                     for case, outcome in share.outcomes.items() if outcome.state == "failed"],
        "problems": problems + [each for share in shares for each in share.problems],
    }


def reason_of(found):
    """Why the step has not passed, in one line, or ''."""
    total = {key: sum(row[key] for row in found["programs"]) for key in ("passed", "failed", "notRun")}
    reasons = list(found["problems"])
    if total["failed"]:
        reasons.append(f"{total['failed']} failed, first {found['failures'][0]['test']}")
    if total["notRun"]:
        reasons.append(f"{total['notRun']} did not run")
    if not total["passed"]:
        reasons.append("none passed")
    return "; ".join(reasons)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("--name", required=True)
    parser.add_argument("--suite", required=True, choices=list(programs.SUITES))
    parser.add_argument("--programs", required=True, help="the build folder, or the bundle")
    parser.add_argument("--libraries", default="", help="a folder for LD_LIBRARY_PATH of the programs")
    parser.add_argument("--backend", default="cuda", choices=["cuda", "cuda_emulated"])
    parser.add_argument("--team", default="", help="BERTH_COMMIT_TEAM of the programs")
    parser.add_argument("--tool", default="", help="which sanitizer it is, for the result")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=max(1, float(os.environ.get("BERTH_STEP_SECONDS", "600")) - 4))
    parser.add_argument("--case-seconds", type=float, default=60, help="a process that is silent for longer hangs")
    parser.add_argument("--property-cases", type=int, default=100)
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:cut])
    options.sanitizer = arguments[cut + 1:]
    options.run = os.path.abspath(options.run)
    options.programs = os.path.abspath(options.programs)
    return options


def main():
    options = parse()
    runner = Runner(options)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: runner.stop_all())
    problems = []
    shares = list(shares_of(runner, problems))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(Share.run, shares))
    found = summary(runner, shares, problems)
    with open(os.path.join(options.run, options.name + ".json"), "w", encoding="utf-8") as file:
        json.dump(found, file)
    for row in found["programs"]:
        print(f"{row['name']}: {row['passed']} passed, {row['failed']} failed, {row['skipped']} skipped, "
              f"{row['notRun']} not run, {row['starts']} processes")
    for failure in found["failures"][:50]:
        print(f"FAILED {failure['test']}\n{failure['message']}")
    reason = reason_of(found)
    if reason:
        print("REASON: " + " ".join(reason.split()))
    return 1 if reason else 0


if __name__ == "__main__":
    sys.exit(main())
