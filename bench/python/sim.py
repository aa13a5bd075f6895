#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps a second of berth.Sim on one thread, by a policy that takes the first node of the mask.

    build/python-venv/bin/python bench/python/sim.py [--envs 256] [--nodes 1000] [--classes 10] [--steps 200] [--rounds 5]

Needs the package (the wheel of `make python-test`, say). Each round begins with a reset, which is not timed. Times are of
the step() calls alone, by the clock and by the processor time of the process.
"""

import argparse
import os
import statistics
import time

import numpy as np

import berth
from berth.sim import SCHEDULE, SET_ASIDE

CONFIG = "apiVersion: berth.dev/v1alpha1\nkind: BerthEngineConfiguration\ntieBreak: first\n"


def manifests(node_count, pod_count, class_count):
    nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}", "labels": {"zone": f"z{i % 3}"}},
              "status": {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}}} for i in range(node_count)]
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{i}", "namespace": "default", "uid": f"u{i}"},
             "spec": {"containers": [{"name": "c", "resources": {"requests": {
                 "cpu": f"{500 + 100 * (i % class_count)}m", "memory": "1Gi"}}}]}} for i in range(pod_count)]
    return nodes, pods


def random_node(random, mask):
    """Of each environment one of the nodes that take the pod, in no order that helps a cache."""
    first = random.integers(mask.shape[1])
    at = np.roll(mask, -first, axis=1).argmax(axis=1)
    return np.where(mask.any(axis=1), (at + first) % mask.shape[1], SET_ASIDE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("envs", 256), ("nodes", 1000), ("classes", 10), ("steps", 200), ("rounds", 5), ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--schedule", action="store_true", help="as kube-scheduler, instead of a node of the mask")
    parser.add_argument("--resources", default="", help="whose use is shown, by commas")
    args = parser.parse_args()
    nodes, pods = manifests(args.nodes, args.steps + 1, args.classes)
    options = {"resources": args.resources.split(",")} if args.resources else {}
    random = np.random.default_rng(1)
    with berth.Engine(engine_config=CONFIG, threads=args.threads) as engine, engine.cluster() as cluster:
        cluster.upsert_bulk(nodes)
        with cluster.snapshot() as snapshot:
            durations = random.integers(20, 60, len(pods)).astype(float)
            sim = berth.Sim(snapshot, cluster.pods(pods), args.envs, arrivals=np.arange(len(pods), dtype=float),
                            durations=durations, threads=args.threads, **options)
            with sim:
                out = sim.arrays()
                print(f"load {os.getloadavg()[0]:.1f}; {args}")
                by_clock, by_processor = [], []
                for each in range(args.rounds + 1):
                    sim.reset(each, out)
                    clock = processor = 0.0
                    for _ in range(args.steps):
                        actions = (np.full(args.envs, SCHEDULE) if args.schedule else random_node(random, out.mask)).astype(np.int32)
                        begin = time.perf_counter(), time.process_time()
                        sim.step(actions, out)
                        clock += time.perf_counter() - begin[0]
                        processor += time.process_time() - begin[1]
                        assert not out.illegal.any()
                    if each > 0:  # the first one brings rows and memory
                        by_clock.append(args.steps * args.envs / clock)
                        by_processor.append(args.steps * args.envs / processor)
                for name, rates in (("the clock", by_clock), ("processor time", by_processor)):
                    print(f"steps a second by {name}: median {statistics.median(rates):,.0f}, "
                          f"{min(rates):,.0f} to {max(rates):,.0f}")


if __name__ == "__main__":
    main()
