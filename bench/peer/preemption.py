#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures preemption by Berth and by upstream kube-scheduler on the same file in one run.

    bench/peer/preemption.py --berth BERTH --peer PEER [--seconds 20] [--runs 3] [-- OPTIONS of bench/preemption_cluster.py]

Both try the pending pods in queue order, up to their nomination, which the next pod sees. Upstream runs Filter and its
DefaultPreemption in process, without API calls, once with its default, a random tenth of the nodes, and once with all nodes,
and stops after --seconds; pods that never preempt come first or last by their priority, so that `--nominated 0` compares
best. Berth looks at all nodes; its figure is the median of --runs. Prints a table in Markdown: pods without a node a second.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

CLUSTER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "preemption_cluster.py")
MODES = {"a tenth of the nodes": [], "all nodes": ["-all-nodes"]}


def output_of(command):
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)


def berth_rate(options, path):
    command = [options.berth, "schedule", "-q", "-f", path, "--preemption", "nominate", "-o", "json"]
    return statistics.median(output_of(command)["stats"]["podsPerSecond"] for _ in range(options.runs))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--berth", required=True)
    p.add_argument("--peer", required=True)
    p.add_argument("--seconds", type=int, default=20, help="of each run of upstream")
    p.add_argument("--runs", type=int, default=3, help="of Berth")
    p.add_argument("--folder", default="build/peer")
    p.add_argument("cluster", nargs="*", help="options of bench/preemption_cluster.py")
    options = p.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    path = os.path.join(options.folder, "preemption.json")
    subprocess.run([CLUSTER, path, *options.cluster], check=True)
    ours = berth_rate(options, path)
    print("| | preemptors/s | preemptors | ratio |\n|---|---|---|---|")
    print(f"| Berth, all nodes | {ours:,.0f} | all | |")
    for mode, flags in MODES.items():
        peer = output_of([options.peer, "-preempt", *flags, "-max-seconds", str(options.seconds), path])
        rate = peer["preemptors_per_second"]
        print(f"| upstream, {mode} | {rate:,.1f} | {peer['preemptors']:,} | {ours / rate:,.0f} |", flush=True)
    os.remove(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
