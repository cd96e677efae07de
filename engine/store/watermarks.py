"""What a watermark is made of: writers' times and positions, one after the other (pravega.md A12).

Decides whether there is a new one, and its bounds and cut; ``writer_times`` asks, and stores it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pravega_lab.engine.store.epochs import Epochs, overlapping
from pravega_lab.engine.store.records import WatermarkRecord, WriterRecord
from pravega_lab.protocol.names import SegmentRange, epoch_of
from pravega_lab.protocol.watermark import Watermark

SILENCE_MS_DEFAULT = 10_000
"""Silence after which a writer no longer holds watermarks back; a stream may name its own."""


@dataclass(frozen=True, slots=True)
class NextWatermark:
    """Events behind ``cut`` are of ``lower`` or later; ``upper`` is the latest time a writer had noted."""

    lower: int
    upper: int
    cut: Mapping[int, int]


def silent(
    writers: Iterable[WriterRecord], last: WatermarkRecord | None, silence_ms: int, now_ms: int
) -> list[WriterRecord]:
    """Writers to be dropped: nothing new since the last watermark, and silent for too long."""
    return [w for w in writers if not _is_new(w, last) and now_ms - w.now_ms >= silence_ms]


def next_watermark(
    epochs: Epochs, writers: Sequence[WriterRecord], last: WatermarkRecord | None
) -> NextWatermark | None:
    """The new watermark, or None while a writer has noted nothing above the last one."""
    if not writers or not all(_is_new(w, last) for w in writers):
        return None
    times = [w.timestamp for w in writers]
    positions = [w.position for w in writers] + ([last.cut] if last else [])
    return NextWatermark(min(times), max(times), upper_bound(epochs, positions))


def upper_bound(epochs: Epochs, positions: Sequence[Mapping[int, int]]) -> dict[int, int]:
    """The cut that lies behind none of ``positions``; keys that none names begin in the newest epoch."""
    furthest: dict[int, int] = {}
    for position in positions:
        for segment_id, offset in position.items():
            furthest[segment_id] = max(offset, furthest.get(segment_id, 0))
    newest = epochs.epoch(epoch_of(max(furthest)))
    while True:
        chosen = _newest_of(epochs, furthest)
        missing = [s for s in newest.segments if not _is_covered(s, chosen)]
        missing = [s for s in missing if s.segment_id not in furthest]
        if not missing:
            return {s.segment_id: furthest[s.segment_id] for s in sorted(chosen)}
        furthest |= {s.segment_id: 0 for s in missing}


def to_event(epochs: Epochs, mark: NextWatermark) -> bytes:
    """The watermark as it stands on the mark stream, without the header of an event."""
    ranges = {epochs.segment(i): offset for i, offset in mark.cut.items()}
    named = {segment: offset for segment, offset in ranges.items() if segment is not None}
    return Watermark(mark.lower, mark.upper, named).to_bytes()


def _is_new(writer: WriterRecord, last: WatermarkRecord | None) -> bool:
    return last is None or writer.timestamp > last.lower


def _newest_of(epochs: Epochs, furthest: Mapping[int, int]) -> list[SegmentRange]:
    """Segments in the order of keys, of two that overlap the newer."""
    chosen: list[SegmentRange] = []
    for segment_id in sorted(furthest, reverse=True):
        segment = epochs.segment(segment_id)
        if segment is not None and not any(segment.overlaps(other) for other in chosen):
            chosen.append(segment)
    return sorted(chosen, key=lambda s: s.low)


def _is_covered(segment: SegmentRange, chosen: Sequence[SegmentRange]) -> bool:
    reached = segment.low
    for other in overlapping(chosen, segment.low, segment.high):
        if other.low > reached:
            return False
        reached = other.high
    return reached >= segment.high
