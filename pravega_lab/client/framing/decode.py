"""Decode blocks of a segment's bytes to Arrow record batches of its events.

A block may end in the middle of an event or of its header. The decoder keeps that part for the next block.
Payloads are copied once, from the block to the array. Only small blocks take a Python step per event.
"""

from __future__ import annotations

import struct
from array import array
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from pravega_lab.client.framing import pure_python
from pravega_lab.client.framing.arrays import array_framing
from pravega_lab.client.framing.values import EVENT_TYPE, HEADER, HEADER_BYTES
from pravega_lab.errors import ProtocolError

if TYPE_CHECKING:
    import pyarrow as pa

FEW_BYTES = 4096  # up to this block size pure Python is as fast as numba, and starts faster
_I32 = struct.Struct("<i")


@cache
def batch_schema() -> pa.Schema:
    """Return the columns: event (binary), segment_id (int64), offset (int64, of the event's header)."""
    import pyarrow as pa

    kinds = [("event", pa.binary()), ("segment_id", pa.int64()), ("offset", pa.int64())]
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in kinds])


class EventDecoder:
    """Decodes the events of one segment from ``offset`` on. Blocks must follow each other without a gap."""

    def __init__(self, segment_id: int, offset: int) -> None:
        self._segment_id = segment_id
        self._carried = bytearray()  # the start of an event whose end has not arrived
        self._offset = offset  # where the next block begins

    @property
    def position(self) -> int:
        """Return the offset after the last whole event."""
        return self._offset - len(self._carried)

    def decode(self, block: memoryview) -> pa.RecordBatch | None:
        """Return the events that ``block`` completes, None if there are none.

        Raises:
            ProtocolError: No event begins where one should; the message names segment and offset.
        """
        begin = self._offset - len(self._carried)
        first, used = self._first_event(block, begin)
        self._offset += len(block)
        if self._carried and first is None:
            return None
        try:
            return self._decode_rest(block[used:], first, begin)
        except ProtocolError as error:
            raise ProtocolError(
                f"segment {self._segment_id}, from offset {begin + used} on: {error}"
            ) from None

    def _first_event(self, block: memoryview, begin: int) -> tuple[bytes | None, int]:
        """Return the carried event if the block completes it, and how much of the block that took."""
        if not self._carried:
            return None, 0
        have = len(self._carried)
        if have < HEADER_BYTES:
            self._carried += block[: HEADER_BYTES - have]
            if len(self._carried) < HEADER_BYTES:
                return None, len(block)
        kind, length = HEADER.unpack_from(self._carried)
        if kind != EVENT_TYPE or length < 0:
            where = f"segment {self._segment_id}, offset {begin}"
            raise ProtocolError(f"{where}: an event was expected, found type {kind}, length {length}")
        used = HEADER_BYTES + length - have
        self._carried += block[len(self._carried) - have : used]
        if len(self._carried) < HEADER_BYTES + length:
            return None, len(block)
        first = bytes(self._carried[HEADER_BYTES:])
        self._carried = bytearray()
        return first, used

    def _decode_rest(self, rest: memoryview, first: bytes | None, begin: int) -> pa.RecordBatch | None:
        rest_begin = self._offset - len(rest)
        make = _few if len(rest) <= FEW_BYTES else _many
        events, offsets, end = make(rest, first, begin, rest_begin)
        self._carried = bytearray(rest[end:])
        if len(events) == 0:
            return None
        import pyarrow as pa

        ids = array("q", (self._segment_id,)) * len(events)
        return pa.RecordBatch.from_arrays([events, _integers(ids), offsets], schema=batch_schema())


def _integers(values: Any) -> pa.Array:
    """Return an Arrow array of int64. ``pa.array`` would first import pandas, for a quarter of a second."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


def _binary(payload: Any, ends: Any) -> pa.Array:
    import pyarrow as pa

    return pa.Array.from_buffers(
        pa.binary(), len(ends) - 1, [None, pa.py_buffer(ends), pa.py_buffer(payload)]
    )


def _few(block: memoryview, first: bytes | None, begin: int, block_begin: int) -> tuple[Any, Any, int]:
    payloads, starts, end = pure_python.decode(block)
    offsets = [block_begin + start for start in starts]
    if first is not None:
        payloads.insert(0, first)
        offsets.insert(0, begin)
    ends = array("i", accumulate(map(len, payloads), initial=0))
    return _binary(b"".join(payloads), ends), _integers(array("q", offsets)), end


def _many(block: memoryview, first: bytes | None, begin: int, block_begin: int) -> tuple[Any, Any, int]:
    found = array_framing().decode(block, first)
    offsets = found.starts
    offsets += block_begin
    if first is not None:
        offsets[0] = begin
    return _binary(found.payload, found.offsets), _integers(offsets), found.end


def cut_off(batch: pa.RecordBatch, bytes_max: int) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
    """Return the first events of a batch with at most ``bytes_max`` of payload, and the other events.

    The first part has at least one event. The second part is None if no event is left for it.
    """
    events = batch.column(0)
    _, ends_buffer, payload = events.buffers()
    if payload.size <= bytes_max:  # of the whole buffer, so it is at least the payload of this batch
        return batch, None
    import numpy as np

    ends = np.frombuffer(ends_buffer, np.int32)[events.offset : events.offset + len(events) + 1]
    if ends[-1] - ends[0] <= bytes_max:
        return batch, None
    n_events = max(int(np.searchsorted(ends, ends[0] + bytes_max, side="right")) - 1, 1)
    if n_events == len(events):
        return batch, None
    return batch.slice(0, n_events), batch.slice(n_events)
