#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the table of scheduler_perf workloads of docs/benchmarks.md from runs of `berth perf -o json`.

    bench/perf_table.py --scaled SCALED.json... --as-is AS_IS.json... [--peer PEER.json] [--threshold-only]

SCALED ran with --rate-factor 100, AS_IS with 1; of several runs of one kind the median of each workload is shown. PEER is what
bench/peer/perf.py wrote. Every measurement of every workload is a row, in the order of the first run: pods, upstream's
threshold, pods/s and their ratio to it, and what was churned, deleted and preempted during the measurement, for both rate
factors; then upstream's algorithm, and Berth's figure by it. Skipped workloads are listed below the table. Prints Markdown.
"""
import argparse
import json
import statistics
import sys

COUNTS = ("churned", "deleted", "preempted")


def figure(number):
    """Three digits at least, thousands in groups."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def read_runs(paths):
    runs = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            runs.append(json.load(file)["workloads"])
    return runs


def row_name(workload, measurement):
    several = len(workload["measurements"]) > 1
    return f"{workload['name']}/{measurement['name']}" if several else workload["name"]


def measurements_of(runs):
    """@return {name of a row: [(workload, measurement) of each run]}, in order"""
    rows = {}
    for run in runs:
        for workload in run:
            for measurement in workload["measurements"]:
                rows.setdefault(row_name(workload, measurement), []).append((workload, measurement))
    return rows


def verdict(workload, measurement):
    """What a figure without a remark would hide."""
    remarks = [measurement["verdict"]] if measurement["verdict"] in ("not measured", "below threshold") else []
    if workload["verdict"] == "failed":
        remarks.append("failed")
    if workload["hintsOn"]:
        remarks.append("hints on")
    return ", ".join(remarks)


def of_median(found):
    """@return the (workload, measurement) of the median rate; of an even number the lower one"""
    rates = [measurement["podsPerSecond"] for _, measurement in found]
    return found[rates.index(statistics.median_low(rates))]


def berth_cells(found):
    if not found:
        return [""] * (3 + len(COUNTS))
    workload, measurement = of_median(found)
    threshold = workload["threshold"]
    rate = measurement["podsPerSecond"]
    ratio = figure(rate / threshold) if threshold > 0 else ""
    counts = [f"{measurement[name]:,}" if measurement[name] else "" for name in COUNTS]
    return [figure(rate), ratio, *counts, verdict(workload, measurement)]


def peer_cells(found, peer):
    if peer is None:
        return []
    workload, measurement = of_median(found)
    theirs = peer.get(f"{workload['name']}/{measurement['name']}")
    if theirs is None:
        return ["", ""]
    if theirs["placed"] < theirs["pods"]:
        return [f"{theirs['placed']:,} of {theirs['pods']:,} fit", ""]
    return [figure(theirs["pods_per_second"]), figure(measurement["podsPerSecond"] / theirs["pods_per_second"])]


def head(peer):
    def of_factor(factor):
        return [f"pods/s at {factor}", "ratio", *COUNTS, "remark"]
    cells = ["workload", "pods", "threshold", *of_factor(100), *of_factor(1)]
    return cells + (["upstream's algorithm, pods/s", "Berth at 100 by it"] if peer is not None else [])


def table(scaled, as_is, peer, threshold_only):
    lines = ["| " + " | ".join(head(peer)) + " |", "|---" * len(head(peer)) + "|"]
    for name in dict.fromkeys([*scaled, *as_is]):
        found = scaled.get(name) or as_is[name]
        workload, measurement = of_median(found)
        if threshold_only and workload["threshold"] <= 0:
            continue
        threshold = figure(workload["threshold"]) if workload["threshold"] > 0 else ""
        cells = [name, f"{measurement['pods']:,}", threshold, *berth_cells(scaled.get(name)), *berth_cells(as_is.get(name)),
                 *peer_cells(found, peer)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def skipped(runs):
    """Each reason once, with its workloads."""
    by_reason = {}
    for workload in runs[0]:
        if "needs" in workload:
            by_reason.setdefault(workload["needs"], []).append(workload["name"])
    return [f"- needs {reason} ({len(names)}): {', '.join(names)}" for reason, names in by_reason.items()]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--scaled", nargs="+", required=True, metavar="FILE", help="of --rate-factor 100")
    p.add_argument("--as-is", nargs="+", required=True, metavar="FILE", help="of --rate-factor 1")
    p.add_argument("--peer", metavar="FILE", help="of bench/peer/perf.py")
    p.add_argument("--threshold-only", action="store_true", help="only workloads that have a threshold")
    options = p.parse_args()
    peer = None
    if options.peer:
        with open(options.peer, encoding="utf-8") as file:
            peer = json.load(file)
    scaled = read_runs(options.scaled)
    lines = table(measurements_of(scaled), measurements_of(read_runs(options.as_is)), peer, options.threshold_only)
    print("\n".join(lines))
    if left_out := skipped(scaled):
        print("\nSkipped:\n\n" + "\n".join(left_out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
