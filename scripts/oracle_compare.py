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
import argparse
import json
import multiprocessing
import os
import sys
from collections import Counter
from typing import NamedTuple

from oracle_case import Case, Tools, ToolError, judge, read_json
from oracle_coverage import Coverage, report
from oracle_records import Difference, side_by_side
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
        self.tools = Tools(args.berth, args.oracles, tuple(args.backends.split(",")))
        self.coverage = Coverage()

    def base(self, seed, release):
        return os.path.join(self.args.keep, f"{seed}-{release}")

    def one(self, job):
        seed, release = job
        case = Case(self.base(seed, release))
        try:
            case.draw(self.tools, seed)
            judgement = judge(case, self.tools, release)
        except ToolError as error:
            lost = Difference("", "tool", str(error), None, None)
            return Verdict(seed, release, 0, 0, [lost], Counter(), "")
        config = read_json(case.path(".config.json")) if os.path.exists(case.path(".config.json")) else None
        counts = self.coverage.count(judgement.records.values(), config)
        if not judgement.differences:
            case.remove()
        return Verdict(seed, release, judgement.pods, judgement.verdicts, judgement.differences, counts, judgement.refusal)


def start_worker(args):
    global WORK
    WORK = Work(args)


def do_job(job):
    return WORK.one(job)


def oracle_option(text):
    release, _, program = text.partition("=")
    if not program:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected RELEASE=PROGRAM")
    return release, program


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--berth", required=True)
    p.add_argument("--oracle", required=True, action="append", type=oracle_option, dest="oracles", metavar="RELEASE=PROGRAM")
    p.add_argument("--backends", default="cpu,reference")
    p.add_argument("--clusters", type=int, default=2000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--keep", default="build/oracle/cases", help="folder for the files of differing cases")
    p.add_argument("--show", type=int, default=5, help="differences to print in full, one a case")
    p.add_argument("--shrink", type=int, default=1, help="differing cases to shrink")
    p.add_argument("--coverage", action="store_true", help="print how often each item of tests/golden/coverage.json occurs")
    args = p.parse_args()
    args.oracles = dict(args.oracles)
    return args


class Tally:
    """The sums over all cases, and what is printed on the way."""

    def __init__(self, args):
        self.args = args
        self.clusters, self.pods, self.verdicts, self.differences = set(), 0, 0, 0
        self.refused = 0
        self.kinds = Counter()
        self.coverage = Counter()
        self.differing = []

    def add(self, verdict):
        self.clusters.add(verdict.seed)
        self.pods += verdict.pods
        self.verdicts += verdict.verdicts
        self.differences += len(verdict.differences)
        self.refused += bool(verdict.refusal)
        self.coverage += verdict.coverage
        self.kinds.update(d.kind for d in verdict.differences)
        if verdict.differences:
            self.differing.append(verdict)
            self.show(verdict)

    def show(self, verdict):
        if len(self.differing) > self.args.show:
            return
        first = verdict.differences[0]
        print(f"seed {verdict.seed}, release {verdict.release}: {len(verdict.differences)} differences; the first: "
              f"{first.pod}: {first.text}")
        if first.upstream is not None or first.ours is not None:
            print(side_by_side(first.upstream, first.ours))
        sys.stdout.flush()


def shrink_some(tally, args):
    tools = Tools(args.berth, args.oracles, tuple(args.backends.split(",")))
    for verdict in tally.differing[:args.shrink]:
        base = os.path.join(args.keep, f"{verdict.seed}-{verdict.release}")
        if os.path.exists(base + ".json"):
            for line in shrink(Case(base), tools, verdict.release, verdict.differences[0].kind):
                print(line)


def main():
    args = parse()
    os.makedirs(args.keep, exist_ok=True)
    jobs = [(seed, release) for seed in range(args.seed, args.seed + args.clusters) for release in sorted(args.oracles)]
    tally = Tally(args)
    with multiprocessing.Pool(args.jobs, start_worker, (args,)) as pool:
        for verdict in pool.imap_unordered(do_job, jobs):
            tally.add(verdict)
    shrink_some(tally, args)
    if args.coverage:
        print("\n".join(report(Coverage(), tally.coverage)))
    if tally.refused:
        print(f"oracle: {tally.refused} cases are refused by both sides")
    if tally.kinds:
        print("oracle: differences by kind: " + ", ".join(f"{kind} {count}" for kind, count in tally.kinds.most_common()))
    print(f"oracle: {len(tally.clusters)} clusters, {tally.pods} pods, {tally.verdicts} verdicts, "
          f"{tally.differences} differences")
    return 1 if tally.differences else 0 if tally.verdicts else 2


if __name__ == "__main__":
    sys.exit(main())
