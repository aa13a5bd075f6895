#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The descheduler's own tests of its NodeFit, on a copy of its module whose node.go asks Berth.

    tests/go/descheduler_copy.py --source DIR --build DIR --prefix PREFIX

The copy lies under --build. Exit status 77 where Go or the module cannot be had; the reason is printed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys

from go_module import environment_of, needs_newer_go, skip, skip_adapters_if_asked

MODULE = "sigs.k8s.io/descheduler@v0.36.0"
TESTS = "TestNodeFit|TestPodFits.*|TestDefaultEvictorPreEvictionFilter"
# At least these of the descheduler's tests have to be there.
EXPECTED = ["TestNodeFit", "TestPodFitsCurrentNode", "TestPodFitsAnyOtherNode", "TestPodFitsNodes", "TestDefaultEvictorPreEvictionFilter"]
NODE_FIT = """{
	state, err := fit.Load([]*v1.Node{node}, podsOn(nodeIndexer))
	if err != nil {
		return err
	}
	defer state.Close()
	return state.NodeFit(pod, node.Name, fit.Options{IgnoreVolumes: true})
}

func podsOn(nodeIndexer podutil.GetPodsAssignedToNodeFunc) fit.PodsOn {
	return func(node string) ([]*v1.Pod, error) { return podutil.ListPodsOnANode(node, nodeIndexer, nil) }
}
"""
POD_FITS_NODES = """{
	var asked []*v1.Node
	var names []string
	for _, node := range nodes {
		if excludeFilter == nil || !excludeFilter(pod, node) {
			asked, names = append(asked, node), append(names, node.Name)
		}
	}
	state, err := fit.Load(asked, podsOn(nodeIndexer))
	if err != nil {
		klog.ErrorS(err, "no answer of Berth", "pod", klog.KObj(pod))
		return false
	}
	defer state.Close()
	fits, err := state.FitsAny(context.Background(), pod, names, fit.Options{IgnoreVolumes: true})
	if err != nil {
		klog.ErrorS(err, "no answer of Berth", "pod", klog.KObj(pod))
	}
	return fits
}
"""


def with_body(text, function, body):
    """`text` with another body of a function."""
    found = re.search(r"^func " + function + r"\(.*?\) (?:error|bool) \{\n.*?^\}\n", text, re.M | re.S)
    head = found[0][:found[0].index("{\n")]
    return text[:found.start()] + head + body + text[found.end():]


def write_copy(module, copy, source):
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(module, copy, copy_function=shutil.copyfile)
    for folder, folders, _ in os.walk(copy):
        for each in folders:
            os.chmod(os.path.join(folder, each), 0o755)
    path = os.path.join(copy, "pkg/descheduler/node/node.go")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = with_body(with_body(text, "NodeFit", NODE_FIT), "podFitsNodes", POD_FITS_NODES)
    text = text.replace('\t"sync/atomic"\n', "").replace('\t"k8s.io/client-go/util/workqueue"\n', "")
    text = text.replace('\n\tv1 "k8s.io/api/core/v1"', '\n\t"berth.dev/go/adapters/descheduler/fit"\n\tv1 "k8s.io/api/core/v1"', 1)
    text = text.replace("const workersCount = 100\n", "")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return [f"-replace=berth.dev/go={source}/go", f"-replace=berth.dev/go/adapters/descheduler={source}/go/adapters/descheduler",
            "-require=berth.dev/go@v0.0.0", "-require=berth.dev/go/adapters/descheduler@v0.0.0"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("source", "build", "prefix"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    skip_adapters_if_asked()
    go = shutil.which("go")
    if not go or not shutil.which("pkg-config"):
        skip("there is no Go or no pkg-config")
    adapter = os.path.join(options.source, "go/adapters/descheduler")
    newer = needs_newer_go(adapter, go)
    if newer:
        skip(f"the module needs {newer}")
    environment = environment_of(options.prefix)
    found = subprocess.run([go, "mod", "download", "-json", MODULE], cwd=adapter, env=environment, check=False, capture_output=True, text=True)
    if found.returncode != 0:
        skip(f"{MODULE} cannot be had: {found.stdout[-300:]}")
    os.makedirs(options.build, exist_ok=True)
    copy = os.path.join(options.build, "descheduler")
    edits = write_copy(json.loads(found.stdout)["Dir"], copy, os.path.abspath(options.source))
    environment["GOFLAGS"] = "-mod=mod"
    subprocess.run([go, "mod", "edit", *edits], cwd=copy, env=environment, check=True)
    run = subprocess.run([go, "test", "-count=1", "-v", "-run", f"^({TESTS})$", "./pkg/descheduler/node", "./pkg/framework/plugins/defaultevictor"],
                         cwd=copy, env=environment, check=False, capture_output=True, text=True)
    passed = set(re.findall(r"^--- PASS: (\w+)", run.stdout, re.M))
    cases = len(re.findall(r"^    --- PASS: ", run.stdout, re.M))
    missing = [name for name in EXPECTED if name not in passed]
    if run.returncode != 0 or missing:
        print("\n".join(line for line in run.stdout.splitlines() if not line.startswith(("=== ", "    --- PASS"))), run.stderr)
        print("did not pass:", missing)
        return 1
    print(f"{len(passed)} tests of the descheduler with {cases} cases pass")
    return 0


if __name__ == "__main__":
    sys.exit(main())
