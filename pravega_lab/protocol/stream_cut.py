"""A position in a stream: an offset for each segment that is being read (pravega.md A9).

The module has the value and its written forms: text and bytes as the Java client writes them, and JSON for
files and Spark's offsets. Whether a cut fits a stream is decided elsewhere, where the stream is known.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pravega_lab.errors import BadInputError, ProtocolError
from pravega_lab.protocol.names import epoch_of, number_of, segment_id, short_name, split_scoped_name
from pravega_lab.protocol.serializer import (
    COMPACT_LONG,
    COMPACT_LONG_END,
    COMPACT_SIGNED,
    COMPACT_SIGNED_END,
    UTF,
    Envelope,
    Input,
    map_of,
)

SEGMENT_READ = -1
"""The offset of a sealed segment that was read to its end."""

UNBOUNDED_TEXT = "UNBOUNDED"
TEXT_BYTES_MAX = 16 * 1024 * 1024  # of the unpacked text, enough for half a million segments

_VERSION = 1
_OFFSETS_OF_VERSION = {0: map_of(COMPACT_LONG, COMPACT_LONG), 1: map_of(COMPACT_LONG, COMPACT_SIGNED)}
_GZIP_HEADER = bytes.fromhex("1f8b08000000000000ff")  # Java's: no time, no name, unknown system
_GZIP_WINDOW = 31


@dataclass(frozen=True, slots=True)
class StreamCut:
    """Offsets by segment id, in bytes from the segment's start; ``SEGMENT_READ`` (-1) for a segment read
    to its end.

    Equal cuts have the same stream and the same positions in any order. Do not change ``positions``: a cut
    is a value, and a key of dicts. A cut without positions is ``UNBOUNDED``.

    Raises:
        BadInputError: A segment id or an offset that no segment can have.
    """

    scoped_stream: str
    positions: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for segment, offset in self.positions.items():
            if not 0 <= segment < COMPACT_LONG_END:
                raise BadInputError(
                    f"{segment} in a stream cut of {self.scoped_stream!r} is not a segment id"
                )
            if not SEGMENT_READ <= offset < COMPACT_SIGNED_END:
                raise BadInputError(
                    f"segment {short_name(segment)} in a stream cut: {offset} is not an offset"
                )

    def __hash__(self) -> int:
        return hash((self.scoped_stream, tuple(sorted(self.positions.items()))))

    def __str__(self) -> str:
        offsets = (f"{short_name(segment)}: {offset}" for segment, offset in sorted(self.positions.items()))
        return f"{self.scoped_stream} {{{', '.join(offsets)}}}" if self.positions else UNBOUNDED_TEXT

    @property
    def is_unbounded(self) -> bool:
        """Return whether the cut has no positions.

        A read from it begins at the head; a read to it has no end.
        """
        return not self.positions

    # ---- text -----------------------------------------------------------------------------------

    def to_text(self) -> str:
        """Return the text that users copy between programs, Java's too.

        Segments are in the order of their ids.
        """
        if self.is_unbounded:
            return UNBOUNDED_TEXT
        segments = sorted(self.positions)
        lists = (map(number_of, segments), map(epoch_of, segments), map(self.positions.__getitem__, segments))
        inner = ":".join(["0", self.scoped_stream, *(",".join(map(str, items)) for items in lists)])
        return base64.b64encode(_gzip(inner.encode())).decode()

    @classmethod
    def from_text(cls, text: str) -> StreamCut:
        """Return the cut that ``to_text`` or Java's ``asText`` wrote.

        Raises:
            BadInputError: The text is not a stream cut; the message says why.
        """
        if not isinstance(text, str):
            raise BadInputError(f"{text!r:.80} is not a stream cut: pass the text of StreamCut.to_text()")
        if text == UNBOUNDED_TEXT:
            return UNBOUNDED
        parts = _gunzip(text).split(":")
        if len(parts) != 5 or parts[0] != "0":
            raise _malformed(text, "its inner text is not 0:scope/stream:numbers:epochs:offsets")
        split_scoped_name(parts[1])
        try:
            numbers, epochs, offsets = ([int(item) for item in part.split(",")] for part in parts[2:])
            positions = {
                segment_id(epoch, number): offset
                for number, epoch, offset in zip(numbers, epochs, offsets, strict=True)
            }
        except ValueError as error:
            raise _malformed(text, str(error)) from None
        return cls(parts[1], positions)

    # ---- bytes ----------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Return the bytes of Java's ``toBytes``, with segments in the order of ``positions``.

        ``UNBOUNDED`` has no bytes.
        """
        if self.is_unbounded:
            return b""
        offsets = _OFFSETS_OF_VERSION[_VERSION].write(self.positions)
        return Envelope(_VERSION, ((0, UTF.write(self.scoped_stream) + offsets),)).to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> StreamCut:
        """Return the cut that ``to_bytes`` or Java wrote. Raises ``ProtocolError``."""
        if not data:
            return UNBOUNDED
        return cls.from_envelope(Envelope.from_bytes(data))

    @classmethod
    def from_envelope(cls, envelope: Envelope) -> StreamCut:
        """Return a cut that is part of other data, where it has no length. Raises ``ProtocolError``."""
        offsets = _OFFSETS_OF_VERSION.get(envelope.version)
        if offsets is None or not envelope.revisions:
            raise ProtocolError(f"a stream cut of version {envelope.version}; 0 and 1 are known")
        source = Input(envelope.revisions[0][1])
        try:
            return cls(UTF.read(source), offsets.read(source))
        except BadInputError as error:
            raise ProtocolError(str(error)) from None

    # ---- JSON -----------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return one line of JSON with sorted keys. Equal cuts give equal text."""
        positions = {str(segment): self.positions[segment] for segment in sorted(self.positions)}
        return json.dumps({"positions": positions, "scoped_stream": self.scoped_stream}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> StreamCut:
        """Return the cut that ``to_json`` wrote. Raises ``BadInputError``."""
        try:
            found = json.loads(text)
            if not isinstance(found, dict) or not {"scoped_stream", "positions"} <= found.keys():
                raise ValueError('it must be an object with "scoped_stream" and "positions"')
            scoped_stream, positions = found["scoped_stream"], found["positions"]
            if not isinstance(scoped_stream, str):
                raise ValueError("scoped_stream is not a text")
            return cls(scoped_stream, _positions_from_json(positions))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise BadInputError(
                f"{text!r:.80} is not a stream cut in JSON ({error}); pass StreamCut.to_json() unchanged"
            ) from None


UNBOUNDED = StreamCut("")


def _positions_from_json(positions: Mapping[str, Any]) -> dict[int, int]:
    if not all(type(offset) is int for offset in positions.values()):
        raise ValueError("an offset is not a whole number")
    return {int(segment): offset for segment, offset in positions.items()}


def _gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    checks = zlib.crc32(data).to_bytes(4, "little") + len(data).to_bytes(4, "little")
    return _GZIP_HEADER + packer.compress(data) + packer.flush() + checks


def _gunzip(text: str) -> str:
    unpacker = zlib.decompressobj(wbits=_GZIP_WINDOW)
    try:
        data = unpacker.decompress(base64.b64decode(text, validate=True), TEXT_BYTES_MAX)
        inner = data.decode()
    except (binascii.Error, zlib.error, ValueError) as error:
        raise _malformed(text, str(error)) from None
    if not unpacker.eof:
        raise _malformed(text, f"it ends early, or is longer than {TEXT_BYTES_MAX} bytes unpacked")
    return inner


def _malformed(text: str, why: str) -> BadInputError:
    shown = text if len(text) <= 60 else text[:57] + "..."
    return BadInputError(f"{shown!r} is not a stream cut ({why}); pass StreamCut.to_text() unchanged")
