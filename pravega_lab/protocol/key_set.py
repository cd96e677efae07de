"""Which keys some segments have together, and which segments of a cut have not begun."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from itertools import pairwise

from pravega_lab.protocol.names import SegmentRange


class KeySet:
    """The keys of the segments that were added. Adding and asking take O(log n)."""

    def __init__(self, segments: Iterable[SegmentRange] = ()) -> None:
        self._lows: list[float] = []  # of ranges in order, none of which touch
        self._highs: list[float] = []
        for segment in segments:
            self.add(segment)

    def add(self, segment: SegmentRange) -> None:
        first, last = bisect_left(self._highs, segment.low), bisect_right(self._lows, segment.high)
        low, high = min([segment.low, *self._lows[first:last]]), max([segment.high, *self._highs[first:last]])
        self._lows[first:last], self._highs[first:last] = [low], [high]

    def has_some_of(self, segment: SegmentRange) -> bool:
        """Return whether some key of a segment is in the set."""
        first = bisect_right(self._highs, segment.low)
        return first < len(self._lows) and self._lows[first] < segment.high


def is_covered(wanted: SegmentRange, segments: Iterable[SegmentRange]) -> bool:
    """Return whether ``segments`` have all keys of a segment."""
    reached = wanted.low
    for segment in sorted(segments, key=lambda s: s.low):
        if segment.low > reached:
            break
        reached = max(reached, segment.high)
    return reached >= wanted.high


def is_whole(segments: Iterable[SegmentRange]) -> bool:
    """Return whether the segments cover every key."""
    return is_covered(SegmentRange(-1, 0.0, 1.0), segments)


def not_begun(positions: Mapping[int, int], ranges: Iterable[SegmentRange]) -> list[int]:
    """Return the segments of a cut, at -1 or 0, that share keys with an older one that is not read.

    That one may be such a segment itself.
    """
    segments = sorted(ranges, key=lambda s: s.low)
    if all(one.high <= other.low for one, other in pairwise(segments)):  # as in most cuts
        return []
    unread = KeySet()  # of older segments
    waiting: list[int] = []
    for segment in sorted(segments, key=lambda s: s.segment_id):
        at = positions[segment.segment_id]
        waits = at <= 0 and unread.has_some_of(segment)
        if waits:
            waiting.append(segment.segment_id)
        if waits or at >= 0:
            unread.add(segment)
    return waiting
