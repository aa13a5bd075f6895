# SPDX-License-Identifier: Apache-2.0
"""Answers. Each has its columns as attributes, and as tables for pandas and Arrow."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from . import _native
from .columns import Column, Table
from .enums import NO_NODE, Code, Col, Judged, Phase, Status

if TYPE_CHECKING:
    from types import TracebackType

    import pandas

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

_Given = tuple[_native.ResultHandle, int]


class Origin(NamedTuple):
    """What an answer follows from, beside the pods."""

    version: int
    seed: int
    release: str
    backend: str


class Verdict(NamedTuple):
    """What one node says of one pod. True where the pod fits."""

    fits: bool
    judged: Judged
    code: Code
    phase: Phase
    plugin: str
    reasons: str

    def __bool__(self) -> bool:
        return self.fits


class _ColumnOf:
    """A column as an attribute of its result, made when it is asked for."""

    def __init__(self, column: Col, text: str) -> None:
        self.column = column
        self.__doc__ = text

    def __get__(self, result: Result | None, owner: type[Result]) -> Column:
        if result is None:
            return self  # type: ignore[return-value]  # as properties do, for documentation
        return result._column(self.column)


def _categories(values: Sequence[str], codes: np.ndarray[Any, Any]) -> Any:
    """`values[codes]` for a DataFrame."""
    import pandas

    position: dict[str, int] = {}
    unique = np.array([position.setdefault(value, len(position)) for value in values], dtype=np.int64)
    return pandas.Categorical.from_codes(
        unique[codes] if len(values) else codes, categories=pandas.Index(list(position), dtype=str)
    )


class Result:
    """An answer. Immutable; any thread. It keeps the cluster's memory until it is closed or collected.

    As an Arrow table, and as a DataFrame, it is the first of its `tables`.
    """

    __slots__ = ("_handle", "_cache", "status", "_pods", "__weakref__")

    def __init__(self, given: _Given, pods: Sequence[_native.Pod] = ()) -> None:
        self._handle, status = given
        self._cache: dict[Any, Any] = {}
        self._pods = tuple(pods)
        self.status = Status(status)
        """OK, DEADLINE or CANCELLED: of the latter two the answer is of a prefix, and exact as far as it goes."""

    @property
    def complete(self) -> bool:
        """Whether neither a deadline nor a token ended the call."""
        return self.status not in (Status.DEADLINE, Status.CANCELLED)

    @property
    def origin(self) -> Origin:
        """Version, seed, release and backend that the answer follows from."""
        return Origin(*self._handle.origin())

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._handle.closed

    def close(self) -> None:
        """Frees the answer, once the arrays and tables of it are gone."""
        self._handle.close()
        self._cache.clear()
        self._pods = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} cannot be pickled: pickle its pyarrow.table() or to_pandas()")

    def _shape(self, column: Col) -> tuple[int, ...]:
        return ()

    def _column(self, column: Col) -> Column:
        if self._handle.closed:
            self._handle.origin()  # raises ClosedError
        found = self._cache.get(column)
        if found is None:
            found = self._cache[column] = Column(self._handle, column, self._shape(column))
        return found

    def _tables(self) -> Mapping[str, tuple[Sequence[Col], Mapping[str, Callable[[], Any]]]]:
        """Of each table its columns, and what a DataFrame has before them."""
        raise NotImplementedError

    @property
    def tables(self) -> dict[str, Table]:
        """The columns by their lengths. A fresh dict of tables; the first one is the answer's own."""
        return {
            name: Table(self._handle, {each: self._shape(each) for each in columns}, extra)
            for name, (columns, extra) in self._tables().items()
        }

    def to_pandas(self) -> pandas.DataFrame:
        """The first table as a DataFrame. Needs pandas."""
        return next(iter(self.tables.values())).to_pandas()

    def __arrow_c_schema__(self) -> Any:
        return next(iter(self.tables.values())).__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return next(iter(self.tables.values())).__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return next(iter(self.tables.values())).__arrow_c_stream__(requested_schema)

    def _uids(self, count: int) -> Callable[[], Any]:
        return lambda: _categories([pod.uid for pod in self._pods[:count]], np.arange(count))

    def __repr__(self) -> str:
        if self._handle.closed:
            return f"<berth.{type(self).__name__} closed>"
        return f"<berth.{type(self).__name__} {self.status.name} {' '.join(repr(each) for each in self._tables())}>"


class CheckResult(Result):
    """Verdicts of pods on nodes: columns of the shape (pods, nodes)."""

    __slots__ = ()

    node = _ColumnOf(Col.NODE, "Numbers of the nodes, [nodes].")
    judged = _ColumnOf(Col.JUDGED, "What the answers are worth, [pods].")
    fits = _ColumnOf(Col.FITS, "Whether the pod fits on the node, [pods, nodes].")
    code = _ColumnOf(Col.CODE, "Status codes, [pods, nodes].")
    phase = _ColumnOf(Col.PHASE, "Where the verdict comes from, [pods, nodes].")
    plugin = _ColumnOf(Col.PLUGIN, "Texts: the plugin that refuses, [pods, nodes].")
    reasons = _ColumnOf(Col.REASONS, "Texts: upstream's reasons, [pods, nodes].")

    def _shape(self, column: Col) -> tuple[int, ...]:
        if column in (Col.NODE, Col.JUDGED):
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
            "pod": lambda: _categories([each.uid for each in self._pods[:pods]], np.repeat(np.arange(pods), nodes)),
            "node": lambda: _categories(self._handle.node_names(self.node.numpy()), np.tile(np.arange(nodes), pods)),
        }
        return {
            "pairs": ((Col.FITS, Col.CODE, Col.PHASE, Col.PLUGIN, Col.REASONS), extra),
            "pods": ((Col.JUDGED,), {"pod": self._uids(pods)}),
            "nodes": ((Col.NODE,), {}),
        }


class ScheduleResult(Result):
    """Placements: a row for each pod that was tried."""

    __slots__ = ()

    node = _ColumnOf(Col.NODE, "Numbers of the nodes; NO_NODE of a pod without one, [pods].")
    fits = _ColumnOf(Col.FITS, "Whether the pod was placed, [pods].")
    judged = _ColumnOf(Col.JUDGED, "What the answer is worth, [pods].")
    score = _ColumnOf(Col.SCORE, "The total of the chosen node; 0 where nothing was scored, [pods].")
    message = _ColumnOf(Col.MESSAGE, "Texts: why the pod has no node, as kube-scheduler's event says it, [pods].")

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
        columns = (Col.NODE, Col.FITS, Col.JUDGED, Col.SCORE, Col.MESSAGE)
        return {"pods": (columns, {"pod": self._uids(len(self.node))})}


class GroupResult(ScheduleResult):
    """Placements of a group, and the tries that led to them."""

    __slots__ = ()

    try_key = _ColumnOf(Col.TRY_KEY, "Texts: label key of the domain; empty: all nodes, [tries].")
    try_value = _ColumnOf(Col.TRY_VALUE, "Texts: its value, [tries].")
    try_placed = _ColumnOf(Col.TRY_PLACED, "Pods that found a node, [tries].")
    try_pod = _ColumnOf(Col.TRY_POD, "Position of the first pod that found none, or NO_POD, [tries].")
    try_reasons = _ColumnOf(Col.TRY_REASONS, "Texts: why, [tries].")
    try_taken = _ColumnOf(Col.TRY_TAKEN, "Whether the pods stand where this try placed them, [tries].")

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

    node = _ColumnOf(Col.NODE, "Numbers of the nodes, ascending, [candidates].")
    violations = _ColumnOf(Col.VIOLATIONS, "Victims whose eviction violates a budget, [candidates].")
    best = _ColumnOf(Col.BEST, "Whether upstream's choice may take the candidate, [candidates].")
    victim_begin = _ColumnOf(Col.VICTIM_BEGIN, "Where a candidate's victims begin in `victim`, [candidates + 1].")
    victim = _ColumnOf(Col.VICTIM, "Texts: uids of victims, most important first, [victims].")

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
            return _categories(self._handle.node_names(self.node.numpy()), np.repeat(np.arange(len(counts)), counts))

        return {
            "candidates": ((Col.NODE, Col.VIOLATIONS, Col.BEST), {}),
            "victims": ((Col.VICTIM,), {"node": nodes_of_victims}),
        }


class MaxReplicasResult(Result):
    """How many copies of each shape find a node."""

    __slots__ = ()

    count = _ColumnOf(Col.COUNT, "Copies, [shapes].")
    judged = _ColumnOf(Col.JUDGED, "What the answer is worth, [shapes].")
    plugin = _ColumnOf(Col.PLUGIN, "Texts: of a shape that is not judged, the plugin, [shapes].")
    reasons = _ColumnOf(Col.REASONS, "Texts: what it uses, [shapes].")
    node = _ColumnOf(Col.NODE, "With per_node: numbers of the nodes, [nodes].")
    count_on_node = _ColumnOf(Col.COUNT_ON_NODE, "With per_node: copies on each node, [shapes, nodes].")
    value = _ColumnOf(Col.VALUE, "With keys: texts, values of the label keys, key by key, [values].")
    value_begin = _ColumnOf(Col.VALUE_BEGIN, "With keys: where a key's values begin, [keys + 1].")
    count_of_value = _ColumnOf(Col.COUNT_OF_VALUE, "With keys: copies on the nodes with the value, [shapes, values].")

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

    shape = _ColumnOf(Col.SHAPE, "Position of the first shape that no rule can tell from this one, [shapes].")
    node_count = _ColumnOf(Col.NODE_COUNT, "New nodes, [shapes].")
    placed = _ColumnOf(Col.PLACED, "Pods that have a node, [shapes].")
    cap = _ColumnOf(Col.CAP, "The first cap that kept a pod out, [shapes].")
    cap_resource = _ColumnOf(Col.CAP_RESOURCE, "Texts: the resource of Cap.RESOURCE, [shapes].")
    node = _ColumnOf(Col.NODE, "Existing nodes, or NO_NODE, [shapes, pods].")
    new_node = _ColumnOf(Col.NEW_NODE, "Which of the shape's new nodes, from 0, or NO_NODE, [shapes, pods].")
    fits = _ColumnOf(Col.FITS, "Whether the pod has a node, [shapes, pods].")
    code = _ColumnOf(Col.CODE, "Of a pod that is left over: the code of an empty new node, [shapes, pods].")
    phase = _ColumnOf(Col.PHASE, "Its phase, [shapes, pods].")
    plugin = _ColumnOf(Col.PLUGIN, "Texts: its plugin, [shapes, pods].")
    reasons = _ColumnOf(Col.REASONS, "Texts: its reasons, or the cap, [shapes, pods].")
    judged = _ColumnOf(Col.JUDGED, "What the answers are worth, [pods].")
    resource = _ColumnOf(Col.RESOURCE, "Texts: cpu, memory, ephemeral-storage, pods, then others, [resources].")
    requested = _ColumnOf(Col.REQUESTED, "What pods request of the new nodes, [shapes, resources].")
    allocatable = _ColumnOf(Col.ALLOCATABLE, "What these nodes offer, [shapes, resources].")

    _PAIRS = (Col.NODE, Col.NEW_NODE, Col.FITS, Col.CODE, Col.PHASE, Col.PLUGIN, Col.REASONS)

    def _shape(self, column: Col) -> tuple[int, ...]:
        if column in self._PAIRS:
            return len(self.shape), len(self._pods)
        if column in (Col.REQUESTED, Col.ALLOCATABLE):
            return len(self.shape), len(self.resource)
        return ()

    def _tables(self) -> Any:
        shapes, pods = len(self.shape), len(self._pods)
        pairs = {
            "shape": lambda: np.repeat(np.arange(shapes), pods),
            "pod": lambda: _categories([each.uid for each in self._pods], np.tile(np.arange(pods), shapes)),
        }
        return {
            "shapes": ((Col.SHAPE, Col.NODE_COUNT, Col.PLACED, Col.CAP, Col.CAP_RESOURCE), {}),
            "pairs": (self._PAIRS, pairs),
        }


class DrainResult(Result):
    """Which nodes can be removed, and where their pods go."""

    __slots__ = ()

    node = _ColumnOf(Col.NODE, "Numbers of the drained nodes, [drained].")
    removable = _ColumnOf(Col.REMOVABLE, "Whether no pod is in the way, [drained].")
    rule = _ColumnOf(Col.RULE, "The rule of the first pod that blocks, [drained].")
    blocking_pod = _ColumnOf(Col.BLOCKING_POD, "Texts: uid of that pod, or of the first without a place, [drained].")
    pod_begin = _ColumnOf(Col.POD_BEGIN, "Where a node's pods begin in the columns of pods, [drained + 1].")
    pod = _ColumnOf(Col.POD, "Texts: uids, in the order in which they leave, [pods].")
    outcome = _ColumnOf(Col.OUTCOME, "What becomes of them, [pods].")
    pod_rule = _ColumnOf(Col.POD_RULE, "The rule that says so, [pods].")
    target = _ColumnOf(Col.TARGET, "Numbers of the nodes that they go to, or NO_NODE, [pods].")
    message = _ColumnOf(Col.MESSAGE, "Texts: why they go nowhere, [pods].")

    _PODS: tuple[Col, ...] = (Col.POD, Col.OUTCOME, Col.POD_RULE, Col.TARGET, Col.MESSAGE)

    def removable_nodes(self) -> list[str]:
        """The names of the nodes that can be removed."""
        return self._handle.node_names(self.node.numpy()[self.removable.numpy() != 0])

    def _tables(self) -> Any:
        def nodes_of_pods() -> Any:
            counts = np.diff(self.pod_begin.numpy().astype(np.int64))
            return _categories(self._handle.node_names(self.node.numpy()), np.repeat(np.arange(len(counts)), counts))

        return {
            "nodes": ((Col.NODE, Col.REMOVABLE, Col.RULE, Col.BLOCKING_POD), {}),
            "pods": (self._PODS, {"node": nodes_of_pods}),
        }


class ReplaceResult(DrainResult):
    """The same, and new nodes for the pods that find no place."""

    __slots__ = ()

    shape = _ColumnOf(
        Col.SHAPE, "Position of the shape, or NO_NODE: none is needed or none holds the rest, [replacements]."
    )
    node_count = _ColumnOf(Col.NODE_COUNT, "New nodes, [replacements].")
    price = _ColumnOf(Col.PRICE, "Of all nodes of the replacement, [replacements].")
    new_node = _ColumnOf(Col.NEW_NODE, "Which of the new nodes, from 0, or NO_NODE, [pods].")

    _PODS = (*DrainResult._PODS, Col.NEW_NODE)

    def _tables(self) -> Any:
        return {**super()._tables(), "replacements": ((Col.SHAPE, Col.NODE_COUNT, Col.PRICE), {})}


class ReserveResult(Result):
    """Copies that were reserved, all or none."""

    __slots__ = ()

    node = _ColumnOf(Col.NODE, "Numbers of the nodes, or NO_NODE, [copies that were tried].")
    fits = _ColumnOf(Col.FITS, "Whether room is reserved; 0 for all where one did not fit, [copies].")
    uid = _ColumnOf(Col.UID, "Texts: uids of the reserving pods, [copies].")
    message = _ColumnOf(Col.MESSAGE, "Texts: the last one tells why nothing is reserved, [copies].")

    def __bool__(self) -> bool:
        """Whether all copies are reserved."""
        return bool(self.fits.numpy().all())

    def _tables(self) -> Any:
        return {"copies": ((Col.NODE, Col.FITS, Col.UID, Col.MESSAGE), {})}


class ReservationsResult(Result):
    """The reservations of a cluster, the earliest first."""

    __slots__ = ()

    owner = _ColumnOf(Col.OWNER, "Texts: owners, [pods].")
    uid = _ColumnOf(Col.UID, "Texts: uids of the reserving pods, [pods].")
    node = _ColumnOf(Col.NODE, "Numbers of the nodes, or NO_NODE where the node is gone, [pods].")

    def __len__(self) -> int:
        return len(self.node)

    def _tables(self) -> Any:
        return {"pods": ((Col.OWNER, Col.UID, Col.NODE), {})}


class Explanation(Result):
    """What every node says of a pod: a record of docs/schemas/explain-record.schema.json."""

    __slots__ = ()

    @property
    def json(self) -> str:
        """The record as text."""
        return self._handle.json()

    @property
    def record(self) -> dict[str, Any]:
        """The record, a fresh dict."""
        record: dict[str, Any] = json.loads(self.json)
        return record

    def __getitem__(self, key: str) -> Any:
        return self.record[key]

    def _tables(self) -> Any:
        raise TypeError("an explanation is a record, and no table: see `record`")

    def __repr__(self) -> str:
        return f"<berth.Explanation {'closed' if self._handle.closed else self.record.get('pod')}>"
