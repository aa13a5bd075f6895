#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs scheduler_perf workloads with Berth, gives the same nodes and pods to upstream's algorithm, and prints one table.

    bench/peer/perf.py --berth BERTH --peer PEER [--seconds 10] [--runs 1] [--folder build/peer] -- OPTIONS of berth perf

OPTIONS are --config FILE..., --label and --name. In one run: `berth perf` with --rate-factor 100 and with 1, which also
writes each measurement as a cluster (--dump), then for each cluster upstream's scheduler, in process, with its default
sampling, without API server, binding and preemption, stopped after --seconds. What is churned, deleted or updated during a
measurement is not part of the comparison with upstream: it places the measured pods on the nodes as they were at the end.
The JSON of all three stays in --folder, for bench/perf_table.py, which prints the table.
"""
import argparse
import json
import os
import re
import subprocess
import sys

TABLE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "perf_table.py")


def run_berth(options, factor, run, dump=None):
    """@return the path of what it wrote"""
    path = os.path.join(options.folder, f"perf-{factor}-{run}.json")
    command = [options.berth, "perf", "-q", *options.perf, "--rate-factor", str(factor), "-o", "json"]
    with open(path, "w", encoding="utf-8") as file:
        # 1: a workload failed, which the table says
        code = subprocess.run(command + (["--dump", dump] if dump else []), stdout=file, check=False).returncode
    if code not in (0, 1):
        raise SystemExit(f"berth perf ended with {code}")
    return path


def dump_of(folder, name):
    """As `berth perf --dump` names it."""
    workload, measurement = name
    return os.path.join(folder, re.sub(r"[^A-Za-z0-9.-]", "_", workload + "__" + measurement) + ".json.gz")


def run_peer(options, dumps, names):
    results = {}
    for name in names:
        path = dump_of(dumps, name)
        if not os.path.exists(path):
            continue
        command = [options.peer, "-max-seconds", str(options.seconds), path]
        answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
        results["/".join(name)] = json.loads(answer)
        os.remove(path)
    path = os.path.join(options.folder, "perf-upstream.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
    return path


def measured_names(path):
    with open(path, encoding="utf-8") as file:
        workloads = json.load(file)["workloads"]
    return [(workload["name"], measurement["name"]) for workload in workloads for measurement in workload["measurements"]]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--berth", required=True)
    p.add_argument("--peer", required=True)
    p.add_argument("--seconds", type=int, default=10, help="of each run of upstream")
    p.add_argument("--runs", type=int, default=1, help="of Berth, of which the median is shown")
    p.add_argument("--folder", default="build/peer")
    p.add_argument("perf", nargs="+", help="options of berth perf")
    options = p.parse_args()
    dumps = os.path.join(options.folder, "dumps")
    os.makedirs(dumps, exist_ok=True)
    scaled = [run_berth(options, 100, run) for run in range(options.runs)]
    as_is = [run_berth(options, 1, run, dumps if run == 0 else None) for run in range(options.runs)]
    peer = run_peer(options, dumps, measured_names(as_is[0]))
    subprocess.run([sys.executable, TABLE, "--scaled", *scaled, "--as-is", *as_is, "--peer", peer], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
