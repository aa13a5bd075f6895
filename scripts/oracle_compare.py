#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares berth explain with the genuine scheduler (tests/oracle) on random clusters under random configurations.

    scripts/oracle_compare.py --oracle ORACLE --berth BERTH [--clusters N] [--seed S] [--keep DIR] [--configs]

Last line: oracle: N clusters, N pods, N verdicts, N differences. Exit status 1 when there is a difference, 2 when one side
could not judge a cluster. A differing cluster, its configuration and both records stay in DIR.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

SCORERS = ["NodeResourcesFit", "NodeResourcesBalancedAllocation", "ImageLocality", "TaintToleration", "NodeAffinity"]
FILTERS = ["NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"]
RESOURCES = ["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "example.com/license", "example.org/fpga",
             "hugepages-2Mi", "hugepages-1Gi", "pods", "example.com/none"]
LABELS = ["disk", "gen", "example.com/pool", "topology.kubernetes.io/zone", "kubernetes.io/hostname", "absent"]
VALUES = ["ssd", "hdd", "a", "b", "zone-a", "zone-b", "1", "2", "10", "node-0", "node-1", "node-2", ""]
QUANTITIES = ["1", "0", "100m", "0.1", "1e3", "1500m", "1e9", "2Gi", "1.5Gi", "123456789", "1k", "250u", "1n", "0.5Mi", "1e-3"]


def config_shape(rng):
    points = sorted(rng.sample(range(0, 101), rng.randint(1, 5)))
    return [{"utilization": u, "score": rng.randint(0, 10)} for u in points]


def weighted_resources(rng, most):
    names = rng.sample(RESOURCES, rng.randint(1, most))
    return [{"name": n, "weight": rng.choice([1, 1, 2, 3, 50, 100])} for n in names]


def config_fit(rng):
    kind = rng.choice(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"])
    strategy = {"type": kind}
    if rng.random() < 0.8:
        strategy["resources"] = weighted_resources(rng, 5)
    if kind == "RequestedToCapacityRatio":
        strategy["requestedToCapacityRatio"] = {"shape": config_shape(rng)}
    args = {"scoringStrategy": strategy}
    if rng.random() < 0.3:
        args["ignoredResources"] = rng.sample(["example.com/license", "nvidia.com/gpu", "example.org/fpga", "cpu"], rng.randint(1, 2))
    if rng.random() < 0.3:
        args["ignoredResourceGroups"] = rng.sample(["example.com", "nvidia.com", "example.org", "kubernetes.io"], rng.randint(1, 2))
    return args


def config_expression(rng):
    op = rng.choice(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
    e = {"key": rng.choice(LABELS), "operator": op}
    if op in ("In", "NotIn"):
        e["values"] = [v for v in rng.sample(VALUES, rng.randint(1, 4))]
    elif op in ("Gt", "Lt"):
        e["values"] = [rng.choice(["0", "1", "2", "5", "-3"])]
    return e


def config_term(rng):
    term = {}
    if rng.random() < 0.85:
        term["matchExpressions"] = [config_expression(rng) for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.25:
        term["matchFields"] = [{"key": "metadata.name", "operator": rng.choice(["In", "NotIn"]), "values": ["node-%d" % rng.randint(0, 6)]}]
    return term


def config_affinity(rng):
    affinity = {}
    if rng.random() < 0.5:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": [config_term(rng) for _ in range(rng.randint(1, 3))]}
    if rng.random() < 0.7:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": rng.randint(1, 100), "preference": config_term(rng)} for _ in range(rng.randint(1, 3))]
    return {"addedAffinity": affinity}


def config_plugins(rng):
    plugins = {}
    if rng.random() < 0.3:
        plugins["multiPoint"] = {"disabled": [{"name": n} for n in rng.sample(FILTERS[:5] + ["ImageLocality", "NodeResourcesBalancedAllocation"], rng.randint(1, 2))]}
    elif rng.random() < 0.3:
        plugins["multiPoint"] = {"enabled": [{"name": n, "weight": rng.randint(1, 20)} for n in rng.sample(SCORERS, rng.randint(1, 3))]}
    if rng.random() < 0.3:
        names = rng.sample(FILTERS, rng.randint(1, 4))
        plugins["filter"] = {"enabled": [{"name": n} for n in names]}
    elif rng.random() < 0.3:
        plugins["filter"] = {"disabled": [{"name": n} for n in rng.sample(FILTERS, rng.randint(1, 2))]}
    off = {d["name"] for d in plugins.get("multiPoint", {}).get("disabled", [])}
    if rng.random() < 0.5:
        names = [n for n in rng.sample(SCORERS, rng.randint(1, 4)) if n not in off]
        plugins["score"] = {"enabled": [{"name": n, "weight": rng.choice([1, 2, 3, 7, 100])} for n in names]}
        if rng.random() < 0.4:
            plugins["score"]["disabled"] = [{"name": n} for n in rng.sample(SCORERS, 1)] if rng.random() < 0.7 else [{"name": "*"}]
    elif rng.random() < 0.2:
        plugins["score"] = {"disabled": [{"name": "*"}]}
    for point in ("preFilter", "preScore"):
        if rng.random() < 0.1:
            plugins[point] = {"disabled": [{"name": rng.choice(["NodePorts", "NodeAffinity", "NodeResourcesFit", "TaintToleration"])}]}
    return plugins


def config_profile(rng, name):
    profile = {"schedulerName": name, "pluginConfig": []}
    if rng.random() < 0.7:
        profile["pluginConfig"].append({"name": "NodeResourcesFit", "args": config_fit(rng)})
    if rng.random() < 0.5:
        profile["pluginConfig"].append({"name": "NodeResourcesBalancedAllocation", "args": {
            "resources": [{"name": n["name"], "weight": 1} for n in weighted_resources(rng, 6)]}})
    if rng.random() < 0.4:
        profile["pluginConfig"].append({"name": "NodeAffinity", "args": config_affinity(rng)})
    if rng.random() < 0.6:
        profile["plugins"] = config_plugins(rng)
    return profile


def random_config(rng):
    names = ["default-scheduler"] + (["second"] if rng.random() < 0.4 else [])
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "profiles": [config_profile(rng, n) for n in names]}


def each_container(pod):
    spec = pod["spec"]
    yield from spec.get("containers") or []
    yield from spec.get("initContainers") or []


def mutate(rng, cluster, second_profile):
    """Adds what the generator does not draw: odd quantity spellings and pods of a second profile."""
    for item in cluster["items"]:
        if item["kind"] != "Pod":
            continue
        if second_profile and rng.random() < 0.4 and not item["spec"].get("nodeName"):
            item["spec"]["schedulerName"] = "second"
        for container in each_container(item):
            requests = (container.get("resources") or {}).get("requests") or {}
            for name in list(requests):
                if rng.random() < 0.1:
                    requests[name] = rng.choice(QUANTITIES)


def records(path):
    with open(path) as f:
        return {r["pod"]: r for r in map(json.loads, filter(None, map(str.strip, f)))}


def node_differences(a, b):
    for field in ("feasible", "plugin", "code", "total"):
        if a.get(field) != b.get(field):
            yield f"{field} {a.get(field)!r} vs {b.get(field)!r} (reasons {a.get('reasons')} vs {b.get('reasons')})"
    if a.get("plugin") != "PreFilter" and sorted(a.get("reasons") or []) != sorted(b.get("reasons") or []):
        yield f"reasons {a.get('reasons')} vs {b.get('reasons')}"
    ours = {s["plugin"]: s for s in b.get("scores") or []}
    for score in a.get("scores") or []:
        other = ours.pop(score["plugin"], None)
        if other != score and (other or score["raw"] or score["normalized"]):
            yield f"{score} vs {other}"
    for other in ours.values():
        yield f"score that the genuine scheduler does not give: {other}"


def without_point(error):
    """The genuine records name the extension point before the text of the error."""
    return re.sub("^(prefilter|filter|prescore|score): ", "", error or "")


def record_differences(a, b):
    """Of two records of one pod, genuine first; a cycle that ended with an error is compared by that error alone."""
    if a.get("error") or b.get("error"):
        if without_point(a.get("error")) != without_point(b.get("error")):
            yield f"error {a.get('error')!r} vs {b.get('error')!r}"
        return
    if a["profile"] != b["profile"]:
        yield f"profile {a['profile']} vs {b['profile']}"
    if [n["node"] for n in a["nodes"]] != [n["node"] for n in b["nodes"]]:
        yield "other nodes, or in another order"
    ours = {n["node"]: n for n in b["nodes"]}
    for node in a["nodes"]:
        for text in node_differences(node, ours.get(node["node"], {})):
            yield f"{node['node']}: {text}"
    if sorted(a["best"]) != sorted(b["best"]):
        yield f"best {a['best']} vs {b['best']}"
    if a.get("message") != b.get("message"):
        yield f"message {a.get('message')!r} vs {b.get('message')!r}"


def compare(genuine, ours):
    """(pods, verdicts, list of differences as (pod, text))."""
    found = [(pod, "only in the genuine output") for pod in genuine.keys() - ours.keys()]
    found += [(pod, "not in the genuine output") for pod in ours.keys() - genuine.keys()]
    for pod in genuine.keys() & ours.keys():
        found += [(pod, text) for text in record_differences(genuine[pod], ours[pod])]
    return len(genuine), sum(len(r["nodes"]) for r in genuine.values()), found


def spec_of(rng, args):
    return {"version": 1, "random": {"maxNodes": rng.choice([3, 10, args.nodes]), "maxRunningPods": rng.choice([0, 20, args.running]),
                                     "maxPendingPods": args.pending}}


def write(path, value):
    with open(path, "w") as f:
        json.dump(value, f)


def one(args, seed, folder):
    rng = random.Random(seed)
    base = os.path.join(folder, f"c{seed}")
    write(base + ".spec.json", spec_of(rng, args))
    subprocess.run([args.berth, "generate", "--spec", base + ".spec.json", "--seed", str(seed), "-o", base + ".json"], check=True)
    config = random_config(rng) if args.configs else None
    with open(base + ".json") as f:
        cluster = json.load(f)
    if args.mutate:
        mutate(rng, cluster, config and len(config["profiles"]) > 1)
        write(base + ".json", cluster)
    flags = []
    if config:
        write(base + ".config.json", config)
        flags = ["--config", base + ".config.json"]
    with open(base + ".genuine.jsonl", "w") as out:
        genuine = subprocess.run([args.oracle, "explain", *flags, base + ".json"], stdout=out, stderr=subprocess.PIPE, text=True)
    with open(base + ".ours.jsonl", "w") as out:
        ours = subprocess.run([args.berth, "explain", "--all", "-q", "-o", "json", "--backend", args.backend, *flags, "-f", base + ".json"],
                              stdout=out, stderr=subprocess.PIPE, text=True)
    if genuine.returncode or ours.returncode:
        if genuine.returncode and ours.returncode:
            return "both refuse", genuine.stderr + ours.stderr, base
        return "refused", f"oracle: {genuine.returncode} {genuine.stderr}\nberth: {ours.returncode} {ours.stderr}", base
    return "judged", compare(records(base + ".genuine.jsonl"), records(base + ".ours.jsonl")), base


def forget(base):
    for end in (".spec.json", ".json", ".config.json", ".genuine.jsonl", ".ours.jsonl"):
        if os.path.exists(base + end):
            os.remove(base + end)


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--oracle", required=True)
    p.add_argument("--berth", required=True)
    p.add_argument("--backend", default="auto")
    p.add_argument("--clusters", type=int, default=100)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--nodes", type=int, default=30)
    p.add_argument("--running", type=int, default=80)
    p.add_argument("--pending", type=int, default=25)
    p.add_argument("--configs", action="store_true", help="a random configuration for each cluster")
    p.add_argument("--mutate", action="store_true", help="change the clusters beyond what berth generate draws")
    p.add_argument("--keep", default=tempfile.gettempdir())
    p.add_argument("--show", type=int, default=20, help="differences to print")
    return p.parse_args()


def main():
    args = parse()
    pods = verdicts = differences = refused = both = 0
    for seed in range(args.seed, args.seed + args.clusters):
        kind, result, base = one(args, seed, args.keep)
        if kind != "judged":
            both += kind == "both refuse"
            refused += kind == "refused"
            if kind == "refused":
                print(f"{base}: {kind}: {result}")
                continue
        else:
            pods, verdicts, found = pods + result[0], verdicts + result[1], result[2]
            for pod, text in found:
                differences += 1
                if differences <= args.show:
                    print(f"{base}: {pod}: {text}")
            if found:
                continue
        forget(base)
    if both or refused:
        print(f"oracle: {both} clusters refused by both, {refused} by one side only")
    print(f"oracle: {args.clusters} clusters, {pods} pods, {verdicts} verdicts, {differences} differences")
    return 1 if differences else 2 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
