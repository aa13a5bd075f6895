# SPDX-License-Identifier: Apache-2.0
"""kube-scheduler's queue, on a clock of the caller's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _native
from ._native import Pod
from .objects import Manifest, text_of_manifest
from .verbs import texts_of

if TYPE_CHECKING:
    from .cluster import Cluster

__all__ = ["Queue", "QueueSizes"]


@dataclass(frozen=True)
class QueueSizes:
    """How many pods are where."""

    active: int
    """Ready."""
    backoff: int
    """Until the clock says so."""
    unschedulable: int
    """Until something happens that may help, or for five minutes."""
    gated: int
    """A PreEnqueue plugin keeps them out: scheduling gates."""
    tried: int
    """Popped, and neither done nor failed."""


class Queue(_native.QueueHandle):
    """kube-scheduler's queue, for programs that decide themselves where pods go and when.

    A pod is added, popped, and then either done or failed. Which pod is next follows from priorities, from who waits
    longest, from backoffs, and from what happens: the queueing hints of the plugins that refused a pod say what may help
    it. The queue hears of that by pod_came(), pod_leaves() and node_changed() alone, and its clock stands still until
    advance(). One thread at a time: a second one gets BusyError.
    """

    def __init__(self, cluster: Cluster, *, now: float = 0.0) -> None:
        """Args:
            cluster: of the pods. Its engine's configuration has the backoffs and the plugins.
            now: where the clock begins, in seconds.
        """
        super().__init__(cluster, round(now * 1e6))
        self._pods: dict[str, Pod] = {}

    def add(self, pod: Pod) -> None:
        """The pod waits from now on. Raises ExistsError: one of its name or uid waits or is tried."""
        self._add(pod)
        self._pods[pod.uid] = pod

    def remove(self, pod: Pod) -> None:
        """The pod is gone, whether it waits or is tried. Raises NotFoundError."""
        self._remove(pod)
        del self._pods[pod.uid]

    def pop(self) -> Pod | None:
        """The pod that is tried now, as it was added; None: no pod is ready."""
        uid = self._pop()
        return None if uid is None else self._pods[uid]

    def done(self, pod: Pod) -> None:
        """The pod has a node, or is given up. Raises NotFoundError: it is not tried."""
        self._done(pod)
        del self._pods[pod.uid]

    def fail(self, pod: Pod, rejectors: str | Iterable[str] = (), pending: str | Iterable[str] = ()) -> None:
        """The attempt failed, and the pod waits again. Raises NotFoundError: it is not tried.

        Args:
            rejectors: the plugins that refused it, as ScheduleResult.rejectors has them. None of them: the attempt ended with
                an error, and the pod backs off whatever happens.
            pending: those of them that answered Pending: what helps them brings the pod back at once.
        """
        self._fail(pod, ",".join(texts_of(rejectors)), ",".join(texts_of(pending)))

    def advance(self, now: float) -> None:
        """Time passes, up to `now` in seconds: backoffs end. Raises ArgumentError of a time before the queue's."""
        self._advance(round(now * 1e6))

    @property
    def now(self) -> float:
        """The queue's time in seconds."""
        return self._times()[0] * 1e-6

    @property
    def next(self) -> float | None:
        """When the clock is next looked at for a pod that waits; None: no pod waits for it."""
        next_us = self._times()[1]
        return None if next_us is None else next_us * 1e-6

    def node_changed(self, before: Manifest | None, after: Manifest | None) -> None:
        """A node came (`before` is None), changed or went (`after` is None). Raises InputError, ArgumentError."""
        self._node_changed(*(b"" if each is None else text_of_manifest(each) for each in (before, after)))

    @property
    def sizes(self) -> QueueSizes:
        """How many pods are where."""
        return QueueSizes(*(self._size(place) for place in range(5)))

    def __repr__(self) -> str:
        return "<berth.Queue closed>" if self.closed else f"<berth.Queue {self.sizes}>"
