#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a cluster in which many kinds of workloads wait for nodes, for `berth bench` and `berth schedule --stats`.

    bench/mix_cluster.py NODES APPS REPLICAS [SEED] > cluster.json

An app is a Deployment, StatefulSet, indexed Job or DaemonSet with labels, mostly a Service, and on average REPLICAS pending
pods. The cluster holds what ../shared/tools/realmix.py leaves out:

- nodes: allocatable that differs by node, a set of images of its own on each, racks in zones, hard and soft taints, GPUs,
  and running pods of the same apps that fill up to 60 % of each node;
- pods: requests of every size or none, images that some nodes have, labels of each pod (StatefulSets, Jobs), matchFields
  (DaemonSets), host ports, extended resources, priorities, node selectors and preferred node affinity, tolerations,
  preferred pod affinity to other apps by zone, rack and host (some by namespaceSelector), two spread constraints at once,
  and anti-affinity against a label that the apps of a tier share.
"""

import argparse
import json
import random
import sys

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
RACK = "example.com/rack"
NODES_PER_RACK = 40
ZONES = 3
IMAGES_ON_NODE = 40
POOLS = ["general"] * 5 + ["batch"] * 2 + ["gpu"]
TIERS = [f"tier-{i}" for i in range(40)]
PRIORITIES = [0, 0, 0, 100, 1000, 5000]
MIB = 1024 * 1024


def requirement(key, operator, *values):
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def pod_term(key, labels=None, **more):
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels or {}}, **more}


class Mix:
    def __init__(self, nodes, apps, replicas, seed):
        self.draw = random.Random(seed)
        self.node_count, self.app_count, self.replicas = nodes, apps, replicas
        self.images = [(f"registry.example.com/app-{a}:v{a % 7}", self.draw.randrange(20, 2000) * MIB) for a in range(apps)]
        self.images += [(f"registry.example.com/base-{b}:v1", self.draw.randrange(20, 900) * MIB) for b in range(60)]
        self.namespaces = [f"team-{i}" for i in range(max(1, apps // 20))]
        self.racks = max(1, nodes // NODES_PER_RACK)

    def chance(self, percent):
        return self.draw.random() * 100 < percent

    # Nodes

    def node(self, index):
        draw, name = self.draw, f"node-{index}"
        rack = draw.randrange(self.racks)
        pool = draw.choice(POOLS)
        cores = draw.choice([16, 32, 48, 64, 96])
        labels = {HOST: name, ZONE: f"zone-{rack % ZONES}", RACK: f"rack-{rack}", "pool": pool,
                  "node.kubernetes.io/instance-type": f"m{cores}", "disk": draw.choice(["ssd", "hdd"])}
        amounts = {"cpu": f"{cores * 1000 - draw.randrange(60, 400)}m",
                   "memory": f"{cores * 4 * 1024 * 1024 - draw.randrange(400_000, 3_000_000)}Ki",
                   "ephemeral-storage": f"{draw.randrange(80, 400)}Gi", "pods": draw.choice(["110", "110", "250"])}
        taints = []
        if pool == "gpu":
            amounts["nvidia.com/gpu"] = "8"
            taints.append({"key": "gpu", "value": "true", "effect": "NoSchedule"})
        if self.chance(5):
            taints.append({"key": "dedicated", "value": "infra", "effect": "NoSchedule"})
        if self.chance(20):
            taints.append({"key": "spot", "value": "true", "effect": "PreferNoSchedule"})
        held = draw.sample(self.images, min(IMAGES_ON_NODE, len(self.images)))
        images = [{"names": [image], "sizeBytes": size} for image, size in held]
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
                "spec": {"taints": taints} if taints else {},
                "status": {"allocatable": amounts, "capacity": amounts, "images": images}}

    # Apps

    def requests(self):
        if self.chance(8):
            return {}
        draw = self.draw
        cpu, memory = 25 * 2 ** (draw.random() * 6.5), 64 * 2 ** (draw.random() * 6.5)
        requests = {"cpu": f"{int(cpu)}m", "memory": f"{int(memory * 1024)}Ki"}
        if self.chance(10):
            requests.pop(draw.choice(["cpu", "memory"]))
        return requests

    def node_terms(self, spec, affinity):
        draw = self.draw
        if self.chance(15):
            spec["nodeSelector"] = {"pool": draw.choice(["general", "batch"])}
        if self.chance(20):
            terms = [{"weight": draw.choice([1, 10, 50, 100]),
                      "preference": {"matchExpressions": [draw.choice([
                          requirement("disk", "In", "ssd"), requirement("pool", "NotIn", "batch"),
                          requirement("node.kubernetes.io/instance-type", "In", "m64", "m96")])]}}
                     for _ in range(draw.choice([1, 1, 2]))]
            affinity["nodeAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": terms}
        tolerations = [{"key": key, "operator": "Exists"} for key, percent in (("gpu", 5), ("dedicated", 4), ("spot", 25))
                       if self.chance(percent)]
        if tolerations:
            spec["tolerations"] = tolerations

    def pod_terms(self, own, tier, spec, affinity):
        draw, pick = self.draw, self.draw.random()
        preferred_away, required_away, preferred_near = [], [], []
        if pick < .30:
            preferred_away.append({"weight": 100, "podAffinityTerm": pod_term(draw.choice([HOST, HOST, ZONE]), own)})
        elif pick < .38:
            required_away.append(pod_term(HOST, own))
        elif pick < .42:
            required_away.append(pod_term(HOST, {"tier": tier}))
        elif pick < .60:
            keys = draw.sample([ZONE, RACK, HOST], 2)
            spec["topologySpreadConstraints"] = [
                {"maxSkew": draw.choice([1, 2, 5]), "topologyKey": key, "labelSelector": {"matchLabels": own},
                 "whenUnsatisfiable": draw.choice(["DoNotSchedule", "ScheduleAnyway", "ScheduleAnyway"])} for key in keys]
        if self.chance(15):
            term = pod_term(draw.choice([ZONE, RACK, HOST]), {"app": f"app-{draw.randrange(self.app_count)}"})
            if self.chance(40):
                term["namespaceSelector"] = {"matchLabels": {"tenant": draw.choice(["red", "blue"])}}
            preferred_near.append({"weight": draw.randint(1, 100), "podAffinityTerm": term})
        if preferred_away or required_away:
            affinity["podAntiAffinity"] = {}
            if preferred_away:
                affinity["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = preferred_away
            if required_away:
                affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = required_away
        if preferred_near:
            affinity["podAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": preferred_near}

    def app(self, number):
        draw, name = self.draw, f"app-{number}"
        kind = draw.choices(["Deployment", "StatefulSet", "Job", "DaemonSet"], [76, 12, 10, 2])[0]
        tier, own = draw.choice(TIERS), {"app": name}
        container = {"name": "main", "image": self.images[number][0] if self.chance(80) else draw.choice(self.images)[0]}
        requests = self.requests()
        if self.chance(3):
            container["ports"] = [{"containerPort": 8080, "hostPort": draw.choice([8080, 9100, 9200, 30000 + number % 900])}]
        spec = {"containers": [container], "priority": draw.choice(PRIORITIES)}
        affinity = {}
        self.node_terms(spec, affinity)
        if kind != "DaemonSet":
            self.pod_terms(own, tier, spec, affinity)
        else:
            spec["tolerations"] = [{"operator": "Exists"}]
            spec.pop("nodeSelector", None)
        if self.chance(4) and kind != "DaemonSet":
            requests["nvidia.com/gpu"] = draw.choice(["1", "1", "2"])
            spec["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
            spec.pop("nodeSelector", None)
        elif self.chance(5):
            requests["ephemeral-storage"] = f"{draw.randrange(1, 8)}Gi"
        if requests:
            container["resources"] = {"requests": requests}
        if affinity:
            spec["affinity"] = affinity
        labels = {**own, "tier": tier, "pod-template-hash": f"h{number}"}
        return {"name": name, "kind": kind, "namespace": draw.choice(self.namespaces), "labels": labels, "spec": spec,
                "has_service": kind == "Deployment" or kind == "StatefulSet" and self.chance(90)}

    def pod(self, app, index, node=None):
        name, labels, spec = f"{app['name']}-{index}", dict(app["labels"]), dict(app["spec"])
        if app["kind"] == "StatefulSet":
            labels.update({"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(index)})
        if app["kind"] == "Job":
            labels.update({"batch.kubernetes.io/job-completion-index": str(index)})
        if app["kind"] == "DaemonSet" and node is None:
            field = {"matchFields": [requirement("metadata.name", "In", f"node-{self.draw.randrange(self.node_count)}")]}
            node_affinity = {**spec.get("affinity", {}).get("nodeAffinity", {}),
                             "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [field]}}
            spec["affinity"] = {**spec.get("affinity", {}), "nodeAffinity": node_affinity}
        if node is not None:
            spec["nodeName"] = node
        return {"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": name, "namespace": app["namespace"], "uid": name, "labels": labels}, "spec": spec,
                "status": {"phase": "Running"} if node is not None else {}}

    def running(self, apps, first_index):
        """Pods of apps that request cpu and memory alone, until a share of each node is in use."""
        plain = [app for app in apps if "ports" not in app["spec"]["containers"][0] and app["kind"] != "DaemonSet"
                 and set(app["spec"]["containers"][0].get("resources", {}).get("requests", {})) == {"cpu", "memory"}]
        for node in self.nodes if plain else []:
            amounts, share = node["status"]["allocatable"], self.draw.random() * .6
            cpu, memory, pods = int(amounts["cpu"][:-1]) * share, int(amounts["memory"][:-2]) * share, 60
            while pods > 0:
                app = self.draw.choice(plain)
                requests = app["spec"]["containers"][0]["resources"]["requests"]
                cpu, memory, pods = cpu - int(requests["cpu"][:-1]), memory - int(requests["memory"][:-2]), pods - 1
                if cpu < 0 or memory < 0:
                    break
                first_index[app["name"]] += 1
                yield self.pod(app, first_index[app["name"]] - 1, node["metadata"]["name"])

    def objects(self):
        self.nodes = [self.node(i) for i in range(self.node_count)]
        yield from self.nodes
        for name in self.namespaces:
            labels = {"kubernetes.io/metadata.name": name, "tenant": self.draw.choice(["red", "blue", "green"])}
            yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        apps = [self.app(number) for number in range(self.app_count)]
        for app in apps:
            if app["has_service"]:
                yield {"apiVersion": "v1", "kind": "Service", "metadata": {"name": app["name"], "namespace": app["namespace"]},
                       "spec": {"selector": {"app": app["name"]}, "ports": [{"port": 80}]}}
        first_index = {app["name"]: 0 for app in apps}
        yield from self.running(apps, first_index)
        pending = [self.pod(app, first_index[app["name"]] + k)
                   for app in apps for k in range(self.draw.randint(1, 2 * self.replicas - 1))]
        self.draw.shuffle(pending)
        yield from pending


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", type=int)
    parser.add_argument("apps", type=int)
    parser.add_argument("replicas", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    options = parser.parse_args()
    if min(options.nodes, options.apps, options.replicas) < 1:
        parser.error("NODES, APPS and REPLICAS are at least 1")
    mix = Mix(options.nodes, options.apps, options.replicas, options.seed)
    json.dump({"apiVersion": "v1", "kind": "List", "items": list(mix.objects())}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
