"""Journals of reader groups to test with, made by rule: the same each time, and true to the rules of a group.

A small model of a group (who holds what, what waits, what nobody holds) writes the observations that an
observer of its state log makes; readers read at their own speed. Times are those of a simulated run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from uuid import UUID

from pravega_lab.observe.group.observations import (
    GroupCheckpointAsked,
    GroupCheckpointDone,
    GroupCheckpointDropped,
    GroupCheckpointPassed,
    GroupReset,
    GroupSeen,
    GroupSegmentAcquired,
    GroupSegmentFinished,
    GroupSegmentReleased,
    GroupUpdated,
    Positions,
    ReaderJoined,
    ReaderLeft,
    ReaderMeasured,
    SegmentOffered,
    SegmentWaits,
)
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import DONE_HERE, INFERRED
from pravega_lab.protocol.names import segment_name
from tests.observe.examples import EVENT_BYTES, START_MS, Story, segment

GROUP = "demo/readers"
ENTRY_BYTES = 48  # of the state log: revisions rise by this
NEED = "fair share: {share} of {all} segments, {readers} readers"


def automatic(n: int) -> str:
    """A name like those of automatic checkpoints: a UUID."""
    return str(UUID(int=n * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128, version=4))


class GroupStory:
    """Writes the life of a reader group into the journal of a stream's story."""

    def __init__(self, story: Story, *, group: str = GROUP, interval_ms: int = 10_000) -> None:
        self.story, self.group, self.journal = story, group, story.journal
        self.revision = 0
        self.held: dict[str, dict[int, int]] = {}  # reader -> segment -> offset as stored in the log
        self.free: dict[int, int] = {}
        self.waits: dict[int, set[int]] = {}
        self.speed: dict[str, float] = {}  # bytes a second; 0 for a dead one
        self.read_to: dict[int, float] = {}
        self.sealed: dict[int, list[int]] = {}  # sealed segment -> successors
        self.ranges: dict[int, tuple[float, float]] = {}
        self.asked: dict[str, tuple[set[str], dict[int, int]]] = {}
        self._tell(
            GroupSeen, streams=(story.stream,), automatic_checkpoint_interval_ms=interval_ms, generation=0
        )
        for segment_id in story.open:
            self._offer(segment_id, 0, "start")

    # Time.

    def at(self, t_s: float, rate: Callable[[float, float], float]) -> None:
        """Let everybody write and read until ``t_s`` after the start, in steps of half a second."""
        until_ms = START_MS + round(1000 * t_s)
        while self.story.now_ms < until_ms:
            step_ms = min(500, until_ms - self.story.now_ms)
            self.ranges |= self.story.open
            self.story.measure(rate, step_ms)
            self._read(step_ms / 1000)
            if self.story.now_ms % 2_000 == 0:
                self._measure()

    def _read(self, spent_s: float) -> None:
        for reader, mine in self.held.items():
            share = self.speed[reader] * spent_s / max(1, len(mine))
            for segment_id in mine:
                written = self.story.written[segment_id]
                self.read_to[segment_id] = min(written, self.read_to.get(segment_id, 0.0) + share)

    def _measure(self) -> None:
        for reader, mine in self.held.items():
            if not self.speed[reader]:
                continue
            behind = sum(self.story.written[s] - self.read_to.get(s, 0.0) for s in mine)
            lag_ms = round(1000 * behind / max(1.0, self.speed[reader]))
            self._tell(
                ReaderMeasured,
                reader=reader,
                distance_to_tail_ms=lag_ms,
                last_read=self._positions(self._reached(mine)),
            )

    # What the log says.

    def _tell(self, kind: type, **values: object) -> None:
        values = {"uncertain_ms": 50, "revision": self.revision} | values
        self.journal.append(kind(time_ms=self.story.now_ms, group=self.group, **values))

    def _seen(self, **values: object) -> None:
        every = self.interval_ms
        self._tell(GroupSeen, streams=(self.story.stream,), automatic_checkpoint_interval_ms=every, **values)

    def _update(self, update: str, explained: str, **values: object) -> None:
        self.revision += ENTRY_BYTES
        self._tell(GroupUpdated, update=update, explained=explained, **values)

    def _name(self, segment_id: int) -> str:
        scope, stream = self.story.stream.split("/")
        return segment_name(scope, stream, segment_id)

    def _positions(self, positions: dict[int, int]) -> Positions:
        return tuple((self._name(s), offset) for s, offset in sorted(positions.items()))

    def _reached(self, segments: Iterable[int]) -> dict[int, int]:
        """Where readers are: -1 in a sealed segment that was read to its end."""
        reached = {s: int(self.read_to.get(s, 0.0)) for s in segments}
        return {s: -1 if self._at_end(s) else offset for s, offset in reached.items()}

    def _at_end(self, segment_id: int) -> bool:
        done = self.read_to.get(segment_id, 0.0) >= self.story.written[segment_id] - 1
        return segment_id in self.sealed and done

    def _offer(self, segment_id: int, offset: int, why: str, reader: str = "") -> None:
        self.free[segment_id] = offset
        self._of_segment(SegmentOffered, segment_id, offset=offset, why=why, reader=reader)

    def _of_segment(self, kind: type, segment_id: int, **values: object) -> None:
        self._tell(kind, stream=self.story.stream, segment_id=segment_id, **values)

    # What happens to a stream and to a group.

    def scale(
        self, sealed: list[int], ranges: list[tuple[float, float]], cause: str, kind: str = INFERRED
    ) -> list[int]:
        created = self.story.scale(sealed, ranges, cause, kind)
        self.ranges |= self.story.open
        for old in sealed:
            self.sealed[old] = created
        return created

    def join(self, reader: str, bytes_per_s: float = 60 * 1024.0) -> None:
        self._update("AddReader", f"{reader} came online.", reader=reader)
        self.held[reader], self.speed[reader] = {}, bytes_per_s
        self._tell(ReaderJoined, reader=reader)

    def acquire(self, reader: str, segment_id: int) -> None:
        self._update("AcquireSegment", f"{reader} took {self._name(segment_id)}.", reader=reader)
        offset = self.free.pop(segment_id)
        self.held[reader][segment_id] = offset
        self.read_to[segment_id] = float(offset)
        n, held = len(self.held), sum(map(len, self.held.values()))
        cause = NEED.format(share=round((held + len(self.free)) / n), all=held + len(self.free), readers=n)
        self._of_segment(
            GroupSegmentAcquired, segment_id, reader=reader, offset=offset, cause=cause, cause_kind=INFERRED
        )

    def release(self, reader: str, segment_id: int) -> None:
        self._update("ReleaseSegment", f"{reader} gave back {self._name(segment_id)}.", reader=reader)
        offset = int(self.read_to[segment_id])
        del self.held[reader][segment_id]
        cause = "it held more than its share, just after a checkpoint"
        values = {"reader": reader, "offset": offset, "cause": cause, "cause_kind": INFERRED}
        self._of_segment(GroupSegmentReleased, segment_id, **values)
        self._offer(segment_id, offset, "released", reader)

    def leave(self, reader: str, *, was_killed: bool | None = None, cause: str = "") -> None:
        """Offline: its segments go back where it was, or where the log last saw it when it was killed."""
        self._update("RemoveReader", f"{reader} went offline.", reader=reader)
        stored = self.held.pop(reader)
        positions = stored if was_killed else {s: max(0, o) for s, o in self._reached(stored).items()}
        more = {"cause": cause, "cause_kind": DONE_HERE} if cause else {}
        self._tell(ReaderLeft, reader=reader, held=self._positions(positions), was_killed=was_killed, **more)
        for segment_id, offset in positions.items():
            self._of_segment(GroupSegmentReleased, segment_id, reader=reader, offset=offset)
            self._offer(segment_id, offset, "left", reader)
        for name in [n for n, (waiting, _) in self.asked.items() if reader in waiting]:
            self._report(name, reader, positions, is_by_leaving=True)

    def finish(self, reader: str, segment_id: int) -> None:
        """A sealed segment was read to its end: its successors may be read, or wait for their other half."""
        assert segment_id in self.sealed, "only a sealed segment ends"
        created = self.sealed[segment_id]
        self.read_to[segment_id] = self.story.written[segment_id]
        self._update("SegmentCompleted", f"{reader} read {self._name(segment_id)} to its end.", reader=reader)
        del self.held[reader][segment_id]
        self._of_segment(GroupSegmentFinished, segment_id, reader=reader, successors=tuple(created))
        before = {old for old, after in self.sealed.items() if after == created}
        for new in created:
            waiting = self.waits.setdefault(new, set(before))
            waiting.discard(segment_id)
            if waiting:
                self._of_segment(SegmentWaits, new, waits_for=tuple(sorted(waiting)))
            else:
                del self.waits[new]
                self._offer(new, 0, "predecessors read")

    # Checkpoints.

    def ask(self, name: str, *, is_silent: bool = False) -> None:
        self._update("CreateCheckpoint", f"checkpoint {name} began.", checkpoint=name)
        self.asked[name] = (set(self.held), dict(self.free))
        told = {"checkpoint": name, "readers": tuple(self.held), "positions": self._positions(self.free)}
        self._tell(GroupCheckpointAsked, **told, is_silent=is_silent)

    def passed(self, name: str, *readers: str) -> None:
        for reader in readers:
            self._update("CheckpointReader", f"{reader} passed {name}.", reader=reader, checkpoint=name)
            positions = self._reached(self.held[reader])
            self.held[reader] = positions
            self._report(name, reader, positions)

    def _report(
        self, name: str, reader: str, positions: dict[int, int], *, is_by_leaving: bool = False
    ) -> None:
        waiting, cut = self.asked[name]
        waiting.discard(reader)
        cut |= positions
        rest = tuple(r for r in self.held if r in waiting)
        at = self._positions(positions)
        told = {"checkpoint": name, "reader": reader, "positions": at, "waiting": rest}
        self._tell(GroupCheckpointPassed, **told, is_by_leaving=is_by_leaving)
        if not waiting:
            gaps = self._gaps(cut)
            told = {"checkpoint": name, "positions": self._positions(cut), "gaps": gaps}
            self._tell(GroupCheckpointDone, **told, gap_streams=(self.story.stream,) * len(gaps))
            del self.asked[name]

    def _gaps(self, cut: dict[int, int]) -> tuple[tuple[float, float], ...]:
        """Key ranges that no segment of the cut covers: what a Java group's cut in a merge leaves out."""
        gaps, covered = [], 0.0
        for low, high in sorted(self.ranges[s] for s in cut):
            if low > covered:
                gaps.append((covered, low))
            covered = max(covered, high)
        return (*gaps, *([(covered, 1.0)] if covered < 1.0 else []))

    def drop(self, name: str, why: str) -> None:
        update = "RemoveOutstandingCheckpoints" if why == "cancelled" else "ClearCheckpointsBefore"
        self._update(update, f"checkpoint {name} was {why}.", checkpoint=name)
        del self.asked[name]
        self._tell(GroupCheckpointDropped, checkpoint=name, why=why)

    def begin_reset(self) -> None:
        self._update("UpdatingConfig", "a reset of the group began.")
        self._tell(GroupReset, is_begun=True)
        for name in list(self.asked):
            self.drop(name, "reset")

    def end_reset(self, cut: dict[int, int]) -> None:
        """The group begins anew at this cut; whoever was online is not any more."""
        self._update("ReaderGroupStateInit", "the group begins anew.")
        for reader in list(self.held):
            held = self._positions(self.held.pop(reader))
            self._tell(ReaderLeft, reader=reader, held=held, cause="the group was reset", cause_kind="logged")
        self.free, self.waits = {}, {}
        self._tell(
            GroupSeen,
            streams=(self.story.stream,),
            automatic_checkpoint_interval_ms=10_000,
            generation=1,
            is_reset=True,
        )
        for segment_id, offset in cut.items():
            self.read_to[segment_id] = float(offset)
            self._offer(segment_id, offset, "start")
        self._tell(GroupReset, is_begun=False)


def rate(low: float, high: float) -> float:
    """Events a second of a segment, by its keys: the upper half is busier."""
    return 380 * (high - low) * (1.25 if low >= 0.5 else 0.75)


FAST, SLOW = 120 * 1024.0, 14 * 1024.0


def busy_group(*, live: bool = False) -> GroupStory:
    """Two minutes of four readers over a stream that splits and merges: all that can happen to a group.

    r2 is slow and holds up the fourth checkpoint by 4.7 s; r3 is killed, which holds up the fifth until it is
    declared offline; one checkpoint is cancelled, one fails, one has a gap in its cut; a reset ends it.
    """
    story = Story(live=live)
    story.begin(2)
    group = GroupStory(story)
    _first_readers(group)
    _slow_and_dead(group)
    _merge_with_a_gap(group)
    _reset(group)
    story.journal.tick(story.now_ms)
    return group


def _first_readers(g: GroupStory) -> None:
    s0, s1 = segment(0, 0), segment(0, 1)
    g.at(1.0, rate)
    g.join("r1", FAST)
    for t, s in ((1.2, s0), (1.3, s1)):
        g.at(t, rate)
        g.acquire("r1", s)
    g.at(6.0, rate)
    g.join("r2", FAST)
    g.at(10.0, rate)
    g.ask(automatic(1))
    g.at(10.3, rate)
    g.passed(automatic(1), "r2")
    g.at(10.7, rate)
    g.passed(automatic(1), "r1")
    g.release("r1", s1)
    g.at(12.2, rate)
    g.acquire("r2", s1)
    g.at(14.0, rate)
    g.join("r3", FAST)
    g.at(17.0, rate)
    _, s3 = g.scale([s1], [(0.5, 0.75), (0.75, 1)], "238/s > 2 × 100/s")
    s2 = segment(1, 2)
    g.at(20.0, rate)
    g.ask(automatic(2))
    for t, reader in ((20.2, "r3"), (20.4, "r1"), (20.9, "r2")):
        g.at(t, rate)
        g.passed(automatic(2), reader)
    g.finish("r2", s1)
    g.at(21.6, rate)
    g.acquire("r3", s2)
    g.at(22.4, rate)
    g.acquire("r2", s3)
    g.at(26.0, rate)
    s4, s5 = g.scale([s0], [(0, 0.25), (0.25, 0.5)], "by hand", DONE_HERE)
    g.at(30.0, rate)
    g.ask(automatic(3))
    for t, reader in ((30.2, "r2"), (30.5, "r3"), (30.9, "r1")):
        g.at(t, rate)
        g.passed(automatic(3), reader)
    g.finish("r1", s0)
    g.at(31.4, rate)
    g.acquire("r1", s4)
    g.at(31.9, rate)
    g.acquire("r2", s5)


def _slow_and_dead(g: GroupStory) -> None:
    s2, s5 = segment(1, 2), segment(2, 5)
    g.at(34.0, rate)
    g.join("r4", FAST)
    g.speed["r2"] = SLOW
    g.at(40.0, rate)
    g.ask(automatic(4))
    for t, reader in ((40.2, "r4"), (40.3, "r1"), (40.5, "r3"), (44.7, "r2")):
        g.at(t, rate)
        g.passed(automatic(4), reader)
    g.release("r2", s5)
    g.speed["r2"] = FAST
    g.at(46.1, rate)
    g.acquire("r4", s5)
    g.at(48.0, rate)
    g.speed["r3"] = 0.0
    g.at(52.0, rate)
    g.ask(automatic(5))
    for t, reader in ((52.2, "r1"), (52.4, "r4"), (52.8, "r2")):
        g.at(t, rate)
        g.passed(automatic(5), reader)
    g.at(58.0, rate)
    g.leave("r3", was_killed=True, cause="killed at 48.0 s, declared offline")
    g.at(59.3, rate)
    g.acquire("r1", s2)


def _merge_with_a_gap(g: GroupStory) -> None:
    s2, s3 = segment(1, 2), segment(1, 3)
    g.at(62.0, rate)
    g.ask(automatic(6))
    g.at(62.4, rate)
    g.passed(automatic(6), "r4")
    g.at(64.0, rate)
    g.drop(automatic(6), "cancelled")
    g.at(66.0, rate)
    (s6,) = g.scale([s2, s3], [(0.5, 1)], "by hand", DONE_HERE)
    g.at(70.0, rate)
    g.ask("before-deploy")
    g.at(70.4, rate)
    g.passed("before-deploy", "r1", "r4")
    g.finish("r1", s2)
    g.at(73.0, rate)
    g.drop("before-deploy", "cleared")
    g.at(76.0, rate)
    g.ask("savepoint-1")
    for t, reader in ((76.2, "r4"), (76.5, "r1"), (77.4, "r2")):
        g.at(t, rate)
        g.passed("savepoint-1", reader)
    g.finish("r2", s3)
    g.at(78.3, rate)
    g.acquire("r2", s6)


def _reset(g: GroupStory) -> None:
    g.at(86.0, rate)
    g.ask(automatic(9))
    for t, reader in ((86.3, "r1"), (86.5, "r2"), (86.6, "r4")):
        g.at(t, rate)
        g.passed(automatic(9), reader)
    cut = {s: offset for mine in g.held.values() for s, offset in mine.items()}
    g.at(93.0, rate)
    g.ask("rewind")
    g.at(93.2, rate)
    g.passed("rewind", "r4")
    g.at(94.0, rate)
    g.begin_reset()
    g.at(95.2, rate)
    g.end_reset(cut)
    for t, reader in ((96.0, "r1"), (96.6, "r2"), (97.1, "r4")):
        g.at(t, rate)
        g.join(reader, FAST)
    turns = [
        (t, reader, s)
        for t, reader, s in zip((97.6, 98.0, 98.5), ("r1", "r2", "r4"), list(cut), strict=False)
    ]
    for t, reader, s in turns:
        g.at(t, rate)
        g.acquire(reader, s)
    g.at(106.0, rate)
    g.ask(automatic(11))
    g.at(106.3, rate)
    g.passed(automatic(11), "r1", "r2")
    g.at(108.0, rate)


def large_group(readers: int = 40, segments: int = 60) -> GroupStory:
    """Many readers, more than have room: they join one after another, and three of them die.

    Every tenth reader is slow; ``segments`` may be fewer than the readers, so that some hold none.
    """
    story = Story(target=1000)
    story.begin(segments)
    group = GroupStory(story)

    def flow(low: float, high: float) -> float:
        return 1500 * (high - low) * (0.4 + low)

    names = [f"host-{n // 4:02}-reader-{n % 4}" for n in range(readers)]
    for n, name in enumerate(names):
        group.at(0.2 + 0.1 * n, flow)
        group.join(name, 4 * EVENT_BYTES if n % 10 == 3 else 200 * EVENT_BYTES)
        share = segments // readers + (n < segments % readers)
        for segment_id in list(group.free)[:share]:
            group.acquire(name, segment_id)
    for k, dead in enumerate(names[5::15]):
        begin = 8.0 + 8 * k
        group.at(begin, flow)
        group.ask(automatic(k + 1))
        for i, name in enumerate(r for r in group.held if r != dead):
            group.at(begin + 0.05 + 0.02 * i, flow)
            group.passed(automatic(k + 1), name)
        group.at(begin + 3, flow)
        group.leave(dead)
        for i, segment_id in enumerate(list(group.free)):
            group.at(begin + 3.6 + 0.3 * i, flow)
            group.acquire(min(group.held, key=lambda r: len(group.held[r])), segment_id)
    group.at(34.0, flow)
    story.journal.tick(story.now_ms)
    return group


def empty_group() -> Journal:
    """A group that was opened and has no reader yet."""
    return GroupStory(Story(live=False)).journal
