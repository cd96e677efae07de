"""A stand-in for the part of pandas that frames of the lab and the tutorials use. See `portable.frames`.

Columns are lists of Python's values; None and NaN are missing. Whatever is not here raises AttributeError.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from .faces import as_html, as_text

Label = Hashable


def _is_missing(value: Any) -> bool:
    return value is None or value != value


class Values:
    """Values in an order. Operators and methods work on each of them, as those of pandas do."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._values: list[Any] = list(values)

    def _like(self, values: Iterable[Any]) -> Any:
        return type(self)(values)

    def _each(self, by: Callable[[Any, Any], Any], other: Any, missing: Any = None) -> Any:
        others = other._values if isinstance(other, Values) else [other] * len(self)
        pairs = zip(self._values, others, strict=True)
        return self._like(missing if _is_missing(a) or _is_missing(b) else by(a, b) for a, b in pairs)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __eq__(self, other: object) -> Any:
        return self._each(operator.eq, other, False)

    def __ne__(self, other: object) -> Any:
        return self._each(operator.ne, other, True)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Any) -> Any:
        return self._each(operator.lt, other, False)

    def __le__(self, other: Any) -> Any:
        return self._each(operator.le, other, False)

    def __gt__(self, other: Any) -> Any:
        return self._each(operator.gt, other, False)

    def __ge__(self, other: Any) -> Any:
        return self._each(operator.ge, other, False)

    def __and__(self, other: Any) -> Any:
        return self._each(operator.and_, other, False)

    def __or__(self, other: Any) -> Any:
        return self._each(operator.or_, other, False)

    def __invert__(self) -> Any:
        return self._like(not value for value in self._values)

    def __add__(self, other: Any) -> Any:
        return self._each(operator.add, other)

    def __sub__(self, other: Any) -> Any:
        return self._each(operator.sub, other)

    def __mul__(self, other: Any) -> Any:
        return self._each(operator.mul, other)

    def __truediv__(self, other: Any) -> Any:
        return self._each(operator.truediv, other)

    def __floordiv__(self, other: Any) -> Any:
        return self._each(operator.floordiv, other)

    def __mod__(self, other: Any) -> Any:
        return self._each(operator.mod, other)

    def _present(self) -> list[Any]:
        return [value for value in self._values if not _is_missing(value)]

    def sum(self) -> Any:
        """Return the sum of the values that are not missing."""
        return sum(self._present())

    def max(self) -> Any:
        """Return the largest value that is not missing; NaN if there is none."""
        return max(self._present(), default=float("nan"))

    def min(self) -> Any:
        """Return the smallest value that is not missing; NaN if there is none."""
        return min(self._present(), default=float("nan"))

    def any(self) -> bool:
        """Return whether a value is true."""
        return any(self._values)

    def all(self) -> bool:
        """Return whether all values are true."""
        return all(self._values)

    def unique(self) -> list[Any]:
        """Return each value once, in the order of their first places."""
        return list(dict.fromkeys(self._values))

    def tolist(self) -> list[Any]:
        """Return the values."""
        return list(self._values)


class Index(Values):
    """The labels of rows or of columns."""

    def __init__(self, values: Iterable[Label], name: str | None = None) -> None:
        super().__init__(values)
        self.name = name

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, Values):
            return Index((label for label, is_wanted in zip(self, at, strict=True) if is_wanted), self.name)
        return Index(self._values[at], self.name) if isinstance(at, slice) else self._values[at]

    def __contains__(self, label: object) -> bool:
        return label in self._values

    def place(self, label: Label) -> int:
        """Return where a label is first.

        Raises:
            KeyError: It is not there.
        """
        if label not in self._values:
            raise KeyError(label)
        return self._values.index(label)


class Series(Values):
    """A column, or a row: values with labels."""

    def __init__(self, data: Any = (), index: Iterable[Label] | None = None, name: Any = None) -> None:
        if isinstance(data, Mapping):
            index, data = list(data), list(data.values())
        super().__init__(data)
        self.name = name
        self.index = (
            index if isinstance(index, Index) else Index(range(len(self)) if index is None else index)
        )

    def _like(self, values: Iterable[Any]) -> Series:
        return Series(values, self.index, self.name)

    def _at(self, places: Sequence[int]) -> Series:
        labels = Index((self.index[i] for i in places), self.index.name)
        return Series([self._values[i] for i in places], labels, self.name)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, Values):
            return self._at([i for i, is_wanted in enumerate(at) if is_wanted])
        if isinstance(at, list):
            return self._at([self.index.place(label) for label in at])
        return self._values[self.index.place(at)]

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self.index:
            return self[name]
        raise AttributeError(f"{name!r}: neither a label nor a method of this plain stand-in for pandas")

    @property
    def iloc(self) -> _Places:
        """The values by their places."""
        return _Places(self)

    def map(self, function: Callable[[Any], Any]) -> Series:
        """Return what a function makes of each value."""
        return self._like(map(function, self._values))

    def isna(self) -> Series:
        """Return which values are missing."""
        return self.map(_is_missing)

    def notna(self) -> Series:
        """Return which values are not missing."""
        return self.map(lambda value: not _is_missing(value))

    def isin(self, wanted: Iterable[Any]) -> Series:
        """Return which values are among these."""
        known = set(wanted)
        return self.map(lambda value: value in known)

    def round(self, digits: int = 0) -> Series:
        """Return the values, rounded."""
        return self.map(lambda value: round(value, digits))

    def head(self, n_rows: int = 5) -> Series:
        """Return the first values."""
        return self._at(range(len(self))[:n_rows])

    def tail(self, n_rows: int = 5) -> Series:
        """Return the last values."""
        return self._at(range(len(self))[-n_rows:])

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Iterate over labels and values."""
        return zip(self.index, self._values, strict=True)

    def to_dict(self) -> dict[Any, Any]:
        """Return the values by their labels."""
        return dict(self.items())

    def to_frame(self) -> DataFrame:
        """Return a frame with this column."""
        return DataFrame({0 if self.name is None else self.name: self})

    def equals(self, other: object) -> bool:
        """Return whether another series has the same labels and values."""
        return isinstance(other, Series) and list(self.items()) == list(other.items())

    def value_counts(self) -> Series:
        """Return how often each value occurs, the most frequent first."""
        return Series(dict(Counter(self._values).most_common()), name="count")

    def sort_index(self) -> Series:
        """Return the values in the order of their labels."""
        return self._at(sorted(range(len(self)), key=self.index.__getitem__))

    def groupby(self, by: Iterable[Any]) -> Groups:
        """Return groups of the values: those for which ``by`` has the same entry."""
        return Groups(DataFrame({self.name: self}), list(by), None)[self.name]

    def __repr__(self) -> str:
        return as_text([""], [*self.index], [self._values], self.index.name, heads=False)

    @property
    def str(self) -> SimpleNamespace:  # the last: it hides the type
        """Methods of strings, on each value."""
        return SimpleNamespace(startswith=lambda start: self.map(lambda value: value.startswith(start)))


class DataFrame:
    """A table: columns of equal length, with names, and a label for each row."""

    def __init__(
        self,
        data: Any = (),
        index: Iterable[Label] | None = None,
        columns: Sequence[Any] | None = None,
        dtype: object = None,
    ) -> None:
        if isinstance(data, Mapping):
            found, labels = _from_columns(data)
        else:
            found, labels = _from_rows(list(data), columns)
        self._columns: dict[Any, list[Any]] = {n: found[n] for n in columns} if columns is not None else found
        length = len(next(iter(self._columns.values()), ()))
        chosen = index if index is not None else labels if labels is not None else range(length)
        self.index = chosen if isinstance(chosen, Index) else Index(chosen)
        self._columns_name: str | None = None  # what the names of the columns are

    @property
    def columns(self) -> Index:
        """The names of the columns."""
        return Index(self._columns, self._columns_name)

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._columns)

    def _at(self, places: Sequence[int]) -> DataFrame:
        columns = {name: [values[i] for i in places] for name, values in self._columns.items()}
        return DataFrame(columns, Index((self.index[i] for i in places), self.index.name))

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, Values):
            return self._at([i for i, is_wanted in enumerate(at) if is_wanted])
        if isinstance(at, list):
            return DataFrame({name: self[name] for name in at}, self.index)
        return Series(self._columns[at], self.index, at)

    def __setitem__(self, name: Any, values: Any) -> None:
        self._columns[name] = list(values)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._columns:
            return self[name]
        raise AttributeError(f"{name!r}: neither a column nor a method of this plain stand-in for pandas")

    @property
    def iloc(self) -> _Places:
        """The rows by their places."""
        return _Places(self)

    @property
    def loc(self) -> _Labels:
        """The rows by their labels."""
        return _Labels(self)

    @property
    def empty(self) -> bool:
        """Whether there are no rows."""
        return not len(self)

    def _row(self, at: int) -> Series:
        return Series([values[at] for values in self._columns.values()], self.columns, self.index[at])

    @property
    def T(self) -> DataFrame:
        """The frame with its rows as columns."""
        return DataFrame({self.index[at]: self._row(at) for at in range(len(self))}, self.columns)

    def head(self, n_rows: int = 5) -> DataFrame:
        """Return the first rows."""
        return self._at(range(len(self))[:n_rows])

    def tail(self, n_rows: int = 5) -> DataFrame:
        """Return the last rows."""
        return self._at(range(len(self))[-n_rows:])

    def astype(self, kinds: object) -> DataFrame:
        """Return the frame as it is: values keep Python's types."""
        return self

    def set_index(self, name: Any) -> DataFrame:
        """Return the frame with a column as the labels of its rows."""
        rest = {other: values for other, values in self._columns.items() if other != name}
        return DataFrame(rest, Index(self._columns[name], name))

    def drop(self, labels: Iterable[Label]) -> DataFrame:
        """Return the frame without these rows."""
        gone = set(labels)
        return self._at([i for i, label in enumerate(self.index) if label not in gone])

    def fillna(self, value: Any) -> DataFrame:
        """Return the frame with a value where one is missing."""
        columns = {
            name: [value if _is_missing(one) else one for one in values]
            for name, values in self._columns.items()
        }
        return DataFrame(columns, self.index)

    def sum(self, axis: int = 0) -> Series:
        """Return the sum of each column, or of each row with ``axis=1``."""
        if axis:
            return Series([self._row(at).sum() for at in range(len(self))], self.index)
        return Series({name: self[name].sum() for name in self})

    def to_dict(self, orient: str) -> list[dict[Any, Any]]:
        """Return a dictionary for each row; ``orient`` is "records"."""
        assert orient == "records"
        return [self._row(at).to_dict() for at in range(len(self))]

    def to_numpy(self) -> Any:
        """Return the rows, with ``tolist()``."""
        return Values([self._row(at).tolist() for at in range(len(self))])

    def itertuples(self) -> Iterator[SimpleNamespace]:
        """Iterate over the rows, which have the columns as attributes."""
        for at, label in enumerate(self.index):
            row = {str(name): values[at] for name, values in self._columns.items()}
            yield SimpleNamespace(Index=label, **row)

    def groupby(self, name: Any) -> Groups:
        """Return groups of rows: those with the same value in a column."""
        return Groups(self, self._columns[name], name)

    def __repr__(self) -> str:
        return as_text([*self._columns], [*self.index], [*self._columns.values()], self.index.name)

    def _repr_html_(self) -> str:
        columns, names = [*self._columns.values()], (self.index.name, self._columns_name)
        return as_html([*self._columns], [*self.index], columns, *names)


def crosstab(rows: Series, columns: Series) -> DataFrame:
    """Return how often each pair of values occurs: those of ``rows`` downwards, of ``columns`` across."""
    counts = Counter(zip(rows, columns, strict=True))
    index = Index(sorted(set(rows)), rows.name)
    found = DataFrame({c: [counts[r, c] for r in index] for c in sorted(set(columns))}, index)
    found._columns_name = columns.name
    return found


def _from_columns(data: Mapping[Any, Any]) -> tuple[dict[Any, list[Any]], Iterable[Label] | None]:
    """Return columns and labels of columns that are lists, series or dictionaries by label."""
    labels: Index | dict[Label, None] | None = None
    for one in data.values():
        if isinstance(one, Mapping):
            labels = {**(labels or {}), **dict.fromkeys(one)} if not isinstance(labels, Index) else labels
        elif isinstance(one, Series):
            labels = one.index
    found = {
        name: [one.get(label) for label in labels or ()] if isinstance(one, Mapping) else list(one)
        for name, one in data.items()
    }
    return found, labels


def _from_rows(rows: list[Any], names: Sequence[Any] | None) -> tuple[dict[Any, list[Any]], None]:
    """Return the columns of rows that are sequences or dictionaries by column."""
    if rows and isinstance(rows[0], Mapping):
        names = list(dict.fromkeys(name for row in rows for name in row)) if names is None else names
        return {name: [row.get(name) for row in rows] for name in names}, None
    names = range(len(rows[0]) if rows else 0) if names is None else names
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}, None


class _Places:
    """What ``iloc`` returns."""

    def __init__(self, of: Series | DataFrame) -> None:
        self._of = of

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return self._of._at(range(len(self._of))[at])
        return self._of._row(at) if isinstance(self._of, DataFrame) else self._of._values[at]


class _Labels:
    """What ``loc`` returns."""

    def __init__(self, of: DataFrame) -> None:
        self._of = of

    def __getitem__(self, at: Any) -> Any:
        row, column = at if isinstance(at, tuple) else (at, None)
        found = self._of._row(self._of.index.place(row))
        return found if column is None else found[column]


class Groups:
    """Rows by a value, which `DataFrame.groupby` and `Series.groupby` return, in the order of the values."""

    def __init__(self, frame: DataFrame, by: Sequence[Any], name: Any, column: Any = None) -> None:
        self._frame, self._by, self._name, self._column = frame, by, name, column

    def __getitem__(self, column: Any) -> Groups:
        return Groups(self._frame, self._by, self._name, column)

    def __getattr__(self, column: str) -> Groups:
        if column.startswith("_") or column not in self._frame.columns:
            raise AttributeError(f"{column!r}: neither a column nor a method of this stand-in for pandas")
        return self[column]

    def _each(self, column: Any, how: str) -> Series:
        values: dict[Any, list[Any]] = {}
        for group, value in zip(self._by, self._frame[column], strict=True):
            values.setdefault(group, []).append(value)
        found = [getattr(Values(values[group]), how)() for group in sorted(values)]
        return Series(found, Index(sorted(values), self._name), column)

    def max(self) -> Series:
        """Return the largest value of each group."""
        return self._each(self._column, "max")

    def min(self) -> Series:
        """Return the smallest value of each group."""
        return self._each(self._column, "min")

    def sum(self) -> Series:
        """Return the sum of each group."""
        return self._each(self._column, "sum")

    def agg(self, **wanted: tuple[Any, str]) -> DataFrame:
        """Return a column for each argument, which names a column and "max", "min" or "sum"."""
        return DataFrame({name: self._each(*how) for name, how in wanted.items()})


def concat(frames: Mapping[Any, DataFrame]) -> DataFrame:
    """Return the rows of all frames; a label has the name of the frame before it."""
    labels = [(name, label) for name, frame in frames.items() for label in frame.index]
    names = list(dict.fromkeys(name for frame in frames.values() for name in frame))
    columns = {
        name: [
            value
            for frame in frames.values()
            for value in (frame[name] if name in frame.columns else [None] * len(frame))
        ]
        for name in names
    }
    return DataFrame(columns, labels)
