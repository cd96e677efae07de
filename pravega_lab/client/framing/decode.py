"""Decode blocks of a segment's bytes to Arrow record batches of its events.

A block may end in the middle of an event or of its header. The decoder keeps that part for the next block.
Payloads are copied once, from the block to the array. Only small blocks take a Python step per event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pravega_lab.client.framing import pure_python
from pravega_lab.client.framing.arrays import array_framing
from pravega_lab.client.framing.event_batch import arrow_batch, binary, event_batch, integers
from pravega_lab.client.framing.values import EVENT_TYPE, HEADER, HEADER_BYTES
from pravega_lab.errors import ProtocolError
from pravega_lab.portable import few

if TYPE_CHECKING:
    from pravega_lab.client.framing.event_batch import EventBatch

FEW_BYTES = few(4096)  # up to this block size pure Python is as fast as numba


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

    def decode(self, block: memoryview) -> EventBatch | None:
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

    def _decode_rest(self, rest: memoryview, first: bytes | None, begin: int) -> EventBatch | None:
        rest_begin = self._offset - len(rest)
        decode = self._few if len(rest) <= FEW_BYTES else self._many
        batch, end = decode(rest, first, begin, rest_begin)
        self._carried = bytearray(rest[end:])
        return batch

    def _few(
        self, block: memoryview, first: bytes | None, begin: int, block_begin: int
    ) -> tuple[EventBatch | None, int]:
        payloads, starts, end = pure_python.decode(block)
        offsets = [block_begin + start for start in starts]
        if first is not None:
            payloads.insert(0, first)
            offsets.insert(0, begin)
        return (event_batch(payloads, self._segment_id, offsets) if payloads else None), end

    def _many(
        self, block: memoryview, first: bytes | None, begin: int, block_begin: int
    ) -> tuple[EventBatch | None, int]:
        found = array_framing().decode(block, first)
        if not len(found.starts):
            return None, found.end
        offsets = found.starts
        offsets += block_begin
        if first is not None:
            offsets[0] = begin
        events = binary(found.payload, found.offsets)
        return arrow_batch(events, self._segment_id, integers(offsets)), found.end
