"""Event pointers of whole batches, in Java's bytes, without a Python object per event.

`EventPointer.to_bytes` ends with offset and length, in as many bytes as each of them needs. Pointers of one
segment with equal sizes of both therefore differ in these bytes alone, and one of them is the pattern.
"""

from __future__ import annotations

from typing import Any

from pravega_lab.protocol.metadata.event_pointer import HEADER_BYTES, EventPointer
from pravega_lab.protocol.serializer import COMPACT_INT, COMPACT_LONG


def event_pointers(scoped_stream: str, batch: Any) -> Any:
    """Return the pointers of the events of a batch as an Arrow array of binary.

    Args:
        scoped_stream: ``scope/stream``.
        batch: A record batch of the client, with columns event, segment_id and offset.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    segments, offsets = (batch.column(name).to_numpy() for name in ("segment_id", "offset"))
    lengths = pc.binary_length(batch.column("event")).to_numpy().astype(np.int64) + HEADER_BYTES
    kinds = np.stack([segments, _sizes(COMPACT_LONG, offsets), _sizes(COMPACT_INT, lengths)])
    _, first, group = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    patterns = []
    for row in first.tolist():
        place = (int(segments[row]), int(offsets[row]), int(lengths[row]))
        patterns.append(np.frombuffer(EventPointer(scoped_stream, *place).to_bytes(), np.uint8))
    ends = np.zeros(len(group) + 1, np.int64)
    np.cumsum(np.array([len(pattern) for pattern in patterns], np.int64)[group], out=ends[1:])
    data = np.empty(ends[-1], np.uint8)
    for number, pattern in enumerate(patterns):
        mine = np.flatnonzero(group == number)
        rows = np.tile(pattern, (len(mine), 1))
        row = first[number]
        end, size = rows.shape[1], int(kinds[2, row])
        _patch(rows[:, end - size :], lengths[mine], int(lengths[row]))
        _patch(rows[:, end - size - int(kinds[1, row]) : end - size], offsets[mine], int(offsets[row]))
        data[ends[mine][:, None] + np.arange(end)] = rows
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(group), buffers)


def _sizes(kind: Any, values: Any) -> Any:
    """Return how many bytes each value takes, which depends on its highest bit alone."""
    import numpy as np

    bits = np.zeros(len(values), np.int64)
    rest = values.copy()
    while rest.any():
        bits += rest > 0
        rest >>= 1
    powers = range(int(bits.max(initial=0)) + 1)
    return np.array([len(kind.write((1 << n) >> 1)) for n in powers], np.int64)[bits]


def _patch(places: Any, values: Any, pattern: int) -> None:
    """Write ``values`` where the bytes of ``pattern`` are: both have the same marks of their size."""
    import numpy as np

    size = places.shape[1]
    marks = int.from_bytes(places[0].tobytes(), "big") - pattern
    encoded = values.astype(np.uint64) + np.uint64(marks)
    big = encoded.astype(">u8").view(np.uint8).reshape(-1, 8)
    places[:] = big[:, 8 - size :]
