# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/python.md run, in order, and show what they are said to show."""

import contextlib
import io
import json
import os
import re

import pytest
from world import node, pod


def write_inputs(folder):
    """The files that the page speaks of."""
    nodes = [node(f"node-{i}", 4, labels={"zone": f"zone-{i % 3}"}) for i in range(12)]
    running = [pod(f"run-{i}", 3 if i < 3 else 2, owner="run", nodeName=f"node-{i}") for i in range(3)]
    pending = [pod("web-a", 2), pod("web-b", 2), pod("huge", 16)]
    replicas = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "run", "namespace": "default"},
                "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "run"}},
                         "template": {"metadata": {"labels": {"app": "run"}}, "spec": pod("t", 1)["spec"]}}}
    items = nodes + [replicas] + running + pending
    (folder / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    (folder / "scheduler.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")


def blocks_of(page):
    """(line, code) of each block of Python."""
    text = page.read_text()
    for match in re.finditer(r"^```python\n(.*?)^```$", text, flags=re.S | re.M):
        yield text.count("\n", 0, match.start(1)) + 1, match[1]


def expected_of(code):
    """What the lines `print(...)  # text` are said to show."""
    return [match[1] for match in re.finditer(r"^\s*print\(.*\)\s+# (.*)$", code, flags=re.M)]


def test_examples_of_the_page_run_and_show_what_they_say(source, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    page = source / "docs/python.md"
    write_inputs(tmp_path)
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    count = 0
    for line, code in blocks_of(page):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile("\n" * (line - 1) + code, str(page), "exec"), names)
        assert out.getvalue().splitlines() == expected_of(code), f"{page}:{line}"
        count += 1
    assert count >= 10 and os.path.exists("snapshot.berth")
    names.clear()
