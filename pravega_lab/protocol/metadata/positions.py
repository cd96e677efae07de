"""The bytes of a reader's position and of a reader-group checkpoint, as Java's ``toBytes`` writes them.

Segments are full names, ``scope/stream/0.#epoch.0``. An offset of -1 means that the segment was read to its
end.

Source: pravega.md A14; real-pravega.md 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pravega_lab.errors import BadInputError, ProtocolError
from pravega_lab.protocol.metadata.reader_group import RANGES, UNKNOWN_RANGE, KeyRange
from pravega_lab.protocol.names import parse_segment_name
from pravega_lab.protocol.serializer import (
    COMPACT_LONG,
    COMPACT_LONG_END,
    UTF,
    Envelope,
    Format,
    Input,
    Layout,
    map_of,
)
from pravega_lab.protocol.stream_cut import SEGMENT_READ, StreamCut

_WRITTEN_FOR_READ = COMPACT_LONG_END - 2  # compact longs have no sign


def _read_offset(data: Input) -> int:
    offset = COMPACT_LONG.read(data)
    return SEGMENT_READ if offset == _WRITTEN_FOR_READ else offset


def _write_offset(offset: int) -> bytes:
    return COMPACT_LONG.write(_WRITTEN_FOR_READ if offset == SEGMENT_READ else offset)


@dataclass(frozen=True, slots=True)
class _Position:
    segments: dict[str, int]
    ranges: dict[str, KeyRange] = field(default_factory=dict)


_POSITION = Layout({"segments": map_of(UTF, Format(_read_offset, _write_offset))}, {"ranges": RANGES})
_CUT = Format(lambda data: StreamCut.from_envelope(Envelope.from_input(data)), StreamCut.to_bytes)
_CUTS = map_of(UTF, _CUT)


def position_to_bytes(segments: Mapping[str, int], ranges: Mapping[str, KeyRange]) -> bytes:
    """Return the bytes of a position: offsets, and key ranges for the segments in ``ranges``."""
    keys = {name: ranges.get(name, UNKNOWN_RANGE) for name in segments}
    return _POSITION.write(_Position(dict(segments), keys)).to_bytes()


def position_from_bytes(data: bytes) -> tuple[dict[str, int], dict[str, KeyRange]]:
    """Return the offsets, and the key ranges that are known. Raises ``ProtocolError``."""
    values, _ = _POSITION.read(Envelope.from_bytes(data))
    if not values:
        raise ProtocolError("the position has no first revision")
    found = _Position(**values)
    for name in found.segments:
        _check_segment(name)
    return found.segments, {name: keys for name, keys in found.ranges.items() if keys.low >= 0}


def checkpoint_to_bytes(name: str, cuts: Mapping[str, StreamCut]) -> bytes:
    """Return the bytes of a checkpoint: its name, and a cut by stream (``scope/stream``)."""
    return Envelope(0, ((0, UTF.write(name) + _CUTS.write(dict(cuts))),)).to_bytes()


def checkpoint_from_bytes(data: bytes) -> tuple[str, dict[str, StreamCut]]:
    """Return the name and the cuts. Raises ``ProtocolError``."""
    envelope = Envelope.from_bytes(data)
    if envelope.version != 0 or not envelope.revisions:
        raise ProtocolError(f"the checkpoint has version {envelope.version}; only 0 is known")
    source = Input(envelope.revisions[0][1])
    return UTF.read(source), _CUTS.read(source)


def _check_segment(name: str) -> None:
    try:
        parse_segment_name(name)
    except BadInputError as error:
        raise ProtocolError(f"the position names {name!r}: {error}") from None
