#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How full the nodes of a cluster are before and after its pending pods are placed, as a picture.

    utilisation.py cluster.json -o utilisation.png

Room is asked as kube-scheduler sees it: into how many small pods of one kind a node still takes (max_replicas), beside how many
it takes when it is empty. So requests, overheads and running pods need no second text here.
"""

import argparse
import json

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import berth

# Large enough that the limit of pods of a node does not come first.
PROBES = {"cpu": "1", "memory": "4Gi"}


def probe(name, amount):
    """A small pod that requests one resource and tolerates every taint."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"probe-{name}", "namespace": "default"},
            "spec": {"tolerations": [{"operator": "Exists"}],
                     "containers": [{"name": "c", "resources": {"requests": {name: amount}}}]}}


def room_of(state, probes):
    """How many more probes each node takes, [probes, nodes]."""
    with state.max_replicas(probes, per_node=True) as counted:
        return counted.count_on_node.numpy().astype(float)


def measure(path):
    """Use of each node before and after, [probes, nodes] each, and how many pods of how many found a node."""
    with open(path, encoding="utf-8") as file:
        items = json.load(file)["items"]
    pending = [each for each in items if each["kind"] == "Pod" and not each["spec"].get("nodeName")]
    nodes = [each for each in items if each["kind"] == "Node"]
    with berth.Engine() as engine, engine.load(path) as cluster, engine.load(nodes) as empty:
        with empty.snapshot() as bare:
            total = room_of(bare, empty.pods(probe(*each) for each in PROBES.items()))
        probes = cluster.pods(probe(*each) for each in PROBES.items())
        with cluster.snapshot() as snapshot, snapshot.fork() as fork:
            before = room_of(snapshot, probes)
            placed = fork.schedule(cluster.pods(pending)).placed
            after = room_of(fork, probes)
    use = [1 - np.divide(room, total, out=np.zeros_like(room), where=total > 0) for room in (before, after)]
    return use[0], use[1], placed, len(pending)


def draw(before, after, placed, pending, path):
    """A row for each resource: nodes as cells, before and after, and how many nodes are how full."""
    columns = max(1, round((2 * before.shape[1]) ** 0.5))
    figure, axes = plt.subplots(len(PROBES), 3, figsize=(11, 5), layout="constrained")
    for row, name in enumerate(PROBES):
        for column, (title, use) in enumerate((("before", before[row]), ("after", after[row]))):
            cells = np.full(-(-len(use) // columns) * columns, np.nan)
            cells[:len(use)] = np.sort(use)[::-1]
            image = axes[row, column].imshow(cells.reshape(-1, columns), vmin=0, vmax=1, cmap="viridis", aspect="auto")
            axes[row, column].set_title(f"{name}, {title}: {use.mean():.0%} used")
            axes[row, column].set_axis_off()
        axes[row, 2].hist([before[row], after[row]], bins=np.linspace(0, 1, 21), label=["before", "after"])
        axes[row, 2].set_xlabel(f"share of {name} in use")
        axes[row, 2].set_ylabel("nodes")
        axes[row, 2].legend()
    figure.colorbar(image, ax=axes[:, 1], label="use of a node")
    figure.suptitle(f"{placed} of {pending} pending pods placed on {before.shape[1]} nodes")
    figure.savefig(path, dpi=80)
    plt.close(figure)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cluster")
    parser.add_argument("-o", "--output", default="utilisation.png")
    given = parser.parse_args(arguments)
    before, after, placed, pending = measure(given.cluster)
    draw(before, after, placed, pending, given.output)
    print(f"{placed} of {pending} pods placed; cpu {before[0].mean():.0%} before and {after[0].mean():.0%} after")


if __name__ == "__main__":
    main()
