#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs upstream's own benchmarks of the scheduler (test/integration/scheduler_perf of k8s.io/kubernetes) with kube-scheduler and Berth in
turn, each as a process, and writes one table.

    tests/live/upstream_perf.py --berth build/host/berth [--table FILE.md] [--workloads REGEX] [--labels performance] [PACKAGE...]

The benchmarks are those of the module, unchanged; the exchange is that of tests/live/upstream.py. A workload runs on an API server and an
etcd of its own, in the process that measures: pods/s is upstream's SchedulingThroughput (the average over seconds), CPU and memory are the
scheduler process' from its start to its end. Workloads that switch SchedulerQueueingHints off emulate a release before 1.35 and are left out.
Needs make live-build.

Last line: live-upstream-perf: N rows, N failed.
"""

import argparse
import os
import re
import signal
import sys

import upstream

PACKAGES = ["affinity", "misc", "topology_spreading"]


def workloads(source, wanted):
    """(test case/workload, upstream's threshold) of performance-config.yaml that have all wanted labels and emulate no older release."""
    found, case, workload, labels, listed, of_case = [], None, None, {}, False, {}
    with open(os.path.join(source, "performance-config.yaml"), encoding="utf-8") as file:
        for line in file:
            name = re.match(r"(  )?- name: (.*)", line)
            if name and not name[1]:
                case, workload, listed = name[2].strip(), None, False
                labels[case] = []
            elif line.startswith("  workloads:"):
                listed = True
            elif name and listed:
                workload = case + "/" + name[2].strip()
                labels[workload], of_case[workload] = [], case
            key = workload or case
            value = re.match(r"    labels: \[(.*)\]|  labels: \[(.*)\]", line)
            if value:
                labels[key] += re.split(r",\s*", value[1] or value[2])
            if workload and re.search(r"SchedulerQueueingHints: false", line):
                labels[workload].append("before 1.35")
            value = re.match(r"    threshold: ([0-9.]+)", line)
            if value and workload:
                found.append((workload, float(value[1])))
    thresholds = dict(found)
    return [(name, thresholds.get(name)) for name, parent in of_case.items()
            if set(wanted) <= set(labels[name] + labels[parent]) and "before 1.35" not in labels[name]]


def measure(program, source, workload, command):
    """{"pods": pods/s, "cpu": seconds, "memory": MiB, "error": text} of one run; what is missing was not measured."""
    exact = upstream.exact("BenchmarkPerfScheduling/" + workload)
    data = os.path.join(upstream.WORK, "perf-data")
    arguments = [program, "-test.run", "^$", "-test.bench", exact, "-test.benchtime", "1ns", "-test.timeout", "40m",
                 "-data-items-dir", data, "-perf-scheduling-label-filter", ""]
    with upstream.started(arguments, source, upstream.environment(command)) as process:
        output = process.stdout.read()
    with open(os.path.join(upstream.WORK, "perf.log"), "a", encoding="utf-8") as log:
        log.write(f"# {command} {workload}\n{output}\n")
    result = {}
    # A workload below upstream's threshold ends with an error that has the figure.
    for name, pattern in (("pods", r"([0-9.]+) SchedulingThroughput/Average|expected SchedulingThroughput Average to be higher: got ([0-9.]+)"),
                          ("cpu", r"LIVE-UPSTREAM: used \d+: ([0-9.]+) s"), ("memory", r"LIVE-UPSTREAM: used .* s, (\d+) MiB")):
        found = re.search(pattern, output)
        if found:
            result[name] = float(next(group for group in found.groups() if group))
    failed = re.search(r"LIVE-UPSTREAM: failed \d+: (.*)", output)
    if failed:
        result["error"] = failed[1]
    elif "pods" not in result:
        lines = [line for line in output.splitlines() if "rror" in line or "FAIL" in line]
        result["error"] = lines[0].strip()[:200] if lines else "no SchedulingThroughput"
    return result


def cell(result, name, form):
    return form.format(result[name]) if name in result else "-"


def row(workload, threshold, kube, berth):
    ratio = f"{berth['pods'] / kube['pods']:.2f}" if "pods" in kube and "pods" in berth else "-"
    return "| " + " | ".join([workload, f"{threshold:g}" if threshold else "-", cell(kube, "pods", "{:,.0f}"), cell(berth, "pods", "{:,.0f}"),
                              ratio, cell(kube, "cpu", "{:.1f}"), cell(berth, "cpu", "{:.1f}"), cell(kube, "memory", "{:,.0f}"),
                              cell(berth, "memory", "{:,.0f}")]) + " |"


HEAD = """| workload | upstream's threshold | kube-scheduler pods/s | Berth pods/s | ratio | kube-scheduler CPU s | Berth CPU s | kube-scheduler MiB | Berth MiB |
|---|---|---|---|---|---|---|---|---|"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--berth", required=True, help="the program; a path from the root")
    parser.add_argument("--table", help="write the table there too")
    parser.add_argument("--labels", default="performance", help="labels that a workload must have, separated by commas")
    parser.add_argument("--workloads", default="", help="regular expression of test case/workload")
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # also ends what was started
    os.makedirs(os.path.join(upstream.WORK, "logs"), exist_ok=True)
    schedulers = [upstream.scheduler_command("build/live/bin/kube-scheduler"), upstream.scheduler_command(args.berth + " scheduler")]
    lines, failed = [HEAD], 0
    print(HEAD, flush=True)
    built = upstream.build([upstream.PERF + "/" + name for name in args.packages])
    for program, source in built.values():
        for workload, threshold in workloads(source, args.labels.split(",")):
            if not re.search(args.workloads, workload):
                continue
            kube, berth = [measure(program, source, workload, command) for command in schedulers]
            lines.append(row(workload, threshold, kube, berth))
            print(lines[-1], flush=True)
            for name, result in (("kube-scheduler", kube), ("berth", berth)):
                if "error" in result:
                    failed += 1
                    print(f"failed: {workload}: {name}: {result['error']}", flush=True)
    if args.table:
        with open(args.table, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    print(f"live-upstream-perf: {len(lines) - 1} rows, {failed} failed")
    return 1 if failed or len(lines) == 1 else 0


if __name__ == "__main__":
    sys.exit(main())
