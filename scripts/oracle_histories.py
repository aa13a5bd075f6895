#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what a living engine answers between random events with upstream kube-scheduler (tests/oracle, mode walk).

    scripts/oracle_histories.py --histories-program PROGRAM --berth BERTH --oracle 1.35=PROGRAM [--oracle 1.36=PROGRAM]
                                [--histories N] [--seed S]

History S + k begins with the cluster, configuration and feature gates of case S + k of oracle_compare.py. Each backend draws
it for each release; those that differ from another backend's are walked too. Upstream's cache takes the same events; each
placement must be one that upstream could make at that moment, with the same total or message, and where the history has the
verdicts of all nodes they must be equal. The files of differing histories are kept under --keep.

Last line: oracle-histories: N histories, N placements, N verdicts, N differences. Exit status 1 when there is a difference,
2 when nothing was compared.
"""
import json
import os
import sys
from typing import NamedTuple

from oracle_case import Case, ToolError, distinct, run
from oracle_pool import Differing, answers_of_cases, comparison_parser, exit_status, read_arguments, tools_of
from oracle_records import Difference, record_differences, step_problem


class Walk(NamedTuple):
    """What upstream said of one history."""
    seed: int
    release: str
    placements: int
    verdicts: int
    differences: list


class Work:
    """One process's share."""

    def __init__(self, args):
        self.args = args
        self.tools = tools_of(args)

    def draw(self, case, seed, release):
        """The history of each backend, as files."""
        config = case.path(".config.json") if os.path.exists(case.path(".config.json")) else ""
        for backend in self.tools.backends:
            run([self.args.histories_program, case.path(".json"), str(seed), backend, release, config, case.gates()],
                case.path(f".{backend}.history.jsonl"))

    def one(self, job):
        seed, release = job
        case = Case(os.path.join(self.args.keep, f"history-{seed}-{release}"))
        placements = verdicts = 0
        differences = []
        try:
            case.draw(self.tools, seed)
            self.draw(case, seed, release)
            for backend in distinct(case, self.tools.backends, ".history.jsonl"):
                case.upstream(self.tools, release, "walk", case.path(".walk.jsonl"), "--follow",
                              case.path(f".{backend}.history.jsonl"))
                with open(case.path(".walk.jsonl"), encoding="utf-8") as file:
                    records = [json.loads(line) for line in file]
                placements += len(records)
                verdicts += sum(len(r["alone"]["nodes"]) for r in records if "alone" in r)
                differences += [d._replace(text=f"{backend}: {d.text}") for d in first_differences(records)]
        except ToolError as error:
            differences.append(Difference("", "tool", str(error), None, None))
        if not differences:
            case.remove()
        return Walk(seed, release, placements, verdicts, differences)


def first_differences(records):
    """Those of the first placement that differs: what follows happens in another cluster."""
    for record in records:
        found = list(record_differences(record["alone"], record["ours"])) if "alone" in record else []
        problem = step_problem(record, record["score"])
        if problem:
            found.append(Difference(record["pod"], *problem, record.get("message"), record.get("said")))
        if found:
            return found
    return []


def parse():
    p = comparison_parser(__doc__, "cpu,reference,cuda-emulated", ("histories", 1000))
    p.add_argument("--histories-program", required=True, metavar="PROGRAM", help="tests/histories/write_history")
    return read_arguments(p)


def main():
    args = parse()
    placements = verdicts = 0
    differing = Differing(args)
    for walk in answers_of_cases(Work, args):
        placements += walk.placements
        verdicts += walk.verdicts
        differing.add(walk)
    print(f"oracle-histories: {args.cases} histories, {placements} placements, {verdicts} verdicts, {differing.count} differences")
    return exit_status(differing.count, placements)


if __name__ == "__main__":
    sys.exit(main())
