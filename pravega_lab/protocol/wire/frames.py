"""Bytes of a connection to commands: however the bytes are split, the commands are the same.

The module takes bytes and returns values; it knows no connection. The type and length of a frame are checked
as soon as its eight header bytes have arrived, so at most one legal frame is ever buffered.
"""

from __future__ import annotations

from pravega_lab.errors import ProtocolError
from pravega_lab.protocol.wire.codec import (
    COMMANDS,
    HEADER,
    LISTS,
    PAYLOAD_BYTES_MAX,
    Piece,
    decode_at,
    decode_pieces,
)
from pravega_lab.protocol.wire.commands import AppendBlock, AppendBlockEnd, Command, Padding, PartialEvent

HEADER_BYTES = HEADER.size
_KNOWN = frozenset(command.code for command in COMMANDS)
LARGE_BYTES = 64 * 1024  # payloads below this are joined, which is faster than reading pieces
SMALL_PIECE_BYTES = 1024  # smaller pieces are joined as they come, for each object takes some 40 bytes more
NO_LIMIT = 1 << 62


class FrameDecoder:
    """Decodes one direction of one connection.

    After a ``ProtocolError`` the position in the stream is lost, and every further ``feed`` raises the same
    error. ``salvaged`` then has the commands that came before the bad frame in the same call.
    """

    def __init__(self) -> None:
        self.salvaged: list[Command] = []
        self.buffered_bytes = 0
        """The bytes of the incomplete frame. With 0 and without ``has_more``, the stream may end here."""
        self._later = b""  # bytes of which only a part was decoded, because of a limit
        self._later_at = 0
        self._most = NO_LIMIT
        self._is_limited = False
        self._pieces: list[Piece] = []
        self._missing_bytes = HEADER_BYTES  # until the header or the frame in the pieces is complete
        self._large_code: int | None = None  # of the frame in the pieces, if it is too large to join
        self._error: str | None = None  # in words: an exception would keep all bytes of the frame alive

    @property
    def has_more(self) -> bool:
        """Return whether bytes are left that a ``feed`` with a limit has not looked at."""
        return bool(self._later)

    def feed(self, data: bytes | bytearray | memoryview, most: int = NO_LIMIT) -> list[Command]:
        """Return the commands that ``data`` completes, in order. Raises only ``ProtocolError``.

        After ``most`` commands the rest is kept for a later call. ``feed(b"", most)`` resumes there. A
        command with a list, which may take milliseconds to decode, counts as ``most`` commands.
        """
        if self._error is not None:
            raise ProtocolError(self._error)
        at = 0
        if self._later:
            if data:
                data = self._later[self._later_at :] + data
            else:
                data, at = self._later, self._later_at
            self._later = b""
        found: list[Command] = []
        self._most = most
        self._is_limited = most < NO_LIMIT
        try:
            self._feed(bytes(data), at, found)
        except ProtocolError as error:
            self._error, self.salvaged, self._pieces, self._later = str(error), found, [], b""
            self.buffered_bytes = 0
            raise
        return found

    def keep(self, data: bytes | bytearray | memoryview) -> None:
        """Keep ``data`` for a later call of ``feed``, and decode nothing now."""
        self._later, self._later_at = self._later[self._later_at :] + bytes(data), 0

    def _feed(self, data: bytes, at: int, found: list[Command]) -> None:
        while self._pieces:
            cut = at + self._missing_bytes
            if cut > len(data):
                self._missing_bytes = cut - len(data)
                break
            self._complete(memoryview(data)[at:cut], found)
            at = cut
        else:
            at = self._decode_all(data, at, found)
        if at < len(data):
            self._keep(data[at:])

    def _keep(self, piece: bytes) -> None:
        """Keep the beginning of a frame, or more of it."""
        self.buffered_bytes += len(piece)
        if self._pieces and len(self._pieces[-1]) + len(piece) <= SMALL_PIECE_BYTES:
            self._pieces[-1] = bytes(self._pieces[-1]) + piece
        else:
            self._pieces.append(piece)

    def _complete(self, last: memoryview, found: list[Command]) -> None:
        """Handle a complete header or frame, made of the pieces and ``last``. Later bytes are not copied."""
        pieces, self._pieces = [*self._pieces, last], []
        self.buffered_bytes = 0
        if self._large_code is not None:
            code, self._large_code = self._large_code, None
            found.append(decode_pieces(code, pieces, HEADER_BYTES))
            self._stop_after(code, found)
            return
        joined = b"".join(pieces)
        if not self._decode_all(joined, 0, found):
            self._keep(joined)

    def _decode_all(self, data: bytes, at: int, found: list[Command]) -> int:
        """Decode whole frames from ``at`` on, note what is missing, and return where the rest begins."""
        have = len(data)
        while have - at >= HEADER_BYTES:
            if len(found) >= self._most:
                self._later, self._later_at, self._missing_bytes = data, at, HEADER_BYTES
                return have
            code, length = HEADER.unpack_from(data, at)
            if code not in _KNOWN or not 0 <= length <= PAYLOAD_BYTES_MAX:
                raise _bad_header(code, length)
            end = at + HEADER_BYTES + length
            if end > have:
                self._missing_bytes = end - have
                self._large_code = code if length >= LARGE_BYTES else None
                return at
            found.append(decode_at(code, data, at + HEADER_BYTES, end))
            if code in LISTS:
                self._stop_after(code, found)
            at = end
        self._missing_bytes = HEADER_BYTES - (have - at)
        return at

    def _stop_after(self, code: int, found: list[Command]) -> None:
        if self._is_limited and code in LISTS:
            self._most = len(found)


def join_append_block(block: AppendBlock | None, end: AppendBlockEnd) -> bytes:
    """Return the bytes that a block of appends adds to its segment (pravega.md D3).

    Without a block these are ``end.data``. With a block, they are its whole events, then the first part of a
    further event if a PartialEvent frame carries one, then ``end.data`` with its other part.

    Raises:
        ProtocolError: The block belongs to another writer, is shorter than ``size_of_whole_events``, or holds
            after the whole events anything other than one Padding or one PartialEvent.
    """
    if block is None:
        return end.data
    if block.writer_id != end.writer_id:
        raise ProtocolError(f"a block of writer {block.writer_id} was ended by writer {end.writer_id}")
    size = end.size_of_whole_events
    if not 0 <= size <= len(block.data):
        raise ProtocolError(f"a block of {len(block.data)} bytes cannot hold {size} bytes of whole events")
    return b"".join((block.data[:size], _first_part(block.data, size, end), end.data))


def _first_part(block: bytes, at: int, end: AppendBlockEnd) -> bytes:
    if at == len(block):
        return b""
    if len(block) - at < HEADER_BYTES:
        raise ProtocolError(f"{len(block) - at} bytes after the whole events of a block are not a frame")
    code, length = HEADER.unpack_from(block, at)
    at += HEADER_BYTES
    if at + length != len(block) or code not in (Padding.code, PartialEvent.code):
        raise ProtocolError(f"a frame of type {code} and {length} bytes cannot end a block of {len(block)}")
    if code == Padding.code and end.data:
        raise ProtocolError(f"{len(end.data)} bytes follow a block that ended in padding")
    return block[at:] if code == PartialEvent.code else b""


def _bad_header(code: int, length: int) -> ProtocolError:
    if code not in _KNOWN:
        return ProtocolError(
            f"no command has the type {code}; the bytes are not Pravega's, or newer than 0.13"
        )
    return ProtocolError(f"a frame of type {code} claims {length} bytes; the most is {PAYLOAD_BYTES_MAX}")
