"""A stand-in for the part of numpy that the engine uses with plain rows. See `portable.columns`.

Arrays have one dimension. Integers are Python's, of any size, whatever type is asked for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class NDArray(Generic[T]):
    """Stands in for ``numpy.typing.NDArray`` in annotations."""


generic = object
int8 = int32 = int64 = uint8 = uint16 = uint32 = uint64 = int
float64 = float
bool_ = bool


class PlainArray:
    """Holds values in a list. Operators work on each of them, as numpy's do."""

    def __init__(self, values: Iterable[Any], dtype: Callable[..., Any] = int) -> None:
        self.dtype = dtype
        self._values: list[Any] = list(map(dtype, values))

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return PlainArray(self._values[at], self.dtype)
        if isinstance(at, (PlainArray, list)):
            return PlainArray((self._values[i] for i in _places(at)), self.dtype)
        return self._values[at]

    def __setitem__(self, at: Any, new: Any) -> None:
        if isinstance(at, (PlainArray, list)):
            places = _places(at)
            values = new if isinstance(new, PlainArray) else [new] * len(places)
            for i, value in zip(places, values, strict=True):
                self._values[i] = self.dtype(value)
        elif isinstance(at, slice):
            self[list(range(*at.indices(len(self))))] = new
        else:
            self._values[at] = self.dtype(new)

    def _compared(self, by: Callable[[Any, Any], bool], other: object) -> PlainArray:
        others = other if isinstance(other, PlainArray) else [other] * len(self)
        return PlainArray(map(by, self, others), bool)

    def __eq__(self, other: object) -> Any:  # an array, as numpy's
        return self._compared(operator.eq, other)

    def __ne__(self, other: object) -> Any:
        return self._compared(operator.ne, other)

    __hash__ = None  # type: ignore[assignment]

    def astype(self, dtype: Callable[..., Any]) -> PlainArray:
        """Return the values in another type."""
        return PlainArray(self._values, dtype)

    def tolist(self) -> list[Any]:
        """Return the values."""
        return list(self._values)

    def max(self) -> Any:
        """Return the largest value."""
        return max(self._values)

    def min(self) -> Any:
        """Return the smallest value."""
        return min(self._values)

    def any(self) -> bool:
        """Return whether a value is true."""
        return any(self._values)

    def all(self) -> bool:
        """Return whether all values are true."""
        return all(self._values)

    def __repr__(self) -> str:
        return f"PlainArray({self._values})"


def _places(chosen: PlainArray | list[int]) -> list[int]:
    """Return the places that an index names: a mask of bools, or the places themselves."""
    if isinstance(chosen, PlainArray) and chosen.dtype is bool:
        return [at for at, is_chosen in enumerate(chosen) if is_chosen]
    return list(chosen)


def array(values: Iterable[Any], dtype: Callable[..., Any] = int) -> PlainArray:
    """Return a new array of values."""
    return PlainArray(values, dtype)


def asarray(values: Iterable[Any], dtype: Callable[..., Any] = int) -> PlainArray:
    """Return values as an array; an array of the type is returned as it is."""
    return values if isinstance(values, PlainArray) and values.dtype is dtype else PlainArray(values, dtype)


def full(n_values: int, value: Any, dtype: Callable[..., Any] = int) -> PlainArray:
    """Return an array of equal values."""
    return PlainArray([value] * n_values, dtype)


def zeros(n_values: int, dtype: Callable[..., Any] = int) -> PlainArray:
    """Return an array of zeros."""
    return full(n_values, 0, dtype)


def ones(n_values: int, dtype: Callable[..., Any] = int) -> PlainArray:
    """Return an array of ones."""
    return full(n_values, 1, dtype)


def arange(start: int, stop: int | None = None, step: int = 1) -> PlainArray:
    """Return the integers of a range."""
    return PlainArray(range(start) if stop is None else range(start, stop, step))


def concatenate(arrays: Sequence[PlainArray]) -> PlainArray:
    """Return the values of all arrays, one after another."""
    return PlainArray((value for one in arrays for value in one), arrays[0].dtype)


def flatnonzero(values: Iterable[Any]) -> PlainArray:
    """Return the places of the values that are not zero and not false."""
    return PlainArray(at for at, value in enumerate(values) if value)
