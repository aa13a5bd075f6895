#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call costs through the package berth beside berth.h, in one process, in turns; medians of the rounds.

    build/python-venv/bin/python bench/python/overhead.py [--rounds N]

Needs the package (the wheel of `make python-test`, say) and a C compiler.
"""

import argparse
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import berth

SOURCE = pathlib.Path(__file__).parents[2]
CONFIG = "apiVersion: berth.dev/v1alpha1\nkind: BerthEngineConfiguration\ntieBreak: first\n"
NODES = 5000


def library_path():
    """The libberth of the package, which the C calls use too."""
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        if "/libberth" in line:
            return line.split()[-1]
    raise SystemExit("the package has loaded no libberth")


def manifests():
    nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}", "labels": {"zone": f"z{i % 3}"}},
              "status": {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}}} for i in range(NODES)]
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{i}", "namespace": "default", "uid": f"u{i}"},
             "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": f"{100 + i}m", "memory": "1Gi"}}}]}}
            for i in range(10)]
    return nodes, pods


def open_in_c(nodes, pods, folder):
    library = library_path()
    helper = os.path.join(folder, "calls.so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I", str(SOURCE / "include"), str(pathlib.Path(__file__).with_name("calls.c")),
                    library, "-o", helper], check=True)
    calls = ctypes.CDLL(helper)
    calls.open_world.restype = ctypes.c_void_p
    calls.time_calls.restype = ctypes.c_double
    calls.time_calls.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}).encode()
    texts = [json.dumps(pod).encode() for pod in pods]
    world = calls.open_world(CONFIG.encode(), text, ctypes.c_size_t(len(text)), (ctypes.c_char_p * 10)(*texts),
                             (ctypes.c_size_t * 10)(*[len(each) for each in texts]))
    if not world:
        raise SystemExit("the cluster cannot be opened through berth.h")
    return lambda call, count: calls.time_calls(world, call, count)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    nodes, manifests_of_pods = manifests()
    with berth.Engine(engine_config=CONFIG, threads=1) as engine, engine.cluster() as cluster:
        cluster.upsert_bulk(nodes)
        pods = cluster.pods(manifests_of_pods)
        first = pods[0]
        with cluster.snapshot() as snapshot, tempfile.TemporaryDirectory() as folder:
            time_in_c = open_in_c(nodes, manifests_of_pods, folder)

            def placed():
                with snapshot.fork() as fork:
                    fork.schedule(pods).close()

            calls = [
                ("uid of a pod", 100_000, lambda: first.uid),
                ("check one pod on one node", 50_000, lambda: snapshot.check(first, 7)),
                ("snapshot, create and close", 20_000, lambda: cluster.snapshot().close()),
                ("fork, create and close", 5_000, lambda: snapshot.fork().close()),
                ("fork, place 10 pods by score, close", 1_000, placed),
                ("check 10 pods on 5,000 nodes, as an array", 300,
                 lambda: snapshot.check_bulk(pods, reasons=False).fits.numpy()),
            ]
            print("| call | berth.h | Python | overhead |\n|---|---|---|---|")
            for number, (name, count, call) in enumerate(calls):
                in_c, in_python = [], []
                for _ in range(rounds):
                    in_c.append(time_in_c(number, count) / 1e3)
                    begin = time.perf_counter()
                    for _ in range(count):
                        call()
                    in_python.append((time.perf_counter() - begin) / count * 1e6)
                c, python = statistics.median(in_c), statistics.median(in_python)
                if min(in_c) < 0:
                    raise SystemExit(f"{name}: failed through berth.h")
                print(f"| {name} | {c:.3g} us | {python:.3g} us | {python - c:.2g} us |")


if __name__ == "__main__":
    main()
