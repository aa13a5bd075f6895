# SPDX-License-Identifier: Apache-2.0
"""What all answers have in common: columns as attributes, and as tables for pandas and Arrow."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from . import _native
from .columns import Column, Table
from .enums import Code, Col, Judged, Phase, Status

if TYPE_CHECKING:
    from types import TracebackType

    import pandas

__all__ = ["Given", "Origin", "Result", "Verdict", "ColumnOf", "categories_of"]

Given = tuple[_native.ResultHandle, int]


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


class ColumnOf:
    """A column as an attribute of its result, made when it is asked for."""

    def __init__(self, column: Col, text: str) -> None:
        self.column = column
        self.__doc__ = text

    def __get__(self, result: Result | None, owner: type[Result]) -> Column:
        if result is None:
            return self  # type: ignore[return-value]  # as properties do, for documentation
        return result._column(self.column)


def categories_of(values: Sequence[str], codes: np.ndarray[Any, Any]) -> Any:
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

    def __init__(self, given: Given, pods: Sequence[_native.Pod] = ()) -> None:
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
    def json(self) -> str:
        """The result as one record: docs/schemas/result-record.schema.json, of an explanation explain-record.schema.json."""
        return self._handle.json()

    @property
    def record(self) -> dict[str, Any]:
        """That record, a fresh dict."""
        record: dict[str, Any] = json.loads(self.json)
        return record

    @property
    def memory_bytes(self) -> int:
        """What the answer holds: columns, texts and record."""
        held: int = self._handle.memory_bytes
        return held

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
        return lambda: categories_of([pod.uid for pod in self._pods[:count]], np.arange(count))

    def __repr__(self) -> str:
        if self._handle.closed:
            return f"<berth.{type(self).__name__} closed>"
        return f"<berth.{type(self).__name__} {self.status.name} {' '.join(repr(each) for each in self._tables())}>"
