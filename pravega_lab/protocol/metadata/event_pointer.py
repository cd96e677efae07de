"""Where one event is, in Java's text and byte format: a pointer that programs can store and fetch later."""

from __future__ import annotations

from dataclasses import dataclass

from pravega_lab.errors import BadInputError, ProtocolError
from pravega_lab.protocol.names import parse_segment_name, scoped_name, segment_name, split_scoped_name
from pravega_lab.protocol.serializer import COMPACT_INT, COMPACT_LONG, UTF, Envelope, Input

HEADER_BYTES = 8


@dataclass(frozen=True, slots=True)
class EventPointer:
    """Names an event: its stream (``scope/stream``), segment and offset, and its length with its header."""

    stream: str
    segment_id: int
    offset: int
    length: int

    @classmethod
    def of(cls, stream: str, segment_id: int, offset: int, event: bytes) -> EventPointer:
        """Return the pointer to an event that was read at an offset."""
        return cls(stream, segment_id, offset, HEADER_BYTES + len(event))

    @property
    def segment(self) -> str:
        """Return the full name of the segment."""
        return segment_name(*split_scoped_name(self.stream), self.segment_id)

    def to_text(self) -> str:
        """Return Java's text, ``scope/stream/0.#epoch.0:offset-length``."""
        return f"{self.segment}:{self.offset}-{self.length}"

    @classmethod
    def from_text(cls, text: str) -> EventPointer:
        """Read what `to_text` or Java wrote. Raises `BadInputError`."""
        segment, _, place = text.rpartition(":")
        offset, _, length = place.partition("-")
        if not (offset.isdecimal() and length.isdecimal()):
            raise BadInputError(f"{text!r} is no event pointer; one looks like s/x/0.#epoch.0:0-13")
        return cls._of(segment, int(offset), int(length))

    def to_bytes(self) -> bytes:
        """Return Java's bytes."""
        data = UTF.write(self.segment) + COMPACT_LONG.write(self.offset) + COMPACT_INT.write(self.length)
        return Envelope(0, ((0, data),)).to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> EventPointer:
        """Read what `to_bytes` or Java wrote. Raises `BadInputError`."""
        try:
            source = Input(Envelope.from_bytes(data).revisions[0][1])
            return cls._of(UTF.read(source), COMPACT_LONG.read(source), COMPACT_INT.read(source))
        except (ProtocolError, IndexError) as error:
            raise BadInputError(f"{len(data)} bytes are no event pointer: {error}") from error

    @classmethod
    def _of(cls, segment: str, offset: int, length: int) -> EventPointer:
        found = parse_segment_name(segment)
        return cls(scoped_name(found.scope, found.stream), found.segment_id, offset, length)
