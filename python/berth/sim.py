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
        )


@dataclass(frozen=True)
class Events:
    """What happened, as columns of one length: environment by environment, in order."""

    env: NDArray[np.int32]
    time: NDArray[np.float64]
    kind: NDArray[np.uint8]
    """Event."""
    pod: NDArray[np.int32]
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

    In each environment the pods come one after another. An action decides about the first one that waits: the
    position of a node in `nodes`, SET_ASIDE or SCHEDULE. Rules are kube-scheduler's: a node takes the pod where `mask`
    says so. An action that is not legal is marked in its environment, and the pod is set aside. Pods that were set
    aside wait again when a pod ends, behind those that wait. Then the clock moves to the next decision. An episode is
    over when no pod waits and nothing more happens.

    The same pods, seeds and actions give the same bytes at any number of threads, whatever environments are beside.

    Args:
        snapshot: what every episode begins with.
        pods: each comes once in an episode.
        envs: how many environments.
        arrivals: seconds at which pods come, rising, one for each pod; None: all at 0.
        durations: seconds that a placed pod runs, one for each pod; None: to the end.
        shuffle: pods come in an order that the seed of reset() draws.
        events: keep events for take_events().
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
        if not np.isfinite(comes).all() or (comes < 0).any() or (np.diff(comes) < 0).any():
            raise ValueError("arrivals are seconds from 0 on, and do not fall")
        if np.isnan(runs).any() or (runs <= 0).any():
            raise ValueError("durations are above 0 seconds")
        self.pods = given
        self.horizon = float(comes[-1] + runs[np.isfinite(runs)].sum()) if given else 0.0
        """Seconds that no clock passes."""
        self.resources = texts_of(resources)
        with snapshot.fork() as first:
            self.allocatable = first.use(self.resources).allocatable
        """What the nodes offer of the resources, in the units of Fork.use(), [resources, nodes]."""
        threads = threads or snapshot.cluster.engine.threads or os.cpu_count() or 1
        super().__init__(snapshot, given, comes, runs, shuffle, events, envs, min(threads, envs), self.resources)

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
        chosen = np.ones(self.num_envs, np.uint8) if which is None else np.ascontiguousarray(which, dtype=np.uint8)
        self._reset(drawn, chosen, _fields_of(written))
        return written

    def step(self, actions: ArrayLike, out: Arrays | None = None) -> Arrays:
        """Decides about the current pod of each environment. In one that is over nothing happens.

        Raises an Error where an environment failed; that one is to be reset then.
        """
        written = self.arrays() if out is None else out
        self._step(np.ascontiguousarray(actions, dtype=np.int32), _fields_of(written))
        return written

    def take_events(self) -> Events:
        """What happened since the last call or the reset; nothing where Sim was made without `events`."""
        return Events(*self._take_events())

    def __enter__(self) -> Sim:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _fields_of(arrays: Arrays) -> tuple[Any, ...]:
    return tuple(getattr(arrays, each.name) for each in fields(arrays))
