"""A watermark as it stands on a stream's mark stream ``_MARK<stream>`` (A12): Java's bytes, and the value.

Who may write one, and when a reader has passed it, is for others to say.
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
    """Events behind ``cut`` are of ``lower`` or later; ``upper`` is the latest time a writer had noted.

    Times are whatever the writers noted. ``cut`` covers the key space: offsets in bytes by segment.
    """

    lower: int
    upper: int
    cut: Mapping[SegmentRange, int]

    def to_bytes(self) -> bytes:
        """The payload of the event, without its header."""
        data = I64.write(self.lower) + I64.write(self.upper) + _CUT.write(dict(self.cut))
        return Envelope(_VERSION, ((0, data),)).to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Watermark:
        """Read what `to_bytes` or Java's controller wrote. Raises ``ProtocolError``."""
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
