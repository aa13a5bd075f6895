#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the device tests of a run of tests/device.sh under one tool of compute-sanitizer.

    tests/device/sanitize.py --sanitizer COMPUTE_SANITIZER --tool memcheck RUN

The tests are those of the label cuda, and the contract suite on the backend cuda. Left out are the recorded answers (golden,
oracle) and the scenarios, which would take hours under a sanitizer, and the tests that lose the device on purpose. Each
executable runs once for up to BATCH tests. Leaves the counts in RUN/sanitizer-TOOL.json; exit status 1 when a run failed or
there was nothing to run.
"""

import argparse
import json
import os
import re
import subprocess
import sys

import ctest_files

BATCH = 400  # tests in one run: their names have to fit into one argument of a command line
FOUND = 86  # exit status for an error that the sanitizer reports, which no test has
TOO_LONG = {"golden", "oracle", "scenario"}
LOSES_DEVICE = re.compile("lost", re.IGNORECASE)  # in the name of the executable or of the test


def is_sanitized(test):
    """Only tests of an executable of ours, which have a filter, can run under the sanitizer."""
    return (test.filter is not None and test.is_on_device() and not TOO_LONG & set(test.labels) and
            not LOSES_DEVICE.search(test.name))


def batches_of(tests):
    """[(executable, folder, [filter, ...]), ...]"""
    groups = {}
    for test in tests:
        groups.setdefault((test.executable, test.folder), []).append(test.filter)
    for (executable, folder), filters in groups.items():
        for begin in range(0, len(filters), BATCH):
            yield executable, folder, filters[begin:begin + BATCH]


def command_of(options, executable, filters):
    """Calls that fail are no finding: tests provoke some, and look at the others themselves."""
    return [options.sanitizer, "--tool", options.tool, "--error-exitcode", str(FOUND),
            *(["--report-api-errors", "no"] if options.tool == "memcheck" else []),
            executable, "--gtest_filter=" + ":".join(filters)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sanitizer", required=True)
    parser.add_argument("--tool", required=True)
    parser.add_argument("run")
    options = parser.parse_args()
    tests = [test for test in ctest_files.read_tests(options.run) if is_sanitized(test)]
    failed = []
    batches = list(batches_of(tests))
    for executable, folder, filters in batches:
        done = subprocess.run(command_of(options, executable, filters), cwd=folder, check=False)
        if done.returncode != 0:
            failed.append(os.path.basename(executable))
    with open(os.path.join(options.run, f"sanitizer-{options.tool}.json"), "w", encoding="utf-8") as file:
        json.dump({"tool": options.tool, "tests": len(tests), "runs": len(batches), "failedRuns": len(failed)}, file)
    if not tests:
        print("there is no device test")
    elif failed:
        print(f"{options.tool}: {len(failed)} of {len(batches)} runs failed: {', '.join(sorted(set(failed)))}")
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
