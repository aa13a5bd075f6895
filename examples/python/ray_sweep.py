#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same what-if many times over workers of Ray: what pending pods gain from more nodes of one kind.

    ray_sweep.py cluster.json [--scenarios 64] [--compare]

A scenario adds some nodes and places the pending pods. Each worker opens one pickled snapshot and answers its scenarios from
forks of it; answers come back as Arrow tables. --compare runs the same on threads of this process too, and prints times.
"""

import argparse
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow
import ray

import berth


def new_node(number):
    """A node of the kind that a scenario adds."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"added-{number}"},
            "status": {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}}}


def answer(snapshot, pods, added):
    """One scenario as a table of pods: which found a node."""
    with snapshot.fork() as fork:
        for number in range(added):
            fork.add_node(new_node(number))
        with fork.schedule(pods) as placed:
            table = pyarrow.table(placed).select(["node", "fits", "score"])
    return table.append_column("added", pyarrow.array([added] * len(table), pyarrow.int32()))


def answers(snapshot, pods, scenarios):
    """The tables of some scenarios, as one."""
    return pyarrow.concat_tables([answer(snapshot, pods, added) for added in scenarios])


@ray.remote(num_cpus=1)
class Worker:
    """Has one snapshot, opened from its pickle."""

    def __init__(self, snapshot, manifests):
        self.snapshot = snapshot
        self.pods = snapshot.cluster.pods(manifests)

    def ready(self):
        """Returns once the snapshot is open."""
        return len(self.pods)

    def answers(self, scenarios):
        """See answers()."""
        return answers(self.snapshot, self.pods, scenarios)


def over_workers(snapshot, manifests, scenarios, count):
    """(table, seconds) of the scenarios over `count` workers, without opening the snapshots."""
    stored = ray.put(snapshot)
    workers = [Worker.remote(stored, manifests) for _ in range(count)]
    ray.get([worker.ready.remote() for worker in workers])
    begin = time.perf_counter()
    parts = ray.get([worker.answers.remote(scenarios[i::count]) for i, worker in enumerate(workers)])
    took = time.perf_counter() - begin
    for worker in workers:
        ray.kill(worker)
    return pyarrow.concat_tables(parts), took


def over_threads(snapshot, manifests, scenarios, count):
    """The same on threads of this process, which share the snapshot."""
    pods = snapshot.cluster.pods(manifests)
    begin = time.perf_counter()
    with ThreadPoolExecutor(count) as pool:
        parts = list(pool.map(lambda i: answers(snapshot, pods, scenarios[i::count]), range(count)))
    return pyarrow.concat_tables(parts), time.perf_counter() - begin


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cluster")
    parser.add_argument("--scenarios", type=int, default=64)
    parser.add_argument("--compare", action="store_true")
    given = parser.parse_args(arguments)
    with open(given.cluster, encoding="utf-8") as file:
        items = json.load(file)["items"]
    pending = [each for each in items if each["kind"] == "Pod" and not each["spec"].get("nodeName")]
    scenarios = list(range(given.scenarios))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        with berth.Engine(threads=2) as engine, engine.load(given.cluster) as cluster, cluster.snapshot() as snapshot:
            table, _ = over_workers(snapshot, pending, scenarios, 2)
            print(table.group_by("added").aggregate([("fits", "sum")]).sort_by("added").to_pydict()["fits_sum"])
            if given.compare:
                print(f"{os.cpu_count()} cores, {len(scenarios)} scenarios of {len(pending)} pods")
                for what, run in (("workers", over_workers), ("threads", over_threads)):
                    for count in (1, 2):
                        found, took = run(snapshot, pending, scenarios, count)
                        assert found.sort_by("added").equals(table.sort_by("added"))
                        print(f"{count} {what}: {took:.2f} s")
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
