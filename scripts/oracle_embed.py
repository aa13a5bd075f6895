#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what libberth answers through berth.h with upstream kube-scheduler (tests/oracle) over the same objects.

    scripts/oracle_embed.py --embedding-program PROGRAM --berth BERTH --oracle 1.35=PROGRAM [--oracle 1.36=PROGRAM]
                            [--clusters N] [--seed S]

Case S + k is the cluster, configuration and feature gates of that case of oracle_compare.py, or that of oracle_preemption.py; half of them have what rules of draining read on top of it. The program
(tests/histories/write_embedding.cpp) loads it through berth.h, changes it, opens forks and forks of forks, changes those, commits
or reverts one, goes on in the cluster, and writes in each state the objects and what berth.h answers. Compared are, state by state:

    check          fits, plugin, phase, code and reasons of every pending pod on every node, in a node set without cordoned nodes,
                   of some pods by themselves, of a running one as moved, also in such a set, and of one without its volumes or
                   claims
    explain        the whole record of a few pods, scores and the order of nodes included
    preempt        candidates with their victims, budgets and upstream's choice, or the message, of pods that fit nowhere
    schedule       each placement must be one that upstream could make, with the same total, or the message the same; by first fit
                   and in an order it must be the first node that upstream accepts; of running pods as moved, too
    group          the try that is taken is one that upstream could make; tries come in the order of max_replicas
    reserve        copies stand where upstream could place them, also in a domain
    max_replicas   as many copies as upstream places along the placements of the schedule verb, before the first that fits nowhere;
                   on each node and value of a label as many as stand there then
    drain          each pod of the drained nodes goes to the first node that upstream accepts, or to one that upstream could choose,
                   or upstream refuses every node, with the same message; the rules against a model of their own; behind
                   a drain that is kept, checks
    scale_up       each pod of an estimate goes to the first node that upstream accepts, existing or new, or to one more new node, or
                   upstream refuses it on every node and on an empty new one, with the same reasons; at the end the new nodes are
                   used as upstream's cache counts it
    replace        a drain, and behind it the estimate of each shape for the pods that find no place, as both of these; the cheapest
                   shape that holds all of them, and where it puts each pod

Last line: oracle-embed: N clusters, N answers, N differences. Exit status 1 when there is a difference, 2 when nothing was
compared. The lines before count the answers of each verb.
"""
import json
import os
import sys
from collections import Counter
from typing import NamedTuple

import oracle_preemption
from oracle_case import Case, ToolError, dice, distinct, read_json, run, spec_of, write_json
from oracle_embed_drains import draw_what_rules_read, drain_differences
from oracle_embed_verbs import (JUDGED, alone_differences, as_moved_differences, check_differences, explain_differences,
                                group_differences, ignoring_differences, preempt_differences, replicas_differences, scale_up_differences, schedule_differences,
                                set_differences)
from oracle_pool import Differing, answers_of_cases, comparison_parser, exit_status, read_arguments, tools_of
from oracle_records import Difference


class Verdict(NamedTuple):
    """The result of one case."""
    seed: int
    release: str
    differences: list
    answers: Counter  # by verb


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
        """Questions that change nothing share the history of their state."""
        histories = []
        for state in self.states:
            asked = [{"ask": check["uid"]} for check in state["checks"] if check["tried"]]
            asked += [line for walk in state["walks"] if walk["verb"] in QUESTIONS for line in walk["follow"]]
            histories.append(([], state["path"] + asked))
        walks = [(state, walk) for state in self.states for walk in state["walks"] if walk["verb"] not in QUESTIONS]
        histories += [(walk["pods"], walk.get("base", state["path"]) + walk["follow"]) for state, walk in walks]
        records = self.ask_upstream(histories)
        for state in self.states:
            for difference in self.question_differences(state, next(records)):
                yield difference._replace(text=f"{state['where']}: {difference.text}")
        for state, walk in walks:
            walk["cluster"], walk["path"] = self.cluster, state["path"]
            for difference in WALKS[walk["verb"]](walk, next(records), self.answers):
                yield difference._replace(text=f"{state['where']}: {walk['verb']}: {difference.text}")

    def question_differences(self, state, records):
        tried = sum(check["tried"] for check in state["checks"])
        yield from self.record_differences(state, {record["pod"]: record for record in records[:tried]})
        rest = iter(records[tried:])
        for walk in state["walks"]:
            if walk["verb"] in QUESTIONS:
                yield from WALKS[walk["verb"]](walk, [next(rest) for _ in walk["follow"]], self.answers)

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
                self.answers["check_bulk, of a set"] += len(check["among"])
                self.answers["check"] += len(check.get("alone", []))
                yield from check_differences(record, check)
                yield from set_differences(record, check)
                yield from alone_differences(record, check)


QUESTIONS = ("explain", "preempt")
WALKS = {"explain": explain_differences, "preempt": preempt_differences, "schedule": schedule_differences,
         "max_replicas": replicas_differences, "drain": drain_differences, "scale_up": scale_up_differences,
         "as_moved": as_moved_differences, "ignoring": ignoring_differences, "replace": scale_up_differences, "schedule as moved": schedule_differences, "group": group_differences,
         "reserve": schedule_differences, "reserve in a domain": schedule_differences}


class Work:
    """One process's share."""

    def __init__(self, args):
        self.args = args
        self.tools = tools_of(args)

    def draw(self, case, seed):
        if dice(seed, "preemption", 2):
            oracle_preemption.draw(case, self.tools, seed)
        else:
            case.draw(self.tools, seed, spec_of(seed))
        cluster = read_json(case.path(".json"))
        draw_what_rules_read(cluster["items"], seed)
        write_json(case.path(".json"), cluster)

    def compare(self, case, seed, release, answers):
        self.draw(case, seed)
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
