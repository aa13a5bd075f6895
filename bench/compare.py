#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the speeds in two result files: a table, and a verdict.

    bench/compare.py OLD NEW [--threshold 10] [--common]

The files are results of tests/device.sh, outputs of `berth bench -o json`, or Google Benchmark's JSON, both of one kind.
OLD may be a folder of recorded results of tests/device.sh: the newest from the same hardware is taken; the lack of one
is reported and is no error. Every speed is a rate, so a ratio new/old below 1 is a loss; the ratio of a Google
benchmark is that of runs per second. --common compares the workloads that both files have and names the others.

Exit status: 0 when nothing is slower by more than the threshold (in percent), 1 when something is or has no figure any
more, 2 when the files cannot be compared: not read, of different kinds, from different hardware, or with other workloads.
"""

import argparse
import json
import os
import statistics
import sys


class CannotCompare(Exception):
    pass


class Result:
    """What is compared of one file. `speeds`: {workload: rate, or None where a run gave no figure}. `setting`: what both
    files must have alike, {name: value}; empty where a file says nothing of it."""

    def __init__(self, kind, unit, setting, speeds):
        self.kind = kind
        self.unit = unit
        self.setting = setting
        self.speeds = speeds


def read_device_result(data):
    gpu = data["hardware"]["gpu"]
    setting = {"GPU": gpu["name"] if gpu else "none", "CPU": data["hardware"]["cpu"]["model"],
               "cores": data["hardware"]["cpu"]["cores"], "quick": data["quick"]}
    speeds = {}
    tried = {step["name"] for step in data["steps"]}
    for row in data["workloads"]:
        for backend in ("reference", "cpu", "cuda"):
            figures = row["backends"].get(backend)
            if figures or f"bench-{row['name']}-{backend}" in tried:
                speeds[f"{row['name']}, {backend}"] = figures["podsPerSecond"] if figures else None
    return Result("device result", "pods/s", setting, speeds)


def read_bench(data):
    speeds = {}
    for run in data["runs"]:
        speeds[f"{run['pods']:,} pods, {run['classes']:,} classes, {run['nodes']:,} nodes, {run['backend']}"] = \
            run["podsPerSecond"]
    return Result("berth bench", "pods/s", {}, speeds)


NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def read_google_benchmark(data):
    """Of repetitions the median. Names are those of a run, without what an aggregate adds."""
    times = {}
    for run in data["benchmarks"]:
        if run.get("run_type", "iteration") == "iteration":
            failed = run.get("error_occurred") or run.get("skipped")
            times.setdefault(run["name"], []).append(None if failed else run["real_time"] * NANOSECONDS[run["time_unit"]])
    for run in data["benchmarks"]:  # with --benchmark_report_aggregates_only there is nothing but aggregates
        if run.get("aggregate_name") == "median":
            times.setdefault(run["run_name"], []).append(run["real_time"] * NANOSECONDS[run["time_unit"]])
    speeds = {name: None if None in found else 1e9 / statistics.median(found) for name, found in times.items()}
    context = data["context"]
    setting = {"cores": context["num_cpus"], "build type": context.get("library_build_type"),
               "caches": [cache["size"] for cache in context.get("caches", [])]}
    return Result("Google Benchmark", "runs/s", setting, speeds)


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        raise CannotCompare(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise CannotCompare(f"{path}: not JSON: {error}") from error


def read(path):
    data = load(path)
    readers = {"benchmarks": read_google_benchmark, "workloads": read_device_result, "runs": read_bench}
    for key, reader in readers.items():
        if isinstance(data, dict) and key in data:
            try:
                result = reader(data)
            except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
                raise CannotCompare(f"{path}: not as expected: {type(error).__name__}: {error}") from error
            if not result.speeds:
                raise CannotCompare(f"{path}: holds no workload")
            return result
    raise CannotCompare(f"{path}: expected one of the members {', '.join(readers)}")


def youngest_recorded(folder, new):
    """The path of the youngest device result in `folder` with the setting of `new`, or None."""
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".json")]
    paths = [path for path in paths if read(path).setting == new.setting]
    return max(paths, key=lambda path: load(path).get("date", ""), default=None)


def check_setting(old, new):
    if old.kind != new.kind:
        raise CannotCompare(f"the old file is a {old.kind}, the new one a {new.kind}")
    different = [f"{name} was {old.setting.get(name)}, is {new.setting.get(name)}"
                 for name in sorted({*old.setting, *new.setting}) if old.setting.get(name) != new.setting.get(name)]
    if different:
        raise CannotCompare("different hardware or settings: " + "; ".join(different))


def common_workloads(old, new, only_common):
    """The workloads of both files, in the order of the new one."""
    alone = [(name, "old") for name in old.speeds if name not in new.speeds]
    alone += [(name, "new") for name in new.speeds if name not in old.speeds]
    if alone and not only_common:
        raise CannotCompare("different workloads (--common leaves them out): " +
                            "; ".join(f"{name}: only in the {where} file" for name, where in alone))
    for name, where in alone:
        print(f"left out: {name}: only in the {where} file")
    names = [name for name in new.speeds if name in old.speeds]
    if not names:
        raise CannotCompare("no workload in common")
    return names


def verdict_of(old, new, threshold):
    if new is None:
        return "no figure" if old is None else "LOST"
    if not old:
        return "new figure"
    ratio = new / old
    if ratio < 1 - threshold / 100:
        return "SLOWER"
    return "faster" if ratio > 1 + threshold / 100 else "same"


def compare(old, new, options):
    """Prints the table and returns the exit status."""
    names = common_workloads(old, new, options.common)
    print(f"| workload | old, {new.unit} | new, {new.unit} | new/old | verdict |\n|---|---|---|---|---|")
    worse = []
    for name in names:
        before, after = old.speeds[name], new.speeds[name]
        verdict = verdict_of(before, after, options.threshold)
        cells = ["" if speed is None else f"{speed:,.0f}" for speed in (before, after)]
        ratio = f"{after / before:.3f}" if before and after is not None else ""
        print(f"| {name} | {cells[0]} | {cells[1]} | {ratio} | {verdict} |")
        if verdict in ("SLOWER", "LOST"):
            worse.append(name)
    if not new.setting:
        print("the files do not say on which hardware they were made")
    if worse:
        print(f"compare: {len(worse)} of {len(names)} workloads are slower by more than {options.threshold:g} %, or have "
              f"no figure any more: {'; '.join(worse)}")
        return 1
    print(f"compare: none of {len(names)} workloads is slower by more than {options.threshold:g} %")
    return 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--threshold", type=float, default=10, help="percent, default 10")
    parser.add_argument("--common", action="store_true", help="compare what both have")
    options = parser.parse_args()
    if not 0 < options.threshold < 100:
        parser.error(f"--threshold: got {options.threshold:g}, expected a number between 0 and 100")
    return options


def main():
    options = parse()
    try:
        new = read(options.new)
        path = options.old
        if os.path.isdir(path):
            path = youngest_recorded(path, new)
            if path is None:
                print(f"compare: nothing is recorded in {options.old} for this hardware: nothing to compare with")
                return 0
            print(f"compared with {path}")
        old = read(path)
        check_setting(old, new)
        return compare(old, new, options)
    except CannotCompare as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
