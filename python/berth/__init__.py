# SPDX-License-Identifier: Apache-2.0
"""kube-scheduler's verdicts and placements, and what-ifs of a cluster: libberth for Python.

    engine = berth.Engine()
    cluster = engine.load("cluster.json")
    pod = cluster.pod({"kind": "Pod", ...})
    with cluster.snapshot() as snapshot, snapshot.fork() as fork:
        print(fork.schedule(pod).by_pod())

docs/python.md explains it with examples, docs/embedding.md the model.
"""

from ._native import CancelToken, NodeSet, Pod, open_handles
from ._native import version as _version
from .cluster import Cluster, Fork, Snapshot, UpsertReport, Use
from .columns import Column, Table
from .engine import Engine
from .enums import (
    NO_NODE,
    NO_POD,
    NO_SCORE,
    Cap,
    Choice,
    Code,
    Domain,
    Ignore,
    Judged,
    LogLevel,
    Outcome,
    Phase,
    Preset,
    Rule,
    Status,
)
from .errors import (
    ArgumentError,
    BusyError,
    ClosedError,
    DeviceError,
    Error,
    ExistsError,
    ForkedError,
    InputError,
    InternalError,
    LateError,
    NotFoundError,
    OutOfMemoryError,
    ReentryError,
    StaleError,
    StateError,
    StoppedError,
    StructSizeError,
    UnsupportedError,
)
from .queue import Queue, QueueSizes
from .results import (
    CheckResult,
    DrainResult,
    EstimateResult,
    Explanation,
    GroupResult,
    MaxReplicasResult,
    Origin,
    PreemptResult,
    ReplaceResult,
    ReservationsResult,
    ReserveResult,
    Result,
    ScheduleResult,
    Verdict,
)
from .sim import Sim
from .verbs import Shape

__version__ = _version()

__all__ = [
    "ArgumentError",
    "BusyError",
    "CancelToken",
    "Cap",
    "CheckResult",
    "Choice",
    "ClosedError",
    "Cluster",
    "Code",
    "Column",
    "DeviceError",
    "Domain",
    "DrainResult",
    "Engine",
    "Error",
    "EstimateResult",
    "ExistsError",
    "Explanation",
    "Fork",
    "ForkedError",
    "GroupResult",
    "Ignore",
    "InputError",
    "InternalError",
    "Judged",
    "LateError",
    "LogLevel",
    "MaxReplicasResult",
    "NO_NODE",
    "NO_POD",
    "NO_SCORE",
    "NodeSet",
    "NotFoundError",
    "Origin",
    "OutOfMemoryError",
    "Outcome",
    "Phase",
    "Pod",
    "PreemptResult",
    "Preset",
    "Queue",
    "QueueSizes",
    "ReentryError",
    "ReplaceResult",
    "ReservationsResult",
    "ReserveResult",
    "Result",
    "Rule",
    "ScheduleResult",
    "Shape",
    "Sim",
    "Snapshot",
    "StaleError",
    "StateError",
    "Status",
    "StoppedError",
    "StructSizeError",
    "Table",
    "UnsupportedError",
    "UpsertReport",
    "Use",
    "Verdict",
    "open_handles",
]
