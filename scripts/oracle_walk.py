# SPDX-License-Identifier: Apache-2.0
"""What the comparisons that let upstream walk through a history have in common (tests/oracle, mode walk): a program draws the
history of each backend, and upstream takes the same steps."""
import json
import os
from typing import NamedTuple

from oracle_case import Case, ToolError, distinct, run
from oracle_pool import tools_of
from oracle_records import Difference, record_differences, step_problem


class Walk(NamedTuple):
    """What upstream said of one history."""
    seed: int
    release: str
    steps: int
    counted: int  # by WalkWork.count()
    differences: list


class WalkWork:
    """One process's share. A subclass has `name`, which the files begin with, program(), draw_case() and count()."""
    name = ""

    def __init__(self, args):
        self.args = args
        self.tools = tools_of(args)

    def program(self):
        """The one that writes a history."""
        raise NotImplementedError

    def draw_case(self, case, seed):
        raise NotImplementedError

    def count(self, records, followed):
        """@param records  upstream's @param followed  the path of the history"""
        raise NotImplementedError

    def write_histories(self, case, seed, release):
        """That of each backend, as files."""
        config = case.path(".config.json") if os.path.exists(case.path(".config.json")) else ""
        for backend in self.tools.backends:
            run([self.program(), case.path(".json"), str(seed), backend, release, config, case.gates()],
                case.path(f".{backend}.history.jsonl"))

    def one(self, job):
        seed, release = job
        case = Case(os.path.join(self.args.keep, f"{self.name}-{seed}-{release}"))
        steps = counted = 0
        differences = []
        try:
            self.draw_case(case, seed)
            self.write_histories(case, seed, release)
            for backend in distinct(case, self.tools.backends, ".history.jsonl"):
                followed = case.path(f".{backend}.history.jsonl")
                case.upstream(self.tools, release, "walk", case.path(".walk.jsonl"), "--follow", followed)
                with open(case.path(".walk.jsonl"), encoding="utf-8") as file:
                    records = [json.loads(line) for line in file]
                steps += len(records)
                counted += self.count(records, followed)
                differences += [d._replace(text=f"{backend}: {d.text}") for d in first_differences(records)]
        except ToolError as error:
            differences.append(Difference("", "tool", str(error), None, None))
        if not differences:
            case.remove()
        return Walk(seed, release, steps, counted, differences)


def first_differences(records):
    """Those of the first step that differs: what follows happens in another cluster."""
    for record in records:
        found = list(record_differences(record["alone"], record["ours"])) if "alone" in record else []
        problem = step_problem(record, record["score"])
        if problem:
            found.append(Difference(record["pod"], *problem, record.get("message"), record.get("said")))
        if found:
            return found
    return []
