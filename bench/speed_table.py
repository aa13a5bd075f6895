#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the workloads of docs/benchmarks.md with the program's own report.

    bench/speed_table.py [--berth build/host/berth] [--workload FILE] [--runs 5]

Without --workload, a script that is not part of this repository, only the clusters of bench/workloads are measured, and
the rest is named as left out. Each input is made once under build/speed-table. Of each figure the median and the best of
the runs are printed: pending pods by the seconds of scheduling (objects loaded, classes compiled, until placements are
known), the time of the whole process, and its peak resident memory.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

KINDS = [
    ["basic", "5000", "1000", "190000"],
    ["classes", "5000", "0", "100000", "20"],
    ["classes", "5000", "0", "100000", "256"],
    ["distinct", "5000", "0", "10000"],
    ["basic", "5000", "150000", "0"],
    ["spread", "5000", "5000", "50000"],
    ["softspread", "5000", "5000", "50000"],
    ["defaultspread", "5000", "5000", "50000"],
    ["affinity", "5000", "5000", "50000"],
    ["antiaffinity", "5000", "1000", "4000"],
    ["prefaffinity", "5000", "5000", "50000"],
    ["prefantiaffinity", "5000", "5000", "50000"],
]
SPECS = ["affinity_namespaces", "affinity_mixed", "affinity_services"]


def make_input(workload, arguments):
    path = os.path.join("build/speed-table", "-".join(arguments) + ".json")
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            subprocess.run([sys.executable, workload, *arguments], stdout=file, check=True)
    return path


def make_from_spec(berth, name):
    path = os.path.join("build/speed-table", name + ".json")
    spec = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads", name + ".yaml")
    if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(spec):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run([berth, "generate", "--spec", spec, "--seed", "1", "-o", path], check=True)
    return path


def run_once(berth, path):
    begin = time.monotonic()
    output = subprocess.run([berth, "schedule", "-f", path, "-o", "json", "--stats"], stdout=subprocess.PIPE, check=True)
    seconds = time.monotonic() - begin
    return json.loads(output.stdout)["stats"], seconds


def row(berth, arguments, path, runs):
    results = [run_once(berth, path) for _ in range(runs)]
    rates = [stats["podsPerSecond"] for stats, _ in results]
    load = [os.path.getsize(path) / stats["seconds"]["load"] / 1e6 for stats, _ in results]
    whole = [seconds for _, seconds in results]
    peak = max(stats["bytes"]["peakRss"] for stats, _ in results) / 1e6
    model = results[0][0]["bytes"]["model"] / 1e6
    return (f"| {' '.join(arguments)} | {statistics.median(rates):,.0f} | {max(rates):,.0f} | "
            f"{statistics.median(load):,.0f} | {max(load):,.0f} | {statistics.median(whole):.2f} | {peak:.0f} | {model:.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--berth", default="build/host/berth")
    parser.add_argument("--workload", help="the script that writes the clusters of KINDS; without it their rows are left out")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    if options.workload and not os.path.exists(options.workload):
        parser.error(f"--workload: there is no file {options.workload}")
    print("| workload | pods/s, median | best | load MB/s, median | best | in all, s | peak RSS, MB | model, MB |")
    print("|---|---|---|---|---|---|---|---|")
    if not options.workload:
        print(f"speed_table: left out without --workload: {', '.join(' '.join(each) for each in KINDS)}", file=sys.stderr)
    for arguments in KINDS if options.workload else []:
        print(row(options.berth, arguments, make_input(options.workload, arguments), options.runs), flush=True)
    for name in SPECS:
        print(row(options.berth, [name], make_from_spec(options.berth, name), options.runs), flush=True)


if __name__ == "__main__":
    main()
