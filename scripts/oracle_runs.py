#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares whole runs of the scheduling loop, with preemption, with upstream kube-scheduler (tests/oracle, mode walk).

    scripts/oracle_runs.py --runs-program PROGRAM --berth BERTH --oracle 1.35=PROGRAM [--oracle 1.36=PROGRAM]
                           [--runs N] [--seed S]

Run S + k begins with the cluster, configuration and feature gates of case S + k of oracle_preemption.py. The loop tries every
pod, again and again as its queue says, on a virtual clock: victims end, pods go and nodes change. Upstream's cache takes the
same events. Each attempt must be one that upstream could make at that moment: the node with its total, or the message with
whom its preemption evicts and the node that the pod is nominated for. The files of differing runs are kept under --keep.

Last line: oracle-runs: N runs, N attempts, N preemptions, N differences. Exit status 1 when there is a difference, 2 when
nothing was compared.
"""
import json
import os
import sys
from typing import NamedTuple

from oracle_case import Case, ToolError, distinct, read_json, run, write_json
from oracle_histories import first_differences
from oracle_pool import Differing, answers_of_cases, comparison_parser, exit_status, read_arguments, tools_of
from oracle_preemption import draw
from oracle_records import Difference


class Walk(NamedTuple):
    """What upstream said of one run."""
    seed: int
    release: str
    attempts: int
    preemptions: int
    differences: list


class Work:
    """One process's share."""

    def __init__(self, args):
        self.args = args
        self.tools = tools_of(args)

    def schedule(self, case, seed, release):
        """The run of each backend, as files."""
        config = case.path(".config.json") if os.path.exists(case.path(".config.json")) else ""
        for backend in self.tools.backends:
            run([self.args.runs_program, case.path(".json"), str(seed), backend, release, config, case.gates()],
                case.path(f".{backend}.run.jsonl"))

    def one(self, job):
        seed, release = job
        case = Case(os.path.join(self.args.keep, f"run-{seed}-{release}"))
        attempts = preemptions = 0
        differences = []
        try:
            draw(case, self.tools, seed)
            sort_objects(case)
            self.schedule(case, seed, release)
            for backend in distinct(case, self.tools.backends, ".run.jsonl"):
                followed = case.path(f".{backend}.run.jsonl")
                case.upstream(self.tools, release, "walk", case.path(".walk.jsonl"), "--follow", followed)
                with open(case.path(".walk.jsonl"), encoding="utf-8") as file:
                    records = [json.loads(line) for line in file]
                attempts += len(records)
                preemptions += preemptions_of(followed)
                differences += [d._replace(text=f"{backend}: {d.text}") for d in first_differences(records)]
        except ToolError as error:
            differences.append(Difference("", "tool", str(error), None, None))
        if not differences:
            case.remove()
        return Walk(seed, release, attempts, preemptions, differences)


def sort_objects(case):
    """As an API server lists them, which is the order in which the loop's store hands them over: the order of the pods on a
    node decides between equal victims."""
    cluster = read_json(case.path(".json"))
    cluster["items"].sort(key=lambda o: (o["metadata"].get("namespace", "default"), o["metadata"]["name"]))
    write_json(case.path(".json"), cluster)


def preemptions_of(path):
    """Attempts that evicted somebody."""
    with open(path, encoding="utf-8") as file:
        return sum(bool(json.loads(line).get("preempt", {}).get("victims")) for line in file)


def parse():
    p = comparison_parser(__doc__, "cpu,reference", ("runs", 1000))
    p.add_argument("--runs-program", required=True, metavar="PROGRAM", help="tests/histories/write_run")
    return read_arguments(p)


def main():
    args = parse()
    attempts = preemptions = 0
    differing = Differing(args)
    for walk in answers_of_cases(Work, args):
        attempts += walk.attempts
        preemptions += walk.preemptions
        differing.add(walk)
    print(f"oracle-runs: {args.cases} runs, {attempts} attempts, {preemptions} preemptions, {differing.count} differences")
    return exit_status(differing.count, preemptions)


if __name__ == "__main__":
    sys.exit(main())
