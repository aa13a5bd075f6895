#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the program on bad input of every kind, and fails when it does not answer as docs/cli.md promises.

    tests/hostile/hostile.py --berth build/host/berth [--inputs N] [--seed N] [--only TEXT] [--keep FOLDER]

The inputs are the fixed ones of corpus.py, derived.py and recordings.py, then N random mutations of the files in good/ (mutations.py).
A failure is a crash, a run of more than --timeout seconds, more than 1 GiB of memory, an exit code that docs/cli.md
does not promise (or not the one that the input must end with), a control byte or a line without "berth: " on standard
error, a control byte on standard output, or an error without a message. Each failure is printed with its name;
--only NAME runs it again, and --keep FOLDER leaves its files there. The last line is "hostile: N inputs, N failed";
the exit status is 1 when any failed.
"""

import argparse
import collections
import concurrent.futures
import os
import shutil
import sys

import corpus
import derived
import mutations
import outcome
import recordings

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--berth", required=True, help="the program")
    parser.add_argument("--inputs", type=int, default=1000, help="random mutations (default 1000)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random mutations (default 1)")
    parser.add_argument("--jobs", type=int, default=1, help="inputs that run side by side (default 1)")
    parser.add_argument("--timeout", type=float, default=20, help="seconds that one input may take (default 20)")
    parser.add_argument("--only", default="", help="run the inputs whose name contains this")
    parser.add_argument("--keep", default="", help="copy the files of failed inputs here")
    parser.add_argument("--slowest", type=int, default=0, help="name this many of the slowest and of the largest")
    parser.add_argument("--no-memory-limit", action="store_true", help="for builds with a sanitizer")
    return parser.parse_args()


def all_inputs(options):
    yield from corpus.inputs()
    yield from derived.inputs()
    yield from recordings.inputs()
    yield from mutations.inputs(options.inputs, options.seed)


def shown(given, result):
    text = " ".join(repr(os.fsencode(part))[2:-1] for part in given.arguments)
    lines = [f"    berth {text}"[: outcome.SHOWN_BYTES]]
    if result.err:
        lines.append("    stderr: " + repr(result.err[: outcome.SHOWN_BYTES])[2:-1])
    return "\n".join(lines)


def keep(given, folder):
    target = os.path.join(folder, given.name.replace("/", "_"))
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    if given.prepare is not None:
        given.prepare(target)
    if isinstance(given.stdin, bytes) and given.stdin:
        with open(os.path.join(target, "stdin"), "wb") as file:
            file.write(given.stdin)


def main():
    options = arguments()
    with open(os.path.join(ROOT, "docs", "cli.md"), encoding="utf-8") as page:
        promised = outcome.promised_exit_codes(page.read())
    limits = outcome.Limits(seconds=options.timeout)
    if options.no_memory_limit:
        limits.rss_bytes = 1 << 62
    program = [os.path.abspath(options.berth)]
    chosen = [given for given in all_inputs(options) if options.only in given.name]
    names = collections.Counter(given.name for given in chosen)
    assert all(count == 1 for count in names.values()), [name for name, count in names.items() if count > 1][:5]

    def check(given):
        result = outcome.run(program, given, limits, not options.no_memory_limit)
        return given, result, outcome.problem_of(given, result, limits, promised)

    failed = 0
    costs = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for given, result, problem in pool.map(check, chosen):
            costs.append((result.seconds, result.rss_bytes >> 20, given.name))
            if problem:
                failed += 1
                print(f"FAILED {given.name}: {problem}\n{shown(given, result)}", flush=True)
                if options.keep:
                    keep(given, options.keep)
    for key, unit in ((0, "s"), (1, "MiB")):
        for cost in sorted(costs, key=lambda cost: -cost[key])[: options.slowest]:
            print(f"{cost[key]:10.2f} {unit}  {cost[2]}")
    print(f"hostile: {len(chosen)} inputs, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
