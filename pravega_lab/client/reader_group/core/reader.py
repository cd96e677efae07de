"""Decide what one reader of a group does before each read (reader-groups.md B3 to B5), without I/O.

`ReaderCore.before_read` is a generator. It yields the step that its caller has to take (`Fetch`, `Write`, …)
and receives an `Answer` with the state and the time after the step. The caller may abandon the generator at
any step: the state holds the effect of a step whose answer was lost, and the next `before_read` begins there.

A conditional write is a function from the state to updates, because another member may write first. Each
function checks whether its write is still right, so no write takes effect twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

from pravega_lab.client.reader_group.core import assignment
from pravega_lab.client.reader_group.core.checkpoints import is_silent
from pravega_lab.client.reader_group.core.state import LAG_MS_MIN, NEW_READER_LAG_MS, Decide, GroupState
from pravega_lab.client.reader_group.core.timers import CONFIG_WINDOW_MS, Timers
from pravega_lab.client.reader_group.errors import ReinitializationRequiredError
from pravega_lab.client.reader_group.values import stream_of
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.metadata.reader_group import RetentionType, SegmentWithRange, Update
from pravega_lab.protocol.stream_cut import SEGMENT_READ

COMPACT_AFTER_BYTES = 512 * 1024
COMPACT_CHANCE = 0.05


# ---- steps --------------------------------------------------------------------------------------


class Chance(Protocol):
    """Describes a generator of random numbers, such as `random.Random`."""

    def random(self) -> float:
        """Return a number from 0.0 to 1.0 (exclusive)."""
        ...

    def getrandbits(self, k: int, /) -> int:
        """Return ``k`` random bits."""
        ...


@dataclass(frozen=True, slots=True)
class Fetch:
    """Asks to read the state log to its end. The result: the bytes of log since its last whole state."""


@dataclass(frozen=True, slots=True)
class Write:
    """Asks to write what ``decide`` returns, on the condition that no other member writes first.

    The result is the updates that were written.
    """

    decide: Decide


@dataclass(frozen=True, slots=True)
class Append:
    """Asks to write without a condition. There is no result."""

    updates: tuple[Update, ...]


@dataclass(frozen=True, slots=True)
class FindSuccessors:
    """Asks the controller for the successors of a segment. The result is a `Successors`."""

    segment: str


@dataclass(frozen=True, slots=True)
class Publish:
    """Asks to report what the group has read. The result: whether it accepted the positions."""

    positions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FinishReset:
    """Asks to finish a reset that stopped halfway, with the configuration that the controller has."""


@dataclass(frozen=True, slots=True)
class Compact:
    """Asks to replace the state log by the state."""


Step: TypeAlias = Fetch | Write | Append | FindSuccessors | Publish | FinishReset | Compact


@dataclass(frozen=True, slots=True)
class Successors:
    """Holds the predecessors and the key range of each successor of a segment, by full name."""

    predecessors: dict[str, tuple[int, ...]] = field(default_factory=dict)
    ranges: dict[str, rg.KeyRange] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """Holds the state and the time after a step, and the result of the step."""

    state: GroupState
    now_ms: int
    result: Any = None


T = TypeVar("T")
Decision: TypeAlias = Generator[Step, Answer, T]


# ---- the reader ---------------------------------------------------------------------------------


class ReaderCore:
    """Decides for one online reader which segments it holds, and knows its offset in each.

    ``held`` maps each segment to its next offset. A segment in ``ended`` has the offset -1, or the end offset
    of the group. The caller that returns events to the program calls `advance` and `end`, so ``held`` is the
    reader's position.

    Args:
        checkpoint_at_segment_end: Whether to begin a checkpoint as soon as this reader read a segment to its
            end. Otherwise its successors wait for the next automatic checkpoint.
    """

    def __init__(
        self,
        reader: str,
        state: GroupState,
        *,
        now_ms: int,
        chance: Chance,
        checkpoint_at_segment_end: bool = False,
    ) -> None:
        self.reader = reader
        self._checkpoint_at_segment_end = checkpoint_at_segment_end
        self.held: dict[str, int] = {}
        self.ended: dict[str, None] = {}
        self.timers = Timers(now_ms)
        self._chance = chance
        self._state = state
        self._now_ms = now_ms
        self._at_checkpoint: str | None = None
        self._generation = state.config.generation
        self._departures = state.departures.get(reader, 0)
        self._lineage = state.lineage
        clock_ms = state.distance_to_tail_ms.get(reader, NEW_READER_LAG_MS)
        self._clocks = deque((clock_ms,))  # which of these the log says of this reader is not known
        self.given_away: dict[str, None] = {}  # segments that it ceased to hold, and perhaps acquired again
        self._last: dict[str, None] = {}  # segments read to their end that no other one of the group follows
        self._predecessors: dict[str, tuple[int, ...]] = {}  # of merges in progress, from the controller
        self._free_since_ms: dict[str, int] = {}  # when this reader first saw each unassigned segment
        self._left_until_ms = now_ms  # until then it leaves all unassigned segments to other readers
        self._see(Answer(state, now_ms))

    # progress of reading

    def advance(self, segment: str, offset: int) -> None:
        """Note that the events before ``offset`` were returned to the program."""
        self.held[segment] = offset

    def end(self, segment: str, offset: int = SEGMENT_READ) -> None:
        """Note that the segment was read to its end, or to where the group stops.

        The reader holds it until its completion is written.
        """
        self.held[segment] = offset
        self.ended[segment] = None

    def readable(self) -> list[str]:
        """Return the segments to read from, in the order of acquisition."""
        return [segment for segment in self.held if segment not in self.ended]

    def places(self) -> dict[str, int]:
        """Return the group's offset in each segment that it may read, as far as this reader knows.

        Segments of other readers have the offset that their reader wrote last. After a reader died, that is
        where events are delivered again, which Java's readers do not take into account.
        """
        return {**self._state.places(), **self.held}

    @property
    def at_checkpoint(self) -> str | None:
        """Return the checkpoint that the program received and that the next `before_read` reports."""
        return self._at_checkpoint

    def is_quiet(self, now_ms: int) -> bool:
        """Return whether `before_read` has nothing to do at this time."""
        return self._at_checkpoint is None and now_ms < self.next_deadline_ms()

    @property
    def is_end_of_data(self) -> bool:
        """Return whether the whole group has read everything."""
        return self._state.is_end_of_data

    def next_deadline_ms(self) -> int:
        """Return the time in ms at which to call `before_read` again if nothing was read until then."""
        if self._wants_checkpoint():
            return self._now_ms
        timers = self.timers
        times = [timers.fetch_ms]
        acquire_ms = max(timers.acquire_ms, self._left_until_ms)
        if self._state.unassigned and acquire_ms > self._now_ms:
            times.append(acquire_ms)
        if self._state.config.automatic_checkpoint_interval_ms > 0 and timers.checkpoint_ms > self._now_ms:
            times.append(timers.checkpoint_ms)
        return min(times)

    # decisions

    def before_read(self, *, now_ms: int) -> Decision[str | None]:
        """Do this reader's part in the group.

        Return the name of a checkpoint that the program receives in place of an event, or None.

        Raises:
            ReinitializationRequiredError: The group was reset, or this reader was declared offline.
        """
        self._now_ms = max(self._now_ms, now_ms)
        fetched = yield from self._refresh()
        if self._at_checkpoint is not None:
            yield from self._report(self._at_checkpoint)
            yield from self._hand_back()
            yield from self._publish()
        while (name := (yield from self._pending_checkpoint())) is not None:
            if not is_silent(name):
                self._at_checkpoint = name
                return name
            yield from self._report(name)
            if self._at_checkpoint is not None:
                yield from self._hand_back()  # the silent checkpoint may have prevented it before
        self._at_checkpoint = None
        yield from self._acquire()
        if fetched:
            yield from self._update_lag()
        return None

    def _ask(self, step: Step) -> Decision[Any]:
        answer = yield step
        self._see(answer)
        return answer.result

    def _see(self, answer: Answer) -> None:
        """Take over the new state: hold exactly the segments that it assigns to this reader."""
        self._state, self._now_ms = answer.state, max(self._now_ms, answer.now_ms)
        if not self.is_member_in(self._state):
            raise self._gone()
        self._recognize(self._state)
        mine = self._state.assigned[self.reader]
        for segment in [segment for segment in self.held if segment not in mine]:
            del self.held[segment]
            self.ended.pop(segment, None)
            self.given_away[segment] = None
        for segment, offset in mine.items():
            if segment not in self.held:
                self.held[segment] = offset
                if offset == SEGMENT_READ or offset == self._state.end_of(segment):
                    self.ended[segment] = None
        self._see_unassigned()

    def _see_unassigned(self) -> None:
        """Note since when segments are unassigned, and how long this reader leaves them to others."""
        state, since_ms = self._state, self._free_since_ms
        self._free_since_ms = {segment: since_ms.get(segment, self._now_ms) for segment in state.unassigned}
        self._left_until_ms = self._now_ms
        if state.unassigned and assignment.n_missing(state, self.reader) <= 0:
            first_ms = min(self._free_since_ms.values())
            self._left_until_ms = first_ms + assignment.leave_to_others_ms(state, self.reader)

    def is_member_in(self, state: GroupState) -> bool:
        """Return whether this reader is online, and no later reader of its id replaced it."""
        if not state.is_online(self.reader) or state.config.generation != self._generation:
            return False
        if state.lineage is self._lineage:
            return state.departures.get(self.reader, 0) == self._departures
        # A part of the log was skipped, and a departure may have been in it. A later reader writes its own
        # clock as soon as it acquires segments.
        return state.distance_to_tail_ms.get(self.reader) in self._clocks

    def _recognize(self, state: GroupState) -> None:
        """Note by what this reader finds itself in later states. It is a member in this one."""
        self._lineage, self._departures = state.lineage, state.departures.get(self.reader, 0)
        clock_ms = state.distance_to_tail_ms.get(self.reader)
        while clock_ms in self._clocks and self._clocks[0] != clock_ms:
            self._clocks.popleft()

    def _gone(self) -> ReinitializationRequiredError:
        return ReinitializationRequiredError(
            f"reader {self.reader} is not part of its group any more (reset, or declared offline); "
            f"online are {self._state.readers}. Create the reader again"
        )

    def _refresh(self) -> Decision[bool]:
        if self._now_ms < self.timers.fetch_ms:
            return False
        log_bytes = yield from self._ask(Fetch())
        self.timers.fetch_ms = self._now_ms + self._refresh_ms()
        if log_bytes > COMPACT_AFTER_BYTES and self._chance.random() < COMPACT_CHANCE:
            yield from self._ask(Compact())
        if self._now_ms >= self.timers.config_ms:
            self.timers.config_ms = self._now_ms + CONFIG_WINDOW_MS
            if self._state.updating_config:
                yield from self._ask(FinishReset())
        return True

    def _refresh_ms(self) -> int:
        """Return the time until the next refresh, in ms.

        A Java reader that released a segment acquires it again after two seconds or more. Only a reader that
        looks more often than that cannot be starved by it.
        """
        refresh_ms = self._state.config.group_refresh_time_ms
        if assignment.n_missing(self._state, self.reader) > 0:
            return min(refresh_ms, assignment.TIME_UNIT_MS)
        return refresh_ms

    # checkpoints

    def _pending_checkpoint(self) -> Decision[str | None]:
        interval_ms = self._state.config.automatic_checkpoint_interval_ms
        name = self._state.checkpoints.pending(self.reader)
        is_due = interval_ms > 0 and self._now_ms >= self.timers.checkpoint_ms
        if name is None and (is_due or self._wants_checkpoint()):
            if self._state.checkpoints.has_ongoing:
                return None
            yield from self._ask(Write(self._automatic_checkpoint))
            self.timers.checkpoint_ms = self._now_ms + interval_ms
            name = self._state.checkpoints.pending(self.reader)
        elif name is not None:
            self.timers.checkpoint_ms = self._now_ms + interval_ms
        return name

    def _wants_checkpoint(self) -> bool:
        """Return whether to begin a checkpoint now because a segment has ended.

        This reader may have passed a checkpoint that is under way before the segment ended. It waits until
        that one is complete.
        """
        merging = self._state.merging_streams()
        is_asked = any(s not in self._last or stream_of(s) not in merging for s in self.ended)
        return self._checkpoint_at_segment_end and is_asked and not self._state.checkpoints.has_ongoing

    def _automatic_checkpoint(self, state: GroupState) -> list[Update]:
        if state.checkpoints.has_ongoing:
            return []
        drawn = f"{self._chance.getrandbits(128):032x}"
        name = "-".join((drawn[:8], drawn[8:12], drawn[12:16], drawn[16:20], drawn[20:]))
        return [rg.CreateCheckpoint(name), rg.ClearCheckpointsBefore(name)]

    def _report(self, name: str) -> Decision[None]:
        """Report the positions at a checkpoint, once all completed predecessors of merges are known.

        A compaction by another member may lose them again before the report is written.
        """
        is_settled = False

        def decide(state: GroupState) -> list[Update]:
            nonlocal is_settled
            is_wanted = self.is_member_in(state) and self.reader in state.checkpoints.waiting_for(name)
            for successor, ids in self._predecessors.items():
                state.learn_predecessors(successor, ids, name)
            is_settled = not is_wanted or not state.unknown_merges(name)
            if not is_wanted or not is_settled:
                return []
            # Include the wholly read segments of a merge: no other position covers their keys.
            return [rg.CheckpointReader(name, self.reader, {**state.merged_positions(name), **self.held})]

        while not is_settled:
            yield from self._learn_merges(name)
            yield from self._ask(Write(decide))

    def _learn_merges(self, checkpoint_id: str) -> Decision[None]:
        unknown = self._state.unknown_merges(checkpoint_id)
        for successor, predecessor in unknown.items():
            if successor not in self._predecessors:
                found: Successors = yield from self._ask(FindSuccessors(predecessor))
                self._predecessors[successor] = found.predecessors.get(successor, ())
        for successor in self._predecessors.keys() - unknown.keys() - self._state.future.keys():
            del self._predecessors[successor]

    def _publish(self) -> Decision[None]:
        state = self._state
        if state.config.retention_type is not RetentionType.AUTOMATIC_RELEASE_AT_LAST_CHECKPOINT:
            return
        last = state.checkpoints.last_positions
        if last and not state.checkpoints.is_last_published:
            taken = yield from self._ask(Publish(dict(last)))
            if taken:
                yield from self._ask(Append((rg.UpdateCheckpointPublished(True),)))

    # segments

    def _hand_back(self) -> Decision[None]:
        for segment in list(self.ended):
            if self._state.checkpoints.pending(self.reader) is not None:
                return
            yield from self._complete(segment)
        yield from self._release()

    def _complete(self, segment: str) -> Decision[None]:
        found = Successors()
        if segment not in self._state.end_segments:
            found = yield from self._ask(FindSuccessors(segment))
        # A successor at whose beginning the group stops might wait for a segment that ended without any.
        successors = {s: ids for s, ids in found.predecessors.items() if self._state.end_of(s) != 0}
        if not successors:
            self._last[segment] = None
        named = [segment, *successors]
        ranges = {name: found.ranges.get(name, self._state.range_of(name)) for name in named}

        def decide(state: GroupState) -> list[Update]:
            if self._is_held_up(state) or segment not in state.assigned[self.reader]:
                return []
            # A checkpoint in a merge lists the read half of it. Another successor of that half counts as not
            # read if the checkpoint lists neither this successor nor what follows it. So a last one is kept.
            if not successors and stream_of(segment) in state.merging_streams():
                return []
            return [rg.SegmentCompleted(self.reader, segment, successors, ranges)]

        yield from self._ask(Write(decide))

    def _release(self) -> Decision[None]:
        """Release what exceeds this reader's fair share, all at once: there is no other chance before the
        next checkpoint.
        """
        if self._is_held_up(self._state) or assignment.n_missing(self._state, self.reader) >= 0:
            return

        def decide(state: GroupState) -> list[Update]:
            surplus = 0 if self._is_held_up(state) else max(0, -assignment.n_missing(state, self.reader))
            segments = assignment.in_order_of_release(self.reader, self.held)[:surplus]
            released = [rg.ReleaseSegment(self.reader, segment, self.held[segment]) for segment in segments]
            return [*released, self._distance()] if released else []

        yield from self._ask(Write(decide))
        self._reset_lag_timer()

    def _acquire(self) -> Decision[None]:
        if self._now_ms < self.timers.acquire_ms or self._is_held_up(self._state):
            return
        if not self._to_acquire(self._state):
            return

        def decide(state: GroupState) -> list[Update]:
            segments = [] if self._is_held_up(state) else self._to_acquire(state)
            acquired = [rg.AcquireSegment(self.reader, segment) for segment in segments]
            return [*acquired, self._distance()] if acquired else []

        yield from self._ask(Write(decide))
        self._free_since_ms = {}  # the others have their time again before this reader acquires another one
        self._see_unassigned()
        self._reset_lag_timer()

    def _to_acquire(self, state: GroupState) -> list[str]:
        """Return the unassigned segments to acquire now.

        A reader acquires its fair share at once. It acquires more only when the other readers had the time to
        refresh their state and did not acquire the segments.
        """
        missing = assignment.n_missing(state, self.reader)
        if missing > 0:
            return list(state.unassigned)[:missing]
        since_ms = self._now_ms - assignment.leave_to_others_ms(state, self.reader)
        left = [s for s in state.unassigned if self._free_since_ms.get(s, self._now_ms) <= since_ms]
        return left[: assignment.n_to_take_over(state, len(left))]

    def _is_held_up(self, state: GroupState) -> bool:
        """Return whether this reader must not acquire, release or complete segments.

        It must not while it is offline, nor while a checkpoint waits for it.
        """
        return not self.is_member_in(state) or state.checkpoints.pending(self.reader) is not None

    # lag

    def _distance(self) -> rg.UpdateDistanceToTail:
        """Return the update with the reader's distance to the tail, which is not a lag but the clock.

        Java's readers write the clock, to within 0.3 %, once they have read an event. They weigh segments
        with these numbers. They write 0 until their first event, so an idle Java reader never releases a
        segment. Our readers give all segments the same weight.

        Source: reader-groups.md B3.
        """
        positions = {SegmentWithRange(s, self._state.range_of(s)): at for s, at in self.held.items()}
        self._clocks.append(max(LAG_MS_MIN, self._now_ms))
        return rg.UpdateDistanceToTail(self.reader, self._now_ms, positions)

    def _update_lag(self) -> Decision[None]:
        if self._now_ms >= self.timers.lag_ms:
            self._reset_lag_timer()
            yield from self._ask(Append((self._distance(),)))

    def _reset_lag_timer(self) -> None:
        self.timers.lag_ms = self._now_ms + assignment.TIME_UNIT_MS * (len(self._state.assigned) + 1)


# ---- going online and offline -------------------------------------------------------------------


def come_online(reader: str) -> Decide:
    """Return the write that adds a reader. It writes nothing if a reader of this id is online already."""

    def decide(state: GroupState) -> list[Update]:
        return [] if state.is_online(reader) else [rg.AddReader(reader)]

    return decide


def go_offline(reader: str, positions: Mapping[str, int]) -> Callable[[GroupState], list[Update]]:
    """Return the write that removes a reader and makes all its segments unassigned.

    A segment resumes at its offset in ``positions``, else where it was at its last checkpoint or acquisition.

    Source: reader-groups.md B6.
    """

    def decide(state: GroupState) -> list[Update]:
        held: Sequence[str] = list(state.assigned.get(reader, ()))
        at = {segment: positions[segment] for segment in held if segment in positions}
        return [rg.RemoveReader(reader, at)] if state.is_online(reader) else []

    return decide
