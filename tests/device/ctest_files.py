#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads what ctest wrote in a run of tests/device.sh: tests.json (every test, its labels and command) and tests.xml (how
each ended).

    tests/device/ctest_files.py RUN

Checks that the run has proved something: at least one test of each label passed, and at least one of the contract suite on
the backend "cuda". Exit status 1, and the reasons in one line, when one did not.
"""

import json
import os
import re
import sys
import xml.etree.ElementTree as xml

LABELS = ["contract", "golden", "property", "cuda"]
OUTCOMES = {"run": "passed", "fail": "failed", "notrun": "skipped", "disabled": "skipped"}


class Test:
    """One line of ctest's list. `filter` is the test's name within its executable."""

    def __init__(self, entry):
        properties = {each["name"]: each["value"] for each in entry.get("properties", [])}
        command = entry.get("command", [])
        filters = [word.split("=", 1)[1] for word in command if word.startswith("--gtest_filter=")]
        self.name = entry["name"]
        self.labels = properties.get("LABELS", [])
        self.folder = properties.get("WORKING_DIRECTORY", ".")
        self.executable = command[0] if command else None
        self.filter = filters[0] if filters else None

    def is_on_device(self):
        """A test of the folder cuda/, or the run of a shared suite on the backend cuda: Suite.Case/cuda, .../cuda_1_35."""
        if "cuda" in self.labels:
            return True
        words = re.split(r"[^A-Za-z0-9]+", (self.filter or "").rpartition("/")[2])
        return "cuda" in words and "emulated" not in words


def read_tests(run):
    with open(os.path.join(run, "tests.json"), encoding="utf-8") as file:
        return [Test(entry) for entry in json.load(file)["tests"]]


def read_outcomes(run):
    """{test name: passed, failed or skipped}"""
    cases = xml.parse(os.path.join(run, "tests.xml")).getroot().iter("testcase")
    return {case.get("name"): OUTCOMES.get(case.get("status"), "failed") for case in cases}


def count(outcomes):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for outcome in outcomes:
        counts[outcome] += 1
    return counts


def summary(run):
    """Counts of all that ran, by label and on the device, and the names of what failed."""
    outcomes = read_outcomes(run)
    ran = [test for test in read_tests(run) if test.name in outcomes]
    return {
        **count(outcomes.values()),
        "labels": {label: count(outcomes[test.name] for test in ran if label in test.labels) for label in LABELS},
        "onDevice": count(outcomes[test.name] for test in ran if test.is_on_device()),
        "failures": sorted(name for name, outcome in outcomes.items() if outcome == "failed"),
    }


def unproved(run):
    """What no test of the run has shown, as texts."""
    outcomes = read_outcomes(run)
    passed = [test for test in read_tests(run) if outcomes.get(test.name) == "passed"]
    missing = [f"no test of the label {label} passed" for label in LABELS
               if not any(label in test.labels for test in passed)]
    if not any("contract" in test.labels and test.is_on_device() for test in passed):
        missing.append("no contract test passed on the backend cuda")
    return missing


def main():
    missing = unproved(sys.argv[1])
    print(json.dumps(summary(sys.argv[1])["labels"]))
    print("; ".join(missing))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
