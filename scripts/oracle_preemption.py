#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares whom preemptors would evict with upstream kube-scheduler (tests/oracle, mode preempt) on random clusters.

    scripts/oracle_preemption.py --berth BERTH --oracle 1.35=PROGRAM [--oracle 1.36=PROGRAM] [--clusters N] [--seed S]

Case S + k is that of oracle_compare.py with what preemption looks at drawn on top of it: higher priorities for pending pods,
equal and missing start times, terminating and preempted pods, gated pods, nominations, preemptionPolicy Never,
PodDisruptionBudgets with disruptedPods. Ports, spread constraints and affinities are the generator's.
For every pending pod that fits nowhere, alone against the cluster as loaded: eligibility, every candidate with its victims in
order and the budgets that they violate, and the nodes that may be chosen.

Last line: oracle-preemption: N clusters, N preemptors, N differences. Exit status 1 when there is a difference, 2 when
nothing was compared. The lines before count how often each thing decided, or lay on a candidate's node: "room for REASON" are
candidates where that kept the pod out before eviction, "no room for REASON" preemptors that it keeps out of every node.
"""
import os
import random
import sys
from collections import Counter
from typing import NamedTuple

from oracle_case import Case, ToolError, read_json, read_records, spec_of, without_volumes, write_json
from oracle_pool import Differing, answers_of_cases, comparison_parser, exit_status, read_arguments, tools_of
from oracle_records import Difference

START_TIMES = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-01-02T00:00:00Z")
PREEMPTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
EVICTED = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}


class Verdict(NamedTuple):
    """The result of one case."""
    seed: int
    release: str
    preemptors: int
    differences: list
    seen: Counter


def is_pending(pod):
    return pod["kind"] == "Pod" and not pod["spec"].get("nodeName")


def draw_running(pod, dice):
    """What makes a running pod a victim, and one more or less important than another."""
    pod["spec"]["priority"] = dice.choice((-5, 0, 0, 0, 1, 1, 7, 100))
    pod["status"].pop("startTime", None)
    if dice.random() < 0.85:
        pod["status"]["startTime"] = dice.choice(START_TIMES)
    if dice.random() < 0.1:
        pod["metadata"]["deletionTimestamp"] = START_TIMES[0]
        pod["status"]["conditions"] = [dice.choice((PREEMPTED, PREEMPTED, EVICTED))]


def draw_pending(pod, nodes, dice):
    pod["spec"]["priority"] = dice.choice((-5, 0, 1, 5, 50, 50, 1000))
    pod["spec"].pop("preemptionPolicy", None)
    if dice.random() < 0.08:
        pod["spec"]["preemptionPolicy"] = "Never"
    if dice.random() < 0.08:
        pod["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
    if dice.random() < 0.2:
        pod["status"]["nominatedNodeName"] = dice.choice(nodes)


def draw_budgets(objects, dice):
    """Budgets over labels that pods have, over everything, over nothing, and one that cannot be read."""
    pods = [o for o in objects if o["kind"] == "Pod"]
    for number in range(dice.choice((0, 0, 1, 3, 6))):
        pod = dice.choice(pods)
        label = dict([dice.choice(sorted(pod["metadata"].get("labels", {}).items()) or [("app", "none")])])
        selector = dice.choice(({"matchLabels": label},) * 5 + (
            {}, None, {"matchExpressions": [{"key": next(iter(label)), "operator": "Exists"}]},
            {"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}))
        status = {"disruptionsAllowed": dice.choice((0, 0, 1, 2)),
                  "disruptedPods": {p["metadata"]["name"]: START_TIMES[0] for p in pods if dice.random() < 0.05}}
        yield {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
               "metadata": {"name": f"budget-{number}", "namespace": pod["metadata"].get("namespace", "default")},
               "spec": {"selector": selector} if selector is not None else {}, "status": status}


def draw(case, tools, seed, volumes=True):
    spec = spec_of(seed) if volumes else without_volumes(seed)
    dice = random.Random(seed)
    spec["random"]["maxNodes"] = dice.choice((2, 5, 12))
    spec["random"]["maxRunningPods"] = dice.choice((20, 100, 300))
    case.draw(tools, seed, spec)
    cluster = read_json(case.path(".json"))
    objects = cluster["items"]
    nodes = [o["metadata"]["name"] for o in objects if o["kind"] == "Node"]
    for pod in objects:
        if pod["kind"] == "Pod":
            pod.setdefault("status", {})
            if is_pending(pod):
                draw_pending(pod, nodes or ["none"], dice)
            else:
                draw_running(pod, dice)
    if any(o["kind"] == "Pod" for o in objects):
        objects += draw_budgets(objects, dice)
    write_json(case.path(".json"), cluster)


def differences_of(upstream, ours):
    """Of upstream's record and the field `preemption` of ours."""
    theirs = [(c["node"], c["victims"], c["pdbViolations"]) for c in upstream["candidates"]]
    own = [(c["node"], c["victims"], c["violations"]) for c in ours["candidates"]]
    if theirs != own:
        yield Difference(upstream["pod"], "candidates", "other candidates", theirs, own)
    elif sorted(upstream["chosen"]) != sorted(ours["best"]):
        yield Difference(upstream["pod"], "chosen", f"chosen {upstream['chosen']} vs {ours['best']}", theirs, own)
    if (upstream.get("error") or "") != ours.get("error", ""):
        yield Difference(upstream["pod"], "error", f"error {upstream.get('error')!r} vs {ours.get('error')!r}", theirs, own)
    # A PostFilter plugin before DefaultPreemption may have ended it, whose text has no such name.
    text = ours.get("message", "")
    is_told = not upstream.get("error") and "preemption: " in upstream["message"]
    if text and is_told and not upstream["message"].endswith("preemption: " + text):
        yield Difference(upstream["pod"], "message", f"message {upstream['message']!r} vs {text!r}", None, None)


class Facts:
    """What of a cluster may decide."""

    def __init__(self, objects):
        pods = [o for o in objects if o["kind"] == "Pod"]
        self.pods = {full_name(pod): pod for pod in pods}
        self.gated = {name for name, pod in self.pods.items() if is_pending(pod) and pod["spec"].get("schedulingGates")}
        self.on_node, self.nominated = {}, {}
        for name, pod in self.pods.items():
            if not is_pending(pod):
                self.on_node.setdefault(pod["spec"]["nodeName"], []).append(name)
            elif node := pod["status"].get("nominatedNodeName"):
                self.nominated.setdefault(node, []).append(name)
        self.disrupted = {f"{o['metadata']['namespace']}/{pod}" for o in objects if o["kind"] == "PodDisruptionBudget"
                          for pod in o["status"]["disruptedPods"]}

    def importance(self, name):
        pod = self.pods[name]
        return pod["spec"].get("priority", 0), pod["status"].get("startTime")

    def on_candidate(self, preemptor, node, victims):
        """What lies on a candidate's node."""
        priority = self.importance(preemptor)[0]
        below = [name for name in self.on_node.get(node, []) if self.importance(name)[0] < priority]
        kept = {self.importance(name) for name in below if name not in victims}
        yield "equal victims, of which one stays", any(self.importance(name) in kept for name in victims)
        yield "terminating victims", any("deletionTimestamp" in self.pods[name]["metadata"] for name in victims)
        yield "disruptedPods", any(name in self.disrupted for name in below)
        others = [name for name in self.nominated.get(node, []) if name != preemptor]
        yield "gated pods nominated", any(name in self.gated for name in others)
        others = [self.importance(name)[0] for name in others if name not in self.gated]
        yield "higher or equal nominated", any(other >= priority for other in others)
        yield "lower nominated", any(other < priority for other in others)


def full_name(pod):
    return f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"


def count_seen(upstream, record, facts, seen):
    """Of upstream's record and the whole of ours."""
    ours = record["preemption"]
    seen["preemptors"] += 1
    seen["not eligible"] += not ours["eligible"]
    seen["preemptionPolicy Never"] += facts.pods[upstream["pod"]]["spec"].get("preemptionPolicy") == "Never"
    seen["without a candidate"] += ours["eligible"] and not ours["candidates"]
    seen["budgets violated"] += any(c["pdbViolations"] for c in upstream["candidates"])
    seen["several candidates"] += len(upstream["candidates"]) > 1
    seen["several victims"] += any(len(c["victims"]) > 1 for c in upstream["candidates"])
    seen["more than 12 victims"] += any(len(c["victims"]) > 12 for c in upstream["candidates"])
    seen["chance decides"] += len(upstream["chosen"]) > 1
    nodes = {node["node"]: node for node in record.get("nodes", [])}
    for candidate in upstream["candidates"]:
        for reason in nodes.get(candidate["node"], {}).get("reasons", []):
            seen[f"room for: {reason}"] += 1
        for what, is_there in facts.on_candidate(upstream["pod"], candidate["node"], candidate["victims"]):
            seen[what] += is_there
    if ours["eligible"] and not ours["candidates"]:
        for part in ours.get("message", "").partition(": ")[2].rstrip(".").split(", "):
            seen[f"no room for: {part.partition(' ')[2]}"] += 1


class Work:
    """One process's share."""

    def __init__(self, args):
        self.args = args
        self.tools = tools_of(args)

    def compare(self, case, release, seen):
        case.upstream(self.tools, release, "preempt", case.path(".preempt.jsonl"))
        facts = Facts(read_json(case.path(".json"))["items"])
        upstream = {pod: r for pod, r in read_records(case.path(".preempt.jsonl")).items() if pod not in facts.gated}
        found = []
        for backend in self.tools.backends:
            case.berth(self.tools, release, ["explain", "--all"], backend, case.path(f".{backend}.jsonl"))
            ours = {pod: r for pod, r in read_records(case.path(f".{backend}.jsonl")).items()
                    if "preemption" in r and pod not in facts.gated}
            for pod in sorted(upstream.keys() | ours.keys()):
                if pod in upstream and pod in ours:
                    found += [d._replace(text=f"{backend}: {d.text}") for d in differences_of(upstream[pod], ours[pod]["preemption"])]
                    count_seen(upstream[pod], ours[pod], facts, seen)
                elif pod in ours or upstream[pod]["candidates"]:
                    found.append(Difference(pod, "pods", f"{backend}: only one side looked at it", upstream.get(pod), ours.get(pod)))
        return len(upstream), found

    def one(self, job):
        seed, release = job
        case = Case(os.path.join(self.args.keep, f"preemption-{seed}-{release}"))
        seen = Counter()
        preemptors = 0
        try:
            draw(case, self.tools, seed)
            preemptors, differences = self.compare(case, release, seen)
        except ToolError as error:
            differences = [Difference("", "tool", str(error), None, None)]
        if not differences:
            case.remove()
        return Verdict(seed, release, preemptors, differences, seen)


def main():
    args = read_arguments(comparison_parser(__doc__, "cpu,reference", ("clusters", 2000)))
    preemptors = 0
    seen = Counter()
    differing = Differing(args)
    for verdict in answers_of_cases(Work, args):
        preemptors += verdict.preemptors
        seen += verdict.seen
        differing.add(verdict)
    for name, count in sorted(seen.items()):
        print(f"{count:8,} {name}")
    print(f"oracle-preemption: {args.cases} clusters, {preemptors} preemptors, {differing.count} differences")
    return exit_status(differing.count, preemptors)


if __name__ == "__main__":
    sys.exit(main())
