# SPDX-License-Identifier: Apache-2.0
"""Answers. Each has its columns as attributes, and as tables for pandas and Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _native
from .enums import Col
from .result import ColumnOf, Given, Origin, Result, Verdict, categories_of

__all__ = [
    "Origin",
    "Verdict",
    "Result",
    "CheckResult",
    "ScheduleResult",
    "GroupResult",
    "PreemptResult",
    "MaxReplicasResult",
    "EstimateResult",
    "DrainResult",
    "ReplaceResult",
    "ReserveResult",
    "ReservationsResult",
    "Explanation",
]


class CheckResult(Result):
    """Verdicts of pods on nodes: columns of the shape (pods, nodes)."""

    __slots__ = ("_has_scores",)

    def __init__(self, given: Given, pods: Sequence[_native.Pod] = (), has_scores: bool = False) -> None:
        super().__init__(given, pods)
        self._has_scores = has_scores

    node = ColumnOf(Col.NODE, "Numbers of the nodes, [nodes].")
    judged = ColumnOf(Col.JUDGED, "What the answers are worth, [pods].")
    fits = ColumnOf(Col.FITS, "Whether the pod fits on the node, [pods, nodes].")
    code = ColumnOf(Col.CODE, "Status codes, [pods, nodes].")
    phase = ColumnOf(Col.PHASE, "Where the verdict comes from, [pods, nodes].")
    plugin = ColumnOf(Col.PLUGIN, "Texts: the plugin that refuses, [pods, nodes].")
    reasons = ColumnOf(Col.REASONS, "Texts: upstream's reasons, [pods, nodes].")
    score = ColumnOf(Col.SCORE, "With scores: the total of the node, or NO_SCORE, [pods, nodes].")
    message = ColumnOf(Col.MESSAGE, "With scores: texts: the error with which scoring ends the cycle, [pods].")

    def _shape(self, column: Col) -> tuple[int, ...]:
        if column in (Col.NODE, Col.JUDGED, Col.MESSAGE):
            return ()
        return len(self.judged), len(self.node)

    def verdict(self, pod: int, node: int) -> Verdict:
        """One verdict, by the positions of pod and node."""
        return Verdict(
            self.fits[pod, node],
            self.judged[pod],
            self.code[pod, node],
            self.phase[pod, node],
            self.plugin[pod, node],
            self.reasons[pod, node],
        )

    def feasible(self, pod: int = 0) -> list[str]:
        """The names of the nodes on which the pod at this position fits."""
        return self._handle.node_names(self.node.numpy()[self.fits.numpy()[pod] != 0])

    def _tables(self) -> Any:
        pods, nodes = len(self.judged), len(self.node)
        extra = {
            "pod": lambda: categories_of([each.uid for each in self._pods[:pods]], np.repeat(np.arange(pods), nodes)),
            "node": lambda: categories_of(self._handle.node_names(self.node.numpy()), np.tile(np.arange(nodes), pods)),
        }
        pairs = (Col.FITS, Col.CODE, Col.PHASE, Col.PLUGIN, Col.REASONS)
        of_pods = (Col.JUDGED,)
        return {
            "pairs": ((*pairs, Col.SCORE) if self._has_scores else pairs, extra),
            "pods": ((*of_pods, Col.MESSAGE) if self._has_scores else of_pods, {"pod": self._uids(pods)}),
            "nodes": ((Col.NODE,), {}),
        }


class ScheduleResult(Result):
    """Placements: a row for each pod that was tried."""

    __slots__ = ("_has_rejectors",)

    def __init__(self, given: Given, pods: Sequence[_native.Pod] = (), has_rejectors: bool = False) -> None:
        super().__init__(given, pods)
        self._has_rejectors = has_rejectors

    node = ColumnOf(Col.NODE, "Numbers of the nodes; NO_NODE of a pod without one, [pods].")
    fits = ColumnOf(Col.FITS, "Whether the pod was placed, [pods].")
    judged = ColumnOf(Col.JUDGED, "What the answer is worth, [pods].")
    score = ColumnOf(Col.SCORE, "The total of the chosen node; 0 where nothing was scored, [pods].")
    message = ColumnOf(Col.MESSAGE, "Texts: why the pod has no node, as kube-scheduler's event says it, [pods].")
    rejectors = ColumnOf(Col.REJECTORS, "With rejectors: texts: the plugins that keep the pod from nodes, [pods].")
    pending_rejectors = ColumnOf(Col.PENDING_REJECTORS, "With rejectors: texts: those that answered Pending, [pods].")

    @property
    def placed(self) -> int:
        """How many pods have a node."""
        return int(np.count_nonzero(self.fits.numpy()))

    @property
    def next_start(self) -> int:
        """Where first fit goes on: `start` of the next call."""
        return self._handle.next_start()

    def node_names(self) -> list[str | None]:
        """The name of each pod's node; None of a pod without one."""
        return self._handle.node_names(self.node.numpy())

    def by_pod(self) -> dict[str, str | None]:
        """The name of the node by the pod's uid, of the pods that were tried."""
        return dict(zip([pod.uid for pod in self._pods], self.node_names()))

    def _tables(self) -> Any:
        more = (Col.REJECTORS, Col.PENDING_REJECTORS) if self._has_rejectors else ()
        columns = (Col.NODE, Col.FITS, Col.JUDGED, Col.SCORE, Col.MESSAGE, *more)
        return {"pods": (columns, {"pod": self._uids(len(self.node))})}


class GroupResult(ScheduleResult):
    """Placements of a group, and the tries that led to them."""

    __slots__ = ()

    try_key = ColumnOf(Col.TRY_KEY, "Texts: label key of the domain; empty: all nodes, [tries].")
    try_value = ColumnOf(Col.TRY_VALUE, "Texts: its value, [tries].")
    try_placed = ColumnOf(Col.TRY_PLACED, "Pods that found a node, [tries].")
    try_pod = ColumnOf(Col.TRY_POD, "Position of the first pod that found none, or NO_POD, [tries].")
    try_reasons = ColumnOf(Col.TRY_REASONS, "Texts: why, [tries].")
    try_taken = ColumnOf(Col.TRY_TAKEN, "Whether the pods stand where this try placed them, [tries].")

    @property
    def domain(self) -> tuple[str, str] | None:
        """Label key and value of the domain that was taken, empty texts where it was all nodes; None: nothing was
        placed."""
        taken = np.flatnonzero(self.try_taken.numpy())
        return (self.try_key[taken[0]], self.try_value[taken[0]]) if len(taken) else None

    def _tables(self) -> Any:
        tries = (Col.TRY_KEY, Col.TRY_VALUE, Col.TRY_PLACED, Col.TRY_POD, Col.TRY_REASONS, Col.TRY_TAKEN)
        return {**super()._tables(), "tries": (tries, {})}


class PreemptResult(Result):
    """Whom a pod would evict, and where."""

    __slots__ = ()

    node = ColumnOf(Col.NODE, "Numbers of the nodes, ascending, [candidates].")
    violations = ColumnOf(Col.VIOLATIONS, "Victims whose eviction violates a budget, [candidates].")
    best = ColumnOf(Col.BEST, "Whether upstream's choice may take the candidate, [candidates].")
    victim_begin = ColumnOf(Col.VICTIM_BEGIN, "Where a candidate's victims begin in `victim`, [candidates + 1].")
    victim = ColumnOf(Col.VICTIM, "Texts: uids of victims, most important first, [victims].")

    @property
    def message(self) -> str:
        """Why there is no candidate, or why the pod may not preempt; empty: there is one."""
        return self._handle.message()

    def victims(self, candidate: int) -> list[str]:
        """The uids of the victims of a candidate, given by its position."""
        begin = self.victim_begin.numpy()
        if not 0 <= candidate < len(self.node):
            raise IndexError(f"there are {len(self.node)} candidates")
        return self.victim.texts()[begin[candidate] : begin[candidate + 1]]

    def _tables(self) -> Any:
        begin = self.victim_begin.numpy()

        def nodes_of_victims() -> Any:
            counts = np.diff(begin.astype(np.int64))
            return categories_of(self._handle.node_names(self.node.numpy()), np.repeat(np.arange(len(counts)), counts))

        return {
            "candidates": ((Col.NODE, Col.VIOLATIONS, Col.BEST), {}),
            "victims": ((Col.VICTIM,), {"node": nodes_of_victims}),
        }


class MaxReplicasResult(Result):
    """How many copies of each shape find a node."""

    __slots__ = ()

    count = ColumnOf(Col.COUNT, "Copies, [shapes].")
    judged = ColumnOf(Col.JUDGED, "What the answer is worth, [shapes].")
    plugin = ColumnOf(Col.PLUGIN, "Texts: of a shape that is not judged, the plugin, [shapes].")
    reasons = ColumnOf(Col.REASONS, "Texts: what it uses, [shapes].")
    node = ColumnOf(Col.NODE, "With per_node: numbers of the nodes, [nodes].")
    count_on_node = ColumnOf(Col.COUNT_ON_NODE, "With per_node: copies on each node, [shapes, nodes].")
    value = ColumnOf(Col.VALUE, "With keys: texts, values of the label keys, key by key, [values].")
    value_begin = ColumnOf(Col.VALUE_BEGIN, "With keys: where a key's values begin, [keys + 1].")
    count_of_value = ColumnOf(Col.COUNT_OF_VALUE, "With keys: copies on the nodes with the value, [shapes, values].")

    def _shape(self, column: Col) -> tuple[int, ...]:
        if column == Col.COUNT_ON_NODE:
            return len(self.count), len(self.node)
        if column == Col.COUNT_OF_VALUE:
            return len(self.count), len(self.value)
        return ()

    def by_value(self, key: int = 0, shape: int = 0) -> dict[str, int]:
        """Copies of a shape by the value of a label key, both given by their positions."""
        begin, end = (int(each) for each in self.value_begin.numpy()[key : key + 2])
        return dict(zip(self.value.texts()[begin:end], self.count_of_value.numpy()[shape, begin:end].tolist()))

    def _tables(self) -> Any:
        return {"shapes": ((Col.COUNT, Col.JUDGED, Col.PLUGIN, Col.REASONS), {"pod": self._uids(len(self.count))})}


class EstimateResult(Result):
    """How many nodes of each shape the pods need: columns of the shape (shapes, pods)."""

    __slots__ = ()

    shape = ColumnOf(Col.SHAPE, "Position of the first shape that no rule can tell from this one, [shapes].")
    node_count = ColumnOf(Col.NODE_COUNT, "New nodes, [shapes].")
    placed = ColumnOf(Col.PLACED, "Pods that have a node, [shapes].")
    cap = ColumnOf(Col.CAP, "The first cap that kept a pod out, [shapes].")
    cap_resource = ColumnOf(Col.CAP_RESOURCE, "Texts: the resource of Cap.RESOURCE, [shapes].")
    node = ColumnOf(Col.NODE, "Existing nodes, or NO_NODE, [shapes, pods].")
    new_node = ColumnOf(Col.NEW_NODE, "Which of the shape's new nodes, from 0, or NO_NODE, [shapes, pods].")
    fits = ColumnOf(Col.FITS, "Whether the pod has a node, [shapes, pods].")
    code = ColumnOf(Col.CODE, "Of a pod that is left over: the code of an empty new node, [shapes, pods].")
    phase = ColumnOf(Col.PHASE, "Its phase, [shapes, pods].")
    plugin = ColumnOf(Col.PLUGIN, "Texts: its plugin, [shapes, pods].")
    reasons = ColumnOf(Col.REASONS, "Texts: its reasons, or the cap, [shapes, pods].")
    judged = ColumnOf(Col.JUDGED, "What the answers are worth, [pods].")
    pod_class = ColumnOf(Col.POD_CLASS, "Which class of the pods: those that differ in name, uid and times alone, [pods].")
    placed_of_class = ColumnOf(Col.PLACED_OF_CLASS, "Pods of a class that have a node, [shapes, classes].")
    resource = ColumnOf(Col.RESOURCE, "Texts: cpu, memory, ephemeral-storage, pods, then others, [resources].")
    requested = ColumnOf(Col.REQUESTED, "What pods request of the new nodes, [shapes, resources].")
    allocatable = ColumnOf(Col.ALLOCATABLE, "What these nodes offer, [shapes, resources].")

    _PAIRS = (Col.NODE, Col.NEW_NODE, Col.FITS, Col.CODE, Col.PHASE, Col.PLUGIN, Col.REASONS)

    def _shape(self, column: Col) -> tuple[int, ...]:
        if column in self._PAIRS:
            return len(self.shape), len(self._pods)
        if column in (Col.REQUESTED, Col.ALLOCATABLE):
            return len(self.shape), len(self.resource)
        if column == Col.PLACED_OF_CLASS:
            return len(self.shape), np.unique(self.pod_class.numpy()).size
        return ()

    def _tables(self) -> Any:
        shapes, pods = len(self.shape), len(self._pods)
        pairs = {
            "shape": lambda: np.repeat(np.arange(shapes), pods),
            "pod": lambda: categories_of([each.uid for each in self._pods], np.tile(np.arange(pods), shapes)),
        }
        return {
            "shapes": ((Col.SHAPE, Col.NODE_COUNT, Col.PLACED, Col.CAP, Col.CAP_RESOURCE), {}),
            "pairs": (self._PAIRS, pairs),
        }


class DrainResult(Result):
    """Which nodes can be removed, and where their pods go."""

    __slots__ = ()

    node = ColumnOf(Col.NODE, "Numbers of the drained nodes, [drained].")
    removable = ColumnOf(Col.REMOVABLE, "Whether no pod is in the way, [drained].")
    rule = ColumnOf(Col.RULE, "The rule of the first pod that blocks, [drained].")
    blocking_pod = ColumnOf(Col.BLOCKING_POD, "Texts: uid of that pod, or of the first without a place, [drained].")
    pod_begin = ColumnOf(Col.POD_BEGIN, "Where a node's pods begin in the columns of pods, [drained + 1].")
    pod = ColumnOf(Col.POD, "Texts: uids, in the order in which they leave, [pods].")
    outcome = ColumnOf(Col.OUTCOME, "What becomes of them, [pods].")
    pod_rule = ColumnOf(Col.POD_RULE, "The rule that says so, [pods].")
    target = ColumnOf(Col.TARGET, "Numbers of the nodes that they go to, or NO_NODE, [pods].")
    message = ColumnOf(Col.MESSAGE, "Texts: why they go nowhere, [pods].")

    _PODS: tuple[Col, ...] = (Col.POD, Col.OUTCOME, Col.POD_RULE, Col.TARGET, Col.MESSAGE)

    def removable_nodes(self) -> list[str]:
        """The names of the nodes that can be removed."""
        return self._handle.node_names(self.node.numpy()[self.removable.numpy() != 0])

    def _tables(self) -> Any:
        def nodes_of_pods() -> Any:
            counts = np.diff(self.pod_begin.numpy().astype(np.int64))
            return categories_of(self._handle.node_names(self.node.numpy()), np.repeat(np.arange(len(counts)), counts))

        return {
            "nodes": ((Col.NODE, Col.REMOVABLE, Col.RULE, Col.BLOCKING_POD), {}),
            "pods": (self._PODS, {"node": nodes_of_pods}),
        }


class ReplaceResult(DrainResult):
    """The same, and new nodes for the pods that find no place."""

    __slots__ = ()

    shape = ColumnOf(
        Col.SHAPE, "Position of the shape, or NO_NODE: none is needed or none holds the rest, [replacements]."
    )
    node_count = ColumnOf(Col.NODE_COUNT, "New nodes, [replacements].")
    price = ColumnOf(Col.PRICE, "Of all nodes of the replacement, [replacements].")
    new_node = ColumnOf(Col.NEW_NODE, "Which of the new nodes, from 0, or NO_NODE, [pods].")

    _PODS = (*DrainResult._PODS, Col.NEW_NODE)

    def _tables(self) -> Any:
        return {**super()._tables(), "replacements": ((Col.SHAPE, Col.NODE_COUNT, Col.PRICE), {})}


class ReserveResult(Result):
    """Copies that were reserved, all or none."""

    __slots__ = ()

    node = ColumnOf(Col.NODE, "Numbers of the nodes, or NO_NODE, [copies that were tried].")
    fits = ColumnOf(Col.FITS, "Whether room is reserved; 0 for all where one did not fit, [copies].")
    uid = ColumnOf(Col.UID, "Texts: uids of the reserving pods, [copies].")
    message = ColumnOf(Col.MESSAGE, "Texts: the last one tells why nothing is reserved, [copies].")

    def __bool__(self) -> bool:
        """Whether all copies are reserved."""
        return bool(self.fits.numpy().all())

    def _tables(self) -> Any:
        return {"copies": ((Col.NODE, Col.FITS, Col.UID, Col.MESSAGE), {})}


class ReservationsResult(Result):
    """The reservations of a cluster, the earliest first."""

    __slots__ = ()

    owner = ColumnOf(Col.OWNER, "Texts: owners, [pods].")
    uid = ColumnOf(Col.UID, "Texts: uids of the reserving pods, [pods].")
    node = ColumnOf(Col.NODE, "Numbers of the nodes, or NO_NODE where the node is gone, [pods].")

    def __len__(self) -> int:
        return len(self.node)

    def _tables(self) -> Any:
        return {"pods": ((Col.OWNER, Col.UID, Col.NODE), {})}


class Explanation(Result):
    """What every node says of a pod: a record of docs/schemas/explain-record.schema.json."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        return self.record[key]

    def _tables(self) -> Any:
        raise TypeError("an explanation is a record, and no table: see `record`")

    def __repr__(self) -> str:
        return f"<berth.Explanation {'closed' if self._handle.closed else self.record.get('pod')}>"
