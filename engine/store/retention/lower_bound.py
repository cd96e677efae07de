"""Computes what several readers have all finished: the earliest of their cuts, key by key (pravega.md A7)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pravega_lab.protocol.names import SegmentRange

from ..metadata.cuts import Cut, is_valid, unread
from ..metadata.epochs import Epochs

END = 2**63  # after every offset: read to the end
UNREAD = -1  # before every offset: listed as not begun


def lower_bound(epochs: Epochs, given: Sequence[Cut]) -> Cut | None:
    """Return the latest cut that is at or before each of ``given``, None if no valid cut expresses it.

    Each cut is valid. For each key, the older segment and the smaller offset count.
    """
    placed = [_places(epochs, cut) for cut in given]
    edges = sorted({edge for places in placed for r, _, _ in places for edge in (r.low, r.high)})
    lowest: dict[int, int] = {}
    for low, high in pairwise(edges):
        segment_id, offset = min(_place_at(places, low, high) for places in placed)
        lowest[segment_id] = min(offset, lowest.get(segment_id, END))
    cut = {i: _offset_of(epochs, i, lowest) for i in sorted(lowest)}
    return cut if is_valid(epochs, cut) else None


Place = tuple[SegmentRange, bool, int]
"""A segment, whether the cut has an offset in it, and the offset, `UNREAD` or `END`."""


def _places(epochs: Epochs, cut: Cut) -> list[Place]:
    found, waiting = [], set(unread(epochs, cut))
    for segment_id, offset in cut.items():
        segment = epochs.segment(segment_id)
        assert segment is not None, "the cut is valid"
        place = offset if offset >= 0 else UNREAD if segment_id in waiting else END
        found.append((segment, offset >= 0, place))
    return found


def _place_at(places: Sequence[Place], low: float, high: float) -> tuple[int, int]:
    """Return where a cut is between two keys. A segment with an offset counts before the others."""
    here = [p for p in places if p[0].low <= low and high <= p[0].high]
    begun = [p for p in here if p[1]]
    return min((segment.segment_id, offset) for segment, _, offset in begun or here)


def _offset_of(epochs: Epochs, segment_id: int, lowest: dict[int, int]) -> int:
    """Return the entry of a segment in the bound: -1 after its end, and while older ones are not read."""
    segment, offset = epochs.segment(segment_id), lowest[segment_id]
    assert segment is not None
    for other_id, other in lowest.items():
        older = epochs.segment(other_id)
        if other_id < segment_id and other < END and older is not None and older.overlaps(segment):
            return -1
    if offset == END:
        return -1
    return max(offset, 0)
