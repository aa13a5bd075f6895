#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs upstream's own integration tests of the scheduler (test/integration/scheduler of k8s.io/kubernetes) with another
scheduler.

    tests/live/upstream.py --scheduler 'build/host/berth scheduler' [--run REGEX] [PACKAGE...]

The test files are those of the module, unchanged. In a copy of the module two functions of package scheduler are exchanged: New starts the
scheduler as a process, and Scheduler.Run does not schedule (tests/live/upstream/external.go.txt). A case counts only when that process ran. One that
registers a Go plugin, fakes the clock or schedules with calls of its own is skipped, with its reason. Needs etcd in build/live/bin
(make live-build). What the tests of a package wrote is in build/live/upstream/PACKAGE.N.json, the logs of the processes in logs beside it.

Last line: live-upstream: N passed, N failed, N skipped. Exit status 1 when one failed, or when a run of the default packages
has fewer than 150 passes.
"""

import argparse
import collections
import contextlib
import json
import os
import re
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WORK = os.path.join(ROOT, "build", "live", "upstream")
TESTS = "k8s.io/kubernetes/test/integration/"
SCHEDULER, PERF = "scheduler", "scheduler_perf"
PACKAGES = [SCHEDULER] + [SCHEDULER + "/" + name for name in ("filters", "scoring", "preemption", "preemption/misc",
                                                              "preemption/nominatednodename", "taint")]
# The small workloads of upstream's benchmarks, which are tests as well.
PACKAGES += [PERF + "/" + name for name in ("affinity", "event_handling", "misc", "topology_spreading", "volumes")]
PASSES_MIN = 150
# On a busy machine an API server may take longer to start than a test waits, and later end the whole test program.
ROUNDS = 3
MARK = re.compile(r"LIVE-UPSTREAM: (new|skip|run|used|failed) (\d+)(?:: (.*))?")
PLUGIN, INSIDE = "registers a Go plugin", "reaches into queue or cache"
# Packages of which no case can be run, with their reasons.
LEFT_OUT = {
    "scheduler/batch": "every case registers Go plugins",
    "scheduler/bind": "calls a plugin as a Go function",
    "scheduler/eventhandler": "registers a Go plugin, or fakes the clock",
    "scheduler/extender": "extenders are refused by name",
    "scheduler/gang": "GenericWorkload and GangScheduling are refused by name; two of the three cases look into the queue",
    "scheduler/nominated_node_name": "every case registers Go plugins and schedules by calls of its own",
    "scheduler/plugins": "every case registers Go plugins",
    "scheduler/queueing": "reaches into the queue and schedules by calls of its own, or registers Go plugins",
    "scheduler/queueing/former": "emulates 1.33",
    "scheduler/queueing/queueinghint": "reaches into the queue and schedules by calls of its own",
    "scheduler/serving": "tests what a kube-scheduler in the same process serves",
    "scheduler_perf/dra": "DynamicResources is refused by name",
}
# Cases that are not started: package, regular expression of go test, how many, reason.
NOT_STARTED = [
    ("scheduler/filters", "TestNodeDeclaredFeaturesFilter", 6, "registers a feature of nodes in Go and asserts that it is asked"),
    ("scheduler", "TestReScheduling", 12, PLUGIN),
    ("scheduler/preemption", "TestAsyncPreemption", 11, PLUGIN),
    ("scheduler/preemption", "TestPreemption/with_(filter|preFilter|unresolvable_filter)", 24, PLUGIN),
    ("scheduler/preemption/nominatednodename", "TestNominatedNode/failed_on_PreBind", 8, PLUGIN),
    ("scheduler/preemption/nominatednodename", "TestPreferNominatedNode", 4, INSIDE),
]
# A plugin in Go that does nothing in those cases of a package that are started: they are run without it.
IDLE_PLUGINS = {"scheduler/preemption": "filter-plugin"}


def go(*args, **options):
    return subprocess.run(["go", *args], cwd=HERE, check=True, text=True, **options)


def module_copy():
    """Makes the module's copy, whose other files are links to those of the module cache; gives the go.mod that uses it, and when an
    exchanged file last changed."""
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
                     ("\treturn sched, nil\n", "\tliveNew(ctx, sched, options)\n\treturn sched, nil\n")):
        if text.count(old) != 1:
            sys.exit(f"upstream.py: scheduler.go has {text.count(old)} times {old!r}")
        text = text.replace(old, new)
    changed = [exchange(os.path.join(folder, "scheduler.go"), text)]
    with open(os.path.join(HERE, "upstream", "external.go.txt"), encoding="utf-8") as file:
        changed.append(exchange(os.path.join(folder, "live_external.go"), file.read()))
    for name in ("go.mod", "go.sum"):
        with open(os.path.join(HERE, "upstream", name), encoding="utf-8") as file:
            exchange(os.path.join(WORK, name), file.read())
    modfile = os.path.join(WORK, "go.mod")
    go("mod", "edit", "-replace", "k8s.io/kubernetes=" + copy, modfile)
    return modfile, max(changed)


def exchange(path, text):
    """Writes a file anew where its text changes: what was there may be a link to the module cache. Returns its time."""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return os.path.getmtime(path)
        os.remove(path)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return os.path.getmtime(path)


def build(packages):
    """Compiles those tests of packages that are older than what was exchanged; gives {package: (program, folder of its sources)}."""
    modfile, changed = module_copy()
    built = {}
    for parent in (SCHEDULER, PERF):
        folder = os.path.join(WORK, parent)
        os.makedirs(folder, exist_ok=True)
        names = [name for name in packages if name.split("/")[0] == parent]
        programs = [os.path.join(folder, os.path.basename(name) + ".test") for name in names]
        old = [TESTS + name for name, program in zip(names, programs)
               if not os.path.exists(program) or os.path.getmtime(program) <= changed]
        if old:
            subprocess.run(["nice", "-n", "10", "go", "test", "-modfile", modfile, "-mod=mod", "-trimpath", "-c", "-o", folder + "/", *old],
                           cwd=HERE, env=dict(os.environ, GOFLAGS="-buildvcs=false"), check=True)
        for name, program in zip(names, programs):
            built[name] = (program, go("list", "-modfile", modfile, "-mod=mod", "-f", "{{.Dir}}", TESTS + name, stdout=subprocess.PIPE)
                           .stdout.strip())
    return built


def environment(command, idle_plugin=""):
    """Of a test program that starts the scheduler of that command."""
    # The API server's test files are found below TEST_SRCDIR/TEST_WORKSPACE: programs are built with -trimpath.
    parent, modules = os.path.split(go("env", "GOMODCACHE", stdout=subprocess.PIPE).stdout.strip())
    return dict(os.environ, TEST_SRCDIR=parent, TEST_WORKSPACE=modules, LIVE_SCHEDULER=command, LIVE_IDLE_PLUGIN=idle_plugin,
                LIVE_LOGS=os.path.join(WORK, "logs"), PATH=os.path.join(ROOT, "build", "live", "bin") + os.pathsep + os.environ["PATH"])


class Results:
    """What each case did: the leaves of the tree of tests."""

    def __init__(self):
        self.ended = {}
        self.output = collections.defaultdict(list)
        self.made = collections.defaultdict(list)  # the schedulers that a test made, numbers within a package
        self.marks = {}                            # {(package, number): {"skip": why, "run": None, "failed": why}}
        self.processes = 0                         # of tests: numbers of schedulers begin again in each

    def take(self, event):
        test = event.get("Test")
        package = event["Package"]
        found = MARK.search(event.get("Output", ""))
        if found:
            kind, number, text = found.groups()
            number = f"{self.processes}.{number}"
            if kind == "new":
                self.made[package, test].append(number)
            self.marks.setdefault((package, number), {})[kind] = text
        if test is None:
            if "FAIL" in event.get("Output", "") or "panic" in event.get("Output", ""):
                print(event["Output"], end="")
        elif event["Action"] == "output":
            self.output[package, test].append(event["Output"])
        elif event["Action"] in ("pass", "fail", "skip"):
            self.ended[package, test] = event["Action"]
            if event["Action"] == "fail":
                print("fails:", test, flush=True)

    def cases(self):
        """Tests without subtests that upstream's label filter did not leave out."""
        parents = {(package, name[:i]) for package, name in self.ended for i, letter in enumerate(name) if letter == "/"}
        return [key for key in self.ended
                if key not in parents and not any("disabled by label filter" in line for line in self.output[key])]

    def failed_alone(self):
        """Tests with subtests that failed though no subtest did."""
        failed = [key for key, action in self.ended.items() if action == "fail"]
        cases = set(self.cases())
        return [key for key in failed if key not in cases
                and not any(of == key[0] and name.startswith(key[1] + "/") for of, name in failed)]

    def not_begun(self, package):
        """Cases of a package that failed before they made a scheduler."""
        return [key[1] for key in self.cases() if key[0] == package and self.ended[key] == "fail" and not self.schedulers(key)]

    def schedulers(self, key):
        """The marks of a case's schedulers. Subtests share the scheduler that their test made."""
        package, name = key
        parts = name.split("/")
        for count in range(len(parts), 0, -1):
            numbers = self.made.get((package, "/".join(parts[:count])))
            if numbers:
                return [self.marks[package, number] for number in numbers]
        return []

    def outcome(self, key):
        """passed, failed or skipped, and why."""
        if self.ended[key] == "skip":
            return "skipped", "upstream skips it"
        marks = self.schedulers(key)
        reasons = [mark["skip"] for mark in marks if "skip" in mark]
        if not any("run" in mark for mark in marks) and self.ended[key] == "pass":
            reasons.append(INSIDE)  # a case that failed may not have come to its scheduler
        if reasons:
            return "skipped", reasons[0]
        broken = [mark["failed"] for mark in marks if "failed" in mark]
        if broken:
            return "failed", broken[0]
        return ("passed" if self.ended[key] == "pass" else "failed"), ""


def exact(name):
    """The regular expression of go test for one case."""
    return "/".join(f"^{re.escape(part)}$" for part in name.split("/"))


def run(package, program, source, args, results):
    """Runs the cases of a package that have not run; false when the program ended before all had."""
    left_out = [pattern for of, pattern, _, _ in NOT_STARTED if of == package]
    again = results.not_begun(package)
    left_out += [exact(name) for of, name in results.cases() if of == package and name not in again]
    command = ["go", "tool", "test2json", "-t", "-p", package, program, "-test.v=test2json", "-test.timeout", args.timeout,
               "-test.run", args.run, "-test.skip", "|".join(left_out)]
    results.processes += 1
    whole = False
    with open(os.path.join(WORK, f"{package.replace('/', '-')}.{results.processes}.json"), "w", encoding="utf-8") as log, \
            started(command, source, environment(scheduler_command(args.scheduler), IDLE_PLUGINS.get(package, ""))) as process:
        for line in process.stdout:
            log.write(line)
            if line.startswith("{"):
                event = json.loads(line)
                whole = whole or event.get("Output") in ("PASS\n", "FAIL\n")
                results.take(event)
            else:
                print(line, end="")
    return whole


@contextlib.contextmanager
def started(command, source, variables):
    """A test program with its output; with the program ends what it started: etcd outlives one that ends early."""
    with subprocess.Popen(["nice", "-n", "5", *command], cwd=source, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=variables, start_new_session=True) as process:
        try:
            yield process
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # nothing is left


def scheduler_command(words):
    """The program's path is made absolute: tests run elsewhere."""
    program, *rest = words.split()
    return " ".join([os.path.join(ROOT, program), *rest])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scheduler", required=True, help="the program and what comes before the flags; paths from the root")
    parser.add_argument("--run", default=".", help="of go test")
    parser.add_argument("--timeout", default="60m", help="of each package")
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    args = parser.parse_args()
    for name in args.packages:
        if name not in PACKAGES:
            sys.exit(f"upstream.py: {name}: {LEFT_OUT.get(name, 'no such package')}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # also ends what was started
    os.makedirs(os.path.join(WORK, "logs"), exist_ok=True)
    results, broken = Results(), []
    for package, (program, source) in build(args.packages).items():
        print("live-upstream:", package, flush=True)
        for attempt in range(ROUNDS):
            whole = run(package, program, source, args, results)
            if whole and not results.not_begun(package):
                break
            if attempt < ROUNDS - 1:
                print("again: an API server did not start" + ("" if whole else ", and the test program ended early"), flush=True)
        if not whole or not any(of == package for of, _ in results.ended):
            broken.append(package)
    return report(results, broken, args)


def report(results, broken, args):
    outcomes = {key: results.outcome(key) for key in results.cases()}
    outcomes.update((key, ("failed", "apart from its subtests")) for key in results.failed_alone())
    for key, (outcome, why) in outcomes.items():
        if outcome == "failed":
            print(f"failed: {key[0]}: {key[1]} {why}")
            for line in results.output[key]:
                if "test.go" in line or MARK.search(line):
                    print("    " + line.strip()[:400])
    skips = collections.Counter(why for outcome, why in outcomes.values() if outcome == "skipped")
    full = args.packages == PACKAGES and args.run == "."
    if full:
        for _, _, count, why in NOT_STARTED:
            skips[why] += count
        for package, why in LEFT_OUT.items():
            print(f"left out: {package}: {why}")
    for reason, count in skips.items():
        print(f"skipped: {count}: {reason}")
    counts = collections.Counter(outcome for outcome, _ in outcomes.values())
    for package in broken:
        print(f"failed: {package} as a whole")
    failed = counts["failed"] + len(broken)
    print(f"live-upstream: {counts['passed']} passed, {failed} failed, {sum(skips.values())} skipped")
    return 1 if failed or not counts["passed"] or (full and counts["passed"] < PASSES_MIN) else 0


if __name__ == "__main__":
    sys.exit(main())
