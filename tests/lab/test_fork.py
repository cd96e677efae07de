"""A fork has exactly the events behind the cut, in their keys' order, in segments of the same ranges."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from pravega_lab import Lab, ScalingPolicy
from pravega_lab.client import Client, Stream
from pravega_lab.client.reader_group import reading
from pravega_lab.client.sync import segment_writer
from pravega_lab.errors import BadInputError
from pravega_lab.lab.fork import fork
from pravega_lab.lab.fork_plan import plan
from pravega_lab.observe.group.observations import GroupCheckpointDone
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import SegmentMeasured, SegmentOpened, StreamDeleted
from pravega_lab.observe.ledger.ledger import Ledger
from pravega_lab.protocol.hashing import key_position
from pravega_lab.protocol.names import parse_segment_name
from pravega_lab.protocol.stream_cut import StreamCut

KEYS = [f"key {k}" for k in range(11)]
numbers = count()


@pytest.fixture
def stream(lab: Lab) -> Stream:
    policy = [ScalingPolicy.by_event_rate(1_000_000_000, 2, n) for n in (2, 1)]  # none by itself
    made = lab.create_stream(f"fork/s{next(numbers)}", scaling=policy[0])
    made.update(scaling=policy[1])
    return made


class Writer:
    """Writes numbered events, and keeps which key each has."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.key_of: dict[bytes, str] = {}

    def write(self, n: int) -> None:
        first = len(self.key_of)
        events = [f"{first + i}".encode() for i in range(n)]
        keys = [KEYS[(first + i) % len(KEYS)] for i in range(n)]
        self.key_of.update(zip(events, keys, strict=True))
        self.stream.write(events, keys)


def events_of(stream: Stream, start: StreamCut | None = None) -> list[bytes]:
    found: list[bytes] = []
    with stream.read(*([start] if start else [])) as batches:
        for batch in batches:
            found += batch.column("event").to_pylist()
    return found


def by_key(events: list[bytes], key_of: dict[bytes, str]) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for event in events:
        found.setdefault(key_of[event], []).append(event)
    return found


def ranges_of(stream: Stream) -> list[tuple[float, float]]:
    return [(s.low, s.high) for s in stream.segments()]


def checkpoint(stream: Stream, cut: StreamCut, time_ms: int = 1_000) -> Journal:
    """A journal in which a group passed a checkpoint at this cut."""
    journal = Journal("a run", live=False)
    name = f"{stream.scoped_name}/{{}}.#epoch.{{}}"
    positions = [(name.format(s & 0xFFFFFFFF, s >> 32), at) for s, at in cut.positions.items()]
    journal.append(SegmentOpened(time_ms=0, stream=stream.scoped_name, segment_id=0, low=0, high=1))
    journal.append(
        GroupCheckpointDone(time_ms=time_ms, group="fork/g", checkpoint="c1", positions=tuple(positions))
    )
    journal.tick(time_ms + 5_000)
    return journal


def test_it_is_exact_through_splits_and_merges(lab: Lab, stream: Stream) -> None:
    writer = Writer(stream)
    writer.write(200)
    cut = stream.tail()
    at_cut = ranges_of(stream)
    writer.write(100)
    low = stream.segments()[0].segment_id
    stream.split(low, 3)
    writer.write(150)
    stream.merge([s.segment_id for s in stream.segments()][2:])
    writer.write(150)
    stream.split(stream.segments()[0].segment_id)
    writer.write(50)
    expected = events_of(stream, cut)
    with fork(lab.client, checkpoint(stream, cut), at_s=3.0, open_lab=Lab) as made:
        copied = events_of(made.stream)
        assert (made.events, made.begins, made.begins_s, made.truncated) == (
            450, "checkpoint c1 of fork/g", 1.0, [],
        )  # fmt: skip
        assert by_key(copied, writer.key_of) == by_key(expected, writer.key_of)
        assert ranges_of(made.stream) == ranges_of(stream)
        assert made.stream.configuration().scaling == ScalingPolicy.fixed(len(ranges_of(stream)))
        first = made.stream.epoch_segments(0)
        assert [(s.low, s.high) for s in first] == at_cut
        ledger = Ledger()
        ledger.expected(expected, [writer.key_of[e] for e in expected])
        ledger.read(copied)
        ledger.settled()
        ledger.verdict().assert_exact()


def test_every_event_is_where_its_key_belongs_and_new_ones_come_behind(lab: Lab, stream: Stream) -> None:
    writer = Writer(stream)
    writer.write(50)
    cut = stream.tail()
    stream.scale([s.segment_id for s in stream.segments()], [(0.0, 0.1), (0.1, 0.7), (0.7, 1.0)])
    writer.write(300)
    with fork(lab.client, checkpoint(stream, cut), open_lab=Lab) as made:
        copy = made.stream
        epochs = {s.segment_id: s for e in range(4) for s in _epoch(copy, e)}
        with copy.read() as batches:
            for batch in batches:
                for event, segment in zip(*batch.select([0, 1]).to_pydict().values(), strict=True):
                    owner = epochs[segment]
                    assert owner.owns(key_position(writer.key_of[event])), (event, owner)
        copy.write([f"more {k}".encode() for k in range(11)], KEYS)
        key_of = {**writer.key_of, **{f"more {k}".encode(): key for k, key in enumerate(KEYS)}}
        for events in by_key(events_of(copy), key_of).values():
            assert events[-1].startswith(b"more")


def _epoch(stream: Stream, epoch: int) -> list[Any]:
    try:
        return stream.epoch_segments(epoch)
    except Exception:
        return []


def read_from_the_head(stream: Stream, n: int) -> list[bytes]:
    """What a group without checkpoints gets: no successor of a segment that ends in the fork."""
    name, found, misses = f"fork/g{next(numbers)}", [], 0
    config = reading([stream.scoped_name], automatic_checkpoint_interval_ms=-1, group_refresh_time_ms=50)
    client = Client(stream.options()["controller"])
    with client, client.create_reader_group(name, config).create_reader("r") as reader:
        while len(found) < n and misses < 10:
            event = reader.read_next(0.5).event
            if event is None:
                misses += 1
            else:
                found.append(event)
    return found


def test_a_group_reads_a_fork_of_uneven_ranges_at_once(lab: Lab, stream: Stream) -> None:
    writer = Writer(stream)
    uneven = [(0.0, 0.1), (0.1, 0.7), (0.7, 1.0)]
    stream.scale([s.segment_id for s in stream.segments()], uneven)
    writer.write(50)
    cut = stream.tail()
    writer.write(60)
    with fork(lab.client, checkpoint(stream, cut), open_lab=Lab) as made:
        assert ranges_of(made.stream) == uneven
        assert made.stream.head().positions == {s.segment_id: 0 for s in made.stream.segments()}
        found = read_from_the_head(made.stream, 60)
        assert by_key(found, writer.key_of) == by_key(events_of(stream, cut), writer.key_of)


@pytest.mark.slow
def test_a_group_reads_at_once_where_all_was_read_of_what_ends(lab: Lab, stream: Stream) -> None:
    """The cut is at the ends of two segments; behind it comes one that has nothing, then those that have."""
    writer = Writer(stream)
    writer.write(50)
    cut = stream.tail()
    stream.scale([s.segment_id for s in stream.segments()], [(0.0, 1.0)])
    stream.split(stream.segments()[0].segment_id)
    writer.write(60)
    with fork(lab.client, checkpoint(stream, cut), open_lab=Lab) as made:
        assert made.events == 60
        found = read_from_the_head(made.stream, 60)
        assert by_key(found, writer.key_of) == by_key(events_of(stream, cut), writer.key_of)


@pytest.mark.slow
def test_a_cut_in_the_middle_of_a_shifted_scale(lab: Lab, stream: Stream) -> None:
    """Two segments became two others; a reader is through with the first, in the middle of the second."""
    writer = Writer(stream)
    writer.write(200)
    a, b = stream.segments()
    lengths = stream.tail().positions
    (c, d) = stream.scale([a.segment_id, b.segment_id], [(0.0, 0.3), (0.3, 1.0)])
    writer.write(200)
    middle = stream.event_end(b.segment_id, 0, lengths[b.segment_id] // 2)
    ahead = stream.event_end(c.segment_id, 0, 60)
    cut = StreamCut(stream.scoped_name, {a.segment_id: -1, b.segment_id: middle, c.segment_id: ahead})
    made = plan(stream, cut)
    pieces = {p.segment_id: (p.start, p.end) for e in made.epochs for p in e.pieces}
    assert a.segment_id not in pieces
    assert pieces[b.segment_id] == (middle, lengths[b.segment_id])
    assert pieces[c.segment_id][0] == ahead
    forms = StreamCut(stream.scoped_name, {b.segment_id: middle, c.segment_id: ahead, d.segment_id: -1}), cut
    for form in (*forms, stream.settled_cut(cut)):  # the first as the head would be after a truncation there
        assert [epoch.pieces for epoch in plan(stream, form).epochs] == [e.pieces for e in made.epochs]
    with fork(lab.client, checkpoint(stream, cut), open_lab=Lab) as forked:
        copied = events_of(forked.stream)
        assert len(copied) == forked.events == len(set(copied))
        whole = by_key(events_of(stream), writer.key_of)
        for key, events in by_key(copied, writer.key_of).items():
            assert events == whole[key][-len(events) :]


@pytest.mark.slow
def test_a_real_checkpoint_of_a_real_group(lab: Lab, stream: Stream) -> None:
    writer = Writer(stream)
    writer.write(100)
    name = f"fork/g{next(numbers)}"
    group = lab.client.create_reader_group(
        name, reading([stream.scoped_name], automatic_checkpoint_interval_ms=-1)
    )
    with group.create_reader("r1") as reader:
        pending = group.initiate_checkpoint("here")
        before = []
        while not (found := reader.read_next(2.0)).is_checkpoint:
            before.append(found.event)
        writer.write(60)
        after = [reader.read_next(2.0).event for _ in range(10)]
        cut = pending.result(10).stream_cuts[stream.scoped_name]
    with fork(lab.client, checkpoint(stream, cut), open_lab=Lab) as made:
        copied = events_of(made.stream)
    assert sorted(copied) == sorted(events_of(stream, cut))
    assert set(copied) == set(writer.key_of) - set(before)
    assert set(after) <= set(copied)


@pytest.mark.slow
def test_without_a_checkpoint_it_begins_at_the_lengths_that_were_measured(lab: Lab, stream: Stream) -> None:
    writer = Writer(stream)
    journal = Journal("a run", live=False)
    for s in stream.segments():
        journal.append(
            SegmentOpened(
                time_ms=0, stream=stream.scoped_name, segment_id=s.segment_id, low=s.low, high=s.high
            )
        )
    writer.write(80)
    for segment, length in stream.tail().positions.items():
        journal.append(
            SegmentMeasured(
                time_ms=500,
                stream=stream.scoped_name,
                segment_id=segment,
                start_offset=0,
                write_offset=length,
            )
        )
    writer.write(60)
    with fork(lab.client, journal, at_s=0.6, open_lab=Lab) as made:
        assert (made.events, made.begins) == (60, "the tails as measured")
    with fork(lab.client, journal, at_s=0.1, open_lab=Lab) as made:
        assert made.events == 140


def test_what_was_truncated_is_said(lab: Lab, stream: Stream) -> None:
    writer = Writer(stream)
    cut = stream.tail()
    writer.write(100)
    stream.truncate(stream.tail())
    writer.write(30)
    with fork(lab.client, checkpoint(stream, cut), open_lab=Lab) as made:
        assert made.events == 30
        assert len(made.truncated) == 2
        assert "bytes from offset 0" in made.truncated[0]
        assert "truncated" in repr(made)


def test_a_stream_that_was_replaced_is_copied_from_its_own_beginning(lab: Lab, stream: Stream) -> None:
    name = stream.scoped_name
    Writer(stream).write(20)
    journal = checkpoint(stream, stream.tail())
    stream.seal()
    stream.delete()
    again = lab.create_stream(name, scaling=ScalingPolicy.fixed(2))
    Writer(again).write(30)
    with pytest.raises(BadInputError, match="of that moment was deleted, and its events with it"):
        fork(lab.client, journal, at_s=2, open_lab=Lab)
    journal.append(StreamDeleted(time_ms=3_000, stream=name))
    for s in again.segments():
        journal.append(
            SegmentOpened(time_ms=3_000, stream=name, segment_id=s.segment_id, low=s.low, high=s.high)
        )
    with pytest.raises(BadInputError, match="of that moment was deleted"):
        fork(lab.client, journal, at_s=2, open_lab=Lab)
    with fork(lab.client, journal, open_lab=Lab) as made:
        assert (made.events, made.begins) == (30, "the tails as measured")


def test_it_asks_before_much_is_copied(lab: Lab, stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = stream.tail()
    Writer(stream).write(100)
    monkeypatch.setattr("pravega_lab.lab.fork.ASK_ABOVE_BYTES", 900)
    asked: list[str] = []
    with pytest.raises(BadInputError, match="Nobody agreed"):
        fork(
            lab.client,
            checkpoint(stream, cut),
            open_lab=Lab,
            confirm=lambda question: bool(asked.append(question)),
        )
    assert len(asked) == 1
    assert "MiB of events. Go ahead?" in asked[0]
    with pytest.raises(BadInputError, match="Nobody agreed"):
        fork(lab.client, checkpoint(stream, cut), open_lab=Lab)  # no person at this keyboard
    with fork(lab.client, checkpoint(stream, cut), open_lab=Lab, confirm=lambda question: True) as made:
        assert made.events == 100


def test_what_cannot_be_forked(lab: Lab, stream: Stream) -> None:
    Writer(stream).write(10)
    with pytest.raises(BadInputError, match="not by int"):
        fork(lab.client, 3, open_lab=Lab)
    with pytest.raises(BadInputError, match="the journal is empty"):
        fork(lab.client, Journal("x"), open_lab=Lab)
    journal = checkpoint(stream, stream.tail())
    with pytest.raises(BadInputError, match="the cut is of"):
        fork(lab.client, journal, open_lab=Lab, streams=["fork/other"])
    gone = checkpoint(lab.stream("fork/nowhere"), StreamCut("fork/nowhere", {0: 0}))
    with pytest.raises(BadInputError, match="A recording holds no events"):
        fork(lab.client, gone, open_lab=Lab)


def test_a_writer_of_one_segment_keeps_to_it(stream: Stream) -> None:
    first, second = stream.segments()
    with segment_writer(stream, second.segment_id) as writer:
        writer.write([f"{k}" for k in range(1000)], KEYS[0])
    assert stream.segment_info(first.segment_id).write_offset == 0
    assert events_of(stream) == [f"{k}".encode() for k in range(1000)]
    assert parse_segment_name(f"{stream.scoped_name}/1.#epoch.0").segment_id == second.segment_id
