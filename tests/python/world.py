# SPDX-License-Identifier: Apache-2.0
"""Objects that the tests share."""

ENGINE_CONFIG = "apiVersion: berth.dev/v1alpha1\nkind: BerthEngineConfiguration\ntieBreak: first\n"


def node(name, cpu, *, labels=None, spec=None):
    """A Node with whole cpus."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec or {},
        "status": {"allocatable": {"cpu": str(cpu), "memory": "8Gi", "pods": "10"}},
    }


def pod(name, cpu, *, labels=None, owner=None, **spec):
    """A Pod that requests whole cpus; `spec` goes into its spec."""
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": labels or {}}
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": f"uid-{owner}", "controller": True}
        ]
    requests = {"cpu": str(cpu), "memory": "1Gi"}
    containers = [{"name": "c", "resources": {"requests": requests}}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


NODES = [
    node("a", 4, labels={"zone": "x"}),
    node("b", 4, labels={"zone": "y", "disk": "ssd"}, spec={"unschedulable": True}),
    node("c", 2, labels={"zone": "y"}),
]
