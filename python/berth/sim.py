# SPDX-License-Identifier: Apache-2.0
"""Many what-ifs side by side, for learning and for simulation: each with a queue of pods and a virtual clock."""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._native import Pod
from .cluster import Snapshot
from .verbs import texts_of

__all__ = ["SET_ASIDE", "SCHEDULE", "Arrays", "Event", "Events", "Sim"]

SET_ASIDE = -1
"""The action that leaves the pod pending until some pod ends."""
SCHEDULE = -2
"""The action that does as kube-scheduler: the node with the highest score, or none."""


class Event(enum.IntEnum):
    """What happened to a pod."""

    SUBMITTED = 0
    PLACED = 1
    SET_ASIDE = 2
    ILLEGAL = 3
    FINISHED = 4
    EVICTED = 5


@dataclass(frozen=True)
class Arrays:
    """Where reset() and step() write: a row or an element for each environment. The caller's own, C-contiguous."""

    mask: NDArray[np.uint8]
    """Whether the pod that is to be decided about fits on the node, [envs, nodes]."""
    use: NDArray[np.int64]
    """What the pods on each node request of the resources of the Sim, [envs, resources, nodes]."""
    pod: NDArray[np.int32]
    """Its position among the pods; -1: the episode is over, [envs]."""
    node: NDArray[np.int32]
    """Position of the node that the last pod went to; -1: none, [envs]."""
    placed: NDArray[np.int32]
    """Pods that were placed since the reset, [envs]."""
    pending: NDArray[np.int32]
    """Pods that came and have no node, [envs]."""
    time: NDArray[np.float64]
    """The virtual clock in seconds, [envs]."""
    illegal: NDArray[np.uint8]
    """Whether the last action named a node that does not take the pod, or none, [envs]."""
    done: NDArray[np.uint8]
    """Whether the episode is over, [envs]."""
    evicted: NDArray[np.int32]
    """Pods that were evicted since the reset, [envs]."""

    @classmethod
    def of(cls, envs: int, nodes: int, resources: int = 0) -> Arrays:
        """New arrays of zeros."""
        return cls(
            mask=np.zeros((envs, nodes), dtype=np.uint8),
            use=np.zeros((envs, resources, nodes), dtype=np.int64),
            pod=np.zeros(envs, dtype=np.int32),
            node=np.zeros(envs, dtype=np.int32),
            placed=np.zeros(envs, dtype=np.int32),
            pending=np.zeros(envs, dtype=np.int32),
            time=np.zeros(envs),
            illegal=np.zeros(envs, dtype=np.uint8),
            done=np.zeros(envs, dtype=np.uint8),
            evicted=np.zeros(envs, dtype=np.int32),
        )


@dataclass(frozen=True)
class Events:
    """What happened, as columns of one length: environment by environment, in order."""

    env: NDArray[np.int32]
    time: NDArray[np.float64]
    kind: NDArray[np.uint8]
    """Event."""
    pod: NDArray[np.int32]
    """-1: a pod of the snapshot, which was evicted."""
    node: NDArray[np.int32]
    """Position among the nodes; -1 of events without one."""

    def to_pandas(self) -> Any:
        """A DataFrame of its own memory, with kinds as categories. Needs pandas."""
        import pandas

        frame = pandas.DataFrame({each.name: np.array(getattr(self, each.name)) for each in fields(self)})
        names = pandas.Index([kind.name.lower() for kind in Event], dtype=str)
        frame["kind"] = pandas.Categorical.from_codes(np.array(self.kind), categories=names)
        return frame


class Sim(_native.SimHandle):
    """Environments over forks of a snapshot, stepped together on several threads. One thread calls at a time.

    In each environment the pods come one after another. An action decides about the first one that waits, by priority
    and then by who waits longest: the position of a node in `nodes`, SET_ASIDE or SCHEDULE. Rules are kube-scheduler's:
    a node takes the pod where `mask` says so. An action that is not legal is marked in its environment, and the pod is
    set aside. Pods that were set aside wait again when a pod ends, behind those of their priority. Then the clock moves
    to the next decision; all that happens at one time comes before the decisions at that time. An episode is over when no pod waits and nothing more happens.

    With `preemption` a pod that no node takes is not set aside where others may be evicted for it: those that
    kube-scheduler would choose go at once, and the pod is the next to be decided about. A pod of the Sim that is evicted
    waits again from its beginning, as its controller would make it anew; one of the snapshot is gone.

    With `kube_queue` pods wait as in kube-scheduler's queue: one that no node takes until something happens that may help
    it, as the plugins that refused it say, and then for its backoff; one that was set aside although a node takes it, for
    its backoff; gates keep pods out, and after five minutes each is tried again. Where no other pod is ready, one that
    backs off is (kube-scheduler's gate SchedulerPopFromBackoffQ). An episode is over when nothing comes or ends any more
    and each pod that waits was tried since the cluster changed last.

    The same pods, seeds and actions give the same bytes at any number of threads, whatever environments are beside.

    Args:
        snapshot: what every episode begins with.
        pods: each comes once in an episode.
        envs: how many environments.
        arrivals: seconds at which pods come, rising, one for each pod; None: all at 0. Infinity: by submit() alone.
        durations: seconds that a placed pod runs, one for each pod; None: to the end.
        shuffle: pods come in an order that the seed of reset() draws.
        events: keep events for take_events().
        preemption: pods that fit nowhere evict pods of lower priority.
        kube_queue: pods wait as in kube-scheduler's queue.
        resources: whose use is shown: "cpu", "memory", "pods", others by their name. `allocatable` has what nodes offer.
        threads: how many environments are stepped at once; 0: as many as the snapshot's engine has threads, or as there
            are cores. Each needs a thread of the engine (Engine.threads).
    """

    def __init__(
        self,
        snapshot: Snapshot,
        pods: Iterable[Pod],
        envs: int,
        *,
        arrivals: ArrayLike | None = None,
        durations: ArrayLike | None = None,
        shuffle: bool = True,
        events: bool = False,
        preemption: bool = False,
        kube_queue: bool = False,
        resources: str | Sequence[str] = (),
        threads: int = 0,
    ) -> None:
        given = tuple(pods)
        if envs < 1:
            raise ValueError(f"there is at least one environment, not {envs}")
        if not all(isinstance(pod, Pod) for pod in given):
            raise TypeError("pods are Pod objects; cluster.pod() makes one of a manifest")
        if len({pod.uid for pod in given}) != len(given):
            raise ValueError("two pods have the same uid")
        comes = np.zeros(len(given)) if arrivals is None else np.ascontiguousarray(arrivals, dtype=np.float64)
        runs = np.full(len(given), np.inf) if durations is None else np.ascontiguousarray(durations, dtype=np.float64)
        at_times = comes[np.isfinite(comes)]
        if np.isnan(comes).any() or (comes < 0).any() or (np.diff(at_times) < 0).any() or not np.isinf(comes[len(at_times):]).all():
            raise ValueError("arrivals are seconds from 0 on, and do not fall")
        if np.isnan(runs).any() or (runs <= 0).any():
            raise ValueError("durations are above 0 seconds")
        self.pods = given
        runs_once = not preemption and not kube_queue and len(at_times) == len(given)
        last = float(at_times[-1]) if len(at_times) else 0.0
        self.horizon = last + float(runs[np.isfinite(runs)].sum()) if runs_once else float("inf")
        """Seconds that no clock of step() passes; infinity with preemption or kube_queue, and where pods are submitted."""
        self.resources = texts_of(resources)
        with snapshot.fork() as first:
            self.allocatable = first.use(self.resources).allocatable
        """What the nodes offer of the resources, in the units of Fork.use(), [resources, nodes]."""
        threads = threads or snapshot.cluster.engine.threads or os.cpu_count() or 1
        super().__init__(snapshot, given, comes, runs, shuffle, events, preemption, kube_queue, envs, min(threads, envs), self.resources)

    def arrays(self) -> Arrays:
        """Arrays of the right shapes."""
        return Arrays.of(self.num_envs, len(self.nodes), len(self.resources))

    def reset(self, seeds: int | Sequence[int] | NDArray[Any], out: Arrays | None = None, *,
              which: ArrayLike | None = None) -> Arrays:
        """Begins episodes.

        Args:
            seeds: of each environment; one number n: n, n + 1 and so on.
            out: where to write; None: new arrays.
            which: of each environment whether it is reset; the others, and their rows of `out`, stay. None: all.
        """
        written = self.arrays() if out is None else out
        each = range(seeds, seeds + self.num_envs) if isinstance(seeds, int) else seeds
        drawn = np.ascontiguousarray(each, dtype=np.uint64)
        self._reset(drawn, self._chosen(which), _fields_of(written))
        return written

    def step(self, actions: ArrayLike, out: Arrays | None = None) -> Arrays:
        """Decides about the current pod of each environment. In one that is over nothing happens.

        Raises an Error where an environment failed; that one is to be reset then.
        """
        written = self.arrays() if out is None else out
        self._step(np.ascontiguousarray(actions, dtype=np.int32), _fields_of(written))
        return written

    def submit(self, pods: ArrayLike, out: Arrays | None = None, *, which: ArrayLike | None = None) -> Arrays:
        """The pods come now, in this order: pods without an arrival, and pods that have ended.

        Args:
            pods: positions in `pods`.
            which: of each environment whether they come there; None: all.
        Raises ExistsError where one of them waits, runs or is to come.
        """
        written = self.arrays() if out is None else out
        self._submit(np.ascontiguousarray(np.atleast_1d(pods), dtype=np.int32), self._chosen(which), _fields_of(written))
        return written

    def advance(self, until: float, out: Arrays | None = None, *, which: ArrayLike | None = None) -> Arrays:
        """Moves the clocks to a time, in seconds. kube-scheduler decides about each pod that waits and that comes."""
        written = self.arrays() if out is None else out
        if not np.isfinite(until):
            raise ValueError("a clock moves to a time in seconds")
        self._advance(float(until), self._chosen(which), _fields_of(written))
        return written

    def _chosen(self, which: ArrayLike | None) -> NDArray[np.uint8]:
        return np.ones(self.num_envs, np.uint8) if which is None else np.ascontiguousarray(which, dtype=np.uint8)

    def take_events(self) -> Events:
        """What happened since the last call or the reset; nothing where Sim was made without `events`."""
        return Events(*self._take_events())

    def __enter__(self) -> Sim:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _fields_of(arrays: Arrays) -> tuple[Any, ...]:
    return tuple(getattr(arrays, each.name) for each in fields(arrays))
