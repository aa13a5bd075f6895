# SPDX-License-Identifier: Apache-2.0
"""Makes the modules of scripts/ importable, and small records for their tests."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))


def refused(node, plugin="NodePorts", code="Unschedulable", reasons=("no",)):
    return {"node": node, "feasible": False, "plugin": plugin, "code": code, "reasons": list(reasons), "total": 0}


def accepted(node, total, **raw):
    scores = [{"plugin": plugin, "raw": value, "normalized": value, "weight": 1} for plugin, value in sorted(raw.items())]
    return {"node": node, "feasible": True, "scores": scores, "total": total}


def record(*nodes, pod="default/p", best=(), **more):
    return {"pod": pod, "profile": "default-scheduler", "nodes": list(nodes), "best": list(best), **more}
