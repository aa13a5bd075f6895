# SPDX-License-Identifier: Apache-2.0
"""One case of the comparison with upstream: the files of a cluster with its configuration, and the results of both
sides."""
import json
import os
import subprocess
import zlib
from typing import NamedTuple

from oracle_records import Difference, compare_records, compare_steps

RELEASES = ("1.35", "1.36")


class Tools(NamedTuple):
    """`oracles` is {release: program}; every one of `backends` is compared, the first one fully."""
    berth: str
    oracles: dict
    backends: tuple


class ToolError(Exception):
    """A program ended with an error; the text is its output."""


def run(command, out=None):
    """@return the standard output of the program; "" when it goes to the file `out`"""
    if out:
        with open(out, "w", encoding="utf-8") as file:
            done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, text=True, check=False)
    else:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise ToolError(f"{os.path.basename(command[0])}: exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout or ""


def dice(seed, name, count):
    """A number below `count`, the same for the same seed and name everywhere."""
    return zlib.crc32(f"{seed}:{name}".encode()) % count


def spec_of(seed):
    """The generator's spec of one case: small clusters and full-size ones, node-level and topology mixed, every other one
    with a configuration."""
    draws = {"maxNodes": (3, 10, 30, 60)[dice(seed, "nodes", 4)],
             "maxRunningPods": (0, 20, 100, 300)[dice(seed, "running", 4)],
             "maxPendingPods": (10, 25, 60)[dice(seed, "pending", 3)],
             "topology": (0, 100)[dice(seed, "topology", 2)],
             "volumes": (0, 100)[dice(seed, "volumes", 2)],
             "configuration": dice(seed, "configuration", 2) == 1,
             "oddQuantities": dice(seed, "quantities", 4) == 0}
    return {"version": 1, "random": draws}


def without_volumes(seed):
    """For comparisons whose histories have no events of storage objects."""
    spec = spec_of(seed)
    spec["random"]["volumes"] = 0
    return spec


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def read_records(path):
    """{pod: record} in the order of the file."""
    with open(path, encoding="utf-8") as file:
        return {record["pod"]: record for record in map(json.loads, filter(None, map(str.strip, file)))}


class Case:
    """Files beside each other: BASE.json is the cluster; BASE.config.json and BASE.gates are there when not the defaults."""

    def __init__(self, base):
        self.base = base

    def path(self, end):
        return self.base + end

    def gates(self):
        if not os.path.exists(self.path(".gates")):
            return ""
        with open(self.path(".gates"), encoding="utf-8") as file:
            return file.read().strip()

    def draw(self, tools, seed, spec=None):
        """Writes the case of a seed; `spec` is spec_of(seed) unless given."""
        spec = spec or spec_of(seed)
        write_json(self.path(".spec.json"), spec)
        made = ["--config-out", self.path(".config.json"), "--feature-gates-out", self.path(".gates")]
        run([tools.berth, "generate", "-q", "--spec", self.path(".spec.json"), "--seed", str(seed), "-o", self.path(".json"),
             *(made if spec["random"].get("configuration") else [])])

    def flags(self):
        flags = ["--config", self.path(".config.json")] if os.path.exists(self.path(".config.json")) else []
        return flags + (["--feature-gates", self.gates()] if self.gates() else [])

    def berth(self, tools, release, command, backend, out):
        common = ["-q", "-o", "json", "--backend", backend, "--emulate-version", release, *self.flags(), "-f", self.path(".json")]
        run([tools.berth, *command, *common], out)

    def upstream(self, tools, release, mode, out, *more):
        run([tools.oracles[release], mode, *self.flags(), *more, self.path(".json")], out)

    def remove(self):
        folder, name = os.path.split(self.base)
        for file in os.listdir(folder):
            if file.startswith(name + "."):
                os.remove(os.path.join(folder, file))


class Comparison(NamedTuple):
    pods: int
    verdicts: int
    differences: list
    records: dict  # upstream's, by pod
    refusal: str = ""  # set when both sides refuse the input alike


def compare_answers(case, tools, release):
    """Compares everything both sides say of a case; its files stay. One side that refuses the input is a difference."""
    upstream_error = berth_error = None
    try:
        case.upstream(tools, release, "explain", case.path(".upstream.jsonl"))
    except ToolError as error:
        upstream_error = str(error)
    try:
        for backend in tools.backends:
            case.berth(tools, release, ["explain", "--all"], backend, case.path(f".{backend}.jsonl"))
    except ToolError as error:
        berth_error = str(error)
    if upstream_error and berth_error:
        return Comparison(0, 0, [], {}, f"{upstream_error}\n{berth_error}")
    if upstream_error or berth_error:
        text = "refused by one side only: " + (upstream_error or berth_error)
        return Comparison(0, 0, [Difference("", "refused", text, upstream_error, berth_error)], {})
    upstream = read_records(case.path(".upstream.jsonl"))
    found = []
    for backend in distinct(case, tools.backends, ".jsonl"):
        found += [(backend, d) for d in compare_records(upstream, read_records(case.path(f".{backend}.jsonl")))]
    found += run_differences(case, tools, release)
    verdicts = sum(len(r["nodes"]) for r in upstream.values())
    return Comparison(len(upstream), verdicts, [d._replace(text=f"{b}: {d.text}") for b, d in found], upstream)


def distinct(case, backends, end):
    """The backends whose file differs from that of each before: equal bytes need no second look."""
    seen = set()
    for backend in backends:
        with open(case.path(f".{backend}{end}"), "rb") as file:
            content = file.read()
        if content not in seen:
            seen.add(content)
            yield backend


def answers_of(report):
    """What became of every pod, without the figures."""
    return {key: report[key] for key in ("placements", "unplaced", "skipped")}


def run_differences(case, tools, release):
    """Of the serial run on each backend; equal runs are walked once."""
    walked = []
    for backend in tools.backends:
        path = case.path(f".{backend}.report.json")
        case.berth(tools, release, ["schedule", "--preemption", "off", "--seed", "1"], backend, path)
        answers = answers_of(read_json(path))
        if answers in walked:
            continue
        walked.append(answers)
        for difference in walk(case, tools, release, path)[0]:
            yield backend, difference


def walk(case, tools, release, report):
    """Upstream follows a report of Berth, each placement assumed before the next pod.

    @return (differences, its records, one a step)
    """
    try:
        case.upstream(tools, release, "run", case.path(".walk.jsonl"), "--follow", report)
    except ToolError as error:
        return [Difference("", "run refused", str(error), None, None)], []
    with open(case.path(".walk.jsonl"), encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return compare_steps(records, read_json(report)), records
