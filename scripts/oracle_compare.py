#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Berth with upstream kube-scheduler (tests/oracle) on random clusters with random configurations.

    scripts/oracle_compare.py --berth BERTH --oracle 1.35=PROGRAM [--oracle 1.36=PROGRAM] [--clusters N] [--seed S]

Case S + k has the same cluster, configuration and feature gates everywhere. Each is compared for every given release:
every (pod, node, plugin) on each backend, then the serial run. Differences are printed with both records side by side, the
first differing cases are reduced (--shrink), and their files are kept under --keep.

Last line: oracle: N clusters, N pods, N verdicts, N differences. Exit status 1 when there is a difference, 2 when nothing
was compared.
"""
import os
import sys
from collections import Counter
from typing import NamedTuple

from oracle_case import Case, ToolError, compare_answers, read_json
from oracle_coverage import Coverage, report
from oracle_pool import Differing, answers_of_cases, comparison_parser, exit_status, read_arguments, tools_of
from oracle_records import Difference
from oracle_shrink import shrink


class Verdict(NamedTuple):
    """The result of one case, without its files."""
    seed: int
    release: str
    pods: int
    verdicts: int
    differences: list
    coverage: Counter
    refusal: str


class Work:
    """One process's share; `coverage` is read once."""

    def __init__(self, args):
        self.args = args
        self.tools = tools_of(args)
        self.coverage = Coverage()

    def base(self, seed, release):
        return os.path.join(self.args.keep, f"{seed}-{release}")

    def one(self, job):
        seed, release = job
        case = Case(self.base(seed, release))
        try:
            case.draw(self.tools, seed)
            comparison = compare_answers(case, self.tools, release)
        except ToolError as error:
            lost = Difference("", "tool", str(error), None, None)
            return Verdict(seed, release, 0, 0, [lost], Counter(), "")
        config = read_json(case.path(".config.json")) if os.path.exists(case.path(".config.json")) else None
        counts = self.coverage.count(comparison.records.values(), config)
        if not comparison.differences:
            case.remove()
        return Verdict(seed, release, comparison.pods, comparison.verdicts, comparison.differences, counts, comparison.refusal)


def parse():
    p = comparison_parser(__doc__, "cpu,reference", ("clusters", 2000))
    p.add_argument("--shrink", type=int, default=1, help="differing cases to shrink")
    p.add_argument("--coverage", action="store_true", help="print how often each item of tests/golden/coverage.json occurs")
    return read_arguments(p)


class Tally:
    """The sums over all cases, and what is printed on the way."""

    def __init__(self, args):
        self.clusters, self.pods, self.verdicts = set(), 0, 0
        self.refused = 0
        self.kinds = Counter()
        self.coverage = Counter()
        self.differing = Differing(args)

    def add(self, verdict):
        self.clusters.add(verdict.seed)
        self.pods += verdict.pods
        self.verdicts += verdict.verdicts
        self.refused += bool(verdict.refusal)
        self.coverage += verdict.coverage
        self.kinds.update(d.kind for d in verdict.differences)
        self.differing.add(verdict)


def shrink_some(tally, args):
    for verdict in tally.differing.cases[:args.shrink]:
        base = os.path.join(args.keep, f"{verdict.seed}-{verdict.release}")
        if os.path.exists(base + ".json"):
            for line in shrink(Case(base), tools_of(args), verdict.release, verdict.differences[0].kind):
                print(line)


def main():
    args = parse()
    tally = Tally(args)
    for verdict in answers_of_cases(Work, args):
        tally.add(verdict)
    shrink_some(tally, args)
    if args.coverage:
        print("\n".join(report(Coverage(), tally.coverage)))
    if tally.refused:
        print(f"oracle: {tally.refused} cases are refused by both sides")
    if tally.kinds:
        print("oracle: differences by kind: " + ", ".join(f"{kind} {count}" for kind, count in tally.kinds.most_common()))
    print(f"oracle: {len(tally.clusters)} clusters, {tally.pods} pods, {tally.verdicts} verdicts, "
          f"{tally.differing.count} differences")
    return exit_status(tally.differing.count, tally.verdicts)


if __name__ == "__main__":
    sys.exit(main())
