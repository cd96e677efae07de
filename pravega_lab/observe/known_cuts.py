"""`cut_before`: the stream cuts that a journal knows, of completed reader-group checkpoints or of
measured lengths.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pravega_lab.observe.group.observations import GroupCheckpointDone
from pravega_lab.observe.journal.observations import (
    Observation,
    SegmentMeasured,
    SegmentOpened,
    SegmentSealed,
    StreamDeleted,
)
from pravega_lab.protocol.names import parse_segment_name
from pravega_lab.protocol.stream_cut import StreamCut


@dataclass(frozen=True, slots=True)
class KnownCut:
    """A cut of each stream: when it was taken, and in words where it comes from."""

    time_ms: int
    text: str
    cuts: dict[str, StreamCut]
    is_checkpoint: bool


def cut_before(observations: Iterable[Observation], at_ms: float) -> KnownCut | None:
    """Return the last cut that was known by ``at_ms``: of a checkpoint if there is one, else of the
    tails.

    Tails are the lengths that were measured by then, each segment at its own moment. A checkpoint has no
    cut of a stream that was deleted after it: another stream may have the name now. Return None if no
    stream is known.
    """
    by_then = sorted((o for o in observations if o.time_ms <= at_ms), key=lambda o: o.time_ms)
    tails = _Tails()
    for o in by_then:
        tails.apply(o)
    deleted: set[str] = set()
    for o in reversed(by_then):
        if isinstance(o, StreamDeleted):
            deleted.add(o.stream)
        elif isinstance(o, GroupCheckpointDone):
            cuts = {stream: cut for stream, cut in _cuts_of(o).items() if stream not in deleted}
            if cuts:
                text = f"checkpoint {o.checkpoint} of {o.group}"
                return KnownCut(o.time_ms, text, cuts, is_checkpoint=True)
    cuts = tails.cuts()
    return KnownCut(int(at_ms), "the tails as measured", cuts, is_checkpoint=False) if cuts else None


def _cuts_of(checkpoint: GroupCheckpointDone) -> dict[str, StreamCut]:
    positions: dict[str, dict[int, int]] = {}
    for name, offset in checkpoint.positions:
        segment = parse_segment_name(name)
        positions.setdefault(name.rsplit("/", 1)[0], {})[segment.segment_id] = offset
    return {stream: StreamCut(stream, offsets) for stream, offsets in positions.items()}


class _Tails:
    """The length of each active segment, as last measured."""

    def __init__(self) -> None:
        self._lengths: dict[str, dict[int, int]] = {}

    def apply(self, o: Observation) -> None:
        """Take the next observation."""
        match o:
            case SegmentOpened():
                self._lengths.setdefault(o.stream, {})[o.segment_id] = 0
            case SegmentSealed():
                self._lengths.get(o.stream, {}).pop(o.segment_id, None)
            case StreamDeleted():
                self._lengths.pop(o.stream, None)
            case SegmentMeasured() if o.segment_id in self._lengths.get(o.stream, {}):
                self._lengths[o.stream][o.segment_id] = o.write_offset

    def cuts(self) -> dict[str, StreamCut]:
        """Return a cut of each stream."""
        return {
            stream: StreamCut(stream, dict(lengths)) for stream, lengths in self._lengths.items() if lengths
        }
