# SPDX-License-Identifier: Apache-2.0
"""Clusters, snapshots and forks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._native import CancelToken, Pod
from .engine import Engine
from .enums import Choice, Domain, Ignore, Status
from .errors import Error, error_of
from .objects import Manifest, Source, bulk_of, text_of_manifest, text_of_sources
from .results import GroupResult, ReservationsResult, ReserveResult, ScheduleResult
from .verbs import (
    Deadline,
    Node,
    Nodes,
    Pods,
    Progress,
    Questions,
    flags_of,
    member_of,
    microseconds_of,
    pods_of,
    texts_of,
)

__all__ = ["Cluster", "Fork", "Snapshot", "UpsertReport", "Use"]


class Use(NamedTuple):
    """What nodes have and give: arrays of int64, [resources, nodes], nodes by ascending number."""

    requested: NDArray[np.int64]
    allocatable: NDArray[np.int64]


@dataclass(frozen=True)
class UpsertReport:
    """What became of the objects of upsert_each()."""

    statuses: list[int]
    """Of each object Status.OK, Status.IGNORED, or the negative status of why it was refused."""
    error: Error | None
    """Why the first refused object was refused."""

    @property
    def refused(self) -> list[int]:
        """The positions of the objects that were refused."""
        return [i for i, status in enumerate(self.statuses) if status < 0]


class Cluster(_native.ClusterHandle):
    """Nodes, running pods, and what rules read beside them. Any thread: calls that change it wait for each other."""

    def __init__(self, engine: Engine, opened: Any = None) -> None:
        self.engine = engine
        if opened is None:
            super().__init__(engine)
        else:
            super().__init__(opened)

    def load(self, *sources: Source, deadline: Deadline = None, cancel: CancelToken | None = None) -> Cluster:
        """Adds objects, or replaces those of the same name: all of all sources, or none.

        A source is a path of a file (JSON or YAML, also packed with gzip or, with the package zstandard, zstd), a
        path of a folder of such files, a dict, a text, or a list of these. A str with a line break, or one that
        begins with a brace, is a text. Raises InputError naming the first object that is refused, OSError, and
        StoppedError (LateError) where the token was triggered (the deadline has passed) and nothing has changed.
        @return the cluster
        """
        self._upsert(text_of_sources(sources), microseconds_of(deadline), cancel)
        return self

    def upsert(self, manifest: Manifest, *, deadline: Deadline = None, cancel: CancelToken | None = None) -> None:
        """Adds one object, a List or a stream of both, or replaces those of the same name. All or nothing.

        A pod on a node counts there, and one that has finished does not any more. One without a node is not kept:
        pod() makes it placeable.
        """
        self._upsert(text_of_manifest(manifest), microseconds_of(deadline), cancel)

    def upsert_bulk(
        self, manifests: Iterable[Manifest], *, deadline: Deadline = None, cancel: CancelToken | None = None
    ) -> None:
        """The same of many objects: dicts, or JSON of one object each. One bad object refuses all."""
        self._upsert_bulk(*bulk_of(manifests), False, microseconds_of(deadline), cancel)

    def upsert_each(
        self, manifests: Iterable[Manifest], *, deadline: Deadline = None, cancel: CancelToken | None = None
    ) -> UpsertReport:
        """The same, but a bad object refuses itself alone."""
        statuses, object_, text = self._upsert_bulk(*bulk_of(manifests), True, microseconds_of(deadline), cancel)
        refused = [each for each in statuses if each < 0]
        error = error_of(refused[0], object_, text) if refused else None
        return UpsertReport([Status(each) if each >= 0 else each for each in statuses], error)

    def replace(
        self, kind: str, *sources: Source, deadline: Deadline = None, cancel: CancelToken | None = None
    ) -> None:
        """The cluster becomes what the sources say of one kind: objects of that kind that they do not name are
        deleted."""
        self._replace(kind, text_of_sources(sources), microseconds_of(deadline), cancel)

    def delete(
        self, kind: str, name: str | None = None, namespace: str | None = None, *, uid: str | None = None
    ) -> None:
        """Deletes an object: by its name, or a pod by its uid. Raises NotFoundError."""
        self._delete(kind, namespace, name, uid)

    def pod(self, manifest: Manifest, *, ignore: Ignore = Ignore(0)) -> Pod:
        """Prepares a pod, given as a dict or as text. It is valid in every snapshot and fork of the cluster.

        One that Berth cannot judge is made too: its answers are "not judged". Raises InputError.
        """
        return self._create_pod(text_of_manifest(manifest), int(ignore))

    def pods(
        self,
        manifests: Iterable[Manifest],
        *,
        ignore: Ignore = Ignore(0),
        deadline: Deadline = None,
        cancel: CancelToken | None = None,
    ) -> list[Pod]:
        """The same of many: dicts, or JSON of one pod each. None is made when one is refused, or the call stopped."""
        return self._create_pods(*bulk_of(manifests), int(ignore), microseconds_of(deadline), cancel)

    def snapshot(self) -> Snapshot:
        """The cluster as it is now. Costs the same whatever its size."""
        return Snapshot(self)

    def reserve(
        self,
        owner: str,
        pod: Pod,
        count: int,
        nodes: Nodes | None = None,
        *,
        key: str | None = None,
        value: str | None = None,
        skip_cordoned: bool = False,
    ) -> ReserveResult:
        """Keeps room for `count` copies of a pod under an owner, all of them or none.

        Args:
            nodes: where; None: anywhere. With key and value, those of them whose label `key` has the value.
        """
        among = nodes if nodes is None or isinstance(nodes, _native.NodeSet) else self.node_set(nodes)
        flags = flags_of(skip_cordoned=skip_cordoned)
        return ReserveResult(self._reserve(owner, pod, count, among, key, value, flags))

    def unreserve(
        self,
        owner: str,
        count: int = 0,
        nodes: Nodes | None = None,
        *,
        key: str | None = None,
        value: str | None = None,
        pod: Pod | None = None,
    ) -> int:
        """Gives back what an owner has reserved: the latest `count`, 0: all. Returns how many pods are gone. Raises
        NotFoundError: the owner has no reservation."""
        among = nodes if nodes is None or isinstance(nodes, _native.NodeSet) else self.node_set(nodes)
        return self._unreserve(owner, count, among, key, value, pod)

    def reservations(self, owner: str | None = None) -> ReservationsResult:
        """The reservations as of now; None: of all owners."""
        return ReservationsResult(self._reservations(owner))

    def __reduce__(self) -> Any:
        raise TypeError("a Cluster cannot be pickled, since it changes: pickle its snapshot()")

    def __copy__(self) -> Any:
        raise TypeError("a Cluster cannot be copied: open its snapshot().to_bytes(), or fork a snapshot")

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    def __repr__(self) -> str:
        return "<berth.Cluster closed>" if self.closed else f"<berth.Cluster version {self.version}>"


class Snapshot(Questions, _native.SnapshotHandle):
    """A cluster at one version. Immutable; any thread.

    A pickle has the objects of the snapshot (to_bytes()) and the configuration of its engine: unpickling makes an
    engine, a cluster and this snapshot of it.
    """

    def __init__(self, cluster: Cluster, opened: Any = None) -> None:
        self.cluster = cluster
        super().__init__(cluster if opened is None else opened)

    def fork(self) -> Fork:
        """A what-if on the snapshot: `with snapshot.fork() as fork: ...`"""
        return Fork(self)

    def write(
        self, path: str | os.PathLike[str], *, deadline: Deadline = None, cancel: CancelToken | None = None
    ) -> None:
        """Writes the snapshot to a file, which has its old content until the new one is complete: Engine.open() reads
        it.

        Raises UnsupportedError naming what files do not hold, InputError naming a file that cannot be written.
        """
        self._write(os.fspath(path), microseconds_of(deadline), cancel)

    def to_bytes(self, *, deadline: Deadline = None, cancel: CancelToken | None = None) -> bytes:
        """The same in memory."""
        result, _ = self._write_memory(microseconds_of(deadline), cancel)
        try:
            return result.bytes()
        finally:
            result.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _snapshot_of, (self.cluster.engine, self.to_bytes())

    def __copy__(self) -> Snapshot:
        return self

    def __deepcopy__(self, memo: Any) -> Snapshot:
        return self

    def __repr__(self) -> str:
        return (
            "<berth.Snapshot closed>"
            if self.closed
            else f"<berth.Snapshot version {self.version} nodes {len(self.nodes())}>"
        )


def _snapshot_of(engine: Engine, data: bytes) -> Snapshot:
    """Of a pickle."""
    return engine.open(data)


class Fork(Questions, _native.ForkHandle):
    """A what-if on a snapshot, or on a fork as it is now.

    One thread at a time: a second one gets BusyError. At the end of a with statement it is dropped, unless commit()
    was called.
    """

    def __init__(self, parent: Snapshot | Fork) -> None:
        self.cluster: Cluster = parent.cluster
        self._is_of_fork = isinstance(parent, Fork)
        super().__init__(parent)

    def fork(self) -> Fork:
        """A what-if on this fork as it is now. Later changes of this one do not affect it."""
        return Fork(self)

    def commit(self) -> int | None:
        """Does to the parent what was done to the fork, which takes no call but close() afterwards.

        Returns the cluster's version afterwards, or None where the parent is a fork. Raises StaleError: the cluster's
        version is not the snapshot's any more, or the parent has changed; the fork stays usable.
        """
        version = self._commit()
        return None if self._is_of_fork else version

    def add_node(self, manifest: Manifest) -> int:
        """Adds a node. Returns its number. Raises ExistsError, InputError."""
        return self._add_node(text_of_manifest(manifest))

    def update_node(self, manifest: Manifest) -> None:
        """Replaces a node's object. Raises NotFoundError, InputError."""
        self._update_node(text_of_manifest(manifest))

    def mask(
        self,
        pod: Pod,
        nodes: Nodes | None = None,
        out: NDArray[np.uint8] | None = None,
        *,
        skip_cordoned: bool = False,
        as_moved: bool = False,
    ) -> NDArray[np.uint8]:
        """Which nodes take a pod: check_bulk().fits of this pod alone, without a result.

        The fork keeps the answers of the classes that were asked about lately, so that it costs little to ask again.

        Args:
            nodes: NodeSet, or names and numbers; None: all.
            out: where to write, one entry for each node by ascending number; None: a new array. Returned.
        """
        flags = flags_of(skip_cordoned=skip_cordoned, as_moved=as_moved)
        among = self._node_set(nodes)
        written = np.empty(self._mask(pod, among, flags, None), dtype=np.uint8) if out is None else out
        self._mask(pod, among, flags, written)
        return written

    def use(self, resources: str | Sequence[str], out: Use | None = None) -> Use:
        """What the pods on each node request, and what the nodes offer, as NodeResourcesFit counts it.

        Args:
            resources: "cpu" in thousandths, "memory" and "ephemeral-storage" in bytes, "pods" as their number, others by
                their name in their own unit.
            out: where to write; None: new arrays. Returned.
        """
        names = texts_of(resources)
        if out is None:
            shape = (len(names), self._use(names, None, None) // max(len(names), 1))
            out = Use(np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64))
        self._use(names, out.requested, out.allocatable)
        return out

    def schedule(
        self,
        pods: Pods,
        *,
        choice: Choice | str | None = None,
        start: int = 0,
        nodes: Nodes | None = None,
        order: Iterable[Node] | None = None,
        skip_cordoned: bool = False,
        as_moved: bool = False,
        stop_at_failure: bool = False,
        rejectors: bool = False,
        deadline: Deadline = None,
        cancel: CancelToken | None = None,
        progress: Progress | None = None,
    ) -> ScheduleResult:
        """Places pods in order, each as if those before it were bound. A pod that finds no node stays where it was.

        Args:
            choice: "score" as kube-scheduler, "first_fit" from `start` on and round the end, or the first that fits of
                `order`. None: "order" where an order is given, else "score".
            nodes: NodeSet, or names and numbers; None: all. Scores are normalised over the set.
            as_moved: spec.nodeName is ignored, and the pod's own running copy is taken out first.
            stop_at_failure: stop behind the first pod that finds no node.
            rejectors: the columns `rejectors` and `pending_rejectors` are wanted too, which Queue.fail() takes.
            deadline, cancel, progress: those pods of the beginning that were placed stand, also where `progress` raises;
                with a deadline at least one is tried.

        Raises:
            ExistsError: naming a pod that stands on a node.
        """
        asked = pods_of(pods)
        chosen = (Choice.SCORE if order is None else Choice.ORDER) if choice is None else member_of(Choice, choice)
        flags = flags_of(
            skip_cordoned=skip_cordoned, as_moved=as_moved, stop_at_failure=stop_at_failure, with_rejectors=rejectors
        )
        return ScheduleResult(
            self._schedule(
                asked, flags, chosen, start, self._node_set(nodes), order, microseconds_of(deadline), cancel, progress
            ),
            asked,
            rejectors,
        )

    def schedule_group(
        self,
        pods: Pods,
        *,
        keys: Sequence[str] = (),
        domain: Domain | str | None = None,
        minimum: int = 0,
        nodes: Nodes | None = None,
        skip_cordoned: bool = False,
        deadline: Deadline = None,
        cancel: CancelToken | None = None,
    ) -> GroupResult:
        """Places a group of pods by score, all of them or at least the minimum, or none.

        Args:
            keys: label keys of nodes, narrowest first: the group goes where nodes share a value.
            domain: "required" or "preferred". None: "required" where keys are given, else "none".
            minimum: of pods that must find a node; 0: all.
        """
        asked = pods_of(pods)
        chosen = (Domain.REQUIRED if keys else Domain.NONE) if domain is None else member_of(Domain, domain)
        return GroupResult(
            self._schedule_group(
                asked,
                texts_of(keys),
                chosen,
                minimum,
                self._node_set(nodes),
                flags_of(skip_cordoned=skip_cordoned),
                microseconds_of(deadline),
                cancel,
            ),
            asked,
        )

    def __reduce__(self) -> Any:
        raise TypeError("a Fork cannot be pickled: pickle the snapshot, and what is to be done to it")

    def __copy__(self) -> Any:
        raise TypeError("a Fork cannot be copied: fork.fork() is a what-if on it")

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    def __repr__(self) -> str:
        return f"<berth.Fork{' closed' if self.closed else ''}>"
