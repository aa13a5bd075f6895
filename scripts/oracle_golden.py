#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the golden corpus: the answers of upstream kube-scheduler for clusters drawn from seeds (tests/golden).

    scripts/oracle_golden.py --berth BERTH --oracle 1.35=PROGRAM --oracle 1.36=PROGRAM [--clusters N] [--candidates N]

The corpus has the handmade clusters (tests/golden/handmade: what the generator does not draw), then of many drawn ones those
that together show every item of tests/golden/coverage.json several times, then others up to N. The files are
    corpus.json                   versions, the items that never occur (docs/fidelity.md says why), and for each cluster
                                  its name, or seed and spec, and the CRC-32 of cluster, configuration and gates
    verdicts-RELEASE.jsonl.gz     one line per cluster: node names, the distinct verdicts, the pods (each node by the number
                                  of its verdict), and the serial run with the first of the best nodes each time
A line {"same": true} means that the first release gives the same answer. Exit status 1 when upstream does not accept Berth's
run: then nothing is written.
"""
import gzip
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import zlib
from collections import Counter

from oracle_case import Case, Tools, ToolError, dice, read_json, read_records, walk
from oracle_coverage import Coverage, report
from oracle_pool import oracle_parser, read_arguments

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "golden")
BACKEND = "reference"


def spec_of(seed):
    """Mostly small clusters: what matters is how many different things they show."""
    draws = {"maxNodes": (2, 8, 20, 40)[dice(seed, "nodes", 4)], "maxRunningPods": (0, 20, 60, 150)[dice(seed, "running", 4)],
             "maxPendingPods": (6, 12, 24)[dice(seed, "pending", 3)], "topology": (0, 100)[dice(seed, "topology", 2)],
             "volumes": (0, 100)[dice(seed, "volumes", 2)],
             "configuration": dice(seed, "configuration", 2) == 1, "oddQuantities": dice(seed, "quantities", 4) == 0}
    return {"version": 1, "random": draws}


def crc32_of(case):
    """Of the bytes of cluster, configuration and gates, as tests/contract/golden_test.cpp computes it."""
    total = 0
    for end in (".json", ".config.json"):
        if os.path.exists(case.path(end)):
            with open(case.path(end), "rb") as file:
                total = zlib.crc32(file.read(), total)
    return f"{zlib.crc32(case.gates().encode(), total):x}"


def config_of(case):
    return read_json(case.path(".config.json")) if os.path.exists(case.path(".config.json")) else None


class Candidate:
    """One case with what it shows; `key` is its seed or, for one made by hand, its name; `size` is the number of (pod, node)
    pairs."""

    def __init__(self, key, counts, size):
        self.key, self.counts, self.size = key, counts, size


def handmade_names():
    names = os.listdir(os.path.join(FOLDER, "handmade"))
    return sorted(name[:-5] for name in names if name.endswith(".json") and not name.endswith(".config.json"))


def case_of(folder, key):
    return Case(os.path.join(folder, f"golden-{key}"))


def make_case(folder, berth, key):
    """The files of a key: copied, or drawn by `berth generate`."""
    case = case_of(folder, key)
    if isinstance(key, int):
        case.draw(Tools(berth, {}, ()), key, spec_of(key))
        return case
    for end in (".json", ".config.json", ".gates"):
        source = os.path.join(FOLDER, "handmade", key + end)
        if os.path.exists(source):
            shutil.copy(source, case.path(end))
    return case


def look_at(job):
    """The Candidate of a key, or None when upstream cannot read it."""
    args, tools, key = job
    release = min(tools.oracles)
    try:
        case = make_case(args.work, tools.berth, key)
        case.upstream(tools, release, "explain", case.path(".upstream.jsonl"))
    except ToolError:
        return None
    records = read_records(case.path(".upstream.jsonl"))
    counts = Coverage().count(records.values(), config_of(case))
    return Candidate(key, counts, sum(len(r["nodes"]) for r in records.values()))


def choose(candidates, ids, wanted, times):
    """All that were made by hand. Then greedy: the candidate that adds most to items shown by fewer than `times` of the
    chosen, until nothing is added; then in the order of seeds until there are `wanted`."""
    chosen = [c for c in candidates if not isinstance(c.key, int)]
    left = [c for c in candidates if isinstance(c.key, int) and c.size]
    shown = Counter(item for c in chosen for item in ids if c.counts[item])

    def gain(candidate):
        return sum(1 for item in ids if candidate.counts[item] and shown[item] < times)

    while left:
        best = max(left, key=lambda c: (gain(c), -c.size, -c.key))
        if not gain(best):
            break
        left.remove(best)
        chosen.append(best)
        shown.update(item for item in ids if best.counts[item])
    chosen += sorted(left, key=lambda c: c.key)[:max(0, wanted - len(chosen))]
    return sorted(chosen, key=lambda c: (isinstance(c.key, int), c.key))


def packed(records, steps):
    """One line of verdicts-*.jsonl.gz as a dict.

    @param steps  upstream's records of the serial run, without gated pods
    """
    nodes = [n["node"] for n in records[0]["nodes"]]
    place = {name: i for i, name in enumerate(nodes)}
    verdicts, numbers, pods = [], {}, []
    for record in records:
        pod = {key: record[key] for key in ("pod", "message", "error") if record.get(key)}
        pod["best"] = [place[name] for name in record["best"]]
        pod["nodes"] = []
        for node in record["nodes"]:
            verdict = {key: value for key, value in node.items() if key != "node"}
            text = json.dumps(verdict, sort_keys=True)
            if text not in numbers:
                numbers[text] = len(verdicts)
                verdicts.append(verdict)
            pod["nodes"].append(numbers[text])
        pods.append(pod)
    run = [{"pod": step["pod"], **({"node": step["chosen"]} if step.get("chosen") else {"message": step["said"]})}
           for step in steps]
    return {"nodes": nodes, "verdicts": verdicts, "pods": pods, "run": run}


def ask(job):
    """(key, CRC-32, {release: line}, what it shows, differences) of one chosen cluster."""
    args, tools, key = job
    case = case_of(args.work, key)
    lines, differences, counts = {}, [], Counter()
    for release in sorted(tools.oracles):
        case.upstream(tools, release, "explain", case.path(".upstream.jsonl"))
        records = list(read_records(case.path(".upstream.jsonl")).values())
        counts += Coverage().count(records, config_of(case))
        report_path = case.path(".report.json")
        case.berth(tools, release, ["schedule", "--preemption", "off", "--tie-break", "first"], BACKEND, report_path)
        differing, steps = walk(case, tools, release, report_path)
        differences += [f"{key}, {release}: {d.pod}: {d.text}" for d in differing]
        gated = {u["pod"] for u in read_json(report_path)["unplaced"] if u["reason"] == "SchedulingGated"}
        lines[release] = packed(records, [step for step in steps if step["pod"] not in gated])
    return key, crc32_of(case), lines, counts, differences


def versions(oracles):
    """What the programs were built from, by release."""
    found = {}
    for release, program in sorted(oracles.items()):
        text = subprocess.run(["go", "version", "-m", program], stdout=subprocess.PIPE, text=True, check=True).stdout
        words = text.split()
        found[release] = {"go": words[1], "kubernetes": words[words.index("k8s.io/kubernetes") + 1]}
    return found


def write_corpus(args, answers, never):
    clusters = [{"crc32": crc, **({"seed": key, "spec": spec_of(key)} if isinstance(key, int) else {"handmade": key})}
                for key, crc, *_ in answers]
    with open(os.path.join(FOLDER, "corpus.json"), "w", encoding="utf-8") as file:
        file.write('{"releases": ' + json.dumps(versions(args.oracles)) + ',\n"never": ' + json.dumps(never))
        file.write(',\n"clusters": [\n')
        file.write(",\n".join(json.dumps(cluster) for cluster in clusters) + "\n]}\n")
    first = min(args.oracles)
    for release in sorted(args.oracles):
        path = os.path.join(FOLDER, f"verdicts-{release}.jsonl.gz")
        # Neither time nor name in the header: the same answers are the same bytes.
        with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
            for _, _, lines, *_ in answers:
                same = release != first and lines[release] == lines[first]
                file.write((json.dumps({"same": True} if same else lines[release], separators=(",", ":")) + "\n").encode())


def parse():
    p = oracle_parser(__doc__)
    p.add_argument("--clusters", type=int, default=500)
    p.add_argument("--candidates", type=int, default=3000)
    p.add_argument("--times", type=int, default=8, help="clusters that show each item, as far as the candidates do")
    p.add_argument("--work", default="build/oracle/golden")
    return read_arguments(p)


def main():
    args = parse()
    os.makedirs(args.work, exist_ok=True)
    tools = Tools(args.berth, args.oracles, (BACKEND,))
    coverage = Coverage()
    with multiprocessing.Pool(args.jobs) as pool:
        keys = handmade_names() + list(range(args.seed, args.seed + args.candidates))
        candidates = [c for c in pool.imap(look_at, [(args, tools, key) for key in keys], 8) if c]
        chosen = choose(candidates, coverage.ids, args.clusters, args.times)
        answers = list(pool.imap(ask, [(args, tools, c.key) for c in chosen]))
    found, differences = Counter(), []
    for _, _, _, counts, differing in answers:
        found += counts
        differences += differing
    print("\n".join(report(coverage, found)))
    if differences:
        print("\n".join(differences))
        print("golden: nothing written: upstream does not accept Berth's run; see 'make oracle'")
        return 1
    write_corpus(args, answers, [item for item in coverage.ids if not found[item]])
    verdicts = sum(len(pod["nodes"]) for _, _, lines, *_ in answers for line in lines.values() for pod in line["pods"])
    print(f"golden: {len(answers)} clusters of {len(candidates)} candidates, {verdicts} verdicts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
