"""`report_differences`: what changed between two states of a group, reported as if it had been seen.

A tracker needs this for its first look and after a gap in the log. Both states are `GroupState`; the
earlier one is ``None`` at the first look. Reports come in this order: what ended, readers that left,
readers that joined, free segments, acquired segments, waiting segments, checkpoints. A reset is no
difference: the tracker ends the old life of the group first.
"""

from __future__ import annotations

from collections.abc import Callable

from pravega_lab.client.reader_group.core.checkpoints import Checkpoints, is_silent
from pravega_lab.client.reader_group.core.state import GroupState
from pravega_lab.observe.group.observations import GroupCheckpointAsked, GroupCheckpointDropped, ReaderJoined
from pravega_lab.observe.group.reporter import Reporter, pairs
from pravega_lab.observe.group.rows import split_segment
from pravega_lab.observe.journal.observations import INFERRED

AFTER_A_GAP = "seen only after a gap in the log"
AT_FIRST_LOOK = "so at the first look"


def report_differences(
    reporter: Reporter, before: GroupState | None, after: GroupState, report_done: Callable[[str], None]
) -> None:
    """Report all that differs. ``report_done`` reports that a checkpoint is complete, with its cut and
    gaps.
    """
    if before is not None:
        _gone(reporter, before, after)
    old = {} if before is None else before.assigned
    for reader in after.assigned:
        if reader not in old:
            reporter.report(ReaderJoined, reader=reader)
    _segments(reporter, before, after)
    _checkpoints(reporter, before, after, report_done)


def _gone(reporter: Reporter, before: GroupState, after: GroupState) -> None:
    """Report segments that their readers no longer hold, and readers that left."""
    now = after.positions()
    for reader, held in before.assigned.items():
        for segment in held:
            if segment in after.assigned.get(reader, ()):
                continue
            if segment in now:
                reporter.released(segment, reader, now[segment], AFTER_A_GAP)
            else:
                reporter.finished(segment, reader, _successors(segment, after))
        if reader not in after.assigned:
            final = {segment: now.get(segment, -1) for segment in held}
            reporter.left(reader, final, cause=f"{AFTER_A_GAP}: left, or was declared offline")
    for segment in (*before.unassigned, *before.future):
        if segment not in now and segment not in after.future:
            reporter.finished(segment, "", _successors(segment, after))


def _successors(segment: str, after: GroupState) -> list[str]:
    """Return the successors of a segment that still wait for other predecessors.

    Nothing in the state says of which segments the others are successors.
    """
    stream, segment_id = split_segment(segment)
    return [
        name
        for name, future in after.future.items()
        if segment_id in (future.done or ()) and split_segment(name)[0] == stream
    ]


def _segments(reporter: Reporter, before: GroupState | None, after: GroupState) -> None:
    _free(reporter, before, after)
    cause = AT_FIRST_LOOK if before is None else AFTER_A_GAP
    for reader, held in after.assigned.items():
        had = {} if before is None else before.assigned.get(reader, {})
        for segment, offset in held.items():
            if segment not in had:
                reporter.acquired(segment, reader, offset, cause, INFERRED)
    waited = {} if before is None else before.future
    for segment, future in after.future.items():
        if segment not in waited or waited[segment].waits_for != future.waits_for:
            reporter.waits(segment, future.waits_for)


def _free(reporter: Reporter, before: GroupState | None, after: GroupState) -> None:
    """Report segments that are free now, or were free before another reader acquired them."""
    if before is None:
        for segment, offset in after.unassigned.items():
            reporter.offered(segment, offset, "start")
        return
    holders = {segment: reader for reader, held in before.assigned.items() for segment in held}
    for segment, offset in after.positions().items():
        if segment in before.unassigned:
            if segment in after.unassigned and offset != before.unassigned[segment]:
                reporter.offered(segment, offset, "released")  # a reader held it in between
        elif segment in before.future:
            reporter.offered(segment, offset, "predecessors read")
        elif segment not in holders:
            reporter.offered(segment, offset, "start")
        elif segment not in after.assigned.get(holders[segment], ()):
            is_gone = holders[segment] not in after.assigned
            reporter.offered(segment, offset, "left" if is_gone else "released", holders[segment])


def _checkpoints(
    reporter: Reporter, before: GroupState | None, after: GroupState, report_done: Callable[[str], None]
) -> None:
    new = after.checkpoints
    old_waiting = {} if before is None else waiting_of(before.checkpoints)
    old_names = {} if before is None else before.checkpoints.positions
    for name in old_waiting:
        if name not in new.positions:
            reporter.report(GroupCheckpointDropped, checkpoint=name, why="unknown")
    for name in new.positions:
        if name in old_waiting:
            waiting = list(old_waiting[name])
            for reader in [r for r in waiting if r not in new.waiting_for(name)]:
                waiting.remove(reader)
                reporter.passed(name, reader, {}, tuple(waiting))
        elif name in old_names:
            continue
        else:
            reporter.report(
                GroupCheckpointAsked, checkpoint=name, readers=new.waiting_for(name),
                positions=pairs(new.positions[name]), is_silent=is_silent(name),
            )  # fmt: skip
        if new.is_complete(name):
            report_done(name)


def waiting_of(checkpoints: Checkpoints) -> dict[str, tuple[str, ...]]:
    """Return the running checkpoints, each with the readers that still have to pass."""
    found = {name: checkpoints.waiting_for(name) for name in checkpoints.begun}
    return {name: readers for name, readers in found.items() if readers}
