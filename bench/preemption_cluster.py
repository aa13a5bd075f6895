#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a cluster of full, unlike nodes with preemptors, as JSON for `berth schedule --preemption nominate -f FILE`.

    bench/preemption_cluster.py FILE [--nodes 5000] [--victims 20] [--preemptors 1000] [--classes 200] [--nominated 10]

Every pod on a node has a lower priority than the preemptors; priorities, start times and 100 PodDisruptionBudgets are mixed. Of eight
classes one has required anti-affinity, one required affinity, one a hard spread constraint, one a host port; with one class none.

A pod is nominated to each of `--nominated` percent of the nodes from the beginning: of lower, the same or higher priority than the
preemptors. These pods never preempt, so that they keep their nomination unless a preemptor of higher priority takes their node.
"""
import argparse
import json
import random

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
APPS = 1000
NAMESPACES = 20
BUDGETS = 100


def pod(name, namespace, app, spec, status=None):
    return {"apiVersion": "v1", "kind": "Pod", "spec": spec, "status": status or {},
            "metadata": {"name": name, "namespace": f"team-{namespace}", "uid": name, "labels": {"app": app}}}


def container(milli_cpu, mebibytes):
    return {"name": "c", "image": "i", "resources": {"requests": {"cpu": f"{milli_cpu}m", "memory": f"{mebibytes}Mi"}}}


def full_node(number, victims, dice):
    """A node whose pods leave little room, and those pods."""
    name = f"node-{number}"
    free_cpu, free_memory = dice.choice((0, 200, 400)), dice.choice((0, 512))
    for v in range(victims):
        cpu, memory, app = dice.choice((100, 250, 500, 1000)), dice.choice((128, 256, 512, 2048)), dice.randrange(APPS)
        free_cpu, free_memory = free_cpu + cpu, free_memory + memory
        yield pod(f"v-{number}-{v}", app % NAMESPACES, f"app-{app}",
                  {"nodeName": name, "priority": dice.choice((0, 0, 1, 5, 10)), "containers": [container(cpu, memory)]},
                  {"phase": "Running", "startTime": f"2026-01-01T00:{dice.randrange(60):02}:00Z"})
    yield {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {HOST: name, ZONE: f"z{number % 3}"}},
           "status": {"allocatable": {"cpu": f"{free_cpu}m", "memory": f"{free_memory}Mi", "pods": "110"}}}


def budget(number, dice):
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": f"budget-{number}", "namespace": f"team-{number % NAMESPACES}"},
            "spec": {"selector": {"matchLabels": {"app": f"app-{number}"}}},
            "status": {"disruptionsAllowed": dice.randrange(3)}}


def preemptor(number, classes):
    of_class = number % classes
    app = f"pre-{of_class}"
    spec = {"priority": 100, "containers": [container(1000 + 10 * of_class % 2000, (256, 1024, 3072)[of_class % 3])]}
    own = {"labelSelector": {"matchLabels": {"app": app}}}
    kind = of_class % 8 if classes > 1 else None
    if kind == 0:
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [own | {"topologyKey": HOST}]}}
    if kind == 1:
        spec["topologySpreadConstraints"] = [own | {"maxSkew": 2, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}]
    if kind == 2:
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8000 + of_class}]
    if kind == 3:
        apps = {"key": "app", "operator": "In", "values": [f"app-{of_class + n}" for n in (0, 200, 400)]}
        spec["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchExpressions": [apps]}, "namespaceSelector": {}, "topologyKey": ZONE}]}}
    return pod(f"p-{number}", of_class % NAMESPACES, app, spec)


def nominated(node, dice):
    """A pod that waits for room on the node, as an autoscaler or an earlier preemption leaves it."""
    return pod(f"n-{node}", node % NAMESPACES, "nominated",
               {"priority": dice.choice((50, 100, 200)), "preemptionPolicy": "Never",
                "containers": [container(dice.choice((250, 500)), dice.choice((128, 512)))]},
               {"phase": "Pending", "nominatedNodeName": f"node-{node}"})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    for name, value in (("nodes", 5000), ("victims", 20), ("preemptors", 1000), ("classes", 200), ("nominated", 10)):
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    dice = random.Random(1)
    items = [item for n in range(args.nodes) for item in full_node(n, args.victims, dice)]
    items += [budget(n, dice) for n in range(BUDGETS)]
    items += [preemptor(n, args.classes) for n in range(args.preemptors)]
    items += [nominated(n, dice) for n in sorted(dice.sample(range(args.nodes), args.nodes * args.nominated // 100))]
    with open(args.file, "w", encoding="utf-8") as out:
        json.dump({"apiVersion": "v1", "kind": "List", "items": items}, out)


if __name__ == "__main__":
    main()
