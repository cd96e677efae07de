"""Stream cuts on the server: which are valid, which is later, and which segments are before or between
cuts.

A cut maps segment ids to offsets. The offset -1 means "read to the end". Where the cut also lists an older
overlapping segment that is not read to its end, -1 means "not begun" (pravega.md A9). That segment may be one
that has not begun itself. Comparing offsets with lengths is left to the storage.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from pravega_lab.errors import BadInputError, SegmentNotFoundError
from pravega_lab.protocol.key_set import KeySet, is_whole, not_begun
from pravega_lab.protocol.names import SegmentRange

from .epochs import Epochs, Ranges, overlapping

Cut = Mapping[int, int]
END = 2**63
"""After every offset: read to the end."""


def is_valid(epochs: Epochs, cut: Cut) -> bool:
    """Return whether ``cut`` covers the key space of the stream exactly once (pravega.md A9)."""
    if any(epochs.segment(i) is None for i in cut):
        return False
    begun, rest = _split(epochs, cut)
    if any(a.high > b.low for a, b in pairwise(begun)):
        return False
    newer = all(r.segment_id > b.segment_id for r in rest for b in overlapping(begun, r.low, r.high))
    return newer and is_whole([*begun, *rest])


def is_not_before(epochs: Epochs, later: Cut, earlier: Cut) -> bool:
    """Return whether ``later`` is at or after ``earlier`` for every key. Both are cuts of this stream."""
    places, others = Places(epochs, later), Places(epochs, earlier)
    for place in places.ranges:
        here = place.segment_id, places.at[place.segment_id]
        if any((other.segment_id, others.at[other.segment_id]) > here for other in others.over(place)):
            return False
    return True


def is_before(epochs: Epochs, one: Cut, other: Cut) -> bool:
    """Return whether ``one`` is before ``other`` for some key, and after it for none."""
    return is_not_before(epochs, other, one) and not is_not_before(epochs, one, other)


def between(epochs: Epochs, start: Cut, end: Cut) -> list[int]:
    """Return the ids of the segments from ``start`` to ``end``, both included, oldest first
    (getSegmentsBetween).

    An empty ``start`` is the beginning of history, an empty ``end`` the active epoch. A listed segment that
    is not read to its end belongs to the result, even if ``start`` also lists a successor over it that has
    not begun. Upstream omits the segment then, and with it the events of a cut taken in the middle of a
    merge.

    Raises:
        BadInputError: Both cuts are empty, or ``end`` is before ``start``. As upstream, -1 is less than the
            other offsets of a segment here.
        SegmentNotFoundError: A cut names a segment that the stream never had.
    """
    if not start and not end:
        raise BadInputError("both cuts are empty; name at least one end")
    for segment_id in [*start, *end]:
        if epochs.segment(segment_id) is None:
            raise SegmentNotFoundError(f"the stream never had segment {segment_id}")
    first = dict(start) or _tail(epochs.epoch(0).segments)
    last = dict(end) or _tail(epochs.active.segments)
    if start and end and not is_not_before(epochs, last, first):
        raise BadInputError(f"the end {last} lies before the start {first}")
    for segment_id in start:
        if end.get(segment_id, 0) < 0 <= start[segment_id]:
            raise BadInputError(
                f"the end {last} lists segment {segment_id} at -1, which is less than in the start {first}"
            )
    return list(_between(epochs, first, last))


def before(epochs: Epochs, cut: Cut, candidates: Iterable[int]) -> list[int]:
    """Return those ``candidates`` that are wholly before ``cut``, ascending. A truncation there deletes them.

    Such a segment shares keys with newer entries of the cut alone. Source: pravega.md A8.
    """
    listed = sorted(_ranges(epochs, cut), key=lambda r: r.segment_id, reverse=True)
    entries, older = KeySet(listed), KeySet()
    found = []
    for segment_id in sorted(candidates):
        while listed and listed[-1].segment_id <= segment_id:
            older.add(listed.pop())
        segment = epochs.segment(segment_id)
        if segment is not None and entries.has_some_of(segment) and not older.has_some_of(segment):
            found.append(segment_id)
    return found


def resolved(epochs: Epochs, cut: Cut) -> dict[int, int]:
    """Return the cut with offset 0 for segments that have not begun, so that -1 always means the end.

    Nothing of a segment that has not begun may be truncated.
    """
    return {**cut, **dict.fromkeys(not_begun(cut, _ranges(epochs, cut)), 0)}


def _between(epochs: Epochs, first: Cut, last: Cut) -> Iterator[int]:
    starts, ends = Places(epochs, first), Places(epochs, last)
    for segment_id in _candidates(epochs, first, last):
        segment = epochs.segment(segment_id)
        listed = first.get(segment_id, -1) >= 0
        is_after = listed or all(r.segment_id <= segment_id for r in starts.over(segment))
        if is_after and all(r.segment_id >= segment_id for r in ends.over(segment)):
            yield segment_id


def _candidates(epochs: Epochs, first: Cut, last: Cut) -> Sequence[int]:
    """Return the ids that can be between the cuts.

    A key range that ``first`` omits begins with the stream.
    """
    ids = epochs.ids
    whole = is_whole(_ranges(epochs, first))
    low = bisect_left(ids, min(first)) if whole else 0
    high = bisect_right(ids, max(last)) if is_whole(_ranges(epochs, last)) else len(ids)
    return ids[low:high]


class Places:
    """Where a cut is: ranges of keys with the segment that is to be read there next, or was read there last.

    An entry that has begun counts for all its keys, and one that has not where no older one is read. Of
    several that were read, the newest counts. Of two that have begun, in what is no valid cut, the older one
    counts. ``at`` has the offsets: 0 before the beginning, `END` after the end.
    """

    def __init__(self, epochs: Epochs, cut: Cut) -> None:
        begun, rest = _split(epochs, cut)
        self.at = {i: END if offset < 0 else offset for i, offset in resolved(epochs, cut).items()}
        self.ranges: list[SegmentRange] = []
        if all(a.high <= b.low for a, b in pairwise(begun)):  # as in every valid cut
            self.ranges, begun = begun, []
        begun.sort(key=lambda r: r.segment_id)
        rest.sort(key=lambda r: r.segment_id)
        waiting = [r for r in rest if self.at[r.segment_id] < END]
        read = [r for r in rest if self.at[r.segment_id] == END]
        for r in (*begun, *waiting, *reversed(read)):
            for low, high in self._gaps(r):
                insort(self.ranges, SegmentRange(r.segment_id, low, high), key=lambda r: r.low)

    def _gaps(self, segment: SegmentRange) -> Iterator[tuple[float, float]]:
        """Return the parts of a segment over which there is nothing yet."""
        reached = segment.low
        for r in overlapping(self.ranges, segment.low, segment.high):
            if r.low > reached:
                yield reached, r.low
            reached = r.high
        if reached < segment.high:
            yield reached, segment.high

    def between(self, low: float, high: float) -> tuple[int, int]:
        """Return the segment and the offset for keys that no place divides. The cut is valid."""
        [place] = overlapping(self.ranges, low, high)
        return place.segment_id, self.at[place.segment_id]

    def over(self, segment: SegmentRange | None) -> Sequence[SegmentRange]:
        """Return the places that share keys with a segment."""
        return overlapping(self.ranges, segment.low, segment.high) if segment is not None else ()


def _tail(segments: Ranges) -> dict[int, int]:
    return {s.segment_id: 0 for s in segments}


def _ranges(epochs: Epochs, cut: Cut) -> list[SegmentRange]:
    return [s for i in cut if (s := epochs.segment(i)) is not None]


def _split(epochs: Epochs, cut: Cut) -> tuple[list[SegmentRange], list[SegmentRange]]:
    """Return the entries with an offset, and those at -1, each in the order of keys."""
    found = sorted(_ranges(epochs, cut), key=lambda r: (r.low, r.high))
    return [r for r in found if cut[r.segment_id] >= 0], [r for r in found if cut[r.segment_id] < 0]
