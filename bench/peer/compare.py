#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures Berth and upstream kube-scheduler on the same files in one run.

    bench/peer/compare.py --berth BERTH --peer PEER [--nodes 500,5000,15000] [--kinds basic,...] [--seconds 10]

Upstream runs its algorithm in process, without API server and binding: with its default sampling, with
percentageOfNodesToScore 100, and with batching where that applies. It stops after --seconds and reports what it has placed
until then. Berth scores every node; its figure is the median of --runs. Prints a table in Markdown: pods/s of each, and
Berth's by upstream's figure.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

import workloads

MODES = {"sampled": [], "all nodes": ["-percentage", "100"], "batched": ["-batching"]}


def make_input(berth, folder, kind, nodes):
    path = os.path.join(folder, f"{kind}-{nodes}.json")
    with open(path + ".spec", "w", encoding="utf-8") as file:
        json.dump(workloads.spec(kind, nodes), file)
    subprocess.run([berth, "generate", "-q", "--spec", path + ".spec", "--seed", "1", "-o", path], check=True)
    return path


def output_of(command):
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)


def berth_rate(options, path):
    rates = [output_of([options.berth, "schedule", "-q", "-o", "json", "--stats", "-f", path])["stats"]["podsPerSecond"]
             for _ in range(options.runs)]
    return statistics.median(rates)


def peer_rate(options, path, mode):
    return output_of([options.peer, *MODES[mode], "-max-seconds", str(options.seconds), path])["pods_per_second"]


def row(options, kind, nodes):
    path = make_input(options.berth, options.folder, kind, nodes)
    ours = berth_rate(options, path)
    cells = [kind, f"{nodes:,}", f"{ours:,.0f}"]
    for mode in MODES:
        if mode == "batched" and kind not in workloads.BATCHABLE:
            cells += ["", ""]
            continue
        theirs = peer_rate(options, path, mode)
        cells += [f"{theirs:,.0f}", f"{ours / theirs:,.0f}"]
    os.remove(path)
    return "| " + " | ".join(cells) + " |"


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--berth", required=True)
    p.add_argument("--peer", required=True)
    p.add_argument("--nodes", default="500,5000,15000")
    p.add_argument("--kinds", default=",".join(workloads.NODE_KINDS + workloads.TOPOLOGY_KINDS))
    p.add_argument("--seconds", type=int, default=10, help="of each run of upstream")
    p.add_argument("--runs", type=int, default=3, help="of Berth")
    p.add_argument("--folder", default="build/peer")
    options = p.parse_args()
    options.kinds = options.kinds.split(",")
    if unknown := [kind for kind in options.kinds if kind not in workloads.PODS]:
        p.error(f"--kinds: got {', '.join(unknown)}, expected some of {', '.join(workloads.PODS)}")
    options.nodes = [int(n) for n in options.nodes.split(",")]
    if unknown := [n for n in options.nodes if n not in workloads.PENDING]:
        p.error(f"--nodes: got {unknown}, expected some of {', '.join(map(str, workloads.PENDING))}")
    return options


def main():
    options = parse()
    os.makedirs(options.folder, exist_ok=True)
    head = ["pods", "nodes", "Berth, pods/s"] + [cell for mode in MODES for cell in (f"upstream, {mode}", "ratio")]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for nodes in options.nodes:
        for kind in options.kinds:
            print(row(options, kind, nodes), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
