"""Batches of decoded events, with the columns event (binary), segment_id and offset (int64).

The offset is that of the event's header. Where pyarrow or numpy is not installed, batches hold lists
(`pravega_lab.portable.columns`).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

from pravega_lab.portable import HAVE_ARRAYS

if TYPE_CHECKING:
    import pyarrow as pa

    EventBatch: TypeAlias = pa.RecordBatch

NAMES = ("event", "segment_id", "offset")


def event_batch(events: Sequence[bytes], segment_id: int, offsets: Sequence[int]) -> EventBatch:
    """Return a batch of events of one segment, of which each has an offset."""
    if not HAVE_ARRAYS:
        from pravega_lab.portable.columns import pa

        return pa.RecordBatch.from_arrays([events, [segment_id] * len(events), offsets], NAMES)
    ends = array("i", accumulate(map(len, events), initial=0))
    return arrow_batch(binary(b"".join(events), ends), segment_id, integers(array("q", offsets)))


def arrow_batch(events: pa.Array, segment_id: int, offsets: pa.Array) -> pa.RecordBatch:
    """Return a batch of events of one segment from two columns."""
    import pyarrow as pa

    ids = integers(array("q", (segment_id,)) * len(events))
    return pa.RecordBatch.from_arrays([events, ids, offsets], schema=batch_schema())


@cache
def batch_schema() -> pa.Schema:
    """Return the names and types of the columns, none of which is nullable."""
    import pyarrow as pa

    kinds = zip(NAMES, (pa.binary(), pa.int64(), pa.int64()), strict=True)
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in kinds])


def integers(values: Any) -> pa.Array:
    """Return an Arrow array of int64. ``pa.array`` would first import pandas, for a quarter of a second."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


def binary(payload: Any, ends: Any) -> pa.Array:
    """Return an Arrow array of binary from its bytes and its int32 offsets, one more than items."""
    import pyarrow as pa

    return pa.Array.from_buffers(
        pa.binary(), len(ends) - 1, [None, pa.py_buffer(ends), pa.py_buffer(payload)]
    )


def joined(first: EventBatch, second: EventBatch) -> EventBatch:
    """Return the events of two batches as one."""
    from pravega_lab.portable.columns import pa

    return pa.concat_batches([first, second])


def cut_off(batch: EventBatch, bytes_max: int) -> tuple[EventBatch, EventBatch | None]:
    """Return the first events of a batch with at most ``bytes_max`` of payload, and the other events.

    The first part has at least one event. The second part is None if no event is left for it.
    """
    fit = _arrow_fit if HAVE_ARRAYS else _plain_fit
    n_events = max(fit(batch, bytes_max), 1)
    if n_events >= len(batch):
        return batch, None
    return batch.slice(0, n_events), batch.slice(n_events)


def _plain_fit(batch: Any, bytes_max: int) -> int:
    return sum(end <= bytes_max for end in accumulate(map(len, batch.column(0))))


def _arrow_fit(batch: pa.RecordBatch, bytes_max: int) -> int:
    """Return how many of the events have at most ``bytes_max`` together."""
    events = batch.column(0)
    _, ends_buffer, payload = events.buffers()
    if payload.size <= bytes_max:  # of the whole buffer, so it is at least the payload of this batch
        return len(batch)
    import numpy as np

    ends = np.frombuffer(ends_buffer, np.int32)[events.offset : events.offset + len(events) + 1]
    return int(np.searchsorted(ends, ends[0] + bytes_max, side="right")) - 1
