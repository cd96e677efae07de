"""Computes watermarks from the times and positions that writers note (pravega.md A12).

This module decides whether there is a new watermark, its bounds and its cut. ``writer_times`` calls it and
stores the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pravega_lab.protocol.metadata.watermark import Watermark
from pravega_lab.protocol.names import SegmentRange, epoch_of

from ..metadata.epochs import Epochs, overlapping
from ..metadata.records import WatermarkRecord, WriterRecord

SILENCE_MS_DEFAULT = 10_000
"""Silence after which a writer no longer holds watermarks back. A stream may configure its own."""


@dataclass(frozen=True, slots=True)
class NextWatermark:
    """Events after ``cut`` have times of ``lower`` or later.

    ``upper`` is the latest time that a writer noted.
    """

    lower: int
    upper: int
    cut: Mapping[int, int]


def silent(
    writers: Iterable[WriterRecord], last: WatermarkRecord | None, silence_ms: int, now_ms: int
) -> list[WriterRecord]:
    """Return the writers to drop: nothing new since the last watermark, and silent for too long."""
    return [w for w in writers if not _is_new(w, last) and now_ms - w.now_ms >= silence_ms]


def next_watermark(
    epochs: Epochs, writers: Sequence[WriterRecord], last: WatermarkRecord | None
) -> NextWatermark | None:
    """Return the new watermark, or None while some writer has noted nothing above the last one."""
    if not writers or not all(_is_new(w, last) for w in writers):
        return None
    times = [w.timestamp for w in writers]
    positions = [w.position for w in writers] + ([last.cut] if last else [])
    return NextWatermark(min(times), max(times), upper_bound(epochs, positions))


def upper_bound(epochs: Epochs, positions: Sequence[Mapping[int, int]]) -> dict[int, int]:
    """Return the earliest cut that is at or after all ``positions``.

    Keys that no position names begin in the newest epoch.
    """
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
    """Return the watermark as the payload of an event of the mark stream."""
    ranges = {epochs.segment(i): offset for i, offset in mark.cut.items()}
    named = {segment: offset for segment, offset in ranges.items() if segment is not None}
    return Watermark(mark.lower, mark.upper, named).to_bytes()


def _is_new(writer: WriterRecord, last: WatermarkRecord | None) -> bool:
    return last is None or writer.timestamp > last.lower


def _newest_of(epochs: Epochs, furthest: Mapping[int, int]) -> list[SegmentRange]:
    """Return segments in the order of keys. Of two that overlap, the newer one is chosen."""
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
