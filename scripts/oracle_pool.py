# SPDX-License-Identifier: Apache-2.0
"""What the comparisons with upstream share: their options, cases in several processes, and how a difference is printed."""
import argparse
import multiprocessing
import os
import sys

from oracle_case import Tools
from oracle_records import side_by_side


def oracle_option(text):
    release, _, program = text.partition("=")
    if not program:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected RELEASE=PROGRAM")
    return release, program


def oracle_parser(text):
    """For the docstring of a program: what every comparison needs."""
    p = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--berth", required=True)
    p.add_argument("--oracle", required=True, action="append", type=oracle_option, dest="oracles", metavar="RELEASE=PROGRAM")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    return p


def comparison_parser(text, backends, cases):
    """The same for those that compare --CASES cases from --seed on. @param cases  ("clusters", 2000)"""
    p = oracle_parser(text)
    p.add_argument("--" + cases[0], type=int, default=cases[1], dest="cases")
    p.add_argument("--backends", default=backends)
    p.add_argument("--keep", default="build/oracle/cases", help="folder for the files of differing cases")
    p.add_argument("--show", type=int, default=5, help="differences to print in full, one a case")
    return p


def read_arguments(parser):
    args = parser.parse_args()
    args.oracles = dict(args.oracles)
    return args


def tools_of(args):
    return Tools(args.berth, args.oracles, tuple(args.backends.split(",")))


def start_worker(make_work, args):
    global WORK
    WORK = make_work(args)


def do_job(job):
    return WORK.one(job)


def answers_of_cases(make_work, args):
    """What make_work(args).one((seed, release)) returns for each case and release, each process with a work of its own; in
    any order."""
    os.makedirs(args.keep, exist_ok=True)
    jobs = [(seed, release) for seed in range(args.seed, args.seed + args.cases) for release in sorted(args.oracles)]
    with multiprocessing.Pool(args.jobs, start_worker, (make_work, args)) as pool:
        yield from pool.imap_unordered(do_job, jobs)


class Differing:
    """The cases that differ; the first --show of them are printed."""

    def __init__(self, args):
        self.show = args.show
        self.cases = []
        self.count = 0  # of their differences

    def add(self, case):
        """@param case  with seed, release and differences"""
        if not case.differences:
            return
        self.cases.append(case)
        self.count += len(case.differences)
        if len(self.cases) > self.show:
            return
        first = case.differences[0]
        print(f"seed {case.seed}, release {case.release}: {len(case.differences)} differences; the first: {first.pod}: {first.text}")
        if first.upstream is not None or first.ours is not None:
            print(side_by_side(first.upstream, first.ours))
        sys.stdout.flush()


def exit_status(differences, compared):
    return 1 if differences else 0 if compared else 2
