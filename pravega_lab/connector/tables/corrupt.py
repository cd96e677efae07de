"""The error of an event that is no row of its table."""

from __future__ import annotations

from typing import Any, NoReturn

from pravega_lab.errors import CorruptRowError

SHOWN_BYTES = 60


def refuse(scoped_stream: str, format_name: str, batch: Any, event: Any) -> NoReturn:
    """Raise `CorruptRowError` for an unreadable event of a client's batch (event, segment_id, offset)."""
    data, segment_id, offset = (batch.column(at)[event.index].as_py() for at in range(3))
    raise CorruptRowError(
        f"the event at offset {offset} of segment {segment_id} of {scoped_stream} is no row of "
        f"format '{format_name}': {event.reason}. It begins with {data[:SHOWN_BYTES]!r}. Change the columns, "
        "or read the stream with Spark and option 'corrupt_rows'"
    )
