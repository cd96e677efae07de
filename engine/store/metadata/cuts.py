"""Stream cuts on the server: which are valid, which is later, and which segments are before or between
cuts.

A cut maps segment ids to offsets. The offset -1 means "read to the end". Where the cut also lists an
overlapping segment that is not read to its end, -1 means "not begun" (pravega.md A9). Comparing offsets with
lengths is left to the storage.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from pravega_lab.errors import BadInputError, SegmentNotFoundError
from pravega_lab.protocol.names import SegmentRange

from .epochs import Epochs, Ranges, overlapping

Cut = Mapping[int, int]


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
    index = _Overlaps(epochs, earlier)
    for segment_id, offset in later.items():
        for other in index.over(epochs.segment(segment_id)):
            behind = other.segment_id > segment_id or (
                other.segment_id == segment_id and not _reaches(offset, earlier[segment_id])
            )
            if behind and not is_unread(epochs, earlier, other.segment_id):
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
    segment = epochs.segment(segment_id)
    if cut[segment_id] >= 0 or segment is None:
        return False
    begun, _ = _split(epochs, cut)
    return bool(overlapping(begun, segment.low, segment.high))


def _between(epochs: Epochs, first: Cut, last: Cut) -> Iterator[int]:
    starts, ends = _Overlaps(epochs, first), _Overlaps(epochs, last)
    for segment_id in _candidates(epochs, first, last):
        segment = epochs.segment(segment_id)
        listed = first.get(segment_id, -1) >= 0
        if (listed or starts.all_older(segment, segment_id)) and ends.none_older(segment, segment_id):
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

    def all_older(self, segment: SegmentRange | None, segment_id: int) -> bool:
        return all(r.segment_id <= segment_id for r in self.over(segment))

    def none_older(self, segment: SegmentRange | None, segment_id: int) -> bool:
        return all(r.segment_id >= segment_id for r in self.over(segment))

    def all_newer(self, segment: SegmentRange | None, segment_id: int) -> bool:
        found = list(self.over(segment))
        return bool(found) and all(r.segment_id > segment_id for r in found)


def _reaches(later: int, earlier: int) -> bool:
    return later < 0 or 0 <= earlier <= later


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
