"""Turn the bytes of a connection into frames, without copying what was read from a segment.

Small frames are cut out of one buffer that is used again. A frame above ``OWN_BUFFER_BYTES`` gets a buffer of
its own as soon as its header has arrived. The socket reads into that buffer, and the data of a
``SegmentRead`` stays there: between kernel and Arrow only the decoder of events touches it.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from pravega_lab.errors import ProtocolError
from pravega_lab.protocol.wire.codec import COMMANDS, PAYLOAD_BYTES_MAX, decode_at
from pravega_lab.protocol.wire.commands import Command, SegmentRead

BUFFER_BYTES = 64 * 1024
OWN_BUFFER_BYTES = 32 * 1024
_KNOWN = frozenset(command.code for command in COMMANDS)
_BYTES_MAX, _READ_CODE = PAYLOAD_BYTES_MAX, SegmentRead.code
_HEADER = struct.Struct(">ii")
_HEADER_BYTES = _HEADER.size
_U16 = struct.Struct(">H")
_READ = struct.Struct(">q??i")
_I64 = struct.Struct(">q")


class ReadReply(NamedTuple):
    """Holds a ``SegmentRead`` whose data is a view of a buffer that belongs to the reply."""

    request_id: int
    offset: int
    at_tail: bool
    end_of_segment: bool
    data: memoryview


class FrameReceiver:
    """Receives one direction of one connection. Bad bytes raise `ProtocolError` and make it unusable."""

    def __init__(self) -> None:
        self._buffer = bytearray(BUFFER_BYTES)
        self._have = 0
        self._own: bytearray | None = None  # the large frame being received, without its header
        self._own_code = 0
        self._own_have = 0

    def get_buffer(self) -> memoryview:
        """Return where to put the next bytes. It is never empty."""
        if self._own is not None:
            return memoryview(self._own)[self._own_have :]
        return memoryview(self._buffer)[self._have :]

    def received(self, n_bytes: int) -> list[Command | ReadReply]:
        """Note that ``n_bytes`` are in the buffer, and return the frames that are complete now."""
        if self._own is not None:
            self._own_have += n_bytes
            if self._own_have < len(self._own):
                return []
            whole, self._own = self._own, None
            if self._own_code == _READ_CODE:
                return [_read_reply(whole)]
            return [decode_at(self._own_code, bytes(whole), 0, len(whole))]
        self._have += n_bytes
        return self._take_frames()

    def feed(self, data: bytes) -> list[Command | ReadReply]:
        """Copy bytes and return complete frames, for transports that have their own buffers."""
        frames: list[Command | ReadReply] = []
        rest = memoryview(data)
        while rest:
            room = self.get_buffer()
            n_bytes = min(len(room), len(rest))
            room[:n_bytes] = rest[:n_bytes]
            rest = rest[n_bytes:]
            frames += self.received(n_bytes)
        return frames

    def close(self) -> None:
        """Let go of the buffers: a program may keep a client for long after it was closed."""
        self._buffer, self._own = bytearray(), None

    def _take_frames(self) -> list[Command | ReadReply]:
        frames: list[Command | ReadReply] = []
        view, at, have = memoryview(self._buffer), 0, self._have
        while have - at >= _HEADER_BYTES:
            code, length = _HEADER.unpack_from(view, at)
            if code not in _KNOWN or not 0 <= length <= _BYTES_MAX:
                raise _unknown(code, length)
            start = at + _HEADER_BYTES
            if start + length > have:
                if length > OWN_BUFFER_BYTES:
                    self._start_own(code, length, view[start:have])
                    at = have
                break
            at = start + length
            frame = bytes(view[start:at])
            frames.append(_read_reply(frame) if code == _READ_CODE else decode_at(code, frame, 0, length))
        self._have = rest = have - at
        if at and rest:
            view[:rest] = bytes(view[at:have])
        return frames

    def _start_own(self, code: int, length: int, begin: memoryview) -> None:
        self._own, self._own_code, self._own_have = bytearray(length), code, len(begin)
        self._own[: len(begin)] = begin


def _unknown(code: int, length: int) -> ProtocolError:
    return ProtocolError(
        f"a frame of type {code} and {length} bytes: no segment store of Pravega answers like this. "
        "Check the address that the controller gave."
    )


def _read_reply(payload: bytes | bytearray) -> ReadReply:
    try:
        (name_bytes,) = _U16.unpack_from(payload)
        offset, at_tail, end_of_segment, length = _READ.unpack_from(payload, 2 + name_bytes)
        start = 2 + name_bytes + _READ.size
        (request_id,) = _I64.unpack_from(payload, start + length)
    except struct.error as error:
        raise ProtocolError(f"a SegmentRead of {len(payload)} bytes is cut short: {error}") from error
    if length < 0:
        raise ProtocolError(f"a SegmentRead claims {length} bytes of data")
    data = memoryview(payload)[start : start + length]
    return ReadReply(request_id, offset, at_tail, end_of_segment, data)
