"""Cuts that cover the key space, and the state of a group that begins at one.

Groups with Java's members write checkpoints that leave out the wholly read half of a merge (B4). What is
missing follows from the stream's history: the successor of the half that is listed names both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pravega_lab.client.context import StreamContext
from pravega_lab.client.cuts import last_segments
from pravega_lab.client.lineage import without_placeholders
from pravega_lab.client.reader_group.state import NO_END
from pravega_lab.client.reader_group.values import full_names
from pravega_lab.protocol import reader_group as rg
from pravega_lab.protocol.names import SegmentRange
from pravega_lab.protocol.reader_group import KeyRange, ReaderGroupConfig, SegmentWithRange, Update
from pravega_lab.protocol.stream_cut import SEGMENT_READ, UNBOUNDED, StreamCut

V = TypeVar("V")


async def whole(
    context: StreamContext, positions: Mapping[int, int], end: StreamCut = UNBOUNDED
) -> dict[int, int]:
    """``positions`` with what they lack to cover the key space, in the order of ids.

    That is the wholly read predecessors of a merge in progress, at -1; and what was read to its end for good:
    up to ``end``, or to the last segments of a sealed stream.
    """
    found = dict(positions)
    listed = await context.ranges(list(found))
    if not is_whole(listed):
        merged = await _merged(context, found)
        _fill(found, listed, await context.ranges(merged), dict.fromkeys(merged, SEGMENT_READ))
    if not is_whole(listed):
        last = await _last(context, end)
        _fill(found, listed, await context.ranges(list(last)), last)
    return dict(sorted(found.items()))


async def _merged(context: StreamContext, positions: Mapping[int, int]) -> list[int]:
    """What merges, near or far, with what follows ``positions``; newest first.

    Whatever is unread follows a listed segment. So a predecessor of such a one that follows none is read.
    """
    following: dict[int, tuple[int, ...]] = {}
    ahead = list(positions)
    while ahead:
        for successor in await context.controller.successors(context.name, ahead.pop()):
            segment_id = successor.segment.segment_id
            if segment_id not in following:
                following[segment_id] = successor.predecessors
                ahead.append(segment_id)
    before = dict.fromkeys(i for predecessors in following.values() for i in predecessors)
    return sorted((i for i in before if i not in following and i not in positions), reverse=True)


def _fill(
    found: dict[int, int], listed: list[SegmentRange], more: list[SegmentRange], at: Mapping[int, int]
) -> None:
    for segment in more:
        if not _is_covered(segment, listed):
            found[segment.segment_id] = at[segment.segment_id]
            listed.append(segment)


async def _last(context: StreamContext, end: StreamCut) -> Mapping[int, int]:
    """Where a read of the stream ends for good, if it does."""
    if not end.is_unbounded:
        return end.positions
    if await context.controller.current_segments(context.name):
        return {}
    return dict.fromkeys(await last_segments(context), SEGMENT_READ)


def is_whole(segments: Sequence[SegmentRange]) -> bool:
    """Is every key in one of them?"""
    return _is_covered(SegmentRange(-1, 0.0, 1.0), segments)


def _is_covered(wanted: SegmentRange, segments: Sequence[SegmentRange]) -> bool:
    reached = wanted.low
    for segment in sorted(segments, key=lambda s: s.low):
        if segment.low > reached:
            break
        reached = max(reached, segment.high)
    return reached >= wanted.high


@dataclass
class Start:
    """The segments with which a group begins, by full name; ``future`` waits for predecessors."""

    unassigned: dict[str, int] = field(default_factory=dict)
    future: dict[str, tuple[int, ...]] = field(default_factory=dict)
    ranges: dict[str, KeyRange] = field(default_factory=dict)

    def to_update(self, config: ReaderGroupConfig) -> Update:
        """The whole state; Java's own initial one unless something waits."""
        ends = end_segments(config)
        if not self.future:
            ranged = {SegmentWithRange(s, self.ranges[s]): at for s, at in self.unassigned.items()}
            return rg.ReaderGroupStateInit(config, self.unassigned, ends, ranged)
        checkpoints = rg.CheckpointState(is_last_checkpoint_published=True)
        last_read = {name: at for name, at in self.unassigned.items() if at >= 0}
        return rg.CompactReaderGroupState(
            config, checkpoints, {}, self.future, {}, self.unassigned, ends, last_read, self.ranges
        )


def end_segments(config: ReaderGroupConfig) -> dict[str, int]:
    """Where the group stops, by full name; Java's largest long for the end of the segment."""
    cuts = [(s, cut.positions) for s, cut in config.ending_stream_cuts.items()]
    named = [item for stream, at in cuts for item in full_names(stream, at).items()]
    return {name: NO_END if offset == SEGMENT_READ else offset for name, offset in named}


async def add_start(start: Start, context: StreamContext, positions: Mapping[int, int]) -> None:
    """Add the segments of one stream, so that reading goes on at ``positions``.

    A wholly read segment that has a listed successor over some of its keys cannot be handed to a reader:
    completing it again would begin that successor again. Its other successors are made to wait instead.
    """
    complete = await whole(context, positions)
    ranges = {s.segment_id: s for s in await context.ranges(list(complete))}
    at = without_placeholders(complete, ranges.values())
    for segment_id in sorted(at):
        newer = _newer_than(ranges[segment_id], [ranges[i] for i in at])
        if at[segment_id] == SEGMENT_READ and newer:
            await _add_waiting(start, context, segment_id, at, newer)
        else:
            _add(start.unassigned, at[segment_id], start, context, ranges[segment_id])


async def _add_waiting(
    start: Start, context: StreamContext, segment_id: int, at: Mapping[int, int], newer: list[SegmentRange]
) -> None:
    """Let the successors of a wholly read segment that are not listed wait for what is still open."""
    listed = await context.ranges(list(at))
    for successor in await context.controller.successors(context.name, segment_id):
        segment = successor.segment
        if any(segment.overlaps(other) for other in newer):
            continue  # it, or what came after it, is listed
        before = await context.ranges(successor.predecessors)
        is_open = [not _newer_than(p, listed) for p in before]
        open_ids = tuple(p.segment_id for p, yes in zip(before, is_open, strict=True) if yes)
        if open_ids:
            _add(start.future, open_ids, start, context, segment)
        else:
            _add(start.unassigned, 0, start, context, segment)


def _newer_than(segment: SegmentRange, listed: Sequence[SegmentRange]) -> list[SegmentRange]:
    """The listed segments that came after one: where there are any, it is read."""
    return [other for other in listed if other.segment_id > segment.segment_id and other.overlaps(segment)]


def _add(into: dict[str, V], value: V, start: Start, context: StreamContext, segment: SegmentRange) -> None:
    name = context.segment_name(segment.segment_id)
    into[name] = value
    start.ranges[name] = KeyRange(segment.low, segment.high)
