# SPDX-License-Identifier: Apache-2.0
"""The exceptions of berth: one class for each negative status of berth.h, below `Error`.

Where Python has a class of its own for a failure (ValueError, LookupError, MemoryError), the exception is one of
these too.
"""

from __future__ import annotations

from typing import Any

from . import _native

__all__ = [
    "Error",
    "ArgumentError",
    "StructSizeError",
    "InputError",
    "UnsupportedError",
    "NotFoundError",
    "ExistsError",
    "StaleError",
    "StateError",
    "BusyError",
    "ReentryError",
    "ForkedError",
    "OutOfMemoryError",
    "DeviceError",
    "InternalError",
    "ClosedError",
    "StoppedError",
    "LateError",
    "error_of",
    "closed_error",
]


class Error(Exception):
    """A call failed, and nothing has changed.

    Attributes:
        status: the status of berth.h, such as -7; negative but for StoppedError.
        name: its name, "BERTH_E_STALE".
        object: what it is about: "Pod default/web-0", "nodes[3]", "profiles[0].plugins"; may be empty.
        text: what is wrong there.
    """

    status: int = 0

    def __init__(self, object: str = "", text: str = "", status: int | None = None) -> None:
        if status is not None:
            self.status = status
        self.name: str = _native.status_name(self.status)
        self.object = object
        self.text = text
        super().__init__(object, text)

    def __str__(self) -> str:
        text = self.text or _native.status_text(self.status)
        return f"{self.object}: {text}" if self.object else text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.object, self.text, self.status)


class ArgumentError(Error, ValueError):
    """An argument has no meaning."""

    status = -1


class StructSizeError(Error):
    """The package was built with a newer berth.h than the library that is loaded."""

    status = -2


class InputError(Error, ValueError):
    """A text is malformed, or says what no cluster can hold."""

    status = -3


class UnsupportedError(Error, NotImplementedError):
    """Meaningful to kube-scheduler, and not built in Berth; the text names it."""

    status = -4


class NotFoundError(Error, LookupError):
    """No such node, pod or object."""

    status = -5


class ExistsError(Error):
    """It is there already."""

    status = -6


class StaleError(Error):
    """What the fork was opened on has changed since. The fork stays usable."""

    status = -7


class StateError(Error):
    """The fork was committed; it takes no call but close()."""

    status = -8


class BusyError(Error):
    """Another thread is in a call on this fork."""

    status = -9


class ReentryError(Error):
    """Called by a callback of the same engine."""

    status = -10


class ForkedError(Error):
    """The process is a child, by os.fork(), of the one that made the handle."""

    status = -11


class OutOfMemoryError(Error, MemoryError):
    """Memory ran out; handles stay usable."""

    status = -12


class DeviceError(Error):
    """No device can be used, or it failed."""

    status = -13


class InternalError(Error):
    """A defect of the library."""

    status = -14


class ClosedError(Error, ValueError):
    """The object was closed. Raised by the package; berth.h has no such status, so that `status` is that of an
    argument."""

    status = -1


class StoppedError(Error):
    """The token of a load, or of a snapshot in a file, was triggered: nothing has changed. Calls with a result say so in
    its `status`."""

    status = 4


class LateError(StoppedError, TimeoutError):
    """The same, because its deadline has passed."""

    status = 2


_CLASSES: dict[int, type[Error]] = {
    each.status: each
    for each in (
        ArgumentError,
        StructSizeError,
        InputError,
        UnsupportedError,
        NotFoundError,
        ExistsError,
        StaleError,
        StateError,
        BusyError,
        ReentryError,
        ForkedError,
        OutOfMemoryError,
        DeviceError,
        InternalError,
        StoppedError,
        LateError,
    )
}


def error_of(status: int, object: str, text: str) -> Error:
    """The exception of a status; `Error` itself of one that this package does not know."""
    return _CLASSES.get(status, Error)(object, text, status)


def closed_error(kind: str) -> ClosedError:
    """The exception of a handle that was closed."""
    return ClosedError(kind.replace("_", " "), "it was closed")
