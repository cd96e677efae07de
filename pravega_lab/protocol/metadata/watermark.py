"""A watermark as it is stored in a stream's mark stream ``_MARK<stream>`` (pravega.md A12).

The module has the value and Java's bytes. Who writes a watermark, and when a reader has passed it, is
decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pravega_lab.errors import ProtocolError
from pravega_lab.protocol.names import SegmentRange
from pravega_lab.protocol.serializer import DOUBLE, I64, Envelope, Format, Input, map_of

_VERSION = 0


@dataclass(frozen=True, slots=True)
class Watermark:
    """Events after ``cut`` have times of ``lower`` or later.

    ``upper`` is the latest time that a writer noted.

    Times are in the writers' own unit. ``cut`` covers the key space: offsets in bytes by segment.
    """

    lower: int
    upper: int
    cut: Mapping[SegmentRange, int]

    def to_bytes(self) -> bytes:
        """Return the payload of the event, without its header."""
        data = I64.write(self.lower) + I64.write(self.upper) + _CUT.write(dict(self.cut))
        return Envelope(_VERSION, ((0, data),)).to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Watermark:
        """Return the watermark that `to_bytes` or Java's controller wrote. Raises ``ProtocolError``."""
        source = _first_revision(Envelope.from_bytes(data), "watermark")
        return cls(I64.read(source), I64.read(source), _CUT.read(source))


def _first_revision(envelope: Envelope, what: str) -> Input:
    if envelope.version != _VERSION or not envelope.revisions:
        raise ProtocolError(f"a {what} of version {envelope.version}; only {_VERSION} is known")
    return Input(envelope.revisions[0][1])


def _read_range(data: Input) -> SegmentRange:
    source = _first_revision(Envelope.from_input(data), "watermark's segment")
    return SegmentRange(I64.read(source), DOUBLE.read(source), DOUBLE.read(source))


def _write_range(segment: SegmentRange) -> bytes:
    data = I64.write(segment.segment_id) + DOUBLE.write(segment.low) + DOUBLE.write(segment.high)
    return Envelope(_VERSION, ((0, data),)).to_bytes()


_CUT = map_of(Format(_read_range, _write_range), I64)
