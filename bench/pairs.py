#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares two builds of the program by alternating runs of the workloads of speed_table.py.

    bench/pairs.py OLD NEW [--pairs 15] [--repeat 5] [--only TEXT] [--workload ../shared/tools/workload.py]

Both programs place the same files by turns: OLD, NEW, OLD, ... A run is `berth bench --repeat N` in one process, of which
the quickest placement counts, because many take less than 100 ms; the first placement of a process, as `berth schedule`
has it, is a column of its own. Printed are the median pods per second of each program and the median of the ratios
NEW/OLD of the pairs; the last line counts the rows below 0.97.
"""

import argparse
import json
import statistics
import subprocess

from speed_table import KINDS, SPECS, make_from_spec, make_input

LEAST_RATIO = 0.97


def output_of(command):
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def quickest(berth, path, repeat):
    result = output_of([berth, "bench", "-q", "-f", path, "--repeat", str(repeat), "-o", "json"])
    return result["runs"][0]["podsPerSecond"]


def first(berth, path, _):
    return output_of([berth, "schedule", "-q", "-f", path, "-o", "json", "--stats"])["stats"]["podsPerSecond"]


def ratios_of(measure, options, path):
    """@return the rates of both programs, and the ratios of the pairs"""
    old, new = [], []
    for _ in range(options.pairs):
        old.append(measure(options.old, path, options.repeat))
        new.append(measure(options.new, path, options.repeat))
    return old, new, [n / o for o, n in zip(old, new)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--workload", default="../shared/tools/workload.py")
    options = parser.parse_args()
    inputs = [(" ".join(arguments), make_input(options.workload, arguments)) for arguments in KINDS if arguments[3] != "0"]
    inputs += [(name, make_from_spec(options.new, name)) for name in SPECS]
    inputs = [(name, path) for name, path in inputs if options.only in name]
    print("| workload | OLD pods/s | NEW pods/s | ratio | first: OLD | NEW | ratio |\n|---|---|---|---|---|---|---|")
    below = 0
    for name, path in inputs:
        cells = []
        for measure in (quickest, first):
            old, new, ratios = ratios_of(measure, options, path)
            ratio = statistics.median(ratios)
            below += measure is quickest and ratio < LEAST_RATIO
            cells += [f"{statistics.median(old):,.0f}", f"{statistics.median(new):,.0f}", f"{ratio:.3f}"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"pairs: {len(inputs)} rows, {below} below {LEAST_RATIO}")


if __name__ == "__main__":
    main()
