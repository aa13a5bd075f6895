#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs upstream's own integration tests of the scheduler (test/integration/scheduler of k8s.io/kubernetes) with another
scheduler.

    tests/live/upstream.py --scheduler 'build/host/berth scheduler' [--run REGEX] [PACKAGE...]

The test files are those of the module, unchanged. In a copy of the module one function of package scheduler is exchanged:
Scheduler.Run starts the scheduler as a process (tests/live/upstream/external.go.txt). A case that registers a Go plugin or fakes the clock
is left out, with its reason. Needs etcd in build/live/bin (make live-build).

Last line: live-upstream: N passed, N failed, N skipped. Exit status 1 when one failed, or when a run of the default packages
has fewer than 150 passes.
"""

import argparse
import collections
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WORK = os.path.join(ROOT, "build", "live", "upstream")
TESTS = "k8s.io/kubernetes/test/integration/scheduler"
PACKAGES = ["filters", "scoring", "preemption", "taint"]
PASSES_MIN = 150
MARK = "LIVE-UPSTREAM: "
# Cases that no process can pass, by the beginning of their name.
REASONS = {
    "TestNodeDeclaredFeaturesFilter/pod_with_feature_requirement": "registers a feature of nodes in Go",
}


def go(*args, **options):
    return subprocess.run(["go", *args], cwd=HERE, check=True, text=True, **options)


def module_copy():
    """Makes the module's copy, whose other files are links to those of the module cache, and gives the go.mod that uses it."""
    version = go("list", "-m", "-f", "{{.Version}} {{.Dir}}", "k8s.io/kubernetes", stdout=subprocess.PIPE).stdout.split()
    copy = os.path.join(WORK, "kubernetes-" + version[0])
    if not os.path.exists(copy + ".complete"):
        subprocess.run(["rm", "-rf", copy], check=True)
        os.makedirs(WORK, exist_ok=True)
        if subprocess.run(["cp", "-rl", version[1], copy], stderr=subprocess.DEVNULL, check=False).returncode:
            subprocess.run(["cp", "-r", version[1], copy], check=True)  # on another file system
        subprocess.run(["find", copy, "-type", "d", "-exec", "chmod", "u+w", "{}", "+"], check=True)
        with open(copy + ".complete", "w", encoding="utf-8"):
            pass
    folder = os.path.join(copy, "pkg", "scheduler")
    with open(os.path.join(version[1], "pkg", "scheduler", "scheduler.go"), encoding="utf-8") as file:
        text = file.read()
    for old, new in (("func (sched *Scheduler) Run(ctx", "func (sched *Scheduler) runItself(ctx"),
                     ("\treturn sched, nil\n", "\tliveOptions.Store(sched, options)\n\treturn sched, nil\n")):
        if text.count(old) != 1:
            sys.exit(f"upstream.py: scheduler.go has {text.count(old)} times {old!r}")
        text = text.replace(old, new)
    exchange(os.path.join(folder, "scheduler.go"), text)
    with open(os.path.join(HERE, "upstream", "external.go.txt"), encoding="utf-8") as file:
        exchange(os.path.join(folder, "live_external.go"), file.read())
    for name in ("go.mod", "go.sum"):
        with open(os.path.join(HERE, "upstream", name), encoding="utf-8") as file:
            exchange(os.path.join(WORK, name), file.read())
    modfile = os.path.join(WORK, "go.mod")
    go("mod", "edit", "-replace", "k8s.io/kubernetes=" + copy, modfile)
    return modfile


def exchange(path, text):
    """Writes a file anew: what was there may be a link to the module cache."""
    if os.path.exists(path):
        os.remove(path)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Results:
    """What each case did: the leaves of the tree of tests."""

    def __init__(self):
        self.ended = {}
        self.skips = {}
        self.output = collections.defaultdict(list)

    def take(self, event):
        test = event.get("Test")
        if test is None:
            if event["Action"] == "output" and ("FAIL" in event["Output"] or "panic" in event["Output"]):
                print(event["Output"], end="")
            return
        key = (event["Package"], test)
        if event["Action"] == "output":
            self.output[key].append(event["Output"])
            if MARK + "skip: " in event["Output"]:
                self.skips[key] = event["Output"].split(MARK + "skip: ", 1)[1].strip()
        elif event["Action"] in ("pass", "fail", "skip"):
            self.ended[key] = event["Action"]
            if event["Action"] == "fail":
                print("fails:", test, flush=True)

    def leaves(self):
        parents = {(package, name[:i]) for package, name in self.ended for i, letter in enumerate(name) if letter == "/"}
        return [key for key in self.ended if key not in parents]

    def reason(self, key):
        """Why a case is not counted, or None. A test's subtests share the scheduler that it started."""
        package, name = key
        parts = name.split("/")
        for count in range(len(parts), 0, -1):
            found = self.skips.get((package, "/".join(parts[:count])))
            if found:
                return found
        return next((why for begin, why in REASONS.items() if name.startswith(begin)), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scheduler", required=True, help="the program and what comes before the flags; paths from the root")
    parser.add_argument("--run", default=".", help="of go test")
    parser.add_argument("--timeout", default="30m")
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    args = parser.parse_args()
    program, *rest = args.scheduler.split()
    command = " ".join([os.path.join(ROOT, program), *rest])
    logs = os.path.join(WORK, "logs")
    os.makedirs(logs, exist_ok=True)
    environment = dict(os.environ, LIVE_SCHEDULER=command, LIVE_LOGS=logs, GOFLAGS="-buildvcs=false",
                       PATH=os.path.join(ROOT, "build", "live", "bin") + os.pathsep + os.environ["PATH"])
    packages = [TESTS + ("/" + name if name != "." else "") for name in args.packages]
    with subprocess.Popen(["nice", "-n", "10", "go", "test", "-modfile", module_copy(), "-mod=mod", "-trimpath", "-json", "-count=1",
                           "-p=1", "-timeout", args.timeout, "-run", args.run, *packages], cwd=HERE, env=environment, text=True,
                          stdout=subprocess.PIPE) as process:
        results = Results()
        for line in process.stdout:
            if line.startswith("{"):
                results.take(json.loads(line))
            else:
                print(line, end="")
    return report(results, args)


def report(results, args):
    passed, failed, skipped = [], [], []
    for key in results.leaves():
        why = results.reason(key)
        if why or results.ended[key] == "skip":
            skipped.append((key[1], why or "upstream skips it"))
        else:
            (passed if results.ended[key] == "pass" else failed).append(key)
    for key in failed:
        print(f"failed: {key[1]}")
        for line in results.output[key]:
            if "test.go" in line or MARK in line:
                print("    " + line.strip()[:400])
    for reason, count in collections.Counter(why for _, why in skipped).items():
        print(f"skipped: {count}: {reason}")
    print(f"live-upstream: {len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
    full = args.packages == PACKAGES and args.run == "."
    return 1 if failed or not passed or (full and len(passed) < PASSES_MIN) else 0


if __name__ == "__main__":
    sys.exit(main())
