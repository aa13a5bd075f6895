# SPDX-License-Identifier: Apache-2.0
"""The questions that snapshots and forks are both asked, and how their arguments come."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, Union

import numpy as np

from ._native import CancelToken, NodeSet, Pod
from .enums import Flag, Preset, Rule
from .objects import Manifest, text_of_manifest
from .results import (
    CheckResult,
    DrainResult,
    EstimateResult,
    Explanation,
    MaxReplicasResult,
    PreemptResult,
    ReplaceResult,
    Verdict,
)

__all__ = ["Deadline", "Node", "Nodes", "Pods", "Progress", "Shape"]

Node = Union[int, str]
"""A node by its number or its name."""
Nodes = Union[NodeSet, Iterable[Node], "np.ndarray[Any, np.dtype[np.uint32]]"]
"""A NodeSet, or names and numbers of which a set is made for the call."""
Pods = Union[Pod, Sequence[Pod]]
"""One prepared pod, or several."""
Deadline = Union[None, float, datetime.timedelta]
"""Seconds from the start of the call; None: no deadline."""
Progress = Callable[[int, int], object]
"""Told how far a call is: so many elements (pods, shapes or nodes) of so many. Called by the thread of the call, at most
about once a millisecond, and once when all are done. It may trigger tokens, and calls nothing else of the engine. One
that raises cancels the call, by the call's token where it was given one, and its exception comes out."""

_Enum = TypeVar("_Enum", bound=enum.IntEnum)


def pods_of(pods: Pods) -> Sequence[Pod]:
    """Several pods of one or several."""
    return (pods,) if isinstance(pods, Pod) else pods if isinstance(pods, (list, tuple)) else tuple(pods)


def microseconds_of(deadline: Deadline) -> int:
    """The deadline as berth.h takes it, where 0 is none."""
    if deadline is None:
        return 0
    seconds = deadline.total_seconds() if isinstance(deadline, datetime.timedelta) else float(deadline)
    if not 0 < seconds < float("inf"):
        raise ValueError(f"a deadline is a positive number of seconds, not {deadline!r}")
    return max(1, round(seconds * 1e6))


def member_of(kind: type[_Enum], value: _Enum | str | int) -> _Enum:
    """A member of an enumeration by itself, its name in any case, or its number."""
    if isinstance(value, str):
        try:
            return kind[value.replace("-", "_").upper()]
        except KeyError:
            names = ", ".join(member.name.lower() for member in kind)
            raise ValueError(f"{value!r} is none of {names}") from None
    return kind(value)


def texts_of(texts: str | Iterable[str]) -> tuple[str, ...]:
    """Several texts of one or several."""
    return (texts,) if isinstance(texts, str) else tuple(texts)


def flags_of(**given: bool) -> int:
    """Flags by their names in lower case."""
    return sum(int(Flag[name.upper()]) for name, is_set in given.items() if is_set)


def _rules_of(rules: Iterable[Rule | str]) -> int:
    bits = 0
    for rule in [rules] if isinstance(rules, (str, Rule)) else rules:
        bits |= 1 << member_of(Rule, rule)
    return bits


@dataclass(frozen=True)
class Shape:
    """A kind of node that may be added.

    Exactly one of `node` and `copy_of` is given.
    """

    node: Manifest | None = None
    """A Node: a dict or its text."""
    copy_of: Node | None = None
    """A node that is there: the copy has neither its cordon nor the startup taints."""
    max_nodes: int = 0
    """At most so many; 0: no cap."""
    startup_taints: Sequence[str] = ()
    """Keys of taints that new nodes lose before pods come."""
    pods: Sequence[Pod] = ()
    """Pods that come with each new node, put there without asking a rule."""
    caps: Mapping[str, int] = field(default_factory=dict)
    """What all new nodes together may offer: "cpu" in thousandths, "memory" in bytes, others in their unit."""
    price: int = 0
    """Of one node, for replace(): any unit."""
    with_pods_of_node: bool = False
    """Of a copy: the DaemonSet pods and static pods of that node come with each new one."""

    def __post_init__(self) -> None:
        if (self.node is None) == (self.copy_of is None):
            raise ValueError("a shape has either node or copy_of")


class Questions:
    """Mixed into Snapshot and Fork. In snapshots any thread may ask; a fork is asked by one thread at a time."""

    __slots__ = ()

    # What the native class below has.
    _check_details: Any
    _check_bulk: Any
    _explain: Any
    _preempt: Any
    _max_replicas: Any
    _scale_up: Any
    _drain: Any
    node_set: Any
    node_number: Any

    def _node_set(self, nodes: Nodes | None) -> NodeSet | None:
        return nodes if nodes is None or isinstance(nodes, NodeSet) else self.node_set(nodes)

    def _shapes(self, shapes: Shape | Iterable[Shape]) -> list[tuple[Any, ...]]:
        given = []
        for each in [shapes] if isinstance(shapes, Shape) else shapes:
            if not isinstance(each, Shape):
                raise TypeError(f"shapes are Shape objects, not {type(each).__name__}")
            copied = 0 if each.copy_of is None else self._number(each.copy_of)
            given.append(
                (
                    None if each.node is None else text_of_manifest(each.node),
                    copied,
                    1 if each.with_pods_of_node else 0,
                    each.max_nodes,
                    texts_of(each.startup_taints),
                    tuple(each.pods),
                    tuple(each.caps.items()),
                    each.price,
                )
            )
        return given

    def _number(self, node: Node) -> int:
        return self.node_number(node) if isinstance(node, str) else node

    def verdict(self, pod: Pod, node: Node, *, skip_cordoned: bool = False, as_moved: bool = False) -> Verdict:
        """What one node says of one pod, with upstream's reasons. check() answers yes or no, and costs less."""
        flags = flags_of(skip_cordoned=skip_cordoned, as_moved=as_moved)
        result = CheckResult(self._check_details(pod, node, flags), (pod,))
        try:
            return result.verdict(0, 0)
        finally:
            result.close()

    def check_bulk(
        self,
        pods: Pods,
        nodes: Nodes | None = None,
        *,
        reasons: bool = True,
        scores: bool = False,
        skip_cordoned: bool = False,
        as_moved: bool = False,
        deadline: Deadline = None,
        cancel: CancelToken | None = None,
    ) -> CheckResult:
        """Every pod on every node of a set; None: on all nodes.

        Without `reasons` that column is of empty texts, and the call is much cheaper. With `scores` there are the
        columns `score` and `message` too: the totals by which kube-scheduler chooses, normalised over the nodes on
        which the pod fits. With a deadline at least one pod is answered.
        """
        asked = pods_of(pods)
        flags = flags_of(
            no_reasons=not reasons, with_scores=scores, skip_cordoned=skip_cordoned, as_moved=as_moved
        )
        return CheckResult(
            self._check_bulk(asked, self._node_set(nodes), flags, microseconds_of(deadline), cancel), asked, scores
        )

    def explain(
        self,
        pod: Pod,
        *,
        as_moved: bool = False,
        with_preemption: bool = False,
        deadline: Deadline = None,
        cancel: CancelToken | None = None,
    ) -> Explanation:
        """What every node says of a pod, with scores. Raises UnsupportedError of a pod that cannot be judged. With the
        status CANCELLED or DEADLINE there is no record."""
        flags = flags_of(as_moved=as_moved, with_preemption=with_preemption)
        return Explanation(self._explain(pod, flags, microseconds_of(deadline), cancel), (pod,))

    def preempt(
        self,
        pod: Pod,
        *,
        as_moved: bool = False,
        deadline: Deadline = None,
        cancel: CancelToken | None = None,
    ) -> PreemptResult:
        """Whom the pod would evict, and where. Evicts nobody. With the status CANCELLED or DEADLINE there is no candidate,
        which says nothing of the cluster."""
        flags = flags_of(as_moved=as_moved)
        return PreemptResult(self._preempt(pod, flags, microseconds_of(deadline), cancel), (pod,))

    def max_replicas(
        self,
        shapes: Pods,
        nodes: Nodes | None = None,
        *,
        keys: Sequence[str] = (),
        per_node: bool = False,
        skip_cordoned: bool = False,
        as_moved: bool = False,
        deadline: Deadline = None,
        cancel: CancelToken | None = None,
        progress: Progress | None = None,
    ) -> MaxReplicasResult:
        """How many copies of each pod kube-scheduler would place one after another, each pod apart from the others.

        Args:
            keys: label keys of nodes to sum the copies by, at most four.
            per_node: the copies on each node are wanted too.
        """
        asked = pods_of(shapes)
        flags = flags_of(skip_cordoned=skip_cordoned, as_moved=as_moved)
        return MaxReplicasResult(
            self._max_replicas(
                asked, self._node_set(nodes), texts_of(keys), per_node, flags, microseconds_of(deadline), cancel, progress
            ),
            asked,
        )

    def estimate(
        self,
        pods: Pods,
        shapes: Shape | Iterable[Shape],
        nodes: Nodes | None = None,
        *,
        existing_first: bool = False,
        decreasing: bool = False,
        skip_cordoned: bool = False,
        as_moved: bool = False,
        deadline: Deadline = None,
        cancel: CancelToken | None = None,
        progress: Progress | None = None,
    ) -> EstimateResult:
        """How many nodes of each shape the pods need (berth_*_scale_up). Each shape is tried by itself.

        Args:
            nodes: with existing_first, of these alone.
            existing_first: pods are tried on the existing nodes before new ones.
            decreasing: the largest pods first, as cluster-autoscaler orders them.
            as_moved: spec.nodeName is ignored, and the pods' own running copies leave before the first pod is tried.
        """
        asked = pods_of(pods)
        flags = flags_of(
            existing_first=existing_first, decreasing=decreasing, skip_cordoned=skip_cordoned, as_moved=as_moved
        )
        return EstimateResult(
            self._scale_up(
                asked, self._shapes(shapes), self._node_set(nodes), flags, microseconds_of(deadline), cancel, progress
            ),
            asked,
        )

    def drain(
        self,
        drained: Node | Iterable[Node],
        *,
        preset: Preset | str = Preset.KUBECTL,
        rules_on: Iterable[Rule | str] = (),
        rules_off: Iterable[Rule | str] = (),
        min_replicas: int = 0,
        nodes: Nodes | None = None,
        together: bool = False,
        keep: bool = False,
        by_score: bool = False,
        skip_cordoned: bool = False,
        deadline: Deadline = None,
        cancel: CancelToken | None = None,
        progress: Progress | None = None,
    ) -> DrainResult:
        """Which nodes can be removed: each by itself, or one after another.

        Args:
            drained: the nodes, each once.
            preset: whose rules: "kubectl", "cluster-autoscaler" or "karpenter".
            rules_on, rules_off: rules that hold beside those of the preset, and that do not.
            nodes: where pods may go; None: all. Drained nodes are left out in any case.
            together: one node after another, with shared budgets.
            keep: of forks, with together: nodes and pods stay so.
            by_score: pods go where kube-scheduler would put them; otherwise to the first node that takes them.
        """
        flags = flags_of(drain_together=together, drain_keep=keep, drain_by_score=by_score, skip_cordoned=skip_cordoned)
        return DrainResult(
            self._drain(
                _several(drained),
                member_of(Preset, preset),
                _rules_of(rules_on),
                _rules_of(rules_off),
                min_replicas,
                self._node_set(nodes),
                flags,
                microseconds_of(deadline),
                cancel,
                progress,
                None,
                0,
            )
        )

    def replace(
        self,
        drained: Node | Iterable[Node],
        shapes: Shape | Iterable[Shape],
        max_nodes: int = 1,
        *,
        preset: Preset | str = Preset.KUBECTL,
        rules_on: Iterable[Rule | str] = (),
        rules_off: Iterable[Rule | str] = (),
        min_replicas: int = 0,
        nodes: Nodes | None = None,
        together: bool = False,
        by_score: bool = False,
        skip_cordoned: bool = False,
        deadline: Deadline = None,
        cancel: CancelToken | None = None,
        progress: Progress | None = None,
    ) -> ReplaceResult:
        """drain(), and then at most max_nodes new nodes of one shape for the pods that find no place: the shape with
        the lowest total price among those that hold all of them."""
        flags = flags_of(drain_together=together, drain_by_score=by_score, skip_cordoned=skip_cordoned)
        return ReplaceResult(
            self._drain(
                _several(drained),
                member_of(Preset, preset),
                _rules_of(rules_on),
                _rules_of(rules_off),
                min_replicas,
                self._node_set(nodes),
                flags,
                microseconds_of(deadline),
                cancel,
                progress,
                self._shapes(shapes),
                max_nodes,
            )
        )


def _several(nodes: Node | Iterable[Node]) -> Any:
    return (nodes,) if isinstance(nodes, (str, int, np.integer)) else nodes
