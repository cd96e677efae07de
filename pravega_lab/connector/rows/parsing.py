"""What a format of rows does, and how the events of a batch are parsed although some of them are damaged.

A format parses whole batches, because that is where Arrow is fast, and fails when one event of the batch does
not parse. `parse_events` then halves the batch until the damaged events are alone. Their neighbours keep
their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

#: The column of the rows of `RowFormat.parse` that has the indexes of their events. No field has this name.
EVENT_INDEX = "\0event_index"
_INFINITY = r"(?i)^\s*[+-]?inf(inity)?\s*$"


class UnreadableRowError(Exception):
    """An event of a batch is not a row of the schema. The message says why."""


class RowFormat(Protocol):
    """Turns events into columns and columns into events."""

    def check_reading(self) -> None:
        """Refuse columns that can be written and not read.

        Raises:
            BadInputError: A column is one of them.
        """

    def check_writing(self) -> None:
        """Refuse columns that can be read and not written.

        Raises:
            BadInputError: A column is one of them.
        """

    def parse(self, events: Any) -> Any:
        """Return the rows of an Arrow array of binary as a record batch with one row per event.

        A format whose events may have several rows, or none, returns the index of each row's event in a
        further column `EVENT_INDEX`.

        Raises:
            UnreadableRowError: An event is no row of the schema.
        """

    def encode(self, rows: Any) -> Any:
        """Return the rows of a record batch as an Arrow array of binary with one event per row.

        A format of changes returns null for the row before an update, which is in the event of the next row.
        """


@dataclass(frozen=True)
class Unreadable:
    """An event that is not a row: its index in the batch, and why."""

    index: int
    reason: str


def parse_events(parse: Callable[[Any], Any], events: Any) -> tuple[Any, list[Unreadable]]:
    """Return the rows of the events that parse, in their order, and the events that do not.

    Args:
        parse: `RowFormat.parse`. It is called once if every event parses, and about ``2 log2(n)`` times more
            for every event of a batch of ``n`` that does not.
        events: An Arrow array of binary with at least one event.

    Returns:
        A table of the rows, or None if no event parses; and the unreadable events by index.
    """
    import pyarrow as pa

    parts: list[Any] = []
    unreadable: list[Unreadable] = []
    pending = [(0, len(events))]
    while pending:
        start, end = pending.pop()
        try:
            parts.append(_from(start, parse(events.slice(start, end - start))))
        except UnreadableRowError as error:
            if end - start == 1:
                unreadable.append(Unreadable(start, str(error)))
            else:
                middle = (start + end) // 2
                pending += [(middle, end), (start, middle)]
    return (pa.Table.from_batches(parts) if parts else None), unreadable


def _from(start: int, rows: Any) -> Any:
    """Return rows with the indexes of their events in the batch, from those in the slice from ``start``."""
    import pyarrow.compute as pc

    place = rows.schema.get_field_index(EVENT_INDEX)
    if place < 0 or not start:
        return rows
    return rows.set_column(place, EVENT_INDEX, pc.add(rows.column(place), start))


def placed(
    rows: Any, count: int, unreadable: Sequence[Unreadable], *, with_unreadable: bool
) -> tuple[Any, Any]:
    """Return the rows of ``count`` events in order, and the index of each row's event as an Arrow array.

    Args:
        rows: The table that `parse_events` returned, or None.
        count: The number of events.
        unreadable: Those that `parse_events` found.
        with_unreadable: Whether an unreadable event becomes a row of nulls. Otherwise it has no row.

    Returns:
        The table, or None if no event parsed; and the indexes, or None if every event has one row.
    """
    import numpy as np
    import pyarrow as pa

    bad = np.array([event.index for event in unreadable], np.int64)
    if rows is not None and EVENT_INDEX in rows.schema.names:
        index = rows.column(EVENT_INDEX).to_numpy()
        rows = rows.drop_columns([EVENT_INDEX])
    elif not unreadable:
        return rows, None
    else:
        index = np.setdiff1d(np.arange(count), bad)
        index = index if rows is not None else index[:0]
    if not with_unreadable or not unreadable:
        return rows, pa.array(index, pa.int64())
    order = np.argsort(np.concatenate([index, bad]), kind="stable")
    index = np.concatenate([index, bad])[order]
    if rows is not None:
        rows = rows.take(pa.array(order, pa.int64(), mask=order >= rows.num_rows))
    return rows, pa.array(index, pa.int64())


def joined(events: Any) -> Any:
    """Return the events one a line, as a buffer."""
    import pyarrow as pa
    import pyarrow.compute as pc

    together = pa.LargeListArray.from_arrays(pa.array([0, len(events)], pa.int64()), events)
    return pc.binary_join(together, b"\n")[0].as_buffer()


def as_text(events: Any) -> Any:
    """Return binary events as text.

    Raises:
        UnreadableRowError: An event is not UTF-8.
    """
    import pyarrow as pa

    try:
        return events.cast(pa.string())
    except pa.ArrowInvalid:
        raise UnreadableRowError("it is not UTF-8") from None


def beyond_range(texts: Any, numbers: Any) -> str | None:
    """Return the first text that became infinity and does not say so, None if there is none.

    Args:
        texts: The numbers as they are in the events, as Arrow text.
        numbers: What Arrow made of them, as float or double. It makes infinity of a number that is too large.
    """
    import pyarrow.compute as pc

    endless = texts.filter(pc.fill_null(pc.is_inf(numbers), False))
    found = endless.filter(pc.invert(pc.match_substring_regex(endless, _INFINITY)))
    return found[0].as_py() if len(found) else None
