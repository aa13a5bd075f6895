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
import sys

from oracle_case import without_volumes
from oracle_pool import Differing, answers_of_cases, comparison_parser, exit_status, read_arguments
from oracle_walk import WalkWork


class Work(WalkWork):
    """Counts verdicts."""
    name = "history"

    def program(self):
        return self.args.histories_program

    def draw_case(self, case, seed):
        case.draw(self.tools, seed, without_volumes(seed))

    def count(self, records, followed):
        return sum(len(r["alone"]["nodes"]) for r in records if "alone" in r)


def parse():
    p = comparison_parser(__doc__, "cpu,reference,cuda-emulated", ("histories", 1000))
    p.add_argument("--histories-program", required=True, metavar="PROGRAM", help="tests/histories/write_history")
    return read_arguments(p)


def main():
    args = parse()
    placements = verdicts = 0
    differing = Differing(args)
    for walk in answers_of_cases(Work, args):
        placements += walk.steps
        verdicts += walk.counted
        differing.add(walk)
    print(f"oracle-histories: {args.cases} histories, {placements} placements, {verdicts} verdicts, {differing.count} differences")
    return exit_status(differing.count, placements)


if __name__ == "__main__":
    sys.exit(main())
