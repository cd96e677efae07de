"""What a format of rows does, and how the events of a batch are parsed although some of them are damaged.

A format parses whole batches, because that is where Arrow is fast, and fails when one event of the batch does
not parse. `parse_events` then halves the batch until the damaged events stand alone. Their neighbours keep
their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


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

        Raises:
            UnreadableRowError: An event is not exactly one row of the schema.
        """

    def encode(self, rows: Any) -> Any:
        """Return the rows of a record batch as an Arrow array of binary with one event per row."""


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
            parts.append(parse(events.slice(start, end - start)))
        except UnreadableRowError as error:
            if end - start == 1:
                unreadable.append(Unreadable(start, str(error)))
            else:
                middle = (start + end) // 2
                pending += [(middle, end), (start, middle)]
    return (pa.Table.from_batches(parts) if parts else None), unreadable


def spread(rows: Any, count: int, unreadable: Sequence[Unreadable]) -> Any:
    """Return ``rows`` as a table of ``count`` rows that has nulls where an event was unreadable."""
    import pyarrow as pa

    bad = {event.index for event in unreadable}
    good = iter(range(count - len(bad)))
    return rows.take(pa.array([None if i in bad else next(good) for i in range(count)], pa.int64()))


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
