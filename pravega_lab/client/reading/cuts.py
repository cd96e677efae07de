"""Look up stream cuts of a stream as it is now: head, tail, and bounds that name either (pravega.md A9).

Cuts from which a read or a reader group would skip events are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from pravega_lab.client.context import StreamContext
from pravega_lab.client.reading.lineage import newer_than, without_placeholders
from pravega_lab.client.values import Edge, SegmentInfo
from pravega_lab.errors import BadInputError, RefusedError, SegmentNotFoundError
from pravega_lab.portable.waiting import gather
from pravega_lab.protocol.key_set import is_covered, not_begun
from pravega_lab.protocol.names import SegmentRange
from pravega_lab.protocol.stream_cut import SEGMENT_READ, StreamCut

if TYPE_CHECKING:
    from pravega_lab.client.values import Bound

TAIL_ATTEMPTS_MAX = 8


async def head(context: StreamContext) -> StreamCut:
    """Return the truncation point: the first position that can be read."""
    return StreamCut(context.name, await context.controller.head(context.name))


async def tail(context: StreamContext) -> StreamCut:
    """Return the present end of each segment of one epoch.

    The segments come from one answer of the controller, so they cover the key space even while a scale runs.
    A segment that is sealed in between stays in the cut with its final length.
    """
    for attempt in range(TAIL_ATTEMPTS_MAX):
        segments = [segment.segment_id for segment in await context.controller.current_segments(context.name)]
        if not segments:
            segments = await last_segments(context)
        try:
            infos = await context.infos(segments)
        except SegmentNotFoundError:  # it was sealed and truncated since the controller answered
            if attempt == TAIL_ATTEMPTS_MAX - 1:
                raise
            continue
        return StreamCut(
            context.name, {s: info.write_offset for s, info in zip(segments, infos, strict=True)}
        )
    raise AssertionError("unreachable")


async def last_segments(context: StreamContext) -> list[int]:
    """Return the ids of the segments of a sealed stream that have no successor."""
    first = await context.controller.head(context.name)
    ids = await context.controller.segments_between(context.name, first, {})
    last: list[int] = []
    newer: list[SegmentRange] = []
    for segment in reversed(await context.ranges(ids)):  # newest first
        if not any(segment.overlaps(other) for other in newer):
            last.append(segment.segment_id)
        newer.append(segment)
    return sorted(last)


async def segments_between(context: StreamContext, start: StreamCut, end: StreamCut | None) -> list[int]:
    """Return the ids of the segments between two cuts, both included, ascending. No ``end``: up to the tail.

    Upstream compares offsets of a segment that is in both cuts, and treats -1 as less than the start's. Any
    offset not before the start's gives the same segments. A segment that has not begun and shares keys with
    an unread one is a placeholder. Both stores take one in the start for begun, and leave out unread segments
    before it, so it is not sent, and what was read of its keys is left out here.
    """
    first = await begun(context, start)
    listed = await context.ranges(list(start.positions)) if len(first) < len(start.positions) else []
    known = [s for s in listed if s.segment_id in first]
    last: dict[int, int] = {}
    if end is not None:
        unread = [s for s, offset in end.positions.items() if offset >= 0] if listed else []
        for segment in await context.ranges(unread):
            if not is_after(segment, listed, known):
                raise BadInputError(
                    f"the end {end} lies before the start {start} (segment {segment.segment_id})"
                )
        last = {s: max(offset, first.get(s, SEGMENT_READ)) for s, offset in end.positions.items()}
        if 0 in last.values():
            last |= dict.fromkeys(await _not_begun(context, end.positions, 0), SEGMENT_READ)
    try:
        found = await context.controller.segments_between(context.name, first, last)
    except RefusedError as error:
        raise BadInputError(
            f"the store finds no segments between {start} and {end}: {error}. Each cut must cover the key "
            "space, and the second must not lie before the first"
        ) from error
    if not listed:
        return found
    return [s.segment_id for s in await context.ranges(found) if is_after(s, listed, known)]


async def begun(context: StreamContext, start: StreamCut) -> dict[int, int]:
    """Return the positions of a start without placeholders, which are at -1 or 0."""
    found = dict(start.positions)
    for offset in (SEGMENT_READ, 0):
        for segment in await _not_begun(context, start.positions, offset):
            del found[segment]
    return found


def is_after(segment: SegmentRange, listed: Sequence[SegmentRange], known: Sequence[SegmentRange]) -> bool:
    """Return whether no event of a segment lies before a cut that lists these segments.

    ``known`` is ``listed`` without placeholders. A segment older than a placeholder is unread if the cut has
    an older segment for each of its keys.
    """
    if segment in listed or not newer_than(segment, listed):
        return True
    if newer_than(segment, known):
        return False
    return is_covered(segment, [s for s in listed if s.segment_id < segment.segment_id])


async def resolve(context: StreamContext, bound: Bound) -> StreamCut:
    """Return a bound as a cut. Raises `BadInputError` for a cut of another stream."""
    if bound is Edge.HEAD:
        return await head(context)
    if bound is Edge.TAIL:
        return await tail(context)
    if not isinstance(bound, StreamCut):
        raise BadInputError(f"{bound!r} is no position of a stream: pass a StreamCut, HEAD or TAIL")
    if bound.is_unbounded:
        raise BadInputError("UNBOUNDED is no position: pass HEAD or TAIL")
    if bound.scoped_stream != context.name:
        raise BadInputError(f"a cut of stream {bound.scoped_stream} was passed to {context.name}")
    return bound


async def resolve_start(context: StreamContext, bound: Bound) -> StreamCut:
    """Return the start of a read as a cut.

    Raises:
        BadInputError: It is a cut of another stream, or at the end of a segment that is not sealed.
    """
    start = await (head(context) if _is_unbounded(bound) else resolve(context, bound))
    if SEGMENT_READ in start.positions.values():
        await _check_ends(context, start)
    return start


async def _check_ends(context: StreamContext, start: StreamCut) -> None:
    begins = without_placeholders(start.positions, await context.ranges(list(start.positions)))
    _check_sealed(start, await _infos(context, [i for i in begins if begins[i] == SEGMENT_READ]))


def _check_sealed(start: StreamCut, ends: Mapping[int, SegmentInfo]) -> None:
    """Raise `BadInputError` if a segment that ``start`` calls read to its end is not sealed.

    A read from there would skip the events that are written to the segment later.
    """
    for segment, info in ends.items():
        if not info.is_sealed:
            raise BadInputError(
                f"{start} says that segment {segment} was read to its end, but the segment is not sealed. A "
                f"read from there would skip what is written next. Give an offset up to {info.write_offset}"
            )


async def check_group(context: StreamContext, start: StreamCut, end: StreamCut) -> None:
    """Raise `BadInputError` if a reader group cannot read a stream from ``start`` to ``end``.

    ``end`` may be UNBOUNDED. Of a segment that no longer exists only the order is checked.
    """
    begins = without_placeholders(start.positions, await context.ranges(list(start.positions)))
    infos = await _infos(context, list(begins))
    _check_sealed(start, {i: info for i, info in infos.items() if begins[i] == SEGMENT_READ})
    for segment, info in infos.items():
        if begins[segment] > info.write_offset:
            raise BadInputError(
                f"the start {start} lies after the end of segment {segment}, which is {info.write_offset}: "
                "the group would skip what is written up to there"
            )
        if begins[segment] == SEGMENT_READ:
            begins[segment] = info.write_offset
    if not end.is_unbounded:
        check_order(start, begins, end)
        await segments_between(context, start, end)


async def group_bounds(
    context: StreamContext, start: StreamCut, end: StreamCut
) -> tuple[StreamCut, StreamCut]:
    """Return the cuts between which a reader group reads a stream; the end is one at which it stops.

    Stores know the order of two cuts from ids and offsets alone. So an end at the place of the start has a
    form that does not seem to lie before it, and placeholders of the start are at 0. An end that lies before
    the start is left as it is.
    """
    end = await settled_end(context, end)
    first = await head(context) if start.is_unbounded else start
    begins = without_placeholders(first.positions, await context.ranges(list(first.positions)))
    with suppress(BadInputError):
        end, _ = await bounds_between(context, first, begins, end)
        if min(first.positions) > min(end.positions) or max(first.positions) > max(end.positions):
            end = await latest_form(context, end)
    unbegun = await _not_begun(context, start.positions, SEGMENT_READ)
    return StreamCut(start.scoped_stream, start.positions | dict.fromkeys(unbegun, 0)), end


async def _infos(context: StreamContext, segments: Sequence[int]) -> dict[int, SegmentInfo]:
    """Return the `info` of segments, leaving out those that no longer exist."""

    async def info(segment: int) -> SegmentInfo | None:
        with suppress(SegmentNotFoundError):
            return await context.info(segment)
        return None

    found = zip(segments, await gather(*(info(segment) for segment in segments)), strict=True)
    return {segment: one for segment, one in found if one is not None}


def check_order(start: StreamCut, begins: Mapping[int, int], end: StreamCut) -> None:
    """Raise `BadInputError` if ``end`` lies before ``start`` in a segment. ``begins`` is ``start`` without
    placeholders.
    """
    for segment, offset in end.positions.items():
        begin = begins.get(segment, 0)
        if 0 <= offset < begin or (begin == SEGMENT_READ and offset != SEGMENT_READ):
            raise BadInputError(f"the end {end} lies before the start {start} (segment {segment})")


async def resolve_end(context: StreamContext, bound: Bound) -> StreamCut:
    """Return the end of a read as a cut. Raises `BadInputError` for a cut of another stream."""
    return await settled_end(
        context, await (tail(context) if _is_unbounded(bound) else resolve(context, bound))
    )


async def latest_form(context: StreamContext, cut: StreamCut) -> StreamCut:
    """Return a cut of the same position that lists no read segment which has successors.

    Of two cuts of one position, this one never lies before the other.
    """
    while True:
        positions = dict(cut.positions)
        listed = await context.ranges(list(positions))
        waiting = not_begun(positions, listed)
        positions |= dict.fromkeys(waiting, SEGMENT_READ)
        for segment, info in (await _infos(context, [s for s, at in positions.items() if at >= 0])).items():
            if info.is_sealed and info.write_offset == positions[segment]:
                positions[segment] = SEGMENT_READ
        found = StreamCut(cut.scoped_stream, await _settled(context, positions, waiting, listed, latest=True))
        if found == cut:
            return await settled_end(context, cut)
        cut = found


async def bounds_between(
    context: StreamContext, start: StreamCut, begins: Mapping[int, int], end: StreamCut
) -> tuple[StreamCut, list[int]]:
    """Return an end of a read, and the `segments_between` the start and it.

    An end at the place of the start may list a segment of which the start lists the successors. It is
    returned in its `latest_form` then.

    Raises:
        BadInputError: The end lies before the start. ``begins`` is ``start`` without placeholders.
    """

    try:
        return end, await _in_order(context, start, begins, end)
    except BadInputError as error:
        first, last = await latest_form(context, start), await latest_form(context, end)
        if (first, last) != (start, end):
            with suppress(BadInputError):
                return last, await _in_order(context, first, first.positions, last)
        raise error


async def _in_order(
    context: StreamContext, start: StreamCut, begins: Mapping[int, int], end: StreamCut
) -> list[int]:
    check_order(start, begins, end)
    if start.positions.keys() == end.positions.keys():
        return list(end.positions)
    return await segments_between(context, start, end)


async def settled(context: StreamContext, end: StreamCut, read: Collection[int] = ()) -> StreamCut:
    """Return a cut in which no read segment shares keys with a later one, for an end or a truncation.

    A position in the middle of a scale has them (reader-groups.md B4). A read that ended with them would
    leave out what was read of their successors, and a store refuses to truncate at them. So their successors
    that have not begun take their place: at 0, or as a placeholder, at -1, while one of their predecessors
    is not read. A placeholder that was at 0 is at -1, too.

    Args:
        read: Segments of the cut that are known to be sealed at their offsets. They count as read.
    """
    return await _settled_with(context, end, read, SEGMENT_READ)


async def settled_end(context: StreamContext, end: StreamCut, read: Collection[int] = ()) -> StreamCut:
    """Return an ending cut as `settled` does, with 0 for placeholders: nothing is read of them."""
    return await _settled_with(context, end, read, 0)


async def _settled_with(
    context: StreamContext, end: StreamCut, read: Collection[int], placeholder: int
) -> StreamCut:
    """Return a cut as `settled` does, whose placeholders are at this offset, -1 or 0."""
    positions, waiting, segments = dict(end.positions), list[int](), list[SegmentRange]()
    if read:  # what waits for them is found first: it would count as read
        segments = await context.ranges(list(positions))
        waiting = not_begun(positions, segments)
        positions |= dict.fromkeys([*read, *waiting], SEGMENT_READ)
    found = await _settled(context, positions, waiting, segments)
    unbegun = await _not_begun(context, found, SEGMENT_READ if placeholder == 0 else 0)
    return StreamCut(end.scoped_stream, found | dict.fromkeys(unbegun, placeholder))


async def _settled(
    context: StreamContext,
    positions: Mapping[int, int],
    placeholders: Sequence[int] = (),
    segments: Sequence[SegmentRange] = (),
    *,
    latest: bool = False,
) -> dict[int, int]:
    """Return the positions of a cut as `settled` does.

    Args:
        placeholders: Those that nothing shows any more, because what they waited for is listed as read.
        segments: All segments of the cut if there are placeholders.
        latest: Successors take the place of every read segment.
    """
    found = dict(positions)
    passed, waiting = dict[int, None](), dict.fromkeys(placeholders)  # were read; have to wait

    def is_passed(segment: SegmentRange) -> bool:
        """Return whether a segment was read: the cut is after it at some key."""
        if segment.segment_id in passed or not segments:
            return segment.segment_id in passed
        return not is_covered(segment, [s for s in segments if s.segment_id <= segment.segment_id])

    while SEGMENT_READ in found.values():
        listed = await context.ranges(list(found))
        at = without_placeholders(found, [s for s in listed if s.segment_id not in waiting])
        known = [s for s in listed if s.segment_id in at]
        read = [s for s in known if at[s.segment_id] == SEGMENT_READ and (latest or newer_than(s, listed))]
        before = dict(found)
        passed |= dict.fromkeys(segment.segment_id for segment in read)
        for segment in read:
            successors = await context.controller.successors(context.name, segment.segment_id)
            if not successors:
                continue  # the end of a sealed stream
            later = newer_than(segment, known)
            for successor in successors:
                new = successor.segment
                is_listed = new.segment_id in found and new.segment_id not in waiting
                if is_listed or any(map(new.overlaps, later)):
                    continue  # the successor, or a later segment, is in the cut
                is_ready = all(
                    at.get(p.segment_id) == SEGMENT_READ or is_passed(p) or newer_than(p, known)
                    for p in await context.ranges(successor.predecessors)
                )
                found[new.segment_id] = 0 if is_ready else SEGMENT_READ
                waiting.pop(new.segment_id, None)
                waiting |= {} if is_ready else {new.segment_id: None}
            del found[segment.segment_id]
        if found == before:
            break
    return found


async def _not_begun(context: StreamContext, positions: Mapping[int, int], offset: int) -> list[int]:
    """Return the segments at ``offset``, -1 or 0, that wait for one that is not read; see `not_begun`."""
    if offset not in positions.values():
        return []
    waiting = not_begun(positions, await context.ranges(list(positions)))
    return [segment for segment in waiting if positions[segment] == offset]


def _is_unbounded(bound: Bound) -> bool:
    return isinstance(bound, StreamCut) and bound.is_unbounded
