"""Compute cuts that cover the key space, and the state of a group that begins at a cut.

Groups with Java members write checkpoints that leave out the wholly read half of a merge (reader-groups.md
B4). The stream's history supplies what is missing: the successor of the listed half names both halves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pravega_lab.client.context import StreamContext
from pravega_lab.client.reader_group.core.state import NO_END
from pravega_lab.client.reader_group.values import full_names
from pravega_lab.client.reading.cuts import begun, last_segments
from pravega_lab.client.reading.lineage import newer_than, without_placeholders
from pravega_lab.protocol.key_set import is_covered, is_whole
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.metadata.reader_group import KeyRange, ReaderGroupConfig, SegmentWithRange, Update
from pravega_lab.protocol.names import SegmentRange
from pravega_lab.protocol.stream_cut import SEGMENT_READ, UNBOUNDED, StreamCut

V = TypeVar("V")


async def whole(
    context: StreamContext, positions: Mapping[int, int], end: StreamCut = UNBOUNDED
) -> dict[int, int]:
    """Return ``positions`` with what they lack to cover the key space, in the order of ids.

    The missing positions are the wholly read predecessors of a merge in progress, at -1, and the segments
    that were read to their end: up to ``end``, or to the last segments of a sealed stream.
    """
    found = dict(positions)
    listed = await context.ranges(list(found))
    if not is_whole(listed):
        await _add_read(context, found, listed, await _last(context, end))
    return dict(sorted(found.items()))


async def _add_read(
    context: StreamContext, found: dict[int, int], listed: list[SegmentRange], last: Mapping[int, int]
) -> None:
    """Add segments that were read: those of ``last``, at which the group stops, and, for the other keys, the
    newest before a successor that waits for a segment of ``found`` or of ``last``, near or far.

    Every unread segment follows a listed segment. So one that follows none was read, or comes after the end.
    """
    ends = await context.ranges(list(last))
    stops = await begun(context, StreamCut(context.name, dict(last)))
    unread = await _following(context, found, last)
    waiting = unread if len(stops) == len(last) else unread | await _following(context, last, last)
    before = {i for predecessors in waiting.values() for i in predecessors}
    read = await context.ranges(sorted((before | stops.keys()) - unread.keys() - found.keys(), reverse=True))
    for segment in [s for s in read if s.segment_id in stops]:
        found[segment.segment_id] = stops[segment.segment_id]
        listed.append(segment)
    for segment in read:
        if not is_covered(segment, listed) and not any(map(segment.follows, ends)):
            found[segment.segment_id] = SEGMENT_READ
            listed.append(segment)


async def _following(
    context: StreamContext, listed: Iterable[int], last: Mapping[int, int]
) -> dict[int, tuple[int, ...]]:
    """Return the segments after the listed ones with their predecessors, up to the newest of ``last``."""
    found: dict[int, tuple[int, ...]] = {}
    newest = max(last, default=None)
    ahead = list(listed)
    while ahead:
        for successor in await context.controller.successors(context.name, ahead.pop()):
            segment_id = successor.segment.segment_id
            if segment_id not in found and (newest is None or segment_id <= newest):
                found[segment_id] = successor.predecessors
                ahead.append(segment_id)
    return found


async def _last(context: StreamContext, end: StreamCut) -> Mapping[int, int]:
    """Return the positions at which a read of the stream ends, empty if it never ends."""
    if not end.is_unbounded:
        return end.positions
    if await context.controller.current_segments(context.name):
        return {}
    return dict.fromkeys(await last_segments(context), SEGMENT_READ)


@dataclass
class Start:
    """Holds the segments with which a group begins, by full name; those in ``future`` wait for others."""

    unassigned: dict[str, int] = field(default_factory=dict)
    future: dict[str, tuple[int, ...]] = field(default_factory=dict)
    ranges: dict[str, KeyRange] = field(default_factory=dict)

    def to_update(self, config: ReaderGroupConfig) -> Update:
        """Return the whole state: Java's own initial state unless a segment waits."""
        ends = end_segments(config)
        # A segment at whose beginning the group stops might wait for one that the group does not read.
        future = {name: ids for name, ids in self.future.items() if ends.get(name) != 0}
        if not future:
            ranged = {SegmentWithRange(s, self.ranges[s]): at for s, at in self.unassigned.items()}
            return rg.ReaderGroupStateInit(config, self.unassigned, ends, ranged)
        checkpoints = rg.CheckpointState(is_last_checkpoint_published=True)
        last_read = {name: at for name, at in self.unassigned.items() if at >= 0}
        return rg.CompactReaderGroupState(
            config, checkpoints, {}, future, {}, self.unassigned, ends, last_read, self.ranges
        )


def end_segments(config: ReaderGroupConfig) -> dict[str, int]:
    """Return the end offset of each segment at which the group stops, by full name.

    Java's largest long means the end of the segment.
    """
    cuts = [(s, cut.positions) for s, cut in config.ending_stream_cuts.items()]
    named = [item for stream, at in cuts for item in full_names(stream, at).items()]
    return {name: NO_END if offset == SEGMENT_READ else offset for name, offset in named}


async def add_start(start: Start, context: StreamContext, positions: Mapping[int, int]) -> None:
    """Add the segments of one stream, so that the group reads it from ``positions``.

    A wholly read segment that has a listed successor over some of its keys cannot be assigned to a reader:
    completing it again would begin that successor again. Its other successors are made to wait instead.
    """
    complete = await whole(context, await begun(context, StreamCut(context.name, dict(positions))))
    ranges = {s.segment_id: s for s in await context.ranges(list(complete))}
    at = without_placeholders(complete, ranges.values())
    for segment_id in sorted(at):
        newer = newer_than(ranges[segment_id], [ranges[i] for i in at])
        if at[segment_id] == SEGMENT_READ and newer:
            await _add_waiting(start, context, segment_id, at, newer)
        else:
            _add(start.unassigned, at[segment_id], start, context, ranges[segment_id])


async def _add_waiting(
    start: Start, context: StreamContext, segment_id: int, at: Mapping[int, int], newer: list[SegmentRange]
) -> None:
    """Let the unlisted successors of a wholly read segment wait for their predecessors that are not read."""
    listed = await context.ranges(list(at))
    for successor in await context.controller.successors(context.name, segment_id):
        segment = successor.segment
        if any(segment.overlaps(other) for other in newer):
            continue  # the successor, or a later segment, is listed
        before = await context.ranges(successor.predecessors)
        is_open = [not newer_than(p, listed) for p in before]
        open_ids = tuple(p.segment_id for p, yes in zip(before, is_open, strict=True) if yes)
        if open_ids:
            _add(start.future, open_ids, start, context, segment)
        else:
            _add(start.unassigned, 0, start, context, segment)


def _add(into: dict[str, V], value: V, start: Start, context: StreamContext, segment: SegmentRange) -> None:
    name = context.segment_name(segment.segment_id)
    into[name] = value
    start.ranges[name] = KeyRange(segment.low, segment.high)
