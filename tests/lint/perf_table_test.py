# SPDX-License-Identifier: Apache-2.0
"""bench/perf_table.py shows every measurement, both rate factors, and upstream's figure where all pods fit."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "perf_table.py")


def measurement(rate, name="ns", verdict="reached", **counts):
    return {"name": name, "verdict": verdict, "pods": 2000, "podsPerSecond": rate, "churned": 0, "deleted": 0, "updated": 0,
            "preempted": 0, "missing": 0, **counts}


def workload(name, threshold, *measurements, hints_on=False, verdict="reached"):
    return {"name": name, "verdict": verdict, "hintsOn": hints_on, "threshold": threshold, "measurements": list(measurements)}


class PerfTable(unittest.TestCase):
    def table(self, scaled, as_is, peer=None, *options):
        """@return the cells of each line. @param scaled, as_is  runs, each a list of workloads"""
        with tempfile.TemporaryDirectory() as folder:
            def write(name, value):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(value, file)
                return path
            command = [sys.executable, TABLE, *options]
            for option, runs in (("--scaled", scaled), ("--as-is", as_is)):
                command += [option, *(write(f"{option}{i}", {"workloads": run}) for i, run in enumerate(runs))]
            if peer is not None:
                command += ["--peer", write("peer", peer)]
            self.text = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
        return [line.strip("|").split("|") for line in self.text.splitlines() if line.startswith("| ")]

    def cells(self, *arguments):
        return [[cell.strip() for cell in line] for line in self.table(*arguments)[1:]]

    def test_both_factors_with_what_happened_meanwhile(self):
        rows = self.cells([[workload("Churn/A", 200, measurement(20000, churned=1500, deleted=3, preempted=7))]],
                          [[workload("Churn/A", 200, measurement(30000, verdict="not measured"), hints_on=True)]])
        self.assertEqual(rows, [["Churn/A", "2,000", "200", "20,000", "100", "1,500", "3", "7", "", "30,000", "150", "", "", "",
                                 "not measured, hints on"]])

    def test_the_median_of_several_runs(self):
        runs = [[workload("A/b", 0, measurement(rate))] for rate in (500, 100, 300)]
        self.assertEqual(self.cells(runs, runs[:1])[0][3], "300")

    def test_several_measurements_are_several_rows(self):
        run = [[workload("A/b", 0, measurement(100, "one"), measurement(200, "two"))]]
        self.assertEqual([row[0] for row in self.cells(run, run)], ["A/b/one", "A/b/two"])

    def test_upstream_beside_it(self):
        run = [[workload("A/b", 0, measurement(5000)), workload("A/c", 0, measurement(5000)), workload("A/d", 0, measurement(1))]]
        peer = {"A/b/ns": {"pods": 2000, "placed": 2000, "pods_per_second": 50.0},
                "A/c/ns": {"pods": 2000, "placed": 1, "pods_per_second": 50.0}}
        self.assertEqual([row[-2:] for row in self.cells(run, run, peer)], [["50", "100"], ["1 of 2,000 fit", ""], ["", ""]])

    def test_skipped_workloads_are_listed_by_reason(self):
        run = [[{**workload("A/b", 0, verdict="skipped"), "needs": "devices"}]]
        self.assertEqual(self.cells(run, run), [])
        self.assertIn("- needs devices (1): A/b", self.text)

    def test_only_those_with_a_threshold(self):
        run = [[workload("A/b", 0, measurement(100)), workload("A/c", 1, measurement(100))]]
        self.assertEqual([row[0] for row in self.cells(run, run, None, "--threshold-only")], ["A/c"])


if __name__ == "__main__":
    unittest.main()
