# SPDX-License-Identifier: Apache-2.0
"""The engine: a configuration, and what clusters are made of."""

from __future__ import annotations

import logging
import os
import pathlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _native
from .enums import LogLevel
from .errors import Error
from .objects import Source
from .verbs import Deadline, microseconds_of

if TYPE_CHECKING:
    from ._native import CancelToken
    from .cluster import Cluster, Snapshot

__all__ = ["Engine", "Log"]

Log = Union[Callable[[LogLevel, str], Any], logging.Logger]
"""Takes the messages of an engine."""

_LEVELS = {LogLevel.ERROR: logging.ERROR, LogLevel.WARNING: logging.WARNING, LogLevel.INFO: logging.INFO}


def _callable_of(log: Log | None) -> Callable[[int, str], Any] | None:
    if log is None:
        return None
    if isinstance(log, logging.Logger):
        return lambda level, text: log.log(_LEVELS[LogLevel(level)], "%s", text)
    if not callable(log):
        raise TypeError("log is a function of a level and a text, or a logging.Logger")
    return lambda level, text: log(LogLevel(level), text)


def _several(given: Any) -> list[Any]:
    return [given] if isinstance(given, (str, os.PathLike)) else list(given)


class Engine(_native.EngineHandle):
    """Configuration and limits; nothing of a cluster. Any thread.

    Without arguments: the configuration of a kube-scheduler v1.35 without --config. Nothing of a device is touched
    before a cluster is made.

    Args:
        scheduler_config: text of a KubeSchedulerConfiguration, YAML or JSON.
        engine_config: text of a BerthEngineConfiguration.
        release: "1.35" or "1.36".
        feature_gates: "Name=true,Other=false", as kube-scheduler's flag.
        backend: "auto", "cpu", "reference" or "cuda".
        seed: of draws among equal nodes; 0: what engine_config says.
        threads: of all clusters together, the calling one among them; 0: what engine_config says, else one per core.
        log: a function of a LogLevel and a text, or a logging.Logger. Called by the thread that is in a call, behind
        its work,
            with the GIL. When it raises, what the call did stands, its answer is dropped, and the exception comes out
            of it. Calls back into the same engine raise ReentryError. An exception in a thread that is in no call is
            given to sys.unraisablehook. Whatever it refers to lives as long as the engine: one that refers to the
            engine keeps it.
        log_level: the most talkative level that is logged.
        max_memory_bytes: what all handles of the engine may hold together; 0: no cap, and nothing is counted. Calls that
            would pass it raise OutOfMemoryError, and nothing has happened.
        plugin_files: paths of shared objects with a plugin each (include/berth/plugin.h).
        ignored_plugins: what Ignore.PLUGINS of a pod leaves out.
        allow_unsupported: go on without what the configuration names and Berth has not built.

    Raises:
        InputError: with the path of the first problem.
        UnsupportedError: for what is not built, such as extenders.
    """

    def __init__(
        self,
        *,
        scheduler_config: str | None = None,
        engine_config: str | None = None,
        release: str | None = None,
        feature_gates: str | None = None,
        backend: str | None = None,
        seed: int = 0,
        threads: int = 0,
        log: Log | None = None,
        log_level: LogLevel = LogLevel.WARNING,
        max_memory_bytes: int = 0,
        plugin_files: Sequence[str | os.PathLike[str]] = (),
        ignored_plugins: Sequence[str] = (),
        allow_unsupported: bool = False,
    ) -> None:
        self._arguments: dict[str, Any] = {
            "scheduler_config": scheduler_config,
            "engine_config": engine_config,
            "release": release,
            "feature_gates": feature_gates,
            "backend": backend,
            "seed": seed,
            "threads": threads,
            "log": log,
            "log_level": log_level,
            "max_memory_bytes": max_memory_bytes,
            "plugin_files": [os.fspath(each) for each in _several(plugin_files)],
            "ignored_plugins": _several(ignored_plugins),
            "allow_unsupported": allow_unsupported,
        }
        super().__init__(
            scheduler_config,
            None,
            engine_config,
            None,
            release,
            feature_gates,
            backend,
            seed,
            threads,
            int(log_level),
            _callable_of(log),
            self._arguments["plugin_files"],
            self._arguments["ignored_plugins"],
            1 if allow_unsupported else 0,
            max_memory_bytes,
        )

    @property
    def threads(self) -> int:
        """As given: threads of all clusters together; 0: what the configuration says."""
        threads: int = self._arguments["threads"]
        return threads

    @classmethod
    def from_config(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        engine_config_path: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> Engine:
        """An engine of files: a KubeSchedulerConfiguration, and a BerthEngineConfiguration beside it.

        `options` are those of Engine, but for the texts of these files. Raises OSError where a file cannot be read.
        """
        for name, given in (("scheduler_config", path), ("engine_config", engine_config_path)):
            if given is None:
                continue
            if options.get(name) is not None:
                raise ValueError(f"{name} comes as a text or as a file")
            # The text is kept, so that a pickled engine needs no file where it is opened.
            options[name] = pathlib.Path(given).read_text(encoding="utf-8")
        try:
            return cls(**options)
        except Error as error:
            read = [os.fspath(each) for each in (path, engine_config_path) if each is not None]
            if read:
                error.add_note(f"the configuration was read from {' and '.join(read)}")
            raise

    def cluster(self) -> Cluster:
        """An empty cluster. Raises UnsupportedError (the backend is not in this build), DeviceError ("cuda" without
        one)."""
        from .cluster import Cluster

        return Cluster(self)

    def load(self, *sources: Source, deadline: Deadline = None, cancel: CancelToken | None = None) -> Cluster:
        """A cluster of paths, dicts or texts: see Cluster.load()."""
        cluster = self.cluster()
        try:
            cluster.load(*sources, deadline=deadline, cancel=cancel)
        except BaseException:
            cluster.close()
            raise
        return cluster

    def open(
        self, snapshot: str | os.PathLike[str] | bytes, *, deadline: Deadline = None, cancel: CancelToken | None = None
    ) -> Snapshot:
        """The snapshot of a file that Snapshot.write() wrote, or of the bytes of Snapshot.to_bytes(). Its `cluster`
        is a new cluster as it was then.

        Given the same configuration and seed it answers as before. Raises InputError (no such file, or a damaged one),
        UnsupportedError (written by another release), StoppedError (the token was triggered, or the deadline passed).
        """
        from .cluster import Cluster, Snapshot

        if isinstance(snapshot, (bytes, bytearray, memoryview)):
            opened = _native._open_bytes(self, bytes(snapshot), microseconds_of(deadline), cancel)
        else:
            opened = _native._open_path(self, os.fspath(snapshot), microseconds_of(deadline), cancel)
        return Snapshot(Cluster(self, opened), opened)

    def __reduce__(self) -> tuple[Any, ...]:
        return _engine_of, (self._arguments,)

    def __copy__(self) -> Engine:
        return self

    def __deepcopy__(self, memo: Any) -> Engine:
        return self


def _engine_of(arguments: dict[str, Any]) -> Engine:
    """Of a pickle."""
    return Engine(**arguments)
