# SPDX-License-Identifier: Apache-2.0
"""The inputs of the comparison with upstream, as specs of `berth generate` (docs/generate.md)."""

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
CLASSED = {"cpu": {"start": "50m", "step": "37m", "modulo": "1000m"},
           "memory": {"start": "64Mi", "step": "131Mi", "modulo": "4096Mi"}}
# Pending pods by the number of nodes: enough to fill a good part of the cluster.
PENDING = {500: 10000, 5000: 50000, 15000: 100000}


def labelled(kind):
    return {"matchLabels": {"app": kind}}


def spread(kind, action):
    return [{"maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": action, "labelSelector": labelled(kind)}]


def term(kind, key):
    return {"topologyKey": key, "labelSelector": labelled(kind)}


def preferred(kind):
    return {"preferred": [{"weight": 1, **term(kind, HOSTNAME)}]}


def required(kind, key):
    return {"required": [term(kind, key)]}


# What a kind adds to the one group of pods.
PODS = {
    "basic": {},
    "classes-20": {"variants": 20, "requests": CLASSED},
    "classes-256": {"variants": 256, "requests": CLASSED},
    "distinct": {"variantsInTurn": True, "requests": {**CLASSED, "memory": {"start": "65536Ki", "step": "1Ki"}}},
    "nodeaffinity": {"nodeAffinity": {"required": [
        {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone-0", "zone-1"]}]}]}},
    "taints": {"tolerations": [{"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}]},
    "spread": {"topologySpreadConstraints": spread("spread", "DoNotSchedule")},
    "softspread": {"topologySpreadConstraints": spread("softspread", "ScheduleAnyway")},
    "defaultspread": {},
    "affinity": {"podAffinity": required("affinity", ZONE)},
    "antiaffinity": {"podAntiAffinity": required("antiaffinity", HOSTNAME)},
    "prefaffinity": {"podAffinity": preferred("prefaffinity")},
    "prefantiaffinity": {"podAntiAffinity": preferred("prefantiaffinity")},
}
NODE_KINDS = ["basic", "classes-20", "classes-256", "distinct", "nodeaffinity", "taints"]
TOPOLOGY_KINDS = ["spread", "softspread", "defaultspread", "affinity", "antiaffinity", "prefaffinity", "prefantiaffinity"]
# Kinds whose pods kube-scheduler can sign, with equal ones behind each other: where its batching applies.
BATCHABLE = {"basic", "nodeaffinity", "taints"}


def pools(kind, nodes):
    """Three zones; with the kind "taints" a third of the nodes repels and a third would rather not."""
    base = {"zones": ["zone-0", "zone-1", "zone-2"], "allocatable": {"cpu": 4, "memory": "32Gi", "pods": 110}}
    if kind in ("classes-20", "classes-256", "distinct"):
        base["allocatable"] = {"cpu": {"choice": [16, 32, 64]}, "memory": {"choice": ["64Gi", "128Gi", "256Gi"]}, "pods": 110}
    if kind != "taints":
        return [{"name": "node", "count": nodes, **base}]
    third = nodes // 3
    repel = [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]
    rather_not = [{"key": "dedicated", "value": "old", "effect": "PreferNoSchedule"}]
    return [{"name": "node", "count": nodes - 2 * third, **base}, {"name": "gpu", "count": third, "taints": repel, **base},
            {"name": "old", "count": third, "taints": rather_not, **base}]


def spec(kind, nodes):
    """@return the spec of one input; required anti-affinity by host takes no more pods than there are nodes"""
    pending = min(PENDING[nodes], nodes) if kind == "antiaffinity" else PENDING[nodes]
    group = {"name": "pod", "pending": pending, "labels": {"app": kind}, "image": "pause",
             "requests": {"cpu": "100m", "memory": "500Mi"}, **PODS[kind]}
    if kind == "distinct":
        group["variants"] = pending
    result = {"version": 1, "nodePools": pools(kind, nodes), "pods": [group]}
    if kind == "defaultspread":
        result["services"] = [{"name": "service", "selector": {"app": kind}}]
    return result
