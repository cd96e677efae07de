"""`GroupHistory`: reader groups over time, a pure fold of a journal.

The reader board and the checkpoint timeline draw it. It takes a journal at once or bit by bit, with the
same result, and remembers which rows changed. It decides nothing about Pravega: the journal says which
reader acquired what and why. Lengths of segments come from a stream observer in the same journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pravega_lab.observe.group.due import CheckpointDue
from pravega_lab.observe.group.observations import (
    GroupCheckpointAsked,
    GroupCheckpointDone,
    GroupCheckpointDropped,
    GroupCheckpointPassed,
    GroupGap,
    GroupObservation,
    GroupReset,
    GroupSeen,
    GroupSegmentAcquired,
    GroupSegmentFinished,
    GroupSegmentReleased,
    Positions,
    ReaderJoined,
    ReaderLeft,
    ReaderMeasured,
    SegmentOffered,
    SegmentWaits,
)
from pravega_lab.observe.group.rows import (
    NOBODY,
    CheckpointRow,
    Holding,
    Move,
    Pass,
    ReaderRow,
    SegmentPlace,
    Waiting,
    remember_growth,
    split_segment,
)
from pravega_lab.observe.journal.observations import (
    Observation,
    SegmentMeasured,
    SegmentOpened,
    SegmentSealed,
)

_Key: TypeAlias = tuple[str, str, int]  # group, stream, segment id
_READABLE = ("held", "nobody")
_MOVE_KINDS = {"predecessors read": "successor"}


@dataclass(slots=True)
class Changed:
    """Indexes of the rows of each table that changed since the caller last cleared them, in order."""

    readers: dict[int, None] = field(default_factory=dict)
    holdings: dict[int, None] = field(default_factory=dict)
    waits: dict[int, None] = field(default_factory=dict)
    moves: dict[int, None] = field(default_factory=dict)
    checkpoints: dict[int, None] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget all changes."""
        for table in (self.readers, self.holdings, self.waits, self.moves, self.checkpoints):
            table.clear()


class GroupHistory:
    """All reader groups of a journal. Rows are in the order in which they began, at their ``index``."""

    def __init__(self) -> None:
        self.groups: dict[str, GroupSeen] = {}  # by name, as each last began
        self.readers: list[ReaderRow] = []  # in order of joining, which decides the colour
        self.holdings: list[Holding] = []
        self.waits: list[Waiting] = []
        self.moves: list[Move] = []
        self.checkpoints: list[CheckpointRow] = []
        self.places: dict[_Key, SegmentPlace] = {}  # every segment that a group ever named
        self.resets: list[GroupReset] = []
        self.gaps: list[GroupGap] = []
        self.start_ms: int | None = None
        self.now_ms: int | None = None
        self.changed = Changed()
        self.due = CheckpointDue()
        self._lanes: dict[tuple[str, str], ReaderRow] = {}
        self._holding: dict[_Key, Holding] = {}
        self._waiting: dict[_Key, Waiting] = {}
        self._before: dict[_Key, list[int]] = {}  # predecessors read so far
        self._past: dict[_Key, Holding] = {}  # the last bar with a reader
        self._running: dict[tuple[str, str], CheckpointRow] = {}
        self._of_segment: dict[tuple[str, int], list[SegmentPlace]] = {}
        self._predecessors: dict[tuple[str, int], tuple[int, ...]] = {}  # from a stream observer
        self._followers: dict[tuple[str, int], dict[int, None]] = {}  # successors, also from a group
        self._lengths: dict[tuple[str, int], SegmentMeasured] = {}
        self._n_readable: dict[str, int] = {}  # segments per group that may be read

    def apply(self, observation: Observation) -> None:
        """Take the next observation. Kinds that do not concern groups only move ``now_ms``."""
        if isinstance(observation, GroupObservation) and self.start_ms is None:
            self.start_ms = observation.time_ms
        if self.start_ms is not None:
            self.now_ms = max(self.now_ms or 0, observation.time_ms)
        self.due.apply(observation)
        handler = _HANDLERS.get(type(observation))
        if handler is not None:
            handler(self, observation)

    # Questions.

    def lane(self, group: str, reader: str) -> ReaderRow | None:
        """Return the lane of a reader."""
        return self._lanes.get((group, reader))

    def place(self, group: str, stream: str, segment_id: int) -> SegmentPlace | None:
        """Return how a group sees a segment now."""
        return self.places.get((group, stream, segment_id))

    def online(self, group: str) -> list[ReaderRow]:
        """Return the readers that are online, in order of joining."""
        return [row for row in self.readers if row.group == group and row.is_online]

    def current(self, group: str) -> list[SegmentPlace]:
        """Return the segments that are held, free or waiting, in the order in which they were first named."""
        live = ("held", "nobody", "waits")
        return [p for p in self.places.values() if p.group == group and p.state in live]

    def at_checkpoint(self, group: str) -> dict[tuple[str, tuple[int, ...]], list[int]]:
        """Return the segments that only wait for a checkpoint, by stream and predecessors.

        Readers have read these predecessors to their end, and complete them at the next checkpoint. The
        successors are known if the journal has a stream observer, or from a merge in progress.
        """
        found: dict[tuple[str, tuple[int, ...]], list[int]] = {}
        for key, waiting in self._waiting.items():
            if key[0] == group and waiting.is_at_checkpoint:
                found.setdefault((waiting.stream, waiting.waits_for), []).append(waiting.segment_id)
        return found

    def running(self, group: str) -> list[CheckpointRow]:
        """Return the checkpoints that wait for readers, the oldest first."""
        return [row for (name, _), row in self._running.items() if name == group]

    def orphans(self, group: str) -> list[Holding]:
        """Return the open bars without a reader: segments that may be read and that no reader holds."""
        return [bar for key, bar in self._holding.items() if key[0] == group and bar.reader == NOBODY]

    def last_holder(self, bar: Holding) -> str:
        """Return the reader that held the segment before this bar, "" if none did.

        For a successor this is the reader of its last predecessor.
        """
        key = (bar.group, bar.stream, bar.segment_id)
        return self._holder_before(key, self._before.get(key, []) if bar.why == "predecessors read" else [])

    def _holder_before(self, key: _Key, before: list[int]) -> str:
        past = self._past.get((*key[:2], before[-1]) if before else key)
        return NOBODY if past is None else past.reader

    # Groups.

    def _seen(self, o: GroupSeen) -> None:
        """Begin the log's (next) life: whatever is still open belongs to the life before."""
        for key in [key for key in self._holding if key[0] == o.group]:
            self._end_holding(key, o.time_ms, "reset", None)
        for key in [key for key in self._waiting if key[0] == o.group]:
            self._end_waiting(key, o.time_ms)
        for key, place in self.places.items():
            if key[0] == o.group and place.state != "finished":
                self._set_state(place, "gone")
                place.reader, place.waits_for = NOBODY, ()
        self.groups[o.group] = o

    def _reset(self, o: GroupReset) -> None:
        self.resets.append(o)

    def _gap(self, o: GroupGap) -> None:
        self.gaps.append(o)

    # Readers.

    def _joined(self, o: ReaderJoined) -> None:
        lane = self._lanes.get((o.group, o.reader))
        if lane is None:
            lane = ReaderRow(len(self.readers), o.group, o.reader, o.time_ms)
            self.readers.append(lane)
            self._lanes[(o.group, o.reader)] = lane
        lane.left_ms, lane.cause, lane.cause_kind = None, "", ""
        lane.sessions.append((o.time_ms, None))
        self._look_again(lane)
        self._share(o.group)

    def _left(self, o: ReaderLeft) -> None:
        lane = self._lanes.get((o.group, o.reader))
        if lane is None or not lane.is_online:
            return
        lane.left_ms, lane.cause, lane.cause_kind = o.time_ms, o.cause, o.cause_kind
        lane.state = "killed" if o.was_killed else "left"
        lane.sessions[-1] = (lane.sessions[-1][0], o.time_ms)
        lane.held, lane.places, lane.owes, lane.owes_since_ms = [], [], [], None
        lane.fair_share, lane.distance_to_tail_ms = 0.0, None
        self.changed.readers[lane.index] = None
        for name, _ in o.held:
            bar = self._past.get((o.group, *split_segment(name)))
            if bar is not None and bar.reader == o.reader:
                bar.ended_by = "left"
                self.changed.holdings[bar.index] = None
        self._share(o.group)

    def _measured(self, o: ReaderMeasured) -> None:
        lane = self._lanes.get((o.group, o.reader))
        if lane is None:
            return
        lane.distance_to_tail_ms = o.distance_to_tail_ms
        self._read_up_to(o.group, o.last_read, o.reader, o.time_ms)
        self._look_again(lane)

    def _look_again(self, lane: ReaderRow) -> None:
        """Update what depends on the segments that a reader holds and on the checkpoints that wait for it."""
        if lane.is_online:
            lane.state = "checkpoint" if lane.owes else "reading" if lane.held else "idle"
        self.changed.readers[lane.index] = None

    def _share(self, group: str) -> None:
        """Update the fair shares of all readers: they change when a reader or a segment comes or goes."""
        online = self.online(group)
        for lane in online:
            share = self._n_readable.get(group, 0) / len(online)
            if lane.fair_share != share:
                lane.fair_share = share
                self.changed.readers[lane.index] = None

    # Segments.

    def _place(self, o: Any, state: str) -> SegmentPlace:
        key = (o.group, o.stream, o.segment_id)
        place = self.places.get(key)
        if place is None:
            place = SegmentPlace(o.group, o.stream, o.segment_id, "", o.time_ms)
            self.places[key] = place
            self._of_segment.setdefault(key[1:], []).append(place)
            length = self._lengths.get(key[1:])
            if length is not None:
                _measure(place, length)
        self._set_state(place, state)
        place.since_ms = o.time_ms
        return place

    def _set_state(self, place: SegmentPlace, state: str) -> None:
        before, place.state = place.state, state
        step = (state in _READABLE) - (before in _READABLE)
        self._n_readable[place.group] = self._n_readable.get(place.group, 0) + step

    def _offered(self, o: SegmentOffered) -> None:
        key = (o.group, o.stream, o.segment_id)
        self._end_waiting(key, o.time_ms)
        self._end_holding(key, o.time_ms, "released", o.offset)
        place = self._place(o, "nobody")
        place.reader, place.read_offset, place.waits_for = NOBODY, o.offset, ()
        self._begin_holding(key, NOBODY, o, o.why)
        self._share(o.group)
        self._look_at_followers(*key, o.time_ms)

    def _acquired(self, o: GroupSegmentAcquired) -> None:
        key = (o.group, o.stream, o.segment_id)
        free = self._holding.get(key)
        self._end_holding(key, o.time_ms, "acquired", o.offset)
        place = self._place(o, "held")
        place.reader, place.read_offset = o.reader, o.offset
        self._begin_holding(key, o.reader, o, "")
        lane = self._lanes.get((o.group, o.reader))
        if lane is not None:
            lane.held.append(key[1:])
            lane.places.append(place)
            self._look_again(lane)
        self._share(o.group)
        self._move(key, free, o)

    def _move(self, key: _Key, free: Holding | None, o: GroupSegmentAcquired) -> None:
        why = "" if free is None else free.why
        before = self._before.get(key, []) if why == "predecessors read" else []
        move = Move(
            len(self.moves), o.group, o.stream, o.segment_id, o.time_ms,
            o.time_ms if free is None else free.start_ms,
            self._holder_before(key, before), o.reader, _MOVE_KINDS.get(why, why or "start"),
            o.cause, o.cause_kind, tuple(before), o.offset,
        )  # fmt: skip
        self.moves.append(move)
        self.changed.moves[move.index] = None

    def _released(self, o: GroupSegmentReleased) -> None:
        self._take_from(o, "nobody", "released", o.offset)

    def _finished(self, o: GroupSegmentFinished) -> None:
        for successor in o.successors:
            self._before.setdefault((o.group, o.stream, successor), []).append(o.segment_id)
        self._take_from(o, "finished", "finished", -1)
        self._share(o.group)

    def _take_from(self, o: Any, state: str, ended_by: str, offset: int) -> None:
        key = (o.group, o.stream, o.segment_id)
        self._end_holding(key, o.time_ms, ended_by, offset)
        place = self._place(o, state)
        place.reader, place.read_offset = NOBODY, offset
        lane = self._lanes.get((o.group, o.reader))
        if lane is not None and key[1:] in lane.held:
            index = lane.held.index(key[1:])
            del lane.held[index], lane.places[index]
            self._look_again(lane)

    def _waits(self, o: SegmentWaits) -> None:
        key = (o.group, o.stream, o.segment_id)
        place = self._place(o, "waits")
        place.waits_for = o.waits_for
        self._follow(o.stream, o.segment_id, o.waits_for)
        waiting = self._waiting.get(key)
        if waiting is None:
            waiting = self._begin_waiting(key, o.time_ms, o.waits_for)
        waiting.waits_for, waiting.is_at_checkpoint = o.waits_for, False
        self.changed.waits[waiting.index] = None
        self._look_at_waiting(key, o.time_ms)

    def _follow(self, stream: str, segment_id: int, predecessors: tuple[int, ...]) -> None:
        for before in predecessors:
            self._followers.setdefault((stream, before), {})[segment_id] = None

    def _look_at_followers(self, group: str, stream: str, segment_id: int, time_ms: int) -> None:
        for follower in self._followers.get((stream, segment_id), ()):
            self._look_at_waiting((group, stream, follower), time_ms)

    def _look_at_waiting(self, key: _Key, time_ms: int) -> None:
        """Note whether a segment only waits for a checkpoint: its predecessors were read to their end."""
        group, stream, segment_id = key
        place, waiting = self.places.get(key), self._waiting.get(key)
        if place is not None and place.state not in ("waits", "gone"):
            return
        left = waiting.waits_for if waiting is not None else self._predecessors.get((stream, segment_id), ())
        before = [self.places.get((group, stream, i)) for i in left]
        is_read = bool(left) and all(p and p.state != "gone" and p.read_offset == -1 for p in before)
        if waiting is None and is_read and any(p and p.state != "finished" for p in before):
            waiting = self._begin_waiting(key, time_ms, left)
        if waiting is None or waiting.is_at_checkpoint == is_read:
            return
        waiting.is_at_checkpoint, waiting.due_ms = is_read, self.due.due_ms(group)
        self.changed.waits[waiting.index] = None
        if not is_read and place is None:  # a reader died, and its segment is read again
            self._end_waiting(key, time_ms)

    def _begin_waiting(self, key: _Key, time_ms: int, waits_for: tuple[int, ...]) -> Waiting:
        waiting = Waiting(len(self.waits), *key, time_ms, waits_for)
        self.waits.append(waiting)
        self._waiting[key] = waiting
        self.changed.waits[waiting.index] = None
        return waiting

    def _end_waiting(self, key: _Key, time_ms: int) -> None:
        waiting = self._waiting.pop(key, None)
        if waiting is not None:
            waiting.end_ms = time_ms
            self.changed.waits[waiting.index] = None

    def _begin_holding(self, key: _Key, reader: str, o: Any, why: str) -> None:
        bar = Holding(len(self.holdings), *key, reader, o.time_ms, o.offset, why=why)
        self.holdings.append(bar)
        self._holding[key] = bar
        self.changed.holdings[bar.index] = None

    def _end_holding(self, key: _Key, time_ms: int, ended_by: str, offset: int | None) -> None:
        bar = self._holding.pop(key, None)
        if bar is None:
            return
        bar.end_ms, bar.ended_by, bar.end_offset = time_ms, ended_by, offset
        if bar.reader != NOBODY:
            self._past[key] = bar
        self.changed.holdings[bar.index] = None

    def _read_up_to(self, group: str, positions: Positions, reader: str, time_ms: int) -> None:
        for name, offset in positions:
            place = self.places.get((group, *split_segment(name)))
            if place is not None and place.reader == reader:
                place.read_offset = offset
                if offset == -1:
                    self._look_at_followers(group, place.stream, place.segment_id, time_ms)

    # Lengths and predecessors, from a stream observer.

    def _segment_opened(self, o: SegmentOpened) -> None:
        key = (o.stream, o.segment_id)
        if key in self._predecessors:
            return
        self._predecessors[key] = o.predecessors
        self._follow(o.stream, o.segment_id, o.predecessors)
        for group in self.groups:
            self._look_at_waiting((group, *key), o.time_ms)

    def _segment_measured(self, o: SegmentMeasured) -> None:
        self._lengths[(o.stream, o.segment_id)] = o
        for place in self._of_segment.get((o.stream, o.segment_id), ()):
            _measure(place, o)
            lane = self._lanes.get((place.group, place.reader))
            if lane is not None:
                self._look_again(lane)

    def _segment_sealed(self, o: SegmentSealed) -> None:
        if o.length_bytes is not None:
            self._segment_measured(
                SegmentMeasured(
                    time_ms=o.time_ms, stream=o.stream, segment_id=o.segment_id, start_offset=0,
                    write_offset=o.length_bytes,
                )
            )  # fmt: skip

    # Checkpoints.

    def _asked(self, o: GroupCheckpointAsked) -> None:
        row = CheckpointRow(
            len(self.checkpoints), o.group, o.checkpoint, o.time_ms, o.readers, o.readers, o.is_silent,
            cut=o.positions,
        )  # fmt: skip
        self.checkpoints.append(row)
        self._running[(o.group, o.checkpoint)] = row
        self.changed.checkpoints[row.index] = None
        for reader in o.readers:
            lane = self._lanes.get((o.group, reader))
            if lane is not None:
                lane.owes.append(o.checkpoint)
                lane.owes_since_ms = o.time_ms if lane.owes_since_ms is None else lane.owes_since_ms
                self._look_again(lane)

    def _passed(self, o: GroupCheckpointPassed) -> None:
        row = self._running.get((o.group, o.checkpoint))
        if row is None:
            return
        row.passes.append(Pass(o.reader, o.time_ms, o.positions, o.is_by_leaving))
        row.waiting = o.waiting
        row.cut = tuple((dict(row.cut) | dict(o.positions)).items())
        lane = self._lanes.get((o.group, o.reader))
        if lane is not None:
            if o.is_by_leaving:  # its lane is empty by now
                row.held_up_segments = tuple(split_segment(name) for name, _ in o.positions)
            else:
                row.held_up_segments = tuple(lane.held)
                self._read_up_to(o.group, o.positions, o.reader, o.time_ms)
            self._paid(lane, o.checkpoint)
        self.changed.checkpoints[row.index] = None

    def _paid(self, lane: ReaderRow, checkpoint: str) -> None:
        if checkpoint in lane.owes:
            lane.owes.remove(checkpoint)
            still = self._running.get((lane.group, lane.owes[0])) if lane.owes else None
            lane.owes_since_ms = None if still is None else still.asked_ms
        self._look_again(lane)

    def _done(self, o: GroupCheckpointDone) -> None:
        row = self._end_checkpoint(o, "completed")
        if row is not None:
            row.cut = o.positions
            streams = o.gap_streams or ("",) * len(o.gaps)
            row.gaps = tuple((s, *gap) for s, gap in zip(streams, o.gaps, strict=True))

    def _dropped(self, o: GroupCheckpointDropped) -> None:
        self._end_checkpoint(o, o.why)

    def _end_checkpoint(self, o: Any, state: str) -> CheckpointRow | None:
        row = self._running.pop((o.group, o.checkpoint), None)
        if row is None:
            return None
        row.state, row.ended_ms = state, o.time_ms
        for reader in row.waiting:
            lane = self._lanes.get((o.group, reader))
            if lane is not None:
                self._paid(lane, o.checkpoint)
        self.changed.checkpoints[row.index] = None
        return row


def _measure(place: SegmentPlace, o: SegmentMeasured) -> None:
    place.write_offset, place.start_offset = o.write_offset, max(place.start_offset, o.start_offset)
    remember_growth(place.growth, o.time_ms, o.write_offset)


def fold_groups(observations: Iterable[Observation]) -> GroupHistory:
    """Return the history of all reader groups in the observations."""
    history = GroupHistory()
    for observation in observations:
        history.apply(observation)
    return history


_HANDLERS: dict[type[Observation], Callable[[Any, Any], None]] = {
    GroupSeen: GroupHistory._seen,
    GroupReset: GroupHistory._reset,
    GroupGap: GroupHistory._gap,
    ReaderJoined: GroupHistory._joined,
    ReaderLeft: GroupHistory._left,
    ReaderMeasured: GroupHistory._measured,
    SegmentOffered: GroupHistory._offered,
    GroupSegmentAcquired: GroupHistory._acquired,
    GroupSegmentReleased: GroupHistory._released,
    GroupSegmentFinished: GroupHistory._finished,
    SegmentWaits: GroupHistory._waits,
    GroupCheckpointAsked: GroupHistory._asked,
    GroupCheckpointPassed: GroupHistory._passed,
    GroupCheckpointDone: GroupHistory._done,
    GroupCheckpointDropped: GroupHistory._dropped,
    SegmentOpened: GroupHistory._segment_opened,
    SegmentMeasured: GroupHistory._segment_measured,
    SegmentSealed: GroupHistory._segment_sealed,
}
