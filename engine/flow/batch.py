"""Records as batches: their rows, their event times, and the kind of change that each row is.

A `Batch` holds plain rows or an Arrow record batch, and converts one into the other on demand. A channel
carries Arrow only (`Batch.sealed`), so that a job runs in one process as it does over sockets. Within a
chain, rows stay rows.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from enum import IntEnum
from itertools import chain
from numbers import Real
from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.portable.columns import np, npt, pa

Row = dict[str, Any]
NO_TIMESTAMP = -(2**63)
_ROWS = frozenset({dict})
_CONSTANT = frozenset({type(None), bool, int, float, str, bytes, tuple, frozenset})


class RowKind(IntEnum):
    """Say what a row does to the table that the stream represents."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    @property
    def short(self) -> str:
        """Return Flink's short name, `+I` for example."""
        return ("+I", "-U", "+U", "-D")[self]

    @property
    def adds(self) -> bool:
        """Return whether the row is in the table afterwards."""
        return self in (RowKind.INSERT, RowKind.UPDATE_AFTER)


class Batch:
    """A batch holds consecutive records of one channel, and never changes.

    ``timestamps`` has the event time of each record (int64, ms), with `NO_TIMESTAMP` where a record has none.
    It is None if no record has one. ``kinds`` has the `RowKind` of each record (int8). It is None if all are
    inserts.
    """

    __slots__ = ("_arrow", "_rows", "kinds", "num_rows", "timestamps")

    def __init__(
        self,
        rows: Sequence[Row] | None,
        arrow: pa.RecordBatch | None,
        timestamps: npt.NDArray[np.int64] | None,
        kinds: npt.NDArray[np.int8] | None,
    ) -> None:
        self._rows = rows
        self._arrow = arrow
        self.num_rows: int = len(rows) if rows is not None else len(arrow)  # type: ignore[arg-type]
        self.timestamps = timestamps
        self.kinds = kinds

    @staticmethod
    def of_rows(
        rows: Sequence[Row],
        timestamps: Sequence[int] | npt.NDArray[np.int64] | None = None,
        kinds: Sequence[int] | npt.NDArray[np.int8] | None = None,
    ) -> Batch:
        """Return a batch of ``rows``: dicts with equal columns.

        ``timestamps`` and ``kinds`` have one entry per row.

        Raises:
            BadInputError: a row is no dict.
        """
        if not _ROWS.issuperset(map(type, rows)):
            _refuse_other_than_dicts(rows)
        times = None if timestamps is None else np.asarray(timestamps, dtype=np.int64)
        changes = None if kinds is None else np.asarray(kinds, dtype=np.int8)
        return Batch(rows, None, times, changes)

    @staticmethod
    def of_arrow(
        rows: pa.RecordBatch,
        timestamps: npt.NDArray[np.int64] | None = None,
        kinds: npt.NDArray[np.int8] | None = None,
    ) -> Batch:
        """Return a batch of an Arrow record batch. ``timestamps`` and ``kinds`` have one entry per row."""
        return Batch(None, rows, timestamps, kinds)

    @property
    def is_arrow(self) -> bool:
        """Return whether `arrow` is available without a conversion."""
        return self._arrow is not None

    @property
    def rows(self) -> Sequence[Row]:
        """Return one dict per record."""
        if self._rows is None:
            assert self._arrow is not None
            self._rows = self._arrow.to_pylist()
        return self._rows

    @property
    def arrow(self) -> pa.RecordBatch:
        """Return the rows as an Arrow record batch.

        Raises:
            BadInputError: the rows have different columns, a column has values that share no Arrow type, or
                dicts in a column have different fields.
        """
        if self._arrow is None:
            assert self._rows is not None
            self._arrow = _to_arrow(self._rows)
        return self._arrow

    def sealed(self) -> Batch:
        """Return the same records as Arrow only, as a channel carries them."""
        return Batch(None, self.arrow, self.timestamps, self.kinds)

    def timestamp(self, index: int) -> int | None:
        """Return the event time of the record at ``index`` in ms, or None if it has none."""
        if self.timestamps is None or self.timestamps[index] == NO_TIMESTAMP:
            return None
        return int(self.timestamps[index])

    def kind(self, index: int) -> RowKind:
        """Return what the record at ``index`` does to the table."""
        return RowKind.INSERT if self.kinds is None else RowKind(int(self.kinds[index]))

    def slice(self, start: int, stop: int) -> Batch:
        """Return the records from ``start`` up to, but not including, ``stop``."""
        return Batch(
            self._rows[start:stop] if self._rows is not None else None,
            self._arrow.slice(start, stop - start) if self._arrow is not None else None,
            None if self.timestamps is None else self.timestamps[start:stop],
            None if self.kinds is None else self.kinds[start:stop],
        )

    def take(self, indices: npt.NDArray[np.int64]) -> Batch:
        """Return the records at ``indices``, in that order."""
        if self._arrow is not None:
            rows, arrow = None, self._arrow.take(pa.array(indices))
        else:
            assert self._rows is not None
            rows, arrow = [self._rows[i] for i in indices.tolist()], None
        return Batch(
            rows,
            arrow,
            None if self.timestamps is None else self.timestamps[indices],
            None if self.kinds is None else self.kinds[indices],
        )

    def records(self) -> Iterator[tuple[Row, int | None, RowKind]]:
        """Yield the row, event time (ms or None) and kind of each record, in order."""
        for index, row in enumerate(self.rows):
            yield row, self.timestamp(index), self.kind(index)

    def __repr__(self) -> str:
        return f"Batch({list(self.rows)[:3]}{'…' if self.num_rows > 3 else ''})"


def copied(row: Row) -> Row:
    """Return a copy of a row with the same values, so that its maker may change the row and emit it again.

    Anything else than a dict is returned as it is, and `Batch.of_rows` refuses it.
    """
    return row.copy() if isinstance(row, dict) else row


def copied_value(value: Any) -> Any:
    """Return a copy of a list, dict or set, which its maker may change in place, or else the value itself."""
    return copy.deepcopy(value) if isinstance(value, list | dict | set) else value


def are_constant(values: Collection[Any]) -> bool:
    """Return whether no list, dict or set is among ``values`` or in their tuples."""
    while True:
        types = {*map(type, values)}
        if not types <= _CONSTANT:
            return False
        if tuple not in types:
            return True
        values = [item for value in values if type(value) is tuple for item in value]


def concatenated(batches: Sequence[Batch]) -> Batch:
    """Return one batch with the records of all ``batches`` (at least one), in order."""
    if len(batches) == 1:
        return batches[0]
    rows = [row for batch in batches for row in batch.rows]
    times = kinds = None
    if any(batch.timestamps is not None for batch in batches):
        none = [np.full(b.num_rows, NO_TIMESTAMP, np.int64) for b in batches]
        times = np.concatenate(
            [n if b.timestamps is None else b.timestamps for n, b in zip(none, batches, strict=True)]
        )
    if any(batch.kinds is not None for batch in batches):
        plain = [np.zeros(b.num_rows, np.int8) for b in batches]
        kinds = np.concatenate(
            [n if b.kinds is None else b.kinds for n, b in zip(plain, batches, strict=True)]
        )
    return Batch(rows, None, times, kinds)


def _refuse_other_than_dicts(rows: Sequence[Any]) -> None:
    for row in rows:
        if not isinstance(row, dict):
            hint = "; is a return missing?" if row is None else ""
            raise BadInputError(
                f"a row of a stream is a dict of its columns, but a function gave {row!r:.200}{hint}"
            )


def _to_arrow(rows: Sequence[Row]) -> pa.RecordBatch:
    names = list(rows[0]) if rows else []
    wanted = rows[0].keys() if rows else {}.keys()
    for row in rows:
        if row.keys() != wanted:
            raise BadInputError(
                f"the rows of a stream must have the same columns, but one has {names} and another "
                f"{list(row)}; give each row all columns, with None where there is no value"
            )
    if not all(isinstance(name, str) for name in names):
        raise BadInputError(f"the columns of a row are named by strings, but a row is {rows[0]!r:.200}")
    try:
        batch = pa.RecordBatch.from_pylist(list(rows))
    except (ValueError, TypeError, OverflowError) as error:
        raise BadInputError(
            f"no Arrow type can hold all values of a column: {error}; the first row is {rows[0]!r}"
        ) from error
    for name in names:
        kind = batch.schema.field(name).type
        if _may_change(kind):
            _refuse_changed(name, [row[name] for row in rows], kind)
    return batch


def _may_change(kind: pa.DataType) -> bool:
    """Return whether Arrow makes this type also of values that do not fit, and changes them."""
    return bool(pa.types.is_temporal(kind) or pa.types.is_binary(kind) or pa.types.is_nested(kind))


def _sort_of(value: object) -> str:
    match value:
        case datetime():
            return "dates with a time" + (" and a zone" if value.tzinfo else "")
        case date():
            return "dates"
        case str():
            return "texts"
        case time():
            return "times"
        case timedelta():
            return "durations"
        case Real():
            return "numbers"
    return "bytes"


def _lost_of(value: object) -> str | None:
    """Return what a column of rows does not hold of a time, a date or a duration, or None."""
    if isinstance(value, time) and value.tzinfo:
        return "the zone of a time"
    # Dates and durations of pandas are subclasses of those of Python.
    return "nanoseconds" if getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0) else None


def _refuse_changed(column: str, values: Iterable[Any], kind: pa.DataType) -> None:
    """Refuse values that Arrow would change.

    Dicts with different fields would be filled up with the fields of each other, texts among bytes would
    become bytes, and numbers among durations would become durations. Of dates with a time among others the
    time or the zone would be lost, and of others a part that Arrow does not take from rows.
    """
    found = [value for value in values if value is not None]
    if pa.types.is_struct(kind):
        fields = {field.name: field.type for field in kind}
        for value in found:
            if value.keys() != fields.keys():
                raise BadInputError(
                    f"the dicts of a column must have the same fields, but one in {column!r} has "
                    f"{list(value)} and others also have {[name for name in fields if name not in value]}; "
                    "give each dict all fields, with None where there is no value"
                )
        for name, inner in fields.items():
            if _may_change(inner):
                _refuse_changed(column, [value[name] for value in found], inner)
    elif pa.types.is_list(kind):
        inner = kind.value_type
        # Of texts and bytes in one list, Arrow takes the type of the first.
        if _may_change(inner) or pa.types.is_string(inner):
            _refuse_changed(column, chain.from_iterable(found), inner)
    elif pa.types.is_temporal(kind) or len({*map(type, found)}) > 1:
        for value in found:
            if lost := _lost_of(value):
                raise BadInputError(
                    f"a column of rows does not hold {lost}, but {column!r} has {value!r:.60}: "
                    "drop this part, or give it another column"
                )
        sorts = {_sort_of(value): value for value in found}
        if len(sorts) > 1:
            raise BadInputError(
                f"a column has one type, but {column!r} has {' and '.join(sorts)} ("
                f"{', '.join(f'{value!r:.60}' for value in sorts.values())}): convert them to one of these"
            )
