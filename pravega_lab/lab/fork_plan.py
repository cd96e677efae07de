"""`plan`: what a fork copies, as segments with offsets, epoch by epoch. It only reads the source."""

from __future__ import annotations

from dataclasses import dataclass, field

from pravega_lab.client import Stream
from pravega_lab.client.reading.cuts import is_after
from pravega_lab.errors import BadInputError, NotFoundError
from pravega_lab.protocol.key_set import not_begun
from pravega_lab.protocol.names import SegmentRange, epoch_of, short_name
from pravega_lab.protocol.stream_cut import SEGMENT_READ, StreamCut


@dataclass(frozen=True, slots=True)
class Piece:
    """Names a part of a segment, from byte ``start`` to byte ``end`` of it."""

    segment_id: int
    start: int
    end: int

    @property
    def n_bytes(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Epoch:
    """The segments of an epoch, and what to copy before the scale that ends it."""

    segments: tuple[SegmentRange, ...]
    pieces: tuple[Piece, ...]


@dataclass(slots=True)
class Plan:
    """How to copy one stream from a cut to its tail. ``truncated`` says in words what no longer exists."""

    stream: Stream
    cut: StreamCut
    tail: StreamCut
    epochs: list[Epoch] = field(default_factory=list)
    truncated: list[str] = field(default_factory=list)

    @property
    def n_bytes(self) -> int:
        return sum(piece.n_bytes for epoch in self.epochs for piece in epoch.pieces)


def plan(stream: Stream, cut: StreamCut) -> Plan:
    """Return how to copy from the cut to the stream's present tail.

    The copy begins with the last epoch in which all unread segments of the cut were active, and repeats all
    scales since then. So each event finds a segment with its range, and its predecessors come before it.
    Scales before which there is nothing to copy are left out: a reader group would wait for a checkpoint
    after each empty segment.

    Raises:
        BadInputError: The cut is of an earlier stream with this name.
    """
    listed = _ranges(stream, cut)
    waiting = not_begun(cut.positions, listed)
    known = [segment for segment in listed if segment.segment_id not in waiting]
    cut = StreamCut(cut.scoped_stream, {s.segment_id: cut.positions[s.segment_id] for s in known})
    made = Plan(stream, cut, stream.tail())
    last = max(epoch_of(segment) for segment in made.tail.positions)
    first, segments = _first_epoch(stream, cut)
    for epoch in range(first, last + 1):
        following = stream.epoch_segments(epoch + 1) if epoch < last else []
        kept = {segment.segment_id for segment in following}
        ending = [s for s in segments if s.segment_id not in kept and is_after(s, listed, known)]
        pieces = (_piece(made, s.segment_id) for s in ending)
        made.epochs.append(Epoch(tuple(segments), tuple(p for p in pieces if p is not None)))
        segments = following
    while len(made.epochs) > 1 and not made.epochs[0].pieces:
        del made.epochs[0]
    return made


def _ranges(stream: Stream, cut: StreamCut) -> list[SegmentRange]:
    """Return the segments of a cut.

    Refuse a cut of an earlier stream with this name: segments of the two never share an id (pravega.md A8).
    """
    found: list[SegmentRange] = []
    for epoch in sorted({epoch_of(segment) for segment in cut.positions}):
        had = {segment.segment_id: segment for segment in stream.epoch_segments(epoch)}
        listed = [s for s in cut.positions if epoch_of(s) == epoch]
        strange = [s for s in listed if s not in had]
        if strange:
            raise BadInputError(
                f"fork: the {stream.scoped_name} of that moment was deleted, and its events with it: the one "
                f"that has its name now never had segment {short_name(strange[0])}. Give a later moment"
            )
        found += [had[s] for s in listed]
    return found


def _first_epoch(stream: Stream, cut: StreamCut) -> tuple[int, list[SegmentRange]]:
    """Return the last epoch in which the cut's unread segments were active, and its segments.

    Unread segments that were created later are reached by the scales.
    """
    epoch = max(epoch_of(segment) for segment in cut.positions)
    unread = {segment for segment, offset in cut.positions.items() if offset != SEGMENT_READ}
    while True:
        segments = stream.epoch_segments(epoch)
        active = {segment.segment_id for segment in segments}
        if epoch == 0 or not any(s not in active and epoch_of(s) <= epoch for s in unread):
            return epoch, segments
        epoch -= 1


def _piece(made: Plan, segment_id: int) -> Piece | None:
    """Return what to copy of a segment, None if it is read at the cut or nothing is left."""
    start = made.cut.positions.get(segment_id, 0)
    if start == SEGMENT_READ:
        return None
    try:
        info = made.stream.segment_info(segment_id)
    except NotFoundError:
        made.truncated.append(f"segment {short_name(segment_id)}: all of it")
        return None
    end = made.tail.positions.get(segment_id, info.write_offset)
    if info.start_offset > start:
        gone = min(info.start_offset, end) - start
        made.truncated.append(f"segment {short_name(segment_id)}: {gone:,} bytes from offset {start:,}")
    start = max(start, info.start_offset)
    return Piece(segment_id, start, end) if end > start else None
