#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `--batching kube-1.35` with upstream kube-scheduler's opportunistic batching (tests/oracle, mode walk, v1.35).

    scripts/oracle_batches.py --runs-program PROGRAM --berth BERTH --oracle 1.35=PROGRAM [--histories N] [--seed S]

A history begins with a few nodes, mostly with room for one pod each, and pods of a few shapes that are written in different ways:
terms, tolerations and volumes in another order, names that do not count, one thing that does. The loop tries every pod, on a virtual
clock that stops for up to 700 ms, while pods go and nodes come, go and are cordoned. Upstream's framework signs the same pods, gives
hints and stores what is left; each attempt must have the same node, a hint where upstream has one, and the same labels counted by the
metrics of batching. The files of differing histories are kept under --keep.

Last line: oracle-batches: N histories, N attempts, N hints, N differences. Exit status 1 when there is a difference, 2 when no hint
was compared.
"""
import copy
import json
import random
import sys

from oracle_case import write_json
from oracle_pool import Differing, answers_of_cases, comparison_parser, exit_status, read_arguments
from oracle_walk import WalkWork

GATE = "OpportunisticBatching=true"
SPREAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "PodTopologySpreadArgs", "defaultingType": "List"}
AFFINITY = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "InterPodAffinityArgs",
            "ignorePreferredTermsOfExistingPods": True}
TOLERATIONS = [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}, {"key": "b", "value": "x", "effect": "NoSchedule"},
               {"key": "c", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
               {"key": "c", "operator": "Exists", "effect": "NoSchedule"}]
EXPRESSIONS = [{"key": "zone", "operator": "In", "values": ["1", "2", "3"]}, {"key": "zone", "operator": "NotIn", "values": ["9"]},
               {"key": "kubernetes.io/hostname", "operator": "Exists"}]
VOLUMES = [{"emptyDir": {}}, {"hostPath": {"path": "/a", "type": ""}},
           {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}], "defaultMode": 420}},
           {"configMap": {"name": "settings"}}, {"secret": {"secretName": "key"}}]


def some(dice, items):
    return copy.deepcopy(dice.sample(items, dice.randrange(len(items) + 1)))


def node(number, dice):
    pods = dice.choice(("1", "1", "1", "2", "30"))
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": f"n{number:02}", "labels": {"zone": dice.choice("123"), "kubernetes.io/hostname": f"n{number:02}"}},
            "spec": {"taints": [{"key": "b", "value": "x", "effect": "NoSchedule"}] if dice.random() < 0.15 else []},
            "status": {"allocatable": {"cpu": dice.choice(("2", "4", "4", "8")), "memory": "16Gi", "pods": pods}}}


def shape(dice):
    """A spec, in which more than one thing may be there."""
    container = {"name": "c", "image": dice.choice(("app", "app:latest", "other:1")),
                 "resources": {"requests": {"cpu": dice.choice(("100m", "0.1", "1")), "memory": "64Mi"}}}
    if dice.random() < 0.15:
        container["ports"] = [{"containerPort": 80, "hostPort": 8080}]
    spec = {"containers": [container], "tolerations": some(dice, TOLERATIONS), "volumes": some(dice, VOLUMES)}
    if dice.random() < 0.4:
        terms = [{"matchExpressions": some(dice, EXPRESSIONS) or [EXPRESSIONS[1]]} for _ in range(dice.choice((1, 2)))]
        preferred = [{"weight": w, "preference": {"matchExpressions": [EXPRESSIONS[0]]}} for w in dice.sample((1, 7, 50), 2)]
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
                                             "preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    if dice.random() < 0.1:
        spec["nodeSelector"] = {"zone": dice.choice("12")}
    if dice.random() < 0.1:
        spec.setdefault("affinity", {})["podAntiAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": []}
    if dice.random() < 0.05:
        spec["containers"][0]["resources"]["requests"]["cpu"] = "64"
    return spec, dict(some(dice, [("app", "web"), ("tier", "front")]))


def shuffle_lists(value, dice):
    """Another order of everything: some of it changes the signature, and some does not."""
    if isinstance(value, dict):
        return {key: shuffle_lists(value[key], dice) for key in dice.sample(sorted(value), len(value))}
    if isinstance(value, list):
        return [shuffle_lists(entry, dice) for entry in dice.sample(value, len(value))]
    return value


def pod(number, shapes, dice):
    spec, labels = copy.deepcopy(dice.choice(shapes))
    if dice.random() < 0.3:
        spec = shuffle_lists(spec, dice)
    if dice.random() < 0.05 and spec["tolerations"]:
        spec["tolerations"][0]["tolerationSeconds"] = 7
    for place, volume in enumerate(spec["volumes"]):
        volume["name"] = f"v{number}-{place}"
    spec["schedulerName"] = dice.choice(("default-scheduler",) * 9 + ("second",))
    return {"apiVersion": "v1", "kind": "Pod", "spec": spec, "status": {"phase": "Pending"},
            "metadata": {"name": f"p{number:03}", "namespace": "default", "uid": f"uid-{number:03}", "labels": labels,
                         "creationTimestamp": "2025-12-31T00:00:00Z"}}


def profile(name, dice):
    arguments = [{"name": "PodTopologySpread", "args": SPREAD}] if dice.random() < 0.95 else []
    if dice.random() < 0.3:
        arguments.append({"name": "InterPodAffinity", "args": AFFINITY})
    disabled = [{"name": name} for name in dice.sample(("VolumeBinding", "TaintToleration", "ImageLocality"), dice.choice((0, 0, 1)))]
    return {"schedulerName": name, "pluginConfig": arguments, "plugins": {"multiPoint": {"disabled": disabled}}}


class Work(WalkWork):
    """Counts hints."""
    name = "batches"

    def program(self):
        return self.args.runs_program

    def draw_case(self, case, seed):
        dice = random.Random(seed)
        shapes = [shape(dice) for _ in range(dice.choice((1, 2, 3)))]
        nodes = [node(number, dice) for number in range(dice.randrange(1, 15))]
        pods = [pod(number, shapes, dice) for number in range(dice.randrange(2, 40))]
        write_json(case.path(".json"), {"apiVersion": "v1", "kind": "List", "items": nodes + pods})
        write_json(case.path(".config.json"), {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                                               "profiles": [profile(name, dice) for name in ("default-scheduler", "second")]})
        with open(case.path(".gates"), "w", encoding="utf-8") as file:
            file.write(GATE)

    def count(self, records, followed):
        with open(followed, encoding="utf-8") as file:
            return sum(json.loads(line).get("batch", {}).get("hint", False) for line in file)


def parse():
    p = comparison_parser(__doc__, "cpu,reference", ("histories", 1000))
    p.add_argument("--runs-program", required=True, metavar="PROGRAM", help="tests/histories/write_run")
    return read_arguments(p)


def main():
    args = parse()
    attempts = hints = 0
    differing = Differing(args)
    for walk in answers_of_cases(Work, args):
        attempts += walk.steps
        hints += walk.counted
        differing.add(walk)
    print(f"oracle-batches: {args.cases} histories, {attempts} attempts, {hints} hints, {differing.count} differences")
    return exit_status(differing.count, hints)


if __name__ == "__main__":
    sys.exit(main())
