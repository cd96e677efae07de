"""Epochs of a stream as somebody sees them who may only read it.

A released 0.13.0 tells the segments of an epoch, and with them the key ranges of sealed segments, only to who
may write. Who may read is told the active segments and, of every sealed one, its successors with their
ranges. A segment begins in the epoch that its id says and ends in that of its successors, so all epochs from
the head on follow. Ranges at the head itself follow from what came after: the parts of a split span their
parent, and the segments that a stream began with are equally wide. Where that is not enough nothing is made
up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pravega_lab.client.values import Successor
from pravega_lab.errors import AccessDeniedError, SegmentNotFoundError
from pravega_lab.protocol.names import SegmentRange, epoch_of

if TYPE_CHECKING:
    from pravega_lab.client.controller import Controller

Successors = Mapping[int, Sequence[Successor]]
Ranges = Mapping[int, SegmentRange]
_EQUAL = 1e-9  # edges are sums of a few floats


class VisibleEpochs:
    """The epochs of one stream. Keeps the successors of sealed segments, which never change."""

    def __init__(self, controller: Controller, stream: str) -> None:
        self._controller = controller
        self._stream = stream
        self._known: dict[int, list[Successor]] = {}

    async def segments(self, epoch: int) -> list[SegmentRange]:
        """The segments of an epoch, lowest key range first.

        Raises:
            SegmentNotFoundError: There is no such epoch yet.
            AccessDeniedError: They do not follow from what may be seen.
        """
        head, active = await asyncio.gather(
            self._controller.head(self._stream), self._controller.current_segments(self._stream)
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
            answers = await asyncio.gather(*(self._controller.successors(self._stream, s) for s in new))
            self._known |= {segment: answer for segment, answer in zip(new, answers, strict=True) if answer}
            found |= {segment: self._known.get(segment, []) for segment in waiting}
            following = {s.segment.segment_id for segment in waiting for s in found[segment]}
            waiting = sorted(following - found.keys())
        return found


def segments_in(
    epoch: int, head: Sequence[int], active: Sequence[SegmentRange], successors: Successors
) -> list[SegmentRange] | None:
    """The segments of an epoch, lowest key range first; None if they cannot be told.

    Args:
        head: Ids of the segments at the head.
        active: The active segments.
        successors: Of every segment from the head on; of an active one none.
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
    """The first epoch without the segment."""
    following = successors.get(segment_id, ())
    return min((epoch_of(s.segment.segment_id) for s in following), default=float("inf"))


def _spanned(segment_id: int, successors: Successors, ranges: Ranges) -> SegmentRange | None:
    """Of one that was split, or replaced by another."""
    parts = successors.get(segment_id, ())
    if not parts or any(part.predecessors != (segment_id,) for part in parts):
        return None
    low, high = min(p.segment.low for p in parts), max(p.segment.high for p in parts)
    return SegmentRange(segment_id, low, high)


def _merged(segment_id: int, successors: Successors) -> Successor | None:
    """What it was merged into, if that is all that became of it and of those it was merged with."""
    following = successors.get(segment_id, ())
    if len(following) != 1 or any(len(successors.get(p, ())) != 1 for p in following[0].predecessors):
        return None
    return following[0]


def _equal_part(segment_id: int, successors: Successors, ranges: Ranges) -> SegmentRange | None:
    """Of a first segment that was merged with first ones."""
    merged = _merged(segment_id, successors)
    if merged is None or any(epoch_of(parent) for parent in merged.predecessors):
        return None
    parents, whole = sorted(merged.predecessors), merged.segment
    n_first = round(len(parents) / (whole.high - whole.low))
    place = round(whole.low * n_first) + parents.index(segment_id)
    return SegmentRange(segment_id, place / n_first, (place + 1) / n_first)


def _left_over(segment_id: int, successors: Successors, ranges: Ranges) -> SegmentRange | None:
    """Of one that was merged with known ones."""
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
