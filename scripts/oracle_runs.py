#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares whole runs with preemption with upstream kube-scheduler (tests/oracle, mode walk): of the scheduling loop
(write_run), or of `berth schedule` (write_schedule).

    scripts/oracle_runs.py --runs-program PROGRAM --berth BERTH --oracle 1.35=PROGRAM [--oracle 1.36=PROGRAM]
                           [--runs N] [--seed S]

Run S + k begins with the cluster, configuration and feature gates of case S + k of oracle_preemption.py. The loop tries every
pod, again and again as its queue says, on a virtual clock: victims end, pods go and nodes change. Upstream's cache takes the
same events. `berth schedule` tries every pod once, and preemptors again when their victims are gone. Each attempt must be one that upstream could make at that moment: the node with its total, or the message with
whom its preemption evicts and the node that the pod is nominated for. The files of differing runs are kept under --keep.

Last line: oracle-runs (or oracle-schedule): N runs, N attempts, N preemptions, N differences. Exit status 1 when there is a difference, 2 when
nothing was compared.
"""
import json
import sys

from oracle_case import read_json, write_json
from oracle_pool import Differing, answers_of_cases, comparison_parser, exit_status, read_arguments
from oracle_preemption import draw
from oracle_walk import WalkWork


class Work(WalkWork):
    """Counts attempts that evicted somebody."""
    name = "run"

    def program(self):
        return self.args.runs_program

    def draw_case(self, case, seed):
        draw(case, self.tools, seed, volumes=False)
        sort_objects(case)

    def count(self, records, followed):
        with open(followed, encoding="utf-8") as file:
            return sum(bool(json.loads(line).get("preempt", {}).get("victims")) for line in file)


def sort_objects(case):
    """As an API server lists them, which is the order in which the loop's store hands them over: the order of the pods on a
    node decides between equal victims."""
    cluster = read_json(case.path(".json"))
    cluster["items"].sort(key=lambda o: (o["metadata"].get("namespace", "default"), o["metadata"]["name"]))
    write_json(case.path(".json"), cluster)


def parse():
    p = comparison_parser(__doc__, "cpu,reference", ("runs", 1000))
    p.add_argument("--runs-program", required=True, metavar="PROGRAM", help="tests/histories/write_run or write_schedule")
    return read_arguments(p)


def main():
    args = parse()
    attempts = preemptions = 0
    differing = Differing(args)
    for walk in answers_of_cases(Work, args):
        attempts += walk.steps
        preemptions += walk.counted
        differing.add(walk)
    name = "oracle-schedule" if args.runs_program.endswith("write_schedule") else "oracle-runs"
    print(f"{name}: {args.cases} runs, {attempts} attempts, {preemptions} preemptions, {differing.count} differences")
    return exit_status(differing.count, preemptions)


if __name__ == "__main__":
    sys.exit(main())
