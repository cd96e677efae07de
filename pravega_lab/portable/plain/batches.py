"""A stand-in for the part of pyarrow that client and engine use with plain rows. See `portable.columns`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from .arrays import PlainArray


class ArrowInvalid(ValueError):
    """Stands in for Arrow's error of values that do not fit. It is not raised: lists take any values."""


class ArrowTypeError(TypeError):
    """Stands in for Arrow's error of types that do not fit. It is not raised: lists take any values."""


class DataType:
    """Stands in for the type of a column, which may hold any Python values here."""


class Table:
    """Stands in for an Arrow table, of which there are none here."""


class Field(NamedTuple):
    """Holds what is known of a column."""

    name: str
    type: DataType


class Schema(NamedTuple):
    """Holds the names of a batch's columns."""

    names: list[str]

    def field(self, name: str) -> Field:
        """Return a column by its name."""
        return Field(name, DataType())


class Scalar:
    """Holds one value of a column."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def as_py(self) -> Any:
        """Return the value."""
        return self._value

    def as_buffer(self) -> Any:
        """Return the value, which is bytes."""
        return self._value


class Array:
    """Holds the values of a column in a list."""

    null_count = 0
    type = DataType()

    def __init__(self, values: Iterable[Any]) -> None:
        self._values = list(values)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __getitem__(self, at: int) -> Scalar:
        return Scalar(self._values[at])

    def to_pylist(self) -> list[Any]:
        """Return the values."""
        return list(self._values)

    def to_numpy(self, zero_copy_only: bool = True) -> PlainArray:
        """Return the values, which are integers, as an array."""
        return PlainArray(self._values)

    def take(self, indices: Iterable[int]) -> Array:
        """Return the values at these places."""
        return Array(self._values[i] for i in indices)


class RecordBatch:
    """Holds columns of equal length in lists, each with a name."""

    def __init__(self, columns: Sequence[Array], names: Sequence[str]) -> None:
        self.columns = list(columns)
        self.schema = Schema(list(names))

    @classmethod
    def from_arrays(cls, columns: Sequence[Iterable[Any]], names: Sequence[str]) -> RecordBatch:
        """Return a batch of columns."""
        return cls([Array(values) for values in columns], names)

    @classmethod
    def from_pylist(cls, rows: Sequence[dict[str, Any]]) -> RecordBatch:
        """Return a batch of rows that have equal keys."""
        names = list(rows[0]) if rows else []
        return cls([Array(row[name] for row in rows) for name in names], names)

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    @property
    def num_rows(self) -> int:
        """Return the number of rows."""
        return len(self)

    @property
    def nbytes(self) -> int:
        """The bytes of texts and bytes, and 8 for every other value."""
        values = (value for one in self.columns for value in one)
        return sum(len(value) if isinstance(value, (bytes, str)) else 8 for value in values)

    def __getitem__(self, at: int | str) -> Array:
        return self.column(at)

    def select(self, names: Sequence[str]) -> RecordBatch:
        """Return these columns."""
        return RecordBatch([self.column(name) for name in names], names)

    def column(self, at: int | str) -> Array:
        """Return a column by its number or name."""
        return self.columns[self.schema.names.index(at) if isinstance(at, str) else at]

    def slice(self, start: int, length: int | None = None) -> RecordBatch:
        """Return the rows from ``start`` on, ``length`` at most."""
        end = None if length is None else start + length
        return RecordBatch([Array(one.to_pylist()[start:end]) for one in self.columns], self.schema.names)

    def take(self, indices: Iterable[int]) -> RecordBatch:
        """Return the rows at these places."""
        places = list(indices)
        return RecordBatch([one.take(places) for one in self.columns], self.schema.names)

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows."""
        names = self.schema.names
        return [dict(zip(names, values, strict=True)) for values in zip(*self.columns, strict=True)]

    def to_pydict(self) -> dict[str, list[Any]]:
        """Return the values of each column by its name."""
        return {name: one.to_pylist() for name, one in zip(self.schema.names, self.columns, strict=True)}


class types:
    """Stands in for ``pyarrow.types``: a column of any Python values is of none of them."""

    @staticmethod
    def _is_not(kind: DataType) -> bool:
        return False

    is_integer = is_uint64 = is_boolean = is_string = is_large_string = is_binary = is_dictionary = (
        is_nested
    ) = is_temporal = is_timestamp = is_date = is_null = _is_not


def array(values: Iterable[Any], kind: object = None) -> Array:
    """Return a column of values."""
    return Array(values)


def concat_batches(batches: Sequence[RecordBatch]) -> RecordBatch:
    """Return the rows of all batches as one."""
    columns = zip(*(one.columns for one in batches), strict=True)
    names = batches[0].schema.names
    return RecordBatch([Array(value for part in parts for value in part) for parts in columns], names)


def null() -> DataType:
    """Return a type."""
    return DataType()
