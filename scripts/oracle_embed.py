#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what libberth answers through berth.h with upstream kube-scheduler (tests/oracle) over the same objects.

    scripts/oracle_embed.py --embedding-program PROGRAM --berth BERTH --oracle 1.35=PROGRAM [--oracle 1.36=PROGRAM]
                            [--clusters N] [--seed S]

Case S + k is the cluster, configuration and feature gates of that case of oracle_compare.py, without volumes. The program
(tests/histories/write_embedding.cpp) loads it through berth.h, changes it, opens forks and forks of forks, changes those, commits
or reverts one, and writes in each state the objects and what berth.h answers. Compared are, state by state:

    check_bulk     fits, plugin, phase, code and reasons of every pending pod on every node, and of a running one as moved
    explain        the whole record of a few pods, scores and the order of nodes included
    schedule       each placement must be one that upstream could make, with the same total, or the message the same
    max_replicas   as many copies as upstream places along the placements of the schedule verb, before the first that fits nowhere
    drain          each pod of a drained node goes to the first node that upstream accepts, or upstream refuses every node
    scale_up       each pod of an estimate goes to the first node that upstream accepts, existing or new, or to one more new node, or
                   upstream refuses it on every node and on an empty new one, with the same reasons

Last line: oracle-embed: N clusters, N answers, N differences. Exit status 1 when there is a difference, 2 when nothing was
compared. The lines before count the answers of each verb.
"""
import json
import os
import sys
from collections import Counter
from typing import NamedTuple

from oracle_case import Case, ToolError, distinct, run, without_volumes, write_json
from oracle_pool import Differing, answers_of_cases, comparison_parser, exit_status, read_arguments, tools_of
from oracle_records import Difference, record_differences, step_problem, without_point

# Numbers of berth.h.
CODES = {0: None, 1: "Error", 2: "Unschedulable", 3: "UnschedulableAndUnresolvable", 6: "Pending"}
JUDGED = 1
PHASES = ("none", "PreFilter", "Filter", "node")


class Verdict(NamedTuple):
    """The result of one case."""
    seed: int
    release: str
    differences: list
    answers: Counter  # by verb


def parts(text):
    """Reasons are a multiset; one may have a comma in it."""
    return sorted(filter(None, text.split(", ")))


def refusing_plugin(record):
    """The PreFilter plugin that refuses every node, with its reasons; None where none does."""
    for plugin in record.get("preFilter") or []:
        if plugin["code"] not in ("Success", "Skip"):
            return plugin
    return None


def expected_verdict(record, node):
    """What berth.h should say of one node of upstream's record: (fits, code, phase, plugin, reasons)."""
    if node["feasible"]:
        return True, None, "none", "", []
    if node.get("plugin") != "PreFilter":
        return False, node["code"], "Filter", node["plugin"], parts(", ".join(node.get("reasons") or []))
    refusing = refusing_plugin(record)
    if refusing:
        return False, node["code"], "PreFilter", refusing["plugin"], parts(", ".join(refusing.get("reasons") or []))
    return False, node["code"], "PreFilter", None, parts(record["leftOut"])  # upstream blames plugins in the text alone


def verdict_of(node):
    return (node["fits"], CODES.get(node["code"], node["code"]), PHASES[node["phase"]], node["plugin"], parts(node["reasons"]))


def failed_before_scores(record):
    """Upstream's cycle ended with an error that first fit and checks have, too."""
    return record.get("error", "").startswith(("prefilter: ", "filter: "))


def different(expected, said):
    """The plugin of a node that is left out is one of those that the text names."""
    blamed = expected[3] if expected[3] is not None else said[3]
    return expected[:3] + (blamed, expected[4]) != said or (expected[3] is None and (not blamed or blamed not in said[4][0]))


def error_differences(record, check):
    """Of a cycle that upstream ends with an error, which every node has in berth.h."""
    text = without_point(record["error"])
    for node in check["nodes"]:
        if node["fits"] or CODES.get(node["code"]) != "Error" or node["reasons"] != text:
            yield Difference(record["pod"], "check error", f"{node['node']}: error {text!r} vs {verdict_of(node)}", record["error"], node)


def check_differences(record, check):
    """Of upstream's record and what check_bulk has of the pod."""
    if failed_before_scores(record):
        yield from error_differences(record, check)
        return
    ours = {node["node"]: node for node in check["nodes"]}
    if set(ours) != {node["node"] for node in record["nodes"]}:
        yield Difference(record["pod"], "check nodes", "other nodes", sorted(n["node"] for n in record["nodes"]), sorted(ours))
        return
    for node in record["nodes"]:
        expected = expected_verdict(record, node)
        said = verdict_of(ours[node["node"]])
        if different(expected, said):
            yield Difference(record["pod"], "check", f"{node['node']}: {expected} vs {said}", node, ours[node["node"]])


class States:
    """The states of one file of the program, each a history that upstream walks through."""

    def __init__(self, case, tools, release, path):
        self.case, self.tools, self.release = case, tools, release
        with open(path, encoding="utf-8") as file:
            first, *self.states = [json.loads(line) for line in file]
        self.cluster = first["cluster"]
        self.answers = Counter()

    def ask_upstream(self, histories):
        """One process for all of them. @param histories  (pods, lines) @return the records of each"""
        folder = os.path.dirname(self.case.base) or "."
        names = [self.case.path(f".history{number}") for number in range(len(histories))]
        for name, (pods, lines) in zip(names, histories):
            write_json(name + ".json", dict(self.cluster, items=self.cluster["items"] + pods))
            with open(name + ".report.json", "w", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
        run([self.tools.oracles[self.release], "walk", *self.case.flags(), "--out-dir", folder, "--follow", folder,
             *(name + ".json" for name in names)])
        for name in names:
            with open(name + ".jsonl", encoding="utf-8") as file:
                yield [json.loads(line) for line in file]

    def differences(self):
        asked = [[{"ask": check["uid"]} for check in state["checks"] if check["tried"]] for state in self.states]
        walks = [(state, walk) for state in self.states for walk in state["walks"]]
        histories = [([], state["path"] + lines) for state, lines in zip(self.states, asked)]
        histories += [(walk["pods"], state["path"] + walk["follow"]) for state, walk in walks]
        records = self.ask_upstream(histories)
        for state in self.states:
            for difference in self.record_differences(state, {record["pod"]: record for record in next(records)}):
                yield difference._replace(text=f"{state['where']}: {difference.text}")
        for state, walk in walks:
            for difference in WALKS[walk["verb"]](walk, next(records), self.answers):
                yield difference._replace(text=f"{state['where']}: {walk['verb']}: {difference.text}")

    def record_differences(self, state, upstream):
        for check in state["checks"]:
            record = upstream.get(check["pod"])
            if record is None:
                self.answers["pods that upstream does not try"] += 1
                if check["judged"] != JUDGED and any(node["fits"] for node in check["nodes"]):
                    yield Difference(check["pod"], "judged", "fits, and is not judged", None, check)
            elif check["judged"] != JUDGED:
                yield Difference(check["pod"], "judged", f"not judged: {check['nodes'][:1]}", None, None)
            elif not record["nodes"]:
                self.answers["pods without nodes"] += 1
            else:
                self.answers["check_bulk"] += len(check["nodes"])
                yield from check_differences(record, check)
        for record in state["explained"]:
            self.answers["explain"] += 1
            yield from record_differences(upstream[record["pod"]], record)


def schedule_differences(walk, records, answers):
    """Of the first step that differs: what follows happens in another cluster."""
    for record in records:
        answers[walk["verb"]] += 1
        problem = step_problem(record, record["score"])
        if problem:
            yield Difference(record["pod"], *problem, record.get("message"), record.get("said"))
            return


def replicas_differences(walk, records, answers):
    answers["max_replicas"] += 1
    yield from schedule_differences(dict(walk, verb="copies of max_replicas"), records, answers)
    placed = [bool(record.get("chosen")) for record in records]
    if placed != [True] * walk["count"] + [False]:
        yield Difference(walk["shape"], "count", f"{walk['count']} copies, and {sum(placed)} are placed", sum(placed), walk["count"])


def drain_differences(walk, records, answers):
    """By first fit, from the node behind the drained one on, then from behind the latest one taken, round the end."""
    if "failed" in walk:
        yield Difference(walk["node"], "drain failed", walk["failed"], None, None)
    for line in walk["follow"]:
        if "unlike" in line:
            yield Difference(walk["node"], "drain outcome", line["unlike"], None, None)
    names, start = walk["candidates"], walk["start"]
    for record in records:
        answers["drain"] += 1
        alone = record["alone"]
        fitting = first_fitting(alone, names[start:] + names[:start])
        target = record.get("chosen", "")
        if fitting != target:
            said = fitting or alone.get("error") or "no node"
            yield Difference(record["pod"], "drain", f"{said} vs {target or 'no node'}", alone, walk)
            return
        if target:
            start = names.index(target) + 1


def first_fitting(record, names):
    """The first of the nodes that upstream accepts; empty: none."""
    feasible = {node["node"] for node in record["nodes"] if node["feasible"]} if not failed_before_scores(record) else set()
    return next((name for name in names if name in feasible), "")


def scale_up_differences(walk, records, answers):
    """First fit among existing nodes and the new ones that are there, then one more, where the pod must fit or is left over."""
    records = iter(records)
    for step in walk["steps"]:
        answers["scale_up"] += 1
        names = walk["existing"] + [f"new-{number}" for number in range(step["added"])]
        record = next(records)
        fitting = first_fitting(record, names)
        if not fitting and step["node"] not in names:
            record = next(records)
            fitting = first_fitting(record, [f"new-{step['added']}"])
        if fitting != step["node"]:
            text = f"{fitting or 'no node'} vs {step['node'] or 'no node'} ({step['added']} new before it)"
            yield Difference(step["pod"], "scale_up", text, record, step)
            return
        if step["node"]:
            next(records)
        elif not failed_before_scores(record):
            yield from refusal_differences(record, f"new-{step['added']}", step)


def refusal_differences(record, name, step):
    verdict = expected_verdict(record, next(node for node in record["nodes"] if node["node"] == name))
    if verdict[4] != parts(step["refusal"]):
        yield Difference(step["pod"], "scale_up refusal", f"{verdict} vs {step['refusal']}", record, step)


def as_moved_differences(walk, records, answers):
    check = walk["check"]
    if check["judged"] != JUDGED:
        yield Difference(check["pod"], "judged", f"not judged: {check['nodes'][:1]}", None, None)
        return
    for record in records:
        answers["check_bulk, as moved"] += len(check["nodes"])
        if record["nodes"]:
            yield from check_differences(record, check)


WALKS = {"schedule": schedule_differences, "max_replicas": replicas_differences, "drain": drain_differences,
         "scale_up": scale_up_differences, "as_moved": as_moved_differences}


class Work:
    """One process's share."""

    def __init__(self, args):
        self.args = args
        self.tools = tools_of(args)

    def compare(self, case, seed, release, answers):
        case.draw(self.tools, seed, without_volumes(seed))
        config = case.path(".config.json") if os.path.exists(case.path(".config.json")) else ""
        for backend in self.tools.backends:
            run([self.args.embedding_program, case.path(".json"), str(seed), backend, release, config, case.gates()],
                case.path(f".{backend}.answers.jsonl"))
        for backend in distinct(case, self.tools.backends, ".answers.jsonl"):
            states = States(case, self.tools, release, case.path(f".{backend}.answers.jsonl"))
            for difference in states.differences():
                yield difference._replace(text=f"{backend}: {difference.text}")
            answers += states.answers

    def one(self, job):
        seed, release = job
        case = Case(os.path.join(self.args.keep, f"embed-{seed}-{release}"))
        answers = Counter()
        differences = []
        try:
            differences.extend(self.compare(case, seed, release, answers))
        except ToolError as error:
            differences.append(Difference("", "tool", str(error), None, None))
        if not differences:
            case.remove()
        return Verdict(seed, release, differences, answers)


def parse():
    p = comparison_parser(__doc__, "cpu,reference", ("clusters", 2000))
    p.add_argument("--embedding-program", required=True, metavar="PROGRAM", help="tests/histories/write_embedding")
    return read_arguments(p)


def main():
    args = parse()
    answers = Counter()
    differing = Differing(args)
    for verdict in answers_of_cases(Work, args):
        answers += verdict.answers
        differing.add(verdict)
    for name, count in sorted(answers.items()):
        print(f"{count:10,} {name}")
    compared = sum(count for name, count in answers.items() if not name.startswith("pods "))
    print(f"oracle-embed: {args.cases} clusters, {compared} answers, {differing.count} differences")
    return exit_status(differing.count, compared)


if __name__ == "__main__":
    sys.exit(main())
