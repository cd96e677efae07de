"""`KeySet`: which keys some segments have together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

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
