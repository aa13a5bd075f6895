# SPDX-License-Identifier: Apache-2.0
"""Columns of results and tables of columns: read-only views of the library's memory, which they keep alive."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from .enums import NO_NODE, Cap, Code, Col, Judged, Outcome, Phase, Rule

if TYPE_CHECKING:
    import pandas

__all__ = ["Column", "Table"]

_TEXTS = frozenset(
    {
        Col.PLUGIN,
        Col.REASONS,
        Col.MESSAGE,
        Col.VICTIM,
        Col.VALUE,
        Col.TRY_KEY,
        Col.TRY_VALUE,
        Col.TRY_REASONS,
        Col.REJECTORS,
        Col.PENDING_REJECTORS,
        Col.OWNER,
        Col.UID,
        Col.CAP_RESOURCE,
        Col.RESOURCE,
        Col.BLOCKING_POD,
        Col.POD,
    }
)
_NODES = frozenset({Col.NODE, Col.TARGET})
_BOOLS = frozenset({Col.FITS, Col.BEST, Col.REMOVABLE, Col.TRY_TAKEN})
_ENUMS: dict[Col, type[enum.IntEnum]] = {
    Col.JUDGED: Judged,
    Col.CODE: Code,
    Col.PHASE: Phase,
    Col.CAP: Cap,
    Col.RULE: Rule,
    Col.POD_RULE: Rule,
    Col.OUTCOME: Outcome,
}
_CPU = (1, 0)  # kDLCPU of dlpack.h


class Column:
    """A column of a result. Immutable; any thread.

    `numpy()`, `numpy.asarray()`, `numpy.from_dlpack()` and `torch.from_dlpack()` give a view without a copy, which
    stays valid when the result is closed. A column of texts is one of numbers there; `texts()` has the texts. pyarrow
    takes a column by `pyarrow.array(column)`, texts as a dictionary.
    """

    __slots__ = ("_handle", "_id", "_array", "shape")

    def __init__(self, handle: _native.ResultHandle, column: Col, shape: tuple[int, ...] = ()) -> None:
        self._handle = handle
        self._id = column
        self._array: np.ndarray[Any, Any] = handle.column(column, list(shape))
        self.shape: tuple[int, ...] = self._array.shape

    @property
    def name(self) -> str:
        """The name, as Arrow has it too."""
        return _native.column_name(self._id)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        dtype: np.dtype[Any] = self._array.dtype
        return dtype

    @property
    def is_text(self) -> bool:
        """Whether the elements are numbers of texts."""
        return self._id in _TEXTS

    def numpy(self) -> np.ndarray[Any, Any]:
        """The elements, read-only: of a column of texts, their numbers."""
        return self._array

    def texts(self) -> list[str]:
        """The texts of a column of texts, row by row. Raises TypeError of another column."""
        if not self.is_text:
            raise TypeError(f"{self.name} is no column of texts")
        return self._handle.texts(self._id)

    def tolist(self) -> list[Any]:
        """The elements as Python has them: texts, bools and numbers, row by row in lists of lists."""
        if self.is_text:
            flat = np.empty(self._array.size, dtype=object)
            flat[:] = self.texts()
            array: np.ndarray[Any, Any] = flat.reshape(self.shape)
        else:
            array = self._array.astype(bool) if self._id in _BOOLS else self._array
        values: list[Any] = array.tolist()
        return values

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, index: Any) -> Any:
        """An element as Python has it, a text of a column of texts; a slice is an array of numpy."""
        found = self._array[index]
        if isinstance(found, np.ndarray):
            return found
        if self.is_text:
            return self._handle.text(int(found))
        if self._id in _BOOLS:
            return bool(found)
        kind = _ENUMS.get(self._id)
        return kind(int(found)) if kind is not None else int(found)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        return f"<berth.Column {self.name} {self.dtype} {self.shape}>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if dtype is not None and np.dtype(dtype) != self._array.dtype:
            if copy is False:
                raise ValueError(f"{self.name} has the type {self.dtype}: another one needs a copy")
            return self._array.astype(dtype)
        return self._array.copy() if copy else self._array

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if stream is not None:
            raise BufferError("results are in host memory, where there are no streams")
        if dl_device is not None and tuple(dl_device) != _CPU:
            raise BufferError(f"results are in host memory, and not on device {tuple(dl_device)}")
        if copy:
            return self._array.copy().__dlpack__(max_version=max_version)
        if max_version is None or max_version[0] < 1:
            raise BufferError(
                "the column is read-only, which DLPack can say from version 1.0 on: copy it, or take numpy()"
            )
        return self._handle.dlpack(self._id, list(self.shape))

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU

    def __arrow_c_schema__(self) -> Any:
        return self._handle.arrow_column(self._id)[0]

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        # The protocol lets a producer give its own types whatever is requested.
        return self._handle.arrow_column(self._id)

    def _series(self) -> Any:
        """For a DataFrame, row by row: texts and enumerations as categories, node numbers with their names."""
        import pandas

        flat = self._array.reshape(-1)
        if self.is_text:
            numbers, codes = np.unique(flat, return_inverse=True)
            texts = [self._handle.text(int(number)) for number in numbers]
            return pandas.Categorical.from_codes(codes.reshape(-1), categories=pandas.Index(texts, dtype=str))
        if self._id in _NODES:
            numbers, codes = np.unique(flat, return_inverse=True)
            names = self._handle.node_names(numbers)
            if names and names[-1] is None:  # NO_NODE is the greatest number
                codes = np.where(numbers[codes] == NO_NODE, -1, codes)
                names = names[:-1]
            return pandas.Categorical.from_codes(codes.reshape(-1), categories=pandas.Index(names, dtype=str))
        if self._id in _BOOLS:
            return flat.astype(bool)
        kind = _ENUMS.get(self._id)
        if kind is not None:
            # The greatest code is below 256: a table of positions by code.
            positions = np.full(256, -1)
            positions[[int(member) for member in kind]] = np.arange(len(kind))
            return pandas.Categorical.from_codes(
                positions[flat], categories=pandas.Index([m.name.lower() for m in kind], dtype=str)
            )
        return flat


class Table(Mapping[str, Column]):
    """Columns of one length, by name. Also a record batch of the Arrow C data interface, and a stream of that one
    batch: `pyarrow.table(table)`, `polars.DataFrame(table)` and DuckDB take it without a copy. Node numbers are
    numbers there."""

    __slots__ = ("_handle", "_columns", "_extra")

    def __init__(
        self,
        handle: _native.ResultHandle,
        columns: Mapping[Col, tuple[int, ...]],
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self._handle = handle
        self._columns = {_native.column_name(each): Column(handle, each, shape) for each, shape in columns.items()}
        self._extra = dict(extra or {})

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"<berth.Table {', '.join(f'{each.name} {each.dtype}' for each in self.values())}>"

    def _ids(self) -> list[int]:
        return [int(each._id) for each in self.values()]

    def __arrow_c_schema__(self) -> Any:
        return self._handle.arrow_schema(self._ids())

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return self._handle.arrow_batch(self._ids())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._handle.arrow_stream(self._ids())

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame of its own memory: a row for each element, the pods' uids first, nodes by name, texts and
        enumerations as categories. Needs pandas."""
        import pandas

        data: dict[str, Any] = {name: make() for name, make in self._extra.items()}
        for name, column in self.items():
            data.setdefault(name, column._series())
        return pandas.DataFrame(data)
