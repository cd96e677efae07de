"""Records as Arrow batches: rows, their event times, and what kind of change each is.

A `Batch` holds an Arrow record batch or plain rows, and turns the one into the other when it is asked to. On
a channel it is Arrow always (`Batch.sealed`), so that what runs in one process also runs on sockets; inside
of a chain rows stay rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pravega_lab.errors import BadInputError

Row = dict[str, Any]
NO_TIMESTAMP = -(2**63)


class RowKind(IntEnum):
    """What a row does to the table that the stream stands for."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    @property
    def short(self) -> str:
        return ("+I", "-U", "+U", "-D")[self]

    @property
    def adds(self) -> bool:
        """Does the row come into the table (and not leave it)?"""
        return self in (RowKind.INSERT, RowKind.UPDATE_AFTER)


class Batch:
    """Consecutive records of one channel, never changed once made.

    ``timestamps``: int64 ms per record, `NO_TIMESTAMP` where a record has none; None if no record has one.
    ``kinds``: int8 `RowKind` per record; None if all are inserts.
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
        """Rows are dicts with the same columns; ``timestamps`` and ``kinds`` have an entry per row."""
        times = None if timestamps is None else np.asarray(timestamps, dtype=np.int64)
        changes = None if kinds is None else np.asarray(kinds, dtype=np.int8)
        return Batch(rows, None, times, changes)

    @staticmethod
    def of_arrow(
        rows: pa.RecordBatch,
        timestamps: npt.NDArray[np.int64] | None = None,
        kinds: npt.NDArray[np.int8] | None = None,
    ) -> Batch:
        return Batch(None, rows, timestamps, kinds)

    @property
    def is_arrow(self) -> bool:
        """Is it at hand as Arrow, so that `arrow` makes nothing?"""
        return self._arrow is not None

    @property
    def rows(self) -> Sequence[Row]:
        """One dict per record."""
        if self._rows is None:
            assert self._arrow is not None
            self._rows = self._arrow.to_pylist()
        return self._rows

    @property
    def arrow(self) -> pa.RecordBatch:
        """The rows as Arrow.

        Raises:
            BadInputError: rows of different columns, or of values that no Arrow type holds together.
        """
        if self._arrow is None:
            assert self._rows is not None
            self._arrow = _to_arrow(self._rows)
        return self._arrow

    def sealed(self) -> Batch:
        """The same records as Arrow only: what a channel carries."""
        return Batch(None, self.arrow, self.timestamps, self.kinds)

    def timestamp(self, index: int) -> int | None:
        """Event time of one record in ms."""
        if self.timestamps is None or self.timestamps[index] == NO_TIMESTAMP:
            return None
        return int(self.timestamps[index])

    def kind(self, index: int) -> RowKind:
        return RowKind.INSERT if self.kinds is None else RowKind(int(self.kinds[index]))

    def slice(self, start: int, stop: int) -> Batch:
        """Records ``start`` up to ``stop``, which is left out."""
        return Batch(
            self._rows[start:stop] if self._rows is not None else None,
            self._arrow.slice(start, stop - start) if self._arrow is not None else None,
            None if self.timestamps is None else self.timestamps[start:stop],
            None if self.kinds is None else self.kinds[start:stop],
        )

    def take(self, indices: npt.NDArray[np.int64]) -> Batch:
        """The records at ``indices``, in that order."""
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
        """Row, event time and kind of each record, in order."""
        for index, row in enumerate(self.rows):
            yield row, self.timestamp(index), self.kind(index)

    def __repr__(self) -> str:
        return f"Batch({list(self.rows)[:3]}{'…' if self.num_rows > 3 else ''})"


def concatenated(batches: Sequence[Batch]) -> Batch:
    """One batch with the records of all, in order. At least one is given."""
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


def _to_arrow(rows: Sequence[Row]) -> pa.RecordBatch:
    names = list(rows[0]) if rows else []
    wanted = rows[0].keys() if rows else {}.keys()
    for row in rows:
        if not isinstance(row, dict) or row.keys() != wanted:
            raise BadInputError(
                f"the rows of a stream have the same columns: {names} in one, {list(row)} in another; "
                "let each row be a dict with all of them, None where there is no value"
            )
    try:
        return pa.RecordBatch.from_pylist(list(rows))
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise BadInputError(
            f"no Arrow type holds the values of a column together: {error}; first row {rows[0]!r}"
        ) from error
