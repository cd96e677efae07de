"""Derive the epochs of a stream from what a client with permission to read only may see.

A released 0.13.0 reports the segments of an epoch, and with them the key ranges of sealed segments, only to
clients that may write. A client that may only read gets the active segments and the successors of every
sealed segment with their ranges. A segment begins in the epoch that its id names and ends in the epoch of its
successors, so all epochs from the head on follow. Ranges at the head follow from later epochs: the parts of a
split span their parent, and the first segments of a stream are equally wide. Where that is not enough, the
epoch stays unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pravega_lab.client.values import Successor
from pravega_lab.errors import AccessDeniedError, SegmentNotFoundError
from pravega_lab.portable.waiting import gather
from pravega_lab.protocol.names import SegmentRange, epoch_of

Successors = Mapping[int, Sequence[Successor]]
Ranges = Mapping[int, SegmentRange]
_EQUAL = 1e-9  # edges are sums of a few floats


class SegmentCalls(Protocol):
    """Describes the calls to the controller that need the permission to read only."""

    async def head(self, stream: str) -> dict[int, int]:
        """Return the segments at the head with their offsets."""
        ...

    async def current_segments(self, stream: str) -> list[SegmentRange]:
        """Return the active segments."""
        ...

    async def successors(self, stream: str, segment_id: int) -> list[Successor]:
        """Return the successors of a segment, none if it is active."""
        ...


class VisibleEpochs:
    """Derives the epochs of one stream. Keeps the successors of sealed segments, which never change."""

    def __init__(self, calls: SegmentCalls, stream: str) -> None:
        self._calls = calls
        self._stream = stream
        self._known: dict[int, list[Successor]] = {}

    async def segments(self, epoch: int) -> list[SegmentRange]:
        """Return the segments of an epoch, lowest key range first.

        Raises:
            SegmentNotFoundError: There is no such epoch yet.
            AccessDeniedError: They do not follow from what the client may see.
        """
        head, active = await gather(
            self._calls.head(self._stream), self._calls.current_segments(self._stream)
        )
        successors = await self._walk(list(head), {segment.segment_id for segment in active})
        found = segments_in(epoch, list(head), active, successors)
        newest = max(epoch_of(segment) for segment in {*head, *successors})
        if epoch > newest:
            raise SegmentNotFoundError(f"{self._stream} has no epoch {epoch} yet; the newest is {newest}")
        if found is None:
            raise AccessDeniedError(
                f"{self._stream}: who may only read is not told the key ranges of epoch {epoch}, and they do "
                "not follow from what came after. Ask for permission READ_UPDATE on this stream"
            )
        return found

    async def _walk(self, head: list[int], active: set[int]) -> dict[int, list[Successor]]:
        found: dict[int, list[Successor]] = {}
        waiting = head
        while waiting:
            new = [segment for segment in waiting if segment not in active and segment not in self._known]
            answers = await gather(*(self._calls.successors(self._stream, s) for s in new))
            self._known |= {segment: answer for segment, answer in zip(new, answers, strict=True) if answer}
            found |= {segment: self._known.get(segment, []) for segment in waiting}
            following = {s.segment.segment_id for segment in waiting for s in found[segment]}
            waiting = sorted(following - found.keys())
        return found


def segments_in(
    epoch: int, head: Sequence[int], active: Sequence[SegmentRange], successors: Successors
) -> list[SegmentRange] | None:
    """Return the segments of an epoch, lowest key range first; None if they cannot be derived.

    Args:
        head: Ids of the segments at the head.
        active: The active segments.
        successors: The successors of every segment from the head on; an active segment has none.
    """
    ranges = {segment.segment_id: segment for segment in active}
    ranges |= {s.segment.segment_id: s.segment for found in successors.values() for s in found}
    for rule in (_spanned, _equal_part, _left_over):
        for segment_id in head:
            if segment_id not in ranges and (found := rule(segment_id, successors, ranges)) is not None:
                ranges[segment_id] = found
    there = [s for s in {*head, *ranges} if epoch_of(s) <= epoch < _end(s, successors)]
    segments = [ranges[s] for s in there if s in ranges]
    return sorted(segments, key=lambda s: s.low) if _covers_all_keys(segments) else None


def _end(segment_id: int, successors: Successors) -> float:
    """Return the first epoch without the segment."""
    following = successors.get(segment_id, ())
    return min((epoch_of(s.segment.segment_id) for s in following), default=float("inf"))


def _spanned(segment_id: int, successors: Successors, ranges: Ranges) -> SegmentRange | None:
    """Return the range of a segment that was split or replaced, else None."""
    parts = successors.get(segment_id, ())
    if not parts or any(part.predecessors != (segment_id,) for part in parts):
        return None
    low, high = min(p.segment.low for p in parts), max(p.segment.high for p in parts)
    return SegmentRange(segment_id, low, high)


def _merged(segment_id: int, successors: Successors) -> Successor | None:
    """Return a segment's only successor, if it is the only successor of all its predecessors."""
    following = successors.get(segment_id, ())
    if len(following) != 1 or any(len(successors.get(p, ())) != 1 for p in following[0].predecessors):
        return None
    return following[0]


def _equal_part(segment_id: int, successors: Successors, ranges: Ranges) -> SegmentRange | None:
    """Return the range of a segment of epoch 0 that was merged with others of epoch 0, else None."""
    merged = _merged(segment_id, successors)
    if merged is None or any(epoch_of(parent) for parent in merged.predecessors):
        return None
    parents, whole = sorted(merged.predecessors), merged.segment
    n_first = round(len(parents) / (whole.high - whole.low))
    place = round(whole.low * n_first) + parents.index(segment_id)
    return SegmentRange(segment_id, place / n_first, (place + 1) / n_first)


def _left_over(segment_id: int, successors: Successors, ranges: Ranges) -> SegmentRange | None:
    """Return the range of a segment that was merged with segments of known ranges, else None."""
    merged = _merged(segment_id, successors)
    others = set(merged.predecessors) - {segment_id} if merged is not None else set()
    if merged is None or not others <= ranges.keys():
        return None
    known = sorted((ranges[other].low, ranges[other].high) for other in others)
    lows = [merged.segment.low, *(high for _, high in known)]
    highs = [*(low for low, _ in known), merged.segment.high]
    gaps = [(low, high) for low, high in zip(lows, highs, strict=True) if high - low > _EQUAL]
    return SegmentRange(segment_id, *gaps[0]) if len(gaps) == 1 else None


def _covers_all_keys(segments: Sequence[SegmentRange]) -> bool:
    edges = sorted((s.low, s.high) for s in segments)
    ends = [0.0, *(high for _, high in edges)]
    return (
        bool(edges)
        and ends[-1] >= 1 - _EQUAL
        and all(abs(low - before) < _EQUAL for before, (low, _) in zip(ends, edges, strict=False))
    )
