# SPDX-License-Identifier: Apache-2.0
"""Numbers of berth.h with their names. A test compares them with the header."""

from __future__ import annotations

import enum

__all__ = [
    "Status",
    "LogLevel",
    "Judged",
    "Phase",
    "Code",
    "Choice",
    "Domain",
    "Cap",
    "Preset",
    "Rule",
    "Outcome",
    "Ignore",
    "Flag",
    "Col",
    "NO_NODE",
    "NO_POD",
    "NO_SCORE",
]

NO_NODE = 0xFFFFFFFF
"""Of a pod without a node, in columns of node numbers."""
NO_POD = 0xFFFFFFFF
"""Of a try in which every pod found a node."""
NO_SCORE = -1
"""In the scores of checks: the node does not fit, or nothing was scored."""


class Status(enum.IntEnum):
    """How a call ended that did not fail."""

    OK = 0
    PARTIAL = 1
    DEADLINE = 2
    IGNORED = 3
    CANCELLED = 4


class LogLevel(enum.IntEnum):
    """Levels of log messages."""

    ERROR = 1
    WARNING = 2
    INFO = 3


class Judged(enum.IntEnum):
    """What an answer about a pod is worth. What is not judged never fits."""

    NOT = 0
    YES = 1
    IGNORING = 2


class Phase(enum.IntEnum):
    """Where a verdict comes from."""

    NONE = 0
    PRE_FILTER = 1
    FILTER = 2
    NODE = 3


class Code(enum.IntEnum):
    """kube-scheduler's status codes."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    PENDING = 6


class Choice(enum.IntEnum):
    """How a node is chosen among those that fit."""

    SCORE = 0
    FIRST_FIT = 1
    ORDER = 2


class Domain(enum.IntEnum):
    """Whether a group has to, or should, be in one domain."""

    NONE = 0
    REQUIRED = 1
    PREFERRED = 2


class Cap(enum.IntEnum):
    """Which cap kept a pod of a shape from a new node that takes it."""

    NONE = 0
    NODES = 1
    RESOURCE = 2


class Preset(enum.IntEnum):
    """Whose rules a drain follows."""

    KUBECTL = 0
    CLUSTER_AUTOSCALER = 1
    KARPENTER = 2


class Rule(enum.IntEnum):
    """Rules of draining; docs/embedding.md has their table."""

    NONE = 0
    MIRROR = 1
    DAEMON_SET = 2
    NO_CONTROLLER = 3
    EMPTY_DIR = 4
    LOCAL_STORAGE = 5
    KUBE_SYSTEM = 6
    BUDGET = 7
    MANY_BUDGETS = 8
    SAFE_TO_EVICT = 9
    NOT_SAFE_TO_EVICT = 10
    ON_COMPLETION = 11
    DO_NOT_DISRUPT = 12
    MIN_REPLICAS = 13
    TERMINATING = 14
    TOLERATES_TAINT = 15


class Outcome(enum.IntEnum):
    """What becomes of a pod of a drained node."""

    MOVES = 0
    STAYS = 1
    ENDS = 2
    BLOCKS = 3
    NO_PLACE = 4
    NOT_JUDGED = 5


class Ignore(enum.IntFlag):
    """What is left out when a pod is judged: every answer about it is then marked Judged.IGNORING."""

    CLAIMS = 1
    VOLUMES = 2
    PLUGINS = 4


class Flag(enum.IntFlag):
    """Flags of calls, which the methods take as keywords."""

    SKIP_CORDONED = 1
    AS_MOVED = 2
    NO_REASONS = 4
    STOP_AT_FAILURE = 8
    WITH_PREEMPTION = 16
    EXISTING_FIRST = 32
    DECREASING = 64
    DRAIN_TOGETHER = 128
    DRAIN_KEEP = 256
    DRAIN_BY_SCORE = 512
    WITH_SCORES = 1024
    WITH_REJECTORS = 2048


class Col(enum.IntEnum):
    """Columns of results. A result has each as an attribute of the lower-case name."""

    NODE = 1
    FITS = 2
    JUDGED = 3
    CODE = 4
    PHASE = 5
    PLUGIN = 6
    REASONS = 7
    SCORE = 8
    MESSAGE = 9
    VIOLATIONS = 10
    BEST = 11
    VICTIM_BEGIN = 12
    VICTIM = 13
    COUNT = 32
    COUNT_ON_NODE = 33
    VALUE = 34
    VALUE_BEGIN = 35
    COUNT_OF_VALUE = 36
    TRY_KEY = 37
    TRY_VALUE = 38
    TRY_PLACED = 39
    TRY_POD = 40
    TRY_REASONS = 41
    TRY_TAKEN = 42
    OWNER = 43
    UID = 44
    NEW_NODE = 45
    SHAPE = 46
    NODE_COUNT = 47
    PLACED = 48
    CAP = 49
    CAP_RESOURCE = 50
    RESOURCE = 51
    REQUESTED = 52
    ALLOCATABLE = 53
    REMOVABLE = 54
    RULE = 55
    BLOCKING_POD = 56
    POD_BEGIN = 57
    POD = 58
    OUTCOME = 59
    POD_RULE = 60
    TARGET = 61
    PRICE = 62
    POD_CLASS = 63
    PLACED_OF_CLASS = 64
    REJECTORS = 65
    PENDING_REJECTORS = 66
