"""Fold the state log of a reader group into its shared state (reader-groups.md B2).

The fold is deterministic and does no I/O: two programs that folded the same log up to the same place hold
the same state, in Python or in Java. Segments are full names. Offsets are in bytes, -1 for a segment that
was read to its end. Revisions are in `synchronizer`, and the decisions of a reader in `reader`.

The state knows one fact that Java's does not keep: which predecessors of a waiting successor are completed,
now and when a checkpoint began. A cut taken in the middle of a merge needs them (reader-groups.md B4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import singledispatchmethod

from pravega_lab.client.reader_group.core.checkpoints import Checkpoints, is_silent
from pravega_lab.client.reader_group.errors import StateLogError
from pravega_lab.client.reader_group.values import stream_of
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.metadata.reader_group import KeyRange, ReaderGroupConfig, SegmentWithRange, Update
from pravega_lab.protocol.names import parse_segment_name, segment_name
from pravega_lab.protocol.stream_cut import SEGMENT_READ

LAG_MS_MIN = 30_000  # the least lag that a reader is assumed to have, "ASSUMED_LAG"
NO_END = 2**63 - 1
NEW_READER_LAG_MS = 2**63 - 1


@dataclass(slots=True)
class Future:
    """Holds a successor that may not be read yet. Ids are those of segments of the same stream.

    ``done`` is None if the log was compacted before this program read it; `learn_predecessors` fills it in.
    """

    waits_for: tuple[int, ...]
    done: tuple[int, ...] | None


class GroupState:
    """Holds the shared state of a group. `apply` changes it. The first event of a log creates it."""

    def __init__(self, begin: Update) -> None:
        self.config: ReaderGroupConfig
        self.checkpoints = Checkpoints()
        self.assigned: dict[str, dict[str, int]] = {}  # a reader that is a key is online
        self.unassigned: dict[str, int] = {}  # in the order in which they are taken
        self.future: dict[str, Future] = {}
        self._future_at: dict[str, dict[str, Future]] = {}  # by checkpoint that waits, when it began
        self.distance_to_tail_ms: dict[str, int] = {}
        self.last_read: dict[str, int] = {}  # for time windows of Java's readers only
        self._told: dict[str, int] = {}  # the offset last reported by the present holder of a segment
        self.clock_ms = 0  # the latest time that a reader reported in what was read, 0 if none did
        self.checkpoint_begun_ms = 0  # that time when the last checkpoint was begun
        self.end_segments: dict[str, int] = {}
        self.ranges: dict[str, KeyRange] = {}  # of the segments in the fields above, where known
        self.updating_config = False
        self.departures: dict[str, int] = {}  # how often each reader went offline in what was read
        self.lineage = object()  # the same in all states that this program read without a gap
        if isinstance(begin, rg.ReaderGroupStateInit):
            self._begin(begin)
        elif isinstance(begin, rg.CompactReaderGroupState):
            self._restore(begin)
        else:
            raise StateLogError(f"a state log begins with a whole state, not with {begin}")

    def _begin(self, init: rg.ReaderGroupStateInit) -> None:
        ranged = init.ranged_start_segments or {
            SegmentWithRange(name): offset for name, offset in init.start_segments.items()
        }
        self.config = init.config
        self.unassigned = {key.segment: offset for key, offset in ranged.items()}
        self.last_read = dict(self.unassigned)
        self.end_segments = dict(init.end_segments)
        self._learn({key.segment: key.range for key in ranged})
        self.updating_config = init.updating_config

    def _restore(self, compact: rg.CompactReaderGroupState) -> None:
        self.config = compact.config
        self.checkpoints = Checkpoints.from_record(compact.checkpoint_state)
        self.distance_to_tail_ms = dict(compact.distance_to_tail)
        self.future = {name: Future(tuple(ids), None) for name, ids in compact.future_segments.items()}
        self.assigned = {reader: dict(segments) for reader, segments in compact.assigned_segments.items()}
        self.unassigned = dict(compact.unassigned_segments)
        self.end_segments = dict(compact.end_segments)
        self.last_read = dict(compact.last_read_position)
        self._learn(compact.ranges)
        self.updating_config = compact.updating_config

    def follow(self, before: GroupState) -> None:
        """Keep what a whole state does not contain, from the state that was read just before it."""
        self.departures, self.lineage = before.departures, before.lineage
        if self.config.generation == before.config.generation:
            self._future_at = before._future_at

    def to_compact(self) -> rg.CompactReaderGroupState:
        """Return the whole state as one update, for compaction."""
        named: list[str] = [*self.future, *self.unassigned, *self.last_read]
        named += [name for segments in self.assigned.values() for name in segments]
        return rg.CompactReaderGroupState(
            self.config,
            self.checkpoints.to_record(),
            dict(self.distance_to_tail_ms),
            {name: future.waits_for for name, future in self.future.items()},
            {reader: dict(segments) for reader, segments in self.assigned.items()},
            dict(self.unassigned),
            dict(self.end_segments),
            dict(self.last_read),
            {name: self.range_of(name) for name in dict.fromkeys(named)},
            self.updating_config,
        )

    # questions

    @property
    def readers(self) -> list[str]:
        """Return the ids of the readers online."""
        return list(self.assigned)

    def is_online(self, reader: str) -> bool:
        """Return whether the reader is online."""
        return reader in self.assigned

    @property
    def n_segments(self) -> int:
        """Return the number of segments that may be read now, assigned or not."""
        return len(self.unassigned) + sum(map(len, self.assigned.values()))

    def range_of(self, segment: str) -> KeyRange:
        """Return the key range of a segment, `UNKNOWN_RANGE` where the log does not name it."""
        return self.ranges.get(segment, rg.UNKNOWN_RANGE)

    def positions(self) -> dict[str, int]:
        """Return the stored offset, of acquisition or last checkpoint, of every segment that may be read."""
        held = {name: at for segments in self.assigned.values() for name, at in segments.items()}
        return {**held, **self.unassigned}

    def places(self) -> dict[str, int]:
        """Return the group's last reported offset in every segment that may be read.

        Unlike ``last_read`` it goes back where events are delivered again: the report of a reader that is
        gone does not count for its successor. It never exceeds the group's real position. Time windows use
        it.
        """
        return {name: self._further(name, at) for name, at in self.positions().items()}

    def _further(self, segment: str, offset: int) -> int:
        told = self._told.get(segment, offset)
        return SEGMENT_READ if SEGMENT_READ in (told, offset) else max(told, offset)

    @property
    def is_end_of_data(self) -> bool:
        """Return whether everything is read and no segment is to come."""
        return not self.future and not self.unassigned and not any(self.assigned.values())

    @property
    def has_last_checkpoint(self) -> bool:
        """Return whether a checkpoint that was not silent is complete. One after the end has no positions.

        Nothing else is unpublished then, except what clients before 0.10 wrote, whose states do not say it.
        """
        checkpoints = self.checkpoints
        return bool(checkpoints.last_positions) or (self.is_end_of_data and not checkpoints.is_last_published)

    def ended(self) -> list[str]:
        """Return the held segments that their readers reported as read to the end.

        They are completed, and their successors become readable, at the next checkpoint.
        """
        places = self.places()
        return [name for held in self.assigned.values() for name in held if places[name] == SEGMENT_READ]

    def end_of(self, segment: str) -> int | None:
        """Return the offset at which the group stops reading a segment before its end, or None."""
        end = self.end_segments.get(segment, NO_END)
        return None if end == NO_END or end < 0 else end

    def streams(self) -> list[str]:
        """Return the streams that the group reads (``scope/stream``)."""
        return list(self.config.starting_stream_cuts)

    # changes

    def apply(self, update: Update) -> None:
        """Apply the next update of the log.

        Raises:
            StateLogError: The update contradicts the state, which stays unchanged. Java's members fail on
            such
                a log too.
        """
        self._apply(update)

    @singledispatchmethod
    def _apply(self, update: Update) -> None:
        raise StateLogError(f"{type(update).__name__} is no update of a group's state")

    @_apply.register
    def _add_reader(self, update: rg.AddReader) -> None:
        if update.reader in self.assigned:
            raise StateLogError(f"reader {update.reader} came online twice")
        self.assigned[update.reader] = {}
        self.distance_to_tail_ms.setdefault(update.reader, NEW_READER_LAG_MS)

    @_apply.register
    def _remove_reader(self, update: rg.RemoveReader) -> None:
        if update.reader in self.assigned:
            self.departures[update.reader] = self.departures.get(update.reader, 0) + 1
        held = self.assigned.pop(update.reader, {})
        final = {name: update.positions.get(name, offset) for name, offset in held.items()}
        self._give_back(final)
        self.distance_to_tail_ms.pop(update.reader, None)
        self.checkpoints.report_all(update.reader, final)

    @_apply.register
    def _release(self, update: rg.ReleaseSegment) -> None:
        del self._held(update.reader, update.segment)[update.segment]
        self._give_back({update.segment: update.offset})
        self._note_read({update.segment: update.offset})

    @_apply.register
    def _acquire(self, update: rg.AcquireSegment) -> None:
        held = self._online(update.reader)
        # Java's state lets a successor begin early, as `_complete` says.
        is_early = self.future.pop(update.segment, None) is not None
        if not is_early and update.segment not in self.unassigned:
            raise StateLogError(f"{update.reader} acquired {update.segment}, which is not unassigned")
        held[update.segment] = self.unassigned.pop(update.segment, 0)

    @_apply.register
    def _update_distance(self, update: rg.UpdateDistanceToTail) -> None:
        self.distance_to_tail_ms[update.reader] = max(LAG_MS_MIN, update.distance_to_tail)
        # Readers write their clocks there (reader-groups.md B3).
        self.clock_ms = max(self.clock_ms, update.distance_to_tail)
        said = {key.segment: at for key, at in update.last_read_positions.items()}
        self._note_read(said)
        held = self.assigned.get(update.reader, {})
        self._told.update({name: at for name, at in said.items() if name in held})

    @_apply.register
    def _complete(self, update: rg.SegmentCompleted) -> None:
        """Complete a segment, for which only successors in its own stream wait.

        Java's state compares ids alone, and segments of two streams may have the same id. A successor would
        begin early, and again later.
        """
        del self._held(update.reader, update.segment)[update.segment]
        self.last_read.pop(update.segment, None)
        self._told.pop(update.segment, None)
        self._learn(update.ranges)
        for name, predecessors in update.successors.items():
            if name not in self.future:
                self.future[name] = Future(tuple(dict.fromkeys(predecessors)), ())
        done, stream = parse_segment_name(update.segment).segment_id, stream_of(update.segment)
        for name, future in list(self.future.items()):
            if done in future.waits_for and stream_of(name) == stream:
                future.waits_for = tuple(i for i in future.waits_for if i != done)
                future.done = None if future.done is None else (*future.done, done)
            if not future.waits_for:
                del self.future[name]
                self.unassigned[name] = 0
                self.last_read[name] = 0

    @_apply.register
    def _report(self, update: rg.CheckpointReader) -> None:
        held = self.assigned.get(update.reader, {})
        self.checkpoints.report(update.checkpoint_id, update.reader, update.positions)
        if not is_silent(update.checkpoint_id):
            held.update({name: update.positions.get(name, at) for name, at in held.items()})

    @_apply.register
    def _begin_checkpoint(self, update: rg.CreateCheckpoint) -> None:
        self._future_at = {n: at for n, at in self._future_at.items() if self.checkpoints.waiting_for(n)}
        self.checkpoints.begin(update.checkpoint_id, self.assigned, self.unassigned)
        now = {successor: replace(future) for successor, future in self.future.items()}
        self._future_at.setdefault(update.checkpoint_id, now)
        self.checkpoint_begun_ms = self.clock_ms

    @_apply.register
    def _clear_checkpoints(self, update: rg.ClearCheckpointsBefore) -> None:
        self.checkpoints.clear_before(update.checkpoint_id)

    @_apply.register
    def _checkpoint_published(self, update: rg.UpdateCheckpointPublished) -> None:
        self.checkpoints.is_last_published = update.is_published

    @_apply.register
    def _set_updating_config(self, update: rg.UpdatingConfig) -> None:
        self.updating_config = update.updating_config

    @_apply.register
    def _remove_checkpoints(self, update: rg.RemoveOutstandingCheckpoints) -> None:
        self.checkpoints.remove_outstanding()

    def _online(self, reader: str) -> dict[str, int]:
        if reader not in self.assigned:
            raise StateLogError(f"an update of {reader}, which is not online; online are {self.readers}")
        return self.assigned[reader]

    def _held(self, reader: str, segment: str) -> dict[str, int]:
        held = self._online(reader)
        if segment not in held:
            raise StateLogError(f"{reader} gave {segment} away, which it does not hold")
        return held

    def _note_read(self, positions: Mapping[str, int]) -> None:
        self.last_read.update({name: at for name, at in positions.items() if name in self.last_read})

    def _give_back(self, positions: Mapping[str, int]) -> None:
        self.unassigned.update(positions)
        for name in positions:
            self._told.pop(name, None)

    def _learn(self, ranges: Mapping[str, KeyRange]) -> None:
        self.ranges.update({name: keys for name, keys in ranges.items() if keys != rg.UNKNOWN_RANGE})

    # merges in progress

    def merging_streams(self) -> set[str]:
        """Return the streams in which a segment waits for its predecessors."""
        return {stream_of(name) for name in self.future}

    def _merges(self, checkpoint_id: str | None) -> list[tuple[str, Future]]:
        """Return the merges in progress, now and when the checkpoint began."""
        before = {} if checkpoint_id is None else self._future_at.get(checkpoint_id, {})
        return [*self.future.items(), *before.items()]

    def unknown_merges(self, checkpoint_id: str | None = None) -> dict[str, str]:
        """Return the waiting successors whose completed predecessors were lost by a compaction, and for each
        a segment that it waits for, or did when the checkpoint began.
        """
        return {
            successor: _sibling(successor, future.waits_for[0])
            for successor, future in self._merges(checkpoint_id)
            if future.done is None
        }

    def learn_predecessors(
        self, successor: str, predecessors: Iterable[int], checkpoint_id: str | None = None
    ) -> None:
        """Take over all predecessors of a waiting successor, as the controller names them."""
        for name, future in self._merges(checkpoint_id):
            if name == successor and future.done is None:
                future.done = tuple(i for i in predecessors if i not in future.waits_for)

    def merged_positions(self, checkpoint_id: str | None = None) -> dict[str, int]:
        """Return the read segments of merges in progress, without which positions do not cover all keys:
        those of a checkpoint, or those taken now.

        Java's groups leave them out, and a group that is reset to such a cut waits for them forever. A merge
        may have ended since the checkpoint began, by a reader that came online later and does not report.
        """
        return {
            _sibling(successor, i): SEGMENT_READ
            for successor, future in self._merges(checkpoint_id)
            for i in future.done or ()
        }


def _sibling(segment: str, segment_id: int) -> str:
    """Return the full name of another segment of the same stream."""
    place = parse_segment_name(segment)
    return segment_name(place.scope, place.stream, segment_id)


def fold(updates: Iterable[Update], state: GroupState | None = None) -> GroupState:
    """Return the state after ``updates``. Without ``state`` the first update has to be a whole state.

    Raises:
        StateLogError: An update contradicts the state, or the log does not begin with a whole state.
    """
    for update in updates:
        if isinstance(update, rg.ReaderGroupStateInit | rg.CompactReaderGroupState):
            whole = GroupState(update)
            if state is not None:
                whole.follow(state)
            state = whole
        elif state is None:
            raise StateLogError(f"a state log begins with a whole state, not with {update}")
        else:
            state.apply(update)
    if state is None:
        raise StateLogError("an empty log has no state")
    return state


Decide = Callable[[GroupState], list[Update]]
"""What to write, from the state that a conditional write is about; asked again when the state moved on."""
