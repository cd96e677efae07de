"""Stream cuts that a journal knows: of completed reader-group checkpoints, else of measured lengths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pravega_lab.observe.group_observations import GroupCheckpointDone
from pravega_lab.observe.observations import Observation, SegmentMeasured, SegmentOpened, SegmentSealed
from pravega_lab.protocol.names import parse_segment_name
from pravega_lab.protocol.stream_cut import StreamCut


@dataclass(frozen=True, slots=True)
class KnownCut:
    """A cut of each stream, when it was so, and where it comes from in words."""

    time_ms: int
    text: str
    cuts: dict[str, StreamCut]
    is_checkpoint: bool


def cut_before(observations: Iterable[Observation], at_ms: float) -> KnownCut | None:
    """The last one that was known by ``at_ms``: of a checkpoint if there is one, else of the tails.

    Tails are the lengths as measured by then, one moment per segment; None when nothing is known of a stream.
    """
    checkpoint: GroupCheckpointDone | None = None
    tails = _Tails()
    for o in observations:
        if o.time_ms > at_ms:
            continue
        if isinstance(o, GroupCheckpointDone) and o.positions:
            checkpoint = o if checkpoint is None or o.time_ms >= checkpoint.time_ms else checkpoint
        tails.apply(o)
    if checkpoint is not None:
        text = f"checkpoint {checkpoint.checkpoint} of {checkpoint.group}"
        return KnownCut(checkpoint.time_ms, text, _cuts_of(checkpoint), is_checkpoint=True)
    cuts = tails.cuts()
    return KnownCut(int(at_ms), "the tails as measured", cuts, is_checkpoint=False) if cuts else None


def _cuts_of(checkpoint: GroupCheckpointDone) -> dict[str, StreamCut]:
    positions: dict[str, dict[int, int]] = {}
    for name, offset in checkpoint.positions:
        segment = parse_segment_name(name)
        positions.setdefault(name.rsplit("/", 1)[0], {})[segment.segment_id] = offset
    return {stream: StreamCut(stream, offsets) for stream, offsets in positions.items()}


class _Tails:
    """How long each active segment was, as far as it was measured."""

    def __init__(self) -> None:
        self._lengths: dict[str, dict[int, int]] = {}

    def apply(self, o: Observation) -> None:
        match o:
            case SegmentOpened():
                self._lengths.setdefault(o.stream, {})[o.segment_id] = 0
            case SegmentSealed():
                self._lengths.get(o.stream, {}).pop(o.segment_id, None)
            case SegmentMeasured() if o.segment_id in self._lengths.get(o.stream, {}):
                self._lengths[o.stream][o.segment_id] = o.write_offset

    def cuts(self) -> dict[str, StreamCut]:
        return {
            stream: StreamCut(stream, dict(lengths)) for stream, lengths in self._lengths.items() if lengths
        }
