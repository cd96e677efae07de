"""State logs of groups to test with: entries with their offsets, as a log has them, and what trackers say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from pravega_lab.client.reader_group.core.state import GroupState
from pravega_lab.observe.group.entries import read_entry
from pravega_lab.observe.group.fold import GroupHistory, fold_groups
from pravega_lab.observe.group.tracker import GroupTracker
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import Observation, SegmentOpened
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.metadata.reader_group import Update
from pravega_lab.protocol.names import segment_id, segment_name
from pravega_lab.protocol.stream_cut import UNBOUNDED

GROUP = "s/g"
HEADER_BYTES = 8


class Logged(NamedTuple):
    """An entry of a log: its bytes and the offset behind it."""

    data: bytes
    end: int


def log_of(entries: Iterable[Sequence[Update] | bytes], begin: int = 0) -> list[Logged]:
    """Each entry at its place; a whole state that stands alone is written as one."""
    found, at = [], begin
    for entry in entries:
        data = entry if isinstance(entry, bytes) else encoded(entry)
        at += HEADER_BYTES + len(data)
        found.append(Logged(data, at))
    return found


def encoded(updates: Sequence[Update]) -> bytes:
    first = updates[0]
    if isinstance(first, rg.ReaderGroupStateInit | rg.CompactReaderGroupState) and len(updates) == 1:
        return rg.initial(first)
    return rg.updates(updates)


def tell(tracker: GroupTracker, log: Iterable[Logged]) -> list[Observation]:
    """What a tracker says of these entries; the n-th byte of a log is written at millisecond n."""
    return [
        observation
        for entry in log
        for observation in tracker.take(read_entry(entry.data), entry.end, now_ms=entry.end)
    ]


def told(log: Iterable[Logged]) -> list[Observation]:
    return tell(GroupTracker(GROUP), log)


def segment(number: int, epoch: int = 0, stream: str = "s/x") -> str:
    return _name((stream, segment_id(epoch, number)))


def init(*starts: str, generation: int = 0) -> rg.ReaderGroupStateInit:
    """A group that begins with these segments at 0, by default two."""
    config = rg.ReaderGroupConfig({"s/x": UNBOUNDED}, generation=generation)
    return rg.ReaderGroupStateInit(config, dict.fromkeys(starts or (segment(0), segment(1)), 0), {})


def check(history: GroupHistory, state: GroupState, group: str = GROUP) -> None:
    """The fold of what was told says what the group's own state says."""
    online = {row.reader: row for row in history.online(group)}
    assert sorted(online) == sorted(state.assigned)
    for reader, held in state.assigned.items():
        assert sorted(_name(place) for place in online[reader].held) == sorted(held)
        assert online[reader].fair_share == state.n_segments / len(state.assigned)
    now = history.current(group)
    places = {_name((p.stream, p.segment_id)): p for p in now}
    assert {n: p.read_offset for n, p in places.items() if p.state == "nobody"} == state.unassigned
    waits = {n: sorted(p.waits_for) for n, p in places.items() if p.state == "waits"}
    assert waits == {name: sorted(future.waits_for) for name, future in state.future.items()}
    held_by = {n: p.reader for n, p in places.items() if p.state == "held"}
    assert held_by == {name: reader for reader, held in state.assigned.items() for name in held}
    orphans = sorted(_name((bar.stream, bar.segment_id)) for bar in history.orphans(group))
    assert orphans == sorted(state.unassigned)
    running = {row.name: sorted(row.waiting) for row in history.running(group)}
    checkpoints = state.checkpoints
    waiting = {name: sorted(checkpoints.waiting_for(name)) for name in checkpoints.begun}
    assert running == {name: readers for name, readers in waiting.items() if readers}
    cuts = {row.name: dict(row.cut) for row in history.checkpoints if row.state == "completed"}
    complete = {n: at for n, at in checkpoints.positions.items() if checkpoints.is_complete(n)}
    assert {name: cuts.get(name) for name in complete} == complete


def check_log(log: Iterable[Logged], state: GroupState) -> None:
    check(fold_groups(told(log)), state)


def _name(place: tuple[str, int]) -> str:
    scope, stream = place[0].split("/")
    return segment_name(scope, stream, place[1])


A_HAS_BOTH: list[list[rg.Update]] = [
    [init()],
    [rg.AddReader("a"), rg.AcquireSegment("a", segment(0)), rg.AcquireSegment("a", segment(1))],
]

SPLIT: list[Observation] = [  # what a stream observer says: #0 was split into #2 and #3
    SegmentOpened(
        time_ms=0, stream="s/x", segment_id=segment_id(epoch, number), low=low, high=high, predecessors=ids
    )
    for epoch, number, low, high, ids in (
        (0, 0, 0.0, 0.5, ()),
        (0, 1, 0.5, 1.0, ()),
        (1, 2, 0.0, 0.25, (0,)),
        (1, 3, 0.25, 0.5, (0,)),
    )
]


def read_up_to(*offsets: int) -> list[rg.Update]:
    """A reader's report of its offsets, in segments #0, #1, …"""
    read = {rg.SegmentWithRange(segment(n)): offset for n, offset in enumerate(offsets)}
    return [rg.UpdateDistanceToTail("a", 1_700_000_000_000, read)]


def split_journal(*entries: list[rg.Update], interval_ms: int = 30_000) -> Journal:
    """Of a group whose segment #0 was split, 19 s after its last checkpoint."""
    config = rg.ReaderGroupConfig({"s/x": UNBOUNDED}, automatic_checkpoint_interval_ms=interval_ms)
    begin = replace(init(), config=config)
    journal, tracker = Journal("s/g"), GroupTracker("s/g")
    for n, entry in enumerate(log_of([[begin], *A_HAS_BOTH[1:], [rg.CreateCheckpoint("cp")], *entries])):
        journal.extend(
            tracker.take(read_entry(entry.data), entry.end, now_ms=[0, 0, 1_000, 2_000][n], uncertain_ms=100)
        )
        journal.extend(SPLIT if n == 0 else [])
    journal.tick(20_000)
    return journal


PASSED: rg.Update = rg.CheckpointReader("cp", "a", {})
