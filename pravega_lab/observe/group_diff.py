"""What changed between two states of a group, said as if it had been seen: for a first look, and after a gap.

Both states are `GroupState`; ``None`` before the first. Order: what ended, who left, who came, what is free,
what was taken, what waits, checkpoints. A reset is no difference: the tracker ends the old life first.
"""

from __future__ import annotations

from collections.abc import Callable

from pravega_lab.client.reader_group.checkpoints import Checkpoints, is_silent
from pravega_lab.client.reader_group.state import GroupState
from pravega_lab.observe.group_observations import (
    GroupCheckpointAsked,
    GroupCheckpointDropped,
    ReaderJoined,
)
from pravega_lab.observe.group_rows import split_segment
from pravega_lab.observe.group_voice import Voice, pairs
from pravega_lab.observe.observations import INFERRED

AFTER_A_GAP = "seen only after a gap in the log"
AT_FIRST_LOOK = "so at the first look"


def say_differences(
    voice: Voice, before: GroupState | None, after: GroupState, say_done: Callable[[str], None]
) -> None:
    """Say all that differs. ``say_done`` says that a checkpoint is complete, with its cut and gaps."""
    if before is not None:
        _gone(voice, before, after)
    old = {} if before is None else before.assigned
    for reader in after.assigned:
        if reader not in old:
            voice.say(ReaderJoined, reader=reader)
    _segments(voice, before, after)
    _checkpoints(voice, before, after, say_done)


def _gone(voice: Voice, before: GroupState, after: GroupState) -> None:
    """Segments that somebody had and has no longer, and readers that went."""
    now = after.positions()
    for reader, held in before.assigned.items():
        for segment in held:
            if segment in after.assigned.get(reader, ()):
                continue
            if segment in now:
                voice.released(segment, reader, now[segment], AFTER_A_GAP)
            else:
                voice.finished(segment, reader, _successors(segment, after))
        if reader not in after.assigned:
            final = {segment: now.get(segment, -1) for segment in held}
            voice.left(reader, final, cause=f"{AFTER_A_GAP}: left, or was declared offline")
    for segment in (*before.unassigned, *before.future):
        if segment not in now and segment not in after.future:
            voice.finished(segment, "", _successors(segment, after))


def _successors(segment: str, after: GroupState) -> list[str]:
    """The successors that still wait for others; of those that do not, nothing says what they followed."""
    segment_id = split_segment(segment)[1]
    return [name for name, future in after.future.items() if segment_id in (future.done or ())]


def _segments(voice: Voice, before: GroupState | None, after: GroupState) -> None:
    _free(voice, before, after)
    cause = AT_FIRST_LOOK if before is None else AFTER_A_GAP
    for reader, held in after.assigned.items():
        had = {} if before is None else before.assigned.get(reader, {})
        for segment, offset in held.items():
            if segment not in had:
                voice.acquired(segment, reader, offset, cause, INFERRED)
    waited = {} if before is None else before.future
    for segment, future in after.future.items():
        if segment not in waited or waited[segment].waits_for != future.waits_for:
            voice.waits(segment, future.waits_for)


def _free(voice: Voice, before: GroupState | None, after: GroupState) -> None:
    """What is free now, and what must have been before somebody else had it."""
    if before is None:
        for segment, offset in after.unassigned.items():
            voice.offered(segment, offset, "start")
        return
    holders = {segment: reader for reader, held in before.assigned.items() for segment in held}
    for segment, offset in after.positions().items():
        if segment in before.unassigned:
            if segment in after.unassigned and offset != before.unassigned[segment]:
                voice.offered(segment, offset, "released")  # somebody had it in between
        elif segment in before.future:
            voice.offered(segment, offset, "predecessors read")
        elif segment not in holders:
            voice.offered(segment, offset, "start")
        elif segment not in after.assigned.get(holders[segment], ()):
            is_gone = holders[segment] not in after.assigned
            voice.offered(segment, offset, "left" if is_gone else "released", holders[segment])


def _checkpoints(
    voice: Voice, before: GroupState | None, after: GroupState, say_done: Callable[[str], None]
) -> None:
    new = after.checkpoints
    old_waiting = {} if before is None else waiting_of(before.checkpoints)
    old_names = {} if before is None else before.checkpoints.positions
    for name in old_waiting:
        if name not in new.positions:
            voice.say(GroupCheckpointDropped, checkpoint=name, why="unknown")
    for name in new.positions:
        if name in old_waiting:
            waiting = list(old_waiting[name])
            for reader in [r for r in waiting if r not in new.waiting_for(name)]:
                waiting.remove(reader)
                voice.passed(name, reader, {}, tuple(waiting))
        elif name in old_names:
            continue
        else:
            voice.say(
                GroupCheckpointAsked, checkpoint=name, readers=new.waiting_for(name),
                positions=pairs(new.positions[name]), is_silent=is_silent(name),
            )  # fmt: skip
        if new.is_complete(name):
            say_done(name)


def waiting_of(checkpoints: Checkpoints) -> dict[str, tuple[str, ...]]:
    """The checkpoints that run, with the readers that have still to pass."""
    found = {name: checkpoints.waiting_for(name) for name in checkpoints.begun}
    return {name: readers for name, readers in found.items() if readers}
