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
