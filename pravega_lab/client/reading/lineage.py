"""Decide which segments may be read now, and what the position of a read is. It does no I/O.

A segment may be read once no older segment that shares a key with it is unread. The segments over one key
form a chain, and the successors of a segment become known when it is read to its end. So the first unread
segment of each chain is always known, and all later ones wait. The rule holds for splits, merges and any
other scale, and for cuts in the middle of one. Source: pravega.md A5, A9; reader-groups.md B4.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush

from pravega_lab.protocol.key_set import not_begun
from pravega_lab.protocol.names import SegmentRange
from pravega_lab.protocol.stream_cut import SEGMENT_READ

READ_SEGMENTS_KEPT = 64  # before a search for those that no position needs


@dataclass(slots=True)
class _Segment:
    range: SegmentRange
    offset: int  # of the next event; SEGMENT_READ when read to the end of a sealed segment
    is_read: bool = False
    waits_for: dict[int, None] = field(default_factory=dict)
    blocks: list[int] = field(default_factory=list)


class Lineage:
    """Holds the segments of one read. With ``ordered=False`` no segment waits for another."""

    def __init__(self, ordered: bool = True) -> None:
        self._ordered = ordered
        self._segments: dict[int, _Segment] = {}
        self._available: dict[int, None] = {}
        self._offered: list[int] = []  # a heap of available segments that next_offered has not returned
        self._finished = 0  # since the last call of _forget_covered, to call it rarely

    def __contains__(self, segment_id: int) -> bool:
        return segment_id in self._segments

    def __len__(self) -> int:
        return len(self._segments)

    def add(self, segments: Iterable[tuple[SegmentRange, int]]) -> None:
        """Add segments with the offsets where reading begins, leaving out those that are known already."""
        new = [(r, offset) for r, offset in segments if r.segment_id not in self._segments]
        for segment, offset in new:
            self._segments[segment.segment_id] = _Segment(segment, offset, offset == SEGMENT_READ)
        self._find_blockers([segment for segment, _ in new])
        for segment, _ in new:
            self._offer(segment.segment_id)

    def _find_blockers(self, new: list[SegmentRange]) -> None:
        """Sweep over the key space, and let each segment wait for the unread one before it, at every key."""
        if not self._ordered or not new:
            return
        fresh = {segment.segment_id for segment in new}
        low, high = min(s.low for s in new), max(s.high for s in new)
        near = (s.range for s in self._segments.values() if s.range.low < high and low < s.range.high)
        here: list[int] = []  # the segments of the key that the sweep has reached, ascending
        ends: list[tuple[float, int]] = []  # a heap of them

        def leave_until(key: float) -> None:
            while ends and ends[0][0] <= key:
                at = bisect_left(here, heappop(ends)[1])
                if not self._segments[here.pop(at)].is_read:
                    self._block_next(here, at, fresh)

        for segment in sorted(near, key=lambda s: (s.low, s.segment_id)):
            leave_until(segment.low)
            heappush(ends, (segment.high, segment.segment_id))
            at = bisect_left(here, segment.segment_id)
            here.insert(at, segment.segment_id)
            self._block_next(here, at, fresh)
            self._block_next(here, at + 1, fresh)
        leave_until(high)

    def _block_next(self, here: list[int], at: int, fresh: Collection[int]) -> None:
        """Let the segments from ``at`` on, up to an unread one, wait for the unread one before ``at``."""
        older = next((here[i] for i in range(at - 1, -1, -1) if not self._segments[here[i]].is_read), None)
        if older is None:
            return
        for newer in itertools.islice(here, at, None):
            if newer in fresh or older in fresh:
                self._block(older, newer)
            if not self._segments[newer].is_read:
                return

    def _block(self, older: int, newer: int) -> None:
        waits_for = self._segments[newer].waits_for
        if older not in waits_for:
            waits_for[older] = None
            self._segments[older].blocks.append(newer)
            self._available.pop(newer, None)

    def _offer(self, segment_id: int) -> None:
        segment = self._segments[segment_id]
        if not segment.waits_for and not segment.is_read:
            self._available[segment_id] = None
            heappush(self._offered, segment_id)

    def next_offered(self) -> int | None:
        """Return the available segment with the smallest id that was not returned before, or None."""
        while self._offered:
            segment_id = heappop(self._offered)
            if segment_id in self._available:
                return segment_id
        return None

    def available(self) -> list[int]:
        """Return the ids of the segments that may be read now, ascending."""
        return sorted(self._available)

    def first_available(self) -> int | None:
        """Return the smallest id of the segments that may be read now, or None."""
        return min(self._available, default=None)

    @property
    def has_available(self) -> bool:
        """Return whether any segment may be read now."""
        return bool(self._available)

    def is_available(self, segment_id: int) -> bool:
        """Return whether the segment may be read now."""
        return segment_id in self._available

    def waits_for(self, segment_id: int) -> list[int]:
        """Return the unread segments that come right before this one at some key."""
        return sorted(self._segments[segment_id].waits_for)

    def offset(self, segment_id: int) -> int:
        """Return the offset of the segment's next event, `SEGMENT_READ` after its end."""
        return self._segments[segment_id].offset

    def advance(self, segment_id: int, offset: int) -> int:
        """Note that the events before ``offset`` were returned. Return how many bytes that is."""
        segment = self._segments[segment_id]
        before, segment.offset = segment.offset, offset
        return offset - before

    def finish(self, segment_id: int, offset: int = SEGMENT_READ) -> None:
        """Note that the segment was read to its end: a bound at ``offset``, or a sealed segment's end."""
        segment = self._segments[segment_id]
        segment.is_read, segment.offset = True, offset
        self._available.pop(segment_id, None)
        for newer in segment.blocks:
            waiting = self._segments[newer]
            waiting.waits_for.pop(segment_id, None)
            for older in segment.waits_for:  # this one had nothing to read, and could be finished before them
                if self._segments[older].range.overlaps(waiting.range):
                    self._block(older, newer)
            self._offer(newer)
        segment.blocks = []
        self._finished += 1
        if self._finished > READ_SEGMENTS_KEPT + len(self._segments) // 2:
            self._forget_covered()

    def _forget_covered(self) -> None:
        """Drop read segments that no position needs any more, so that a long read does not grow."""
        self._finished = 0
        kept = self.positions()
        # Keep a segment that waits, even if nothing of it is to be read: its predecessors will offer it.
        covered = [i for i, s in self._segments.items() if s.is_read and not s.waits_for and i not in kept]
        for segment_id in covered:
            del self._segments[segment_id]

    def positions(self) -> dict[int, int]:
        """Return a position for every key: the offset of its first unread event.

        A segment that was read to its end stays, with `SEGMENT_READ`, while some key of it has no newer
        segment that may be read. A segment that waits is left out: its beginning follows from the others.
        """
        found: dict[int, int] = {}
        covered = _Keys()
        for segment_id in sorted(self._segments, reverse=True):
            segment = self._segments[segment_id]
            if not segment.waits_for and covered.add(segment.range):
                found[segment_id] = segment.offset
        return {segment_id: found[segment_id] for segment_id in sorted(found)}

    def positions_before(self, unread: Iterable[tuple[SegmentRange, int]]) -> dict[int, int]:
        """Return the `positions` as if the events from these offsets of segments on had not been returned."""
        before = Lineage(self._ordered)
        before._segments = {i: _Segment(s.range, s.offset, s.is_read) for i, s in self._segments.items()}
        before._segments |= {segment.segment_id: _Segment(segment, offset) for segment, offset in unread}
        before._find_blockers([segment.range for segment in before._segments.values()])
        return before.positions()


class _Keys:
    """Holds a set of keys, as ranges that do not touch, ascending."""

    def __init__(self) -> None:
        self._lows: list[float] = []
        self._highs: list[float] = []

    def add(self, segment: SegmentRange) -> bool:
        """Add a segment's keys. Return False if the set had all of them already."""
        first = bisect_left(self._highs, segment.low)  # the first that ends at segment.low or later
        last = bisect_right(self._lows, segment.high)  # after the last that begins at segment.high or earlier
        if first < last and self._lows[first] <= segment.low and self._highs[first] >= segment.high:
            return False
        low = min([segment.low, *self._lows[first:last]])
        high = max([segment.high, *self._highs[first:last]])
        self._lows[first:last], self._highs[first:last] = [low], [high]
        return True


def without_placeholders(positions: Mapping[int, int], ranges: Iterable[SegmentRange]) -> dict[int, int]:
    """Return the positions of a cut without placeholders.

    A negative offset over a key with an older segment that is not read yet cannot mean "read". Upstream
    uses it to cover the keys of a merge in progress (pravega.md A9). Such an entry follows from the others,
    so it is left out.
    """
    segments = list(ranges)
    waiting = {s for s in not_begun(positions, segments) if positions[s] < 0}
    return {s.segment_id: positions[s.segment_id] for s in segments if s.segment_id not in waiting}


def newer_than(segment: SegmentRange, listed: Iterable[SegmentRange]) -> list[SegmentRange]:
    """Return the segments of a cut that follow a segment. If there are any, the segment was read."""
    return [other for other in listed if other.follows(segment)]
