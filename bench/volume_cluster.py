#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a cluster whose pending pods wait for volumes, for `berth schedule --stats`.

    bench/volume_cluster.py delayed > delayed.json   # a provisioner makes each volume
    bench/volume_cluster.py static > static.json     # each claim takes a volume that is there

Each pod has one claim of its own, and requests 100m and 128Mi.

- delayed: claims of `--classes` StorageClasses with WaitForFirstConsumer, which one CSI driver serves. Each node attaches
  39 of its volumes.
- static: as many volumes as claims, of 5 to 100 GiB. Half of them are local to one node, half can be reached in one of
  three zones. A claim asks for 1 to 50 GiB. Nothing makes volumes of their class.
"""

import argparse
import json
import random
import sys

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
ZONES = 3


def node(index):
    name = f"node-{index}"
    amounts = {"cpu": "32", "memory": "256Gi", "pods": "110"}
    labels = {HOST: name, ZONE: f"zone-{index % ZONES}"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "status": {"capacity": amounts, "allocatable": amounts}}


def storage_class(name, provisioner):
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}


def claim(index, class_name, gigabytes):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": f"claim-{index}", "namespace": "default", "uid": f"claim-uid-{index}"},
            "spec": {"storageClassName": class_name, "accessModes": ["ReadWriteOnce"],
                     "resources": {"requests": {"storage": f"{gigabytes}Gi"}}}}


def pod(index):
    requests = {"cpu": "100m", "memory": "128Mi"}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"pod-{index}", "namespace": "default", "uid": f"pod-uid-{index}"},
            "spec": {"containers": [{"name": "main", "image": "app", "resources": {"requests": requests}}],
                     "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": f"claim-{index}"}}]}}


def delayed(options, rng):
    driver = "csi.example.com"
    for index in range(options.nodes):
        yield {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": f"node-{index}"},
               "spec": {"drivers": [{"name": driver, "nodeID": f"node-{index}", "allocatable": {"count": 39}}]}}
    for index in range(options.classes):
        yield storage_class(f"class-{index}", driver)
    for index in range(options.claims):
        yield claim(index, f"class-{rng.randrange(options.classes)}", 10)


def volume(index, key, value, gigabytes):
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"volume-{index}"},
            "spec": {"storageClassName": "static", "accessModes": ["ReadWriteOnce"],
                     "capacity": {"storage": f"{gigabytes}Gi"}, "persistentVolumeReclaimPolicy": "Retain",
                     "local": {"path": f"/volumes/{index}"},
                     "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}},
            "status": {"phase": "Available"}}


def static(options, rng):
    yield storage_class("static", "kubernetes.io/no-provisioner")
    for index in range(options.claims):
        key, value = (HOST, f"node-{index // 2 % options.nodes}") if index % 2 else (ZONE, f"zone-{index // 2 % ZONES}")
        yield volume(index, key, value, 5 * rng.randint(1, 20))
    for index in range(options.claims):
        yield claim(index, "static", rng.choice([1, 5, 10, 20, 30, 50]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["delayed", "static"])
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--claims", type=int, help="50000 for delayed, 10000 for static")
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.claims is None:
        options.claims = 50_000 if options.kind == "delayed" else 10_000
    rng = random.Random(options.seed)
    items = [node(index) for index in range(options.nodes)]
    items += (delayed if options.kind == "delayed" else static)(options, rng)
    items += [pod(index) for index in range(options.claims)]
    json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout)


if __name__ == "__main__":
    main()
