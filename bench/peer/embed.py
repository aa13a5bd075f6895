#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what questions cost through berth.h and through upstream's framework, over the same objects in one run.

    bench/peer/embed.py --berth BENCH_EMBED_PEER --peer PEER [--seconds 10] [--folder build/peer]
    bench/peer/embed.py --berth BENCH_EMBED_PEER --go PREFIX [--folder build/peer]

The cluster has 5,000 nodes with 30 running pods each (bench/engine/loaded_engine.h). Upstream runs PreFilter and Filter as a
program does that imports its framework (bench/peer/embed.go), with parallelism 1 and 2, of which the faster counts; its copies of
nodes and its cache are not timed. Ours is the whole call of berth.h. Of each question the fastest of up to 41 rounds counts. Both have to give the same answer. Prints a table in
Markdown; last line: bench-embed-peer: N rows, N short. Exit status 1 where answers differ.

With --go the questions are asked through C and through Go (go/peer_bench_test.go), three times in turn of which the fastest
counts; PREFIX has an installed libberth.
"""
import argparse
import json
import os
import subprocess
import sys

# Row of upstream, row of ours, how many times as fast ours has to be (issue 16, section 2).
ROWS = (("check plain", "check plain", 15), ("check plain among anti-affinity", "check plain among anti-affinity", 1000),
        ("check spread", "check spread", 5000), ("check anti-affinity", "check anti-affinity", 5000),
        ("any node plain", "any node plain by score", 500), ("any node plain", "any node plain by first fit", 0),
        ("any node nowhere", "any node nowhere by score", 500), ("any node nowhere", "any node nowhere by first fit", 0),
        ("any node plain among anti-affinity", "any node plain among anti-affinity by score", 500),
        ("any node nowhere among anti-affinity", "any node nowhere among anti-affinity by score", 500),
        ("drain of one node", "drain of one node", 300), ("scale-up estimate", "scale-up estimate", 300))


def output_of(command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def ours_of(options):
    """{row: (us, answer)}"""
    lines = (line.split("\t") for line in output_of([options.berth, options.folder]).splitlines())
    return {name: (float(us), int(answer)) for name, us, answer in lines}


def through_go_of(options):
    """The same through Go."""
    libraries = os.path.join(os.path.abspath(options.go), "lib")
    environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(libraries, "pkgconfig"), LD_LIBRARY_PATH=libraries)
    command = ["go", "test", "-v", "-count=1", "-tags", "berth_bench", "-run", "PeerQuestions", ".", "-folder", os.path.abspath(options.folder)]
    module = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "go")
    ran = subprocess.run(command, cwd=module, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    lines = (line.split("\t") for line in ran.stdout.splitlines())
    return {line[0]: (float(line[1]), int(line[2])) for line in lines if len(line) == 3 and line[0].strip() != "ok"}


def fastest(rounds):
    return {name: (min(rows[name][0] for rows in rounds), rounds[0][name][1]) for name in rounds[0]}


def compare_with_go(options):
    in_turn = [(ours_of(options), through_go_of(options)) for _ in range(3)]
    of_c, of_go = (fastest(rounds) for rounds in zip(*in_turn))
    print("| question | C | Go | Go costs more |")
    print("|---|---|---|---|")
    for name, (us, answer) in of_c.items():
        go_us, go_answer = of_go[name]
        same = "" if answer == go_answer else f" (ANSWERS DIFFER: {answer} vs {go_answer})"
        print(f"| {name}{same} | {us:,.2f} us | {go_us:,.2f} us | {go_us - us:+,.2f} us, {100 * (go_us / us - 1):+.0f} % |")
    return 1 if any(answer != of_go[name][1] for name, (_, answer) in of_c.items()) else 0


def theirs_of(options, parallelism):
    result = json.loads(output_of([options.peer, "-embed", os.path.join(options.folder, "questions.json"), "-max-seconds",
                                   str(options.seconds), "-parallelism", str(parallelism),
                                   os.path.join(options.folder, "cluster.json")]))
    return {row["name"]: (row["us"], row["answer"]) for row in result["rows"]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--berth", required=True)
    p.add_argument("--peer")
    p.add_argument("--go", metavar="PREFIX", help="compare C with Go, and not with upstream")
    p.add_argument("--seconds", type=int, default=10, help="of each row of upstream, at most, and one round")
    p.add_argument("--folder", default="build/peer")
    options = p.parse_args()
    if not (options.peer or options.go):
        p.error("--peer or --go is needed")
    os.makedirs(options.folder, exist_ok=True)
    if options.go:
        return compare_with_go(options)
    ours = ours_of(options)
    theirs = [theirs_of(options, parallelism) for parallelism in (1, 2)]
    print("| question | libberth | upstream, 1 | upstream, 2 | ratio | at least |")
    print("|---|---|---|---|---|---|")
    short = wrong = 0
    for name, own, limit in ROWS:
        us, answer = ours[own]
        times = [rows[name][0] for rows in theirs]
        ratio = min(times) / us
        short += ratio < limit
        wrong += answer != theirs[0][name][1]
        same = "" if answer == theirs[0][name][1] else f" (ANSWERS DIFFER: {answer} vs {theirs[0][name][1]})"
        print(f"| {own}{same} | {us:,.2f} us | {times[0]:,.1f} us | {times[1]:,.1f} us | {ratio:,.0f} | {limit or ''} |")
    print(f"bench-embed-peer: {len(ROWS)} rows, {short} short")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
