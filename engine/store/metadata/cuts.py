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
from pravega_lab.protocol.names import SegmentRange

from .epochs import Epochs, Ranges, overlapping

Cut = Mapping[int, int]
_END = 2**63


def is_valid(epochs: Epochs, cut: Cut) -> bool:
    """Return whether ``cut`` covers the key space of the stream exactly once (pravega.md A9)."""
    if any(epochs.segment(i) is None for i in cut):
        return False
    begun, rest = _split(epochs, cut)
    if any(a.high > b.low for a, b in pairwise(begun)):
        return False
    newer = all(r.segment_id > b.segment_id for r in rest for b in overlapping(begun, r.low, r.high))
    return newer and _covers([*begun, *rest])


def is_not_before(epochs: Epochs, later: Cut, earlier: Cut) -> bool:
    """Return whether ``later`` is at or after ``earlier`` for every key. Both are cuts of this stream."""
    places, others = _Places(epochs, later), _Places(epochs, earlier)
    for place in places.all():
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
    """Return those ``candidates`` that are wholly before ``cut``. A truncation at ``cut`` deletes them.

    Source: pravega.md A8.
    """
    index = _Overlaps(epochs, cut)
    return [i for i in candidates if i not in cut and index.all_newer(epochs.segment(i), i)]


def is_unread(epochs: Epochs, cut: Cut, segment_id: int) -> bool:
    """Return whether ``cut`` lists the segment as not begun. Nothing of it may then be truncated."""
    return cut[segment_id] < 0 and segment_id in unread(epochs, cut)


def unread(epochs: Epochs, cut: Cut) -> list[int]:
    """Return the segments that ``cut`` lists as not begun, ascending."""
    return [r.segment_id for r in _unread(*_split(epochs, cut))]


def _unread(begun: Sequence[SegmentRange], rest: Iterable[SegmentRange]) -> list[SegmentRange]:
    """Return those entries of ``rest`` that wait for older entries, ascending."""
    found: list[SegmentRange] = []
    for r in sorted(rest, key=lambda r: r.segment_id):
        if overlapping(begun, r.low, r.high) or any(older.overlaps(r) for older in found):
            found.append(r)
    return found


def _between(epochs: Epochs, first: Cut, last: Cut) -> Iterator[int]:
    starts, ends = _Places(epochs, first), _Places(epochs, last)
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
    whole = _covers(_ranges(epochs, first))
    low = bisect_left(ids, min(first)) if whole else 0
    high = bisect_right(ids, max(last)) if _covers(_ranges(epochs, last)) else len(ids)
    return ids[low:high]


class _Overlaps:
    """Finds the entries of a cut that share keys with a segment, even where entries overlap each other."""

    def __init__(self, epochs: Epochs, cut: Cut) -> None:
        self._begun, self._rest = _split(epochs, cut)
        if all(a.high <= b.low for a, b in pairwise(self._rest)):
            self._loose: list[SegmentRange] = []
        else:
            self._loose, self._rest = self._rest, []

    def over(self, segment: SegmentRange | None) -> Iterator[SegmentRange]:
        if segment is None:
            return
        yield from overlapping(self._begun, segment.low, segment.high)
        yield from overlapping(self._rest, segment.low, segment.high)
        yield from (r for r in self._loose if r.overlaps(segment))

    def all_newer(self, segment: SegmentRange | None, segment_id: int) -> bool:
        found = list(self.over(segment))
        return bool(found) and all(r.segment_id > segment_id for r in found)


class _Places:
    """Where a cut is: ranges of keys with the segment that is to be read there next, or was read there last.

    An entry that has begun counts for all its keys, and one that has not where no older one is read. ``at``
    has the offsets: 0 before the beginning, `_END` after the end.
    """

    def __init__(self, epochs: Epochs, cut: Cut) -> None:
        begun, rest = _split(epochs, cut)
        waiting = _unread(begun, rest)
        self.at = {i: _END if offset < 0 else offset for i, offset in cut.items()}
        self.at |= dict.fromkeys((r.segment_id for r in waiting), 0)
        self._disjoint, self._loose = begun, list[SegmentRange]()
        if any(a.high > b.low for a, b in pairwise(begun)):  # no valid cut
            self._disjoint, self._loose = [], [*begun, *(r for r in rest if r not in waiting)]
            return
        for r in sorted(rest, key=lambda r: (self.at[r.segment_id], r.segment_id)):
            for low, high in self._gaps(r):
                insort(self._disjoint, SegmentRange(r.segment_id, low, high), key=lambda r: r.low)

    def _gaps(self, segment: SegmentRange) -> Iterator[tuple[float, float]]:
        """Return the parts of a segment over which there is nothing yet."""
        reached = segment.low
        for r in list(overlapping(self._disjoint, segment.low, segment.high)):
            if r.low > reached:
                yield reached, r.low
            reached = r.high
        if reached < segment.high:
            yield reached, segment.high

    def all(self) -> Iterator[SegmentRange]:
        """Return all places."""
        yield from self._disjoint
        yield from self._loose

    def over(self, segment: SegmentRange | None) -> Iterator[SegmentRange]:
        """Return the places that share keys with a segment."""
        if segment is not None:
            yield from overlapping(self._disjoint, segment.low, segment.high)
            yield from (r for r in self._loose if r.overlaps(segment))


def _tail(segments: Ranges) -> dict[int, int]:
    return {s.segment_id: 0 for s in segments}


def _ranges(epochs: Epochs, cut: Cut) -> list[SegmentRange]:
    return [s for i in cut if (s := epochs.segment(i)) is not None]


def _split(epochs: Epochs, cut: Cut) -> tuple[list[SegmentRange], list[SegmentRange]]:
    """Return the entries with an offset, and those at -1, each in the order of keys."""
    found = sorted(_ranges(epochs, cut), key=lambda r: (r.low, r.high))
    return [r for r in found if cut[r.segment_id] >= 0], [r for r in found if cut[r.segment_id] < 0]


def _covers(ranges: Iterable[SegmentRange]) -> bool:
    reached = 0.0
    for r in sorted(ranges, key=lambda r: (r.low, r.high)):
        if r.low > reached:
            return False
        reached = max(reached, r.high)
    return reached >= 1.0
