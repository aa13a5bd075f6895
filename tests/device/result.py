#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the result of a run of tests/device.sh from what its steps left in the folder RUN.

    tests/device/result.py RUN --out FILE [--expect FILE] [--quiet]

The form is docs/schemas/device-result.schema.json. A run that broke off leaves less: what is not known is null or absent,
and the step that failed says why. Prints the table of workloads; exit status 1 when a step did not pass.
"""

import argparse
import datetime
import glob
import json
import os
import sys

import programs

BACKENDS = ["reference", "cpu", "cuda"]


def read_text(run, name, default=""):
    try:
        with open(os.path.join(run, name), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return default


def read_json(run, name):
    try:
        return json.loads(read_text(run, name))
    except ValueError:
        return None


def first_value(path, key):
    """The value of the first line `key : value` or `key=value` of a file of the system, or None."""
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                name, _, value = line.partition("=" if "=" in line else ":")
                if name.strip() == key:
                    return value.strip().strip('"')
    except OSError:
        pass
    return None


def steps_of(run):
    """A later line of one name stands for the earlier."""
    steps = {}
    for line in read_text(run, "steps.tsv").splitlines():
        name, status, seconds, limit, message = (line + "\t" * 4).split("\t")[:5]
        steps[name] = {"name": name, "status": status, "seconds": int(seconds), "limitSeconds": int(limit)}
        if message.strip():
            steps[name]["message"] = message.strip()
    return list(steps.values())


def hardware(run):
    memory = first_value("/proc/meminfo", "MemTotal")
    return {
        "gpu": read_json(run, "gpu.json"),
        "cpu": {"model": first_value("/proc/cpuinfo", "model name"), "cores": len(os.sched_getaffinity(0))},
        "memoryBytes": int(memory.split()[0]) * 1024 if memory else None,
    }


def versions(run):
    found = dict(line.split("\t", 1) for line in read_text(run, "versions.tsv").splitlines() if "\t" in line)
    names = ["driver", "nvcc", "compiler", "cmake"]
    found = {**(read_json(run, "bundle.json") or {}), **found}
    return {**{name: found.get(name) or None for name in names}, "system": first_value("/etc/os-release", "PRETTY_NAME"),
            "kernel": os.uname().release}


def add_counts(rows):
    rows = list(rows)
    return {key: sum(row[key] for row in rows) for key in ("passed", "failed", "skipped")}


def runs_of_tests(run):
    """What run_tests.py left, in the order of the steps."""
    found = [read_json(run, step["name"] + ".json") for step in steps_of(run) if step["name"].startswith(("tests-", "sanitizer-"))]
    return [each for each in found if each]


def tests(run):
    """Counts over all runs of tests; a case counts once for each team that it ran with. None when none ran."""
    runs = [each for each in runs_of_tests(run) if each["tool"] is None]
    if not runs:
        return None
    rows = [row for each in runs for row in each["programs"]]
    on_device = [row for each in runs if each["backend"] == "cuda" for row in each["programs"]]
    return {
        **add_counts(rows),
        "labels": {label: add_counts(row for row in rows if label in row["labels"]) for label in programs.LABELS},
        "onDevice": add_counts(on_device),
        "failures": sorted({failure["test"] for each in runs for failure in each["failures"]}),
        "runs": runs,
    }


def figures_of(run, workload, backend):
    """What `berth bench -o json` said of one backend, or None."""
    output = read_json(run, f"bench-{workload}-{backend}.json")
    runs = output.get("runs") if isinstance(output, dict) else None
    return runs[0] if runs else None


def expected_figures(path):
    """{workload: {backend: figures}} of an earlier result without the device, whose figures of cuda are not expected."""
    if path is None:
        return {}
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)["workloads"]
    return {row["name"]: {backend: figures for backend, figures in row["backends"].items() if backend != "cuda"}
            for row in rows}


def workload_row(run, name, backends, passed, expected):
    """One row, and why it is no good, or None. Backends answer alike: they place the same number of pods, and the hashes of
    all answers are equal, here and in `expected`, the figures of other backends elsewhere."""
    found = {backend: figures_of(run, name, backend) for backend in backends
             if f"bench-{name}-{backend}" in passed}
    found = {backend: figures for backend, figures in found.items() if figures}
    row = {"name": name, "backends": found}
    if "cpu" in found and "cuda" in found and found["cpu"]["podsPerSecond"] > 0:
        row["cudaByCpu"] = found["cuda"]["podsPerSecond"] / found["cpu"]["podsPerSecond"]
    wrong = [f"{figures['backend']} served {backend}" for backend, figures in found.items()
             if figures["backend"] != backend]
    told = {**{f"{backend} elsewhere": figures for backend, figures in (expected or {}).items()}, **found}
    if found and len({figures["placed"] for figures in told.values()}) > 1:
        wrong.append(", ".join(f"{backend} placed {figures['placed']}" for backend, figures in told.items()))
    hashes = {backend: figures["answers"] for backend, figures in told.items() if figures.get("answers")}
    if len(set(hashes.values())) > 1:
        wrong.append("answers: " + ", ".join(f"{backend} {text}" for backend, text in hashes.items()))
    row["answers"] = what_was_compared(found, told, hashes)
    return row, "; ".join(wrong) or None


def what_was_compared(found, told, hashes):
    """Whether the hash of all answers was compared, in words: nothing compared is never a yes."""
    if not found:
        return "not compared: no figures"
    without = [backend for backend in told if backend not in hashes]
    if without:
        return f"not compared: no hash of the answers from {', '.join(without)}"
    if len(hashes) < 2:
        return f"not compared: {', '.join(hashes)} alone"
    return ("equal: " if len(set(hashes.values())) == 1 else "different: ") + ", ".join(hashes)


def workloads(run, steps, expected):
    """The rows in the order of their steps, and a failed step for each row whose answers differ."""
    passed = {step["name"] for step in steps if step["status"] == "passed"}
    tried = [step["name"].removeprefix("bench-").rpartition("-")[::2] for step in steps
             if step["name"].startswith("bench-")]
    rows, problems = [], []
    for name in dict.fromkeys(name for name, _ in tried):
        row, problem = workload_row(run, name, [backend for backend in BACKENDS if (name, backend) in tried], passed,
                                    expected.get(name))
        rows.append(row)
        if problem:
            problems.append({"name": f"answers-{name}", "status": "failed", "seconds": 0, "limitSeconds": 0,
                             "message": problem})
    return rows, problems


def sanitizers(run):
    """`failedRuns`: where the tool found something, or a test failed."""
    return [{"tool": each["tool"],
             "tests": sum(row[key] for row in each["programs"] for key in ("passed", "failed", "skipped")),
             "runs": sum(row["starts"] for row in each["programs"]),
             "failedRuns": len(each["problems"]) + len(each["failures"])}
            for each in runs_of_tests(run) if each["tool"]]


def bundle(run):
    """What the programs were built from, elsewhere; None when they were built here."""
    found = read_json(run, "bundle.json")
    if not found:
        return None
    return {**{name: found.get(name) for name in ("commit", "arch", "source")}, "checkoutCommit": read_text(run, "commit")}


def compose(run, expected=None):
    steps = steps_of(run)
    rows, problems = workloads(run, steps, expected or {})
    steps += problems
    made_of = read_json(run, "bundle.json") or {"commit": read_text(run, "commit", "unknown"), "dirty": read_text(run, "dirty")}
    return {
        "schemaVersion": 1,
        "kind": "device-result",
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": made_of["commit"],
        "changedFiles": made_of["dirty"] == "yes",
        "quick": read_text(run, "quick") == "yes",
        "rehearsal": read_text(run, "rehearsal") == "yes",
        "bundle": bundle(run),
        "passed": bool(steps) and all(step["status"] in ("passed", "skipped") for step in steps),
        "hardware": hardware(run),
        "versions": versions(run),
        "steps": steps,
        "tests": tests(run),
        "sanitizers": sanitizers(run),
        "workloads": rows,
    }


def table(rows):
    """Markdown: pods/s of each backend, and how many times the CPU's rate the GPU's is."""
    lines = ["| workload | nodes | pods | classes | cpu, pods/s | cuda, pods/s | ratio |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        any_backend = next(iter(row["backends"].values()), {})
        cells = [row["name"]] + [f"{any_backend[key]:,}" if key in any_backend else "" for key in ("nodes", "pods", "classes")]
        for backend in ("cpu", "cuda"):
            rate = row["backends"].get(backend, {}).get("podsPerSecond")
            cells.append("" if rate is None else f"{rate:,.0f}")
        cells.append(f"{row['cudaByCpu']:.2f}" if "cudaByCpu" in row else "")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("--out", required=True)
    parser.add_argument("--expect", help="an earlier result, whose answers must be these")
    parser.add_argument("--quiet", action="store_true", help="of a run that goes on: prints nothing, exit status 0")
    options = parser.parse_args()
    result = compose(options.run, expected_figures(options.expect))
    os.makedirs(os.path.dirname(os.path.abspath(options.out)), exist_ok=True)
    with open(options.out + ".new", "w", encoding="utf-8") as file:
        json.dump(result, file, indent=2)
        file.write("\n")
    os.replace(options.out + ".new", options.out)
    if options.quiet:
        return 0
    if result["workloads"]:
        print(table(result["workloads"]))
    for row in result["workloads"]:
        print(f"answers of {row['name']}: {row['answers']}")
    for step in result["steps"]:
        if step["status"] in ("failed", "timedOut"):
            print(f"FAILED {step['name']}: {step.get('message', '')}")
    print(f"device.sh: {'passed' if result['passed'] else 'FAILED'}; {options.out}")
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
