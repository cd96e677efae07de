"""The stream observer against a running store: splits, merges, seals and lengths, by public calls only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from pravega_lab import observe
from pravega_lab.client import Client, ScalingPolicy, Stream, connect
from pravega_lab.errors import BadInputError
from pravega_lab.observe.journal.observations import (
    SegmentMeasured,
    SegmentSealed,
    StreamDeleted,
    StreamScaled,
    StreamSealed,
)
from pravega_lab.observe.stream import observer
from pravega_lab.observe.stream.fold import fold_segments


@pytest.fixture(params=["store", pytest.param("real_pravega", marks=pytest.mark.real_pravega)])
def uri(request: pytest.FixtureRequest) -> str:
    """The embedded store, and a Pravega that nobody here has written."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def client(uri: str) -> Iterator[Client]:
    with connect(uri) as client:
        yield client


@pytest.fixture
def stream(client: Client, scope_name: Callable[[], str]) -> Stream:
    return client.create_stream(f"{scope_name()}/watched", scaling=ScalingPolicy.by_event_rate(1000))


def test_a_split_and_a_merge_by_hand_are_seen_with_their_ranges(uri: str, stream: Stream) -> None:
    with observe(uri, stream=stream.scoped_name, every_ms=50) as watch:
        assert watch.look()
        first = stream.segments()[0].segment_id
        left, right = stream.split(first)
        stream.merge([left.segment_id, right.segment_id])
        assert watch.look()
    history = fold_segments(watch.since())
    assert [(r.label, r.low, r.high, r.end_ms is None) for r in history.rows] == [
        ("#0 e0", 0.0, 1.0, False),
        ("#1 e1", 0.0, 0.5, False),
        ("#2 e1", 0.5, 1.0, False),
        ("#3 e2", 0.0, 1.0, True),
    ]
    scales = [o for o in watch.since() if isinstance(o, StreamScaled)]
    assert [(s.cause, s.cause_kind) for s in scales] == [("by hand", "done here")] * 2
    assert history.rows[3].predecessors == (left.segment_id, right.segment_id)
    assert not watch.trouble


def test_a_split_while_the_observer_slept_has_no_exact_time_and_no_rate_from_it(
    uri: str, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A closed laptop: what was written in an hour is not the rate of the second after it."""
    now_ms = [1_800_000_000_000]
    monkeypatch.setattr(observer, "_now_ms", lambda: now_ms[0])
    with observe(uri, stream=stream.scoped_name, every_ms=60_000, event_bytes=1_000) as watch:
        assert watch.look()
        stream.split(stream.segments()[0].segment_id)
        now_ms[0] += 1_000
        assert watch.look()
        left = next(r for r in stream.segments() if r.low == 0)
        stream.split(left.segment_id)
        stream.write([b"x" * 10_000] * 100, [str(n) for n in range(100)])
        now_ms[0] += 3_600_000
        assert watch.look()
        now_ms[0] += 1_000
        assert watch.look()
    rows = fold_segments(watch.since()).rows
    assert [r.exact for r in rows[1:]] == [True, True, False, False]
    rates = [o.bytes_per_s for o in watch.since() if isinstance(o, SegmentMeasured)]
    assert any(rate is None for rate in rates)
    assert max(rate or 0 for rate in rates) < 1_000_000 / 3_600 + 1
    assert not watch.trouble


def test_lengths_and_event_sizes_are_measured(uri: str, stream: Stream) -> None:
    with observe(uri, stream=stream.scoped_name, every_ms=20) as watch:
        for _ in range(4):
            stream.write([b"x" * 92] * 10, ["k"] * 10)
            assert watch.look()
        tracker = watch.streams[0].tracker
    last = [o for o in watch.since() if isinstance(o, SegmentMeasured)][-1]
    assert last.write_offset == 4 * 10 * 100
    assert tracker.event_bytes == 100
    assert not watch.trouble


def test_the_past_of_a_sealed_stream_is_found(uri: str, stream: Stream) -> None:
    stream.write(["a", "b"], ["k", "l"])
    stream.split(stream.segments()[0].segment_id)
    stream.seal()
    with observe(uri, stream=stream.scoped_name, every_ms=50) as watch:
        assert watch.look()
    history = fold_segments(watch.since())
    assert [r.label for r in history.rows] == ["#0 e0", "#1 e1", "#2 e1"]
    assert not history.active
    assert not any(r.exact for r in history.rows)
    sealed = {o.segment_id: o.length_bytes for o in watch.since() if isinstance(o, SegmentSealed)}
    assert sealed[0] == 2 * 9
    assert [o for o in watch.since() if isinstance(o, StreamSealed)]


def test_a_sealed_stream_ended_when_it_was_changed_last(uri: str, stream: Stream) -> None:
    stream.write(["a"], ["k"])
    stream.seal()
    with observe(uri, stream=stream.scoped_name, every_ms=50) as watch:
        assert watch.look()
    (row,) = fold_segments(watch.since()).rows
    assert row.end_ms is not None
    assert row.start_ms <= row.end_ms


def test_what_happened_before_a_seal_between_two_looks_is_seen(uri: str, stream: Stream) -> None:
    with observe(uri, stream=stream.scoped_name, every_ms=60_000) as watch:
        assert watch.look()
        left, right = stream.split(stream.segments()[0].segment_id)
        stream.write(["a", "b", "c"], ["k", "l", "m"])
        stream.seal()
        assert watch.look()
        assert watch.look()
    history = fold_segments(watch.since())
    assert [(r.label, r.end_ms is None) for r in history.rows] == [
        ("#0 e0", False),
        ("#1 e1", False),
        ("#2 e1", False),
    ]
    assert sum(r.write_offset or 0 for r in history.rows) == 3 * 9
    assert [o.created for o in history.scales] == [(left.segment_id, right.segment_id)]
    assert len([o for o in watch.since() if isinstance(o, StreamSealed)]) == 1


def test_a_truncation_before_a_seal_is_seen_after_it(
    uri: str, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pravega_lab.observe.stream.observer.HEAD_EVERY_MS", 0)
    with observe(uri, stream=stream.scoped_name, every_ms=60_000) as watch:
        stream.write(["a"], ["k"])
        stream.split(stream.segments()[0].segment_id)
        stream.write(["b", "c"], ["k", "l"])
        assert watch.look()
        stream.truncate(stream.tail())
        stream.seal()
        assert watch.look()
    history = fold_segments(watch.since())
    assert [(r.write_offset or 0) - r.start_offset for r in history.rows] == [0, 0, 0]
    assert not watch.trouble


@pytest.mark.parametrize("scales", [0, 1, 2])  # before it is replaced, while it is watched
def test_a_stream_that_is_replaced_and_sealed_between_two_looks_is_another_stream(
    uri: str, client: Client, stream: Stream, scales: int
) -> None:
    name = stream.scoped_name
    with observe(uri, stream=name, every_ms=60_000) as watch:
        for _ in range(scales):
            stream.split(stream.segments()[0].segment_id)
        assert watch.look()
        stream.seal()
        stream.delete()
        again = client.create_stream(name)
        again.write(["a"], ["k"])
        again.seal()
        assert watch.look()
    found = list(watch.since())
    ends = [type(o) for o in found if isinstance(o, StreamDeleted | StreamSealed)]
    assert ends == [StreamDeleted, StreamSealed]
    last = fold_segments(found).rows[-1]
    assert [r.segment_id for r in again.epoch_segments(0)] == [last.segment_id]
    assert last.write_offset == 9
    assert not watch.trouble


def test_a_stream_that_is_not_there_yet_is_waited_for(
    uri: str, client: Client, scope_name: Callable[[], str]
) -> None:
    name = f"{scope_name()}/later"
    with observe(uri, stream=name, every_ms=20) as watch:
        assert watch.look()
        assert len(watch.trouble) == 1
        assert name in watch.trouble[0]
        client.create_stream(name)
        assert watch.look()
        assert not watch.journal.troubles
    rows = fold_segments(watch.since()).rows
    assert [(r.label, r.exact) for r in rows] == [("#0 e0", True)]


def test_a_stream_that_is_deleted_and_created_again_is_another_stream(
    uri: str, client: Client, stream: Stream
) -> None:
    name = stream.scoped_name
    with observe(uri, stream=name, every_ms=50) as watch:
        assert watch.look()
        stream.seal()
        stream.delete()
        assert watch.look()
        assert not fold_segments(watch.since()).active
        client.create_stream(name, scaling=ScalingPolicy.fixed(3)).write(["a"], ["k"])
        assert watch.look()
        assert str(watch.explain()) == f"{name} has 3 active segments; nobody reads here."
    history = fold_segments(watch.since())
    assert [(r.label, r.end_ms is None, r.exact) for r in history.rows] == [
        ("#0 e0", False, False),
        *((f"#{n} e0", True, True) for n in (1, 2, 3)),
    ]
    assert sum(r.write_offset or 0 for r in history.active) == 9
    assert history.streams[name].min_segments == 3


def test_a_stream_that_is_replaced_between_two_looks_is_another_stream(
    uri: str, client: Client, stream: Stream
) -> None:
    name, scaling = stream.scoped_name, stream.configuration().scaling
    with observe(uri, stream=name, every_ms=60_000) as watch:
        for scales in range(3):  # of the next stream, before it is looked at; the last has a newer epoch
            assert watch.look()
            stream.seal()
            stream.delete()
            stream = client.create_stream(name, scaling=scaling)
            for _ in range(scales):
                stream.split(stream.segments()[0].segment_id)
        assert watch.look()
    history = fold_segments(watch.since())
    assert [r.segment_id for r in history.active] == [r.segment_id for r in stream.segments()]
    assert len([o for o in watch.since() if isinstance(o, StreamDeleted)]) == 3
    assert not watch.trouble


def test_closing_ends_the_threads(uri: str, stream: Stream) -> None:
    watch = observe(uri, stream=stream.scoped_name, every_ms=20)
    thread = watch.streams[0]._thread
    watch.close()
    watch.close()
    assert not thread.is_alive()
    assert not watch.journal.live


def test_what_is_missing_is_said() -> None:
    with pytest.raises(BadInputError, match="needs what to watch"):
        observe("tcp://127.0.0.1:1")
    with pytest.raises(BadInputError, match="needs the controller"):
        observe(stream="a/b")


def test_an_observer_ends_when_a_later_argument_is_wrong(uri: str, stream: Stream) -> None:
    before = set(threading.enumerate())
    with pytest.raises(BadInputError, match="this is int"):
        observe(uri, stream=stream.scoped_name, query=3)
    with pytest.raises(BadInputError, match="without-scope"):
        observe(uri, stream=[stream.scoped_name, "without-scope"])
    assert [t.name for t in set(threading.enumerate()) - before if t.name.startswith("observe ")] == []
