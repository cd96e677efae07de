"""`GroupTracker`: turns the state log of a reader group into observations. The time is an argument.

`GroupObserver` reads the log and passes in every entry, in order, with its offset. Two trackers of one log
therefore report the same, except for the times. Nothing here raises because of what a log holds: an entry
that cannot be understood, or does not fit what came before, is reported with its bytes, and the next whole
state in the log corrects the tracker.

Source: reader-groups.md B2 to B6, C2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pravega_lab.client.reader_group.core.checkpoints import is_silent
from pravega_lab.client.reader_group.core.state import GroupState
from pravega_lab.errors import ProtocolError
from pravega_lab.observe.group import words
from pravega_lab.observe.group.checkpoint_gaps import Range, gaps_of
from pravega_lab.observe.group.differences import report_differences, waiting_of
from pravega_lab.observe.group.entries import Entry, Unknown
from pravega_lab.observe.group.observations import (
    GroupCheckpointAsked,
    GroupCheckpointDone,
    GroupCheckpointDropped,
    GroupGap,
    GroupReset,
    GroupSeen,
    GroupUpdated,
    ReaderJoined,
    ReaderMeasured,
)
from pravega_lab.observe.group.reporter import Reporter, pairs
from pravega_lab.observe.group.rows import split_segment
from pravega_lab.observe.journal.observations import DONE_HERE, INFERRED, LOGGED, Observation
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.metadata.reader_group import KeyRange, Update

WAS_RESET = "the group was reset"
WAS_DELETED = "the group's log is gone: it was deleted"
NOT_SAID = "left, or was declared offline: the log does not say"
NO_POSITIONS = "declared offline: one that closes says where it was, and nothing was said for this one"
_FREED = {
    "start": "nobody had it since the group began",
    "predecessors read": "all its predecessors were read",
    "released": "{} had given it back",
    "left": "{} had gone",
}


class GroupTracker:
    """One group as its log describes it.

    ``offset`` is where the next entry is expected, and ``segment`` the log's full name: an observer that
    lost its connection resumes there. ``state`` is the group's state, ``None`` before the first whole
    state.
    """

    def __init__(self, group: str, *, uri: str = "") -> None:
        self.group, self.uri = group, uri
        self.segment = ""
        self.offset = 0
        self.state: GroupState | None = None
        self._reporter = Reporter(group)
        self._gap_from: int | None = None
        self._freed: dict[str, tuple[str, str]] = {}  # why a free segment is free, and by which reader
        self._ranges: dict[str, Range] = {}
        self._done_here: dict[str, tuple[str, bool]] = {}

    # What the observer calls.

    def done_here(self, reader: str, cause: str, *, was_killed: bool = False) -> None:
        """Note that a control of this program ended the reader: its leaving is then reported as *done
        here*.
        """
        self._done_here[reader] = (cause, was_killed)

    def missing_ranges(self, entry: Entry) -> list[str]:
        """Return the segments in an entry whose key ranges are not known. `learn_ranges` them before
        `take`.
        """
        found: dict[str, None] = {}
        for update in entry:
            if isinstance(update, rg.ReaderGroupStateInit | rg.CompactReaderGroupState):
                found |= dict.fromkeys(_named(update))
            elif isinstance(update, rg.SegmentCompleted):
                found |= dict.fromkeys(update.successors)
            if isinstance(update, rg.SegmentCompleted | rg.CompactReaderGroupState):
                self._learn(update.ranges)
        return [segment for segment in found if segment not in self._ranges]

    def learn_ranges(self, ranges: Mapping[str, Range]) -> None:
        """Learn the key ranges, (low, high], of segments by full name."""
        self._ranges.update(ranges)

    def skipped(self, to_offset: int) -> None:
        """Note that the log before ``to_offset`` is gone, and that not all of it was read."""
        if self.state is not None and self._gap_from is None:
            self._gap_from = self.offset
        self.offset = to_offset

    def vanished(self, *, now_ms: int) -> list[Observation]:
        """Report that the log is gone. Entries after this are of another group with this name."""
        self._reporter.at(self.offset, now_ms, None)
        if self.state is not None:
            self._end_life(WAS_DELETED, INFERRED)
        self.state, self._gap_from, self.segment, self.offset = None, None, "", 0
        return self._reporter.take()

    def take(
        self, entry: Entry, end: int, *, now_ms: int, uncertain_ms: int | None = None
    ) -> list[Observation]:
        """Take the next entry of the log, and return what it says, in order.

        Args:
            updates: The entry, from `read_entry`.
            end: The offset after the entry.
            now_ms: When it was seen.
            uncertain_ms: How much earlier it may have been written, None if that is not known.
        """
        self._reporter.at(end, now_ms, uncertain_ms)
        for update in entry:
            if isinstance(update, Unknown):
                self._say_unknown(update)
            else:
                self._take(update)
        self.offset = end
        return self._reporter.take()

    def _say_unknown(self, found: Unknown) -> None:
        text = f"not understood ({found.why}); what it changed is not known until the log's next whole state"
        self._reporter.report(
            GroupUpdated, update=f"unknown: {found.name}", explained=text, details=found.data.hex()
        )

    def _take(self, update: Update) -> None:
        is_whole = isinstance(update, rg.ReaderGroupStateInit | rg.CompactReaderGroupState)
        if not is_whole and self.state is None:
            self._say_update(update, "; it came before the first whole state that is left, and is part of it")
            return
        said = len(self._reporter)
        try:
            self._say_update(update)
            self._apply(update)
        except (ProtocolError, ValueError) as error:
            self._reporter.drop(said)
            self._reporter.report(
                GroupUpdated, update=type(update).__name__, details=update.to_bytes().hex(),
                explained=f"does not fit what came before ({error}); the log's next whole state mends it",
            )  # fmt: skip

    def _say_update(self, update: Update, more: str = "") -> None:
        self._reporter.report(
            GroupUpdated,
            update=type(update).__name__,
            explained=words.explained(update) + more,
            reader=getattr(update, "reader", ""),
            segment=getattr(update, "segment", ""),
            checkpoint=getattr(update, "checkpoint_id", ""),
            details=words.details(update),
        )

    # Updates.

    @property
    def _now(self) -> GroupState:
        assert self.state is not None
        return self.state

    def _apply(self, update: Update) -> None:
        handler = _HANDLERS.get(type(update))
        if handler is None:
            self._now.apply(update)
        else:
            handler(self, update)

    def _init(self, update: rg.ReaderGroupStateInit) -> None:
        after = GroupState(update)
        if self.state is not None:
            self._report_gap()
            self._end_life(WAS_RESET, LOGGED)
        self._begin(after, is_reset=self.state is not None)

    def _compact(self, update: rg.CompactReaderGroupState) -> None:
        before, after = self.state, GroupState(update)
        if before is None:
            self._begin(after, is_reset=False)
            return
        self._report_gap()
        if before.config.generation != after.config.generation:  # it was reset in the part that was not read
            self._end_life(WAS_RESET, LOGGED)
            self._begin(after, is_reset=True)
            return
        self._learn(after.ranges)
        for name, future in after.future.items():
            if name in before.future and future.done is None:
                future.done = before.future[name].done
        self.state = after
        if before.updating_config != after.updating_config:
            self._reporter.report(GroupReset, is_begun=after.updating_config)
        report_differences(self._reporter, before, after, self._report_done)

    def _begin(self, after: GroupState, *, is_reset: bool) -> None:
        self.state = after
        self._freed = dict.fromkeys(after.unassigned, ("start", ""))
        self._learn(after.ranges)
        self._reporter.report(
            GroupSeen, streams=tuple(after.streams()), is_reset=is_reset, uri=self.uri,
            generation=after.config.generation, group_id=str(after.config.reader_group_id),
            automatic_checkpoint_interval_ms=after.config.automatic_checkpoint_interval_ms,
        )  # fmt: skip
        if after.updating_config:
            self._reporter.report(GroupReset, is_begun=True)
        report_differences(self._reporter, None, after, self._report_done)

    def _report_gap(self) -> None:
        if self._gap_from is not None:
            self._reporter.report(GroupGap, from_revision=self._gap_from)
            self._gap_from = None

    def _end_life(self, cause: str, cause_kind: str) -> None:
        """Report the end of everything that the present state holds."""
        state = self._now
        for name in waiting_of(state.checkpoints):
            self._reporter.report(GroupCheckpointDropped, checkpoint=name, why="reset")
        for reader, held in state.assigned.items():
            for segment, offset in held.items():
                self._reporter.released(segment, reader, offset, cause, cause_kind)
            self._reporter.left(reader, held, cause=cause, cause_kind=cause_kind)
        if state.updating_config:
            self._reporter.report(GroupReset, is_begun=False)

    def _add_reader(self, update: rg.AddReader) -> None:
        self._now.apply(update)
        self._reporter.report(ReaderJoined, reader=update.reader)

    def _remove_reader(self, update: rg.RemoveReader) -> None:
        state, reader = self._now, update.reader
        was_online = state.is_online(reader)
        owed = [name for name in state.checkpoints.begun if reader in state.checkpoints.waiting_for(name)]
        held = list(state.assigned.get(reader, ()))
        state.apply(update)
        if not was_online:
            return
        final = {segment: state.unassigned[segment] for segment in held}
        cause, kind, was_killed = self._why_left(update, held)
        for segment, offset in final.items():
            self._reporter.released(segment, reader, offset, f"{reader} {cause}", kind)
        self._reporter.left(reader, final, cause=cause, cause_kind=kind, was_killed=was_killed)
        for segment, offset in final.items():
            self._free(segment, offset, "left", reader)
        for name in owed:
            waiting = state.checkpoints.waiting_for(name)
            self._reporter.passed(name, reader, final, waiting, is_by_leaving=True)
            self._report_if_done(name)

    def _why_left(self, update: rg.RemoveReader, held: list[str]) -> tuple[str, str, bool | None]:
        ours = self._done_here.pop(update.reader, None)
        if ours is not None:
            return ours[0], DONE_HERE, ours[1]
        if held and not update.positions:
            return NO_POSITIONS, INFERRED, None
        return NOT_SAID, LOGGED, None

    def _release(self, update: rg.ReleaseSegment) -> None:
        state = self._now
        loads = [len(held) for held in state.assigned.values()]
        n = len(state.assigned.get(update.reader, ()))
        state.apply(update)
        cause = f"{update.reader} held {n} and another reader only {min(loads)}: one goes after a checkpoint"
        self._reporter.released(update.segment, update.reader, update.offset, cause, INFERRED)
        self._free(update.segment, update.offset, "released", update.reader)

    def _acquire(self, update: rg.AcquireSegment) -> None:
        state = self._now
        offset = state.unassigned.get(update.segment, 0)
        state.apply(update)
        why, by = self._freed.pop(update.segment, ("start", ""))
        share = state.n_segments / len(state.assigned)
        n = len(state.assigned[update.reader])
        cause = f"{_FREED[why].format(by)}; {update.reader} has {n} now, a fair share is {share:.3g}"
        self._reporter.acquired(update.segment, update.reader, offset, cause, INFERRED)

    def _free(self, segment: str, offset: int, why: str, reader: str) -> None:
        self._freed[segment] = (why, reader)
        self._reporter.offered(segment, offset, why, reader)

    def _distance(self, update: rg.UpdateDistanceToTail) -> None:
        self._now.apply(update)
        last = {key.segment: at for key, at in update.last_read_positions.items()}
        self._reporter.report(
            ReaderMeasured, reader=update.reader, distance_to_tail_ms=update.distance_to_tail,
            last_read=pairs(last),
        )  # fmt: skip

    def _complete(self, update: rg.SegmentCompleted) -> None:
        state = self._now
        stream, done = split_segment(update.segment)
        touched = [
            name
            for name, future in state.future.items()
            if done in future.waits_for and split_segment(name)[0] == stream
        ]
        touched += [name for name in update.successors if name not in state.future]
        state.apply(update)
        self._learn(update.ranges)
        self._reporter.finished(update.segment, update.reader, update.successors)
        for name in touched:
            if name in state.future:
                self._reporter.waits(name, state.future[name].waits_for)
            elif name in state.unassigned:
                self._free(name, state.unassigned[name], "predecessors read", update.reader)

    def _updating(self, update: rg.UpdatingConfig) -> None:
        was = self._now.updating_config
        self._now.apply(update)
        if was != update.updating_config:
            self._reporter.report(GroupReset, is_begun=update.updating_config)

    # Checkpoints.

    def _begin_checkpoint(self, update: rg.CreateCheckpoint) -> None:
        checkpoints, name = self._now.checkpoints, update.checkpoint_id
        is_known = name in checkpoints.positions
        self._now.apply(update)
        if not is_known:
            self._reporter.report(
                GroupCheckpointAsked, checkpoint=name, readers=checkpoints.waiting_for(name),
                positions=pairs(checkpoints.positions[name]), is_silent=is_silent(name),
            )  # fmt: skip
            self._report_if_done(name)

    def _report(self, update: rg.CheckpointReader) -> None:
        checkpoints, name = self._now.checkpoints, update.checkpoint_id
        was_waited_for = update.reader in checkpoints.waiting_for(name)
        self._now.apply(update)
        if was_waited_for:
            self._reporter.passed(name, update.reader, update.positions, checkpoints.waiting_for(name))
            self._report_if_done(name)

    def _report_if_done(self, name: str) -> None:
        if self._now.checkpoints.is_complete(name):
            self._report_done(name)

    def _report_done(self, name: str) -> None:
        cut = self._now.checkpoints.positions[name]
        gaps = gaps_of(cut, self._now, self._ranges)
        self._reporter.report(
            GroupCheckpointDone, checkpoint=name, positions=pairs(cut),
            gaps=tuple((low, high) for _, low, high in gaps),
            gap_streams=tuple(stream for stream, _, _ in gaps),
        )  # fmt: skip

    def _clear(self, update: rg.ClearCheckpointsBefore) -> None:
        self._drop(update, "cleared")

    def _cancel(self, update: rg.RemoveOutstandingCheckpoints) -> None:
        self._drop(update, "cancelled")

    def _drop(self, update: Update, why: str) -> None:
        checkpoints = self._now.checkpoints
        running = waiting_of(checkpoints)
        self._now.apply(update)
        for name in running:
            if name not in checkpoints.positions:
                self._reporter.report(GroupCheckpointDropped, checkpoint=name, why=why)

    def _learn(self, ranges: Mapping[str, KeyRange]) -> None:
        known = {name: (keys.low, keys.high) for name, keys in ranges.items() if keys != rg.UNKNOWN_RANGE}
        self._ranges.update(known)


def _named(update: rg.ReaderGroupStateInit | rg.CompactReaderGroupState) -> Iterable[str]:
    """Return the segments that a whole state says may or will be read."""
    if isinstance(update, rg.ReaderGroupStateInit):
        return update.start_segments
    held = (name for segments in update.assigned_segments.values() for name in segments)
    cuts = (name for at in update.checkpoint_state.checkpoint_positions.values() for name in at)
    return [*held, *update.unassigned_segments, *update.future_segments, *cuts]


_HANDLERS: dict[type[Update], Callable[[Any, Any], None]] = {
    rg.ReaderGroupStateInit: GroupTracker._init,
    rg.CompactReaderGroupState: GroupTracker._compact,
    rg.AddReader: GroupTracker._add_reader,
    rg.RemoveReader: GroupTracker._remove_reader,
    rg.ReleaseSegment: GroupTracker._release,
    rg.AcquireSegment: GroupTracker._acquire,
    rg.UpdateDistanceToTail: GroupTracker._distance,
    rg.SegmentCompleted: GroupTracker._complete,
    rg.UpdatingConfig: GroupTracker._updating,
    rg.CreateCheckpoint: GroupTracker._begin_checkpoint,
    rg.CheckpointReader: GroupTracker._report,
    rg.ClearCheckpointsBefore: GroupTracker._clear,
    rg.RemoveOutstandingCheckpoints: GroupTracker._cancel,
}
