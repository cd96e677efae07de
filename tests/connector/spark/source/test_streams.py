"""The requests of a driver about a stream, without Spark."""

from __future__ import annotations

import bisect
import itertools
import random
from collections.abc import Callable, Iterable

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructType

from pravega_lab.client import HEAD, Client, ScalingPolicy, Stream
from pravega_lab.client.values import RetentionKind, ScalingKind
from pravega_lab.connector.spark.data_source import PravegaDataSource
from pravega_lab.connector.spark.options import Cluster, parse_options
from pravega_lab.connector.spark.source.limits import advance
from pravega_lab.connector.spark.source.reading import read_slices, read_what_is_left
from pravega_lab.connector.spark.source.splits import plan
from pravega_lab.connector.spark.source.streams import StreamView, ensure_stream
from pravega_lab.errors import BadInputError, SegmentNotFoundError, StreamNotFoundError, TruncatedDataError
from pravega_lab.protocol.stream_cut import StreamCut


@pytest.fixture
def stream(client: Client, scope_name: Callable[[], str]) -> Stream:
    return client.create_stream(f"{scope_name()}/in", scaling=ScalingPolicy.fixed(2))


def view_of(stream: Stream) -> StreamView:
    return StreamView(Cluster(stream.client.uri), stream.scoped_name)


def write(stream: Stream, first: int, last: int) -> None:
    stream.write([f"k{i % 9}:{i}" for i in range(first, last)], [f"k{i % 9}" for i in range(first, last)])


def scale(stream: Stream) -> None:
    stream.update(scaling=ScalingPolicy.fixed(1))
    write(stream, 0, 100)
    stream.split(stream.segments()[0].segment_id, 3)
    write(stream, 100, 200)
    stream.merge([segment.segment_id for segment in stream.segments()[:2]])
    write(stream, 200, 300)
    stream.merge([segment.segment_id for segment in stream.segments()])
    write(stream, 300, 400)


def test_limited_batches_of_a_real_stream_read_everything_once_in_order(stream: Stream) -> None:
    scale(stream)
    view = view_of(stream)
    start, target, seen = view.head(), view.tail(), []
    while start != target:
        [end] = advance([view.backlog(start, target)], 700, [view.boundary])
        pieces = view.slices(start, end)
        for part in plan([(pieces, view.spans([piece.segment_id for piece in pieces]))]):
            for batch in read_slices(stream, part):
                seen += [event.decode().split(":") for event in batch.column("event").to_pylist()]
        start = end
    by_key: dict[str, list[int]] = {}
    for key, number in seen:
        by_key.setdefault(key, []).append(int(number))
    assert all(numbers == sorted(numbers) for numbers in by_key.values())
    assert sorted(int(number) for _, number in seen) == list(range(400))


@pytest.mark.parametrize("limit", [1, 10_000])
@pytest.mark.parametrize("is_0_read", [False, True])
def test_a_cut_in_the_middle_of_a_scale_is_a_start_and_an_end(
    stream: Stream, is_0_read: bool, limit: int
) -> None:
    """#0 and #1 give way to #2, which has keys of both, and to #3, which was begun before #2."""
    low, high = "1", "0"
    stream.write(["a", "b", "c"], [low, low, high])
    stream.scale([0, 1], [(0.0, 0.75), (0.75, 1.0)])
    stream.write(["d", "e", "f"], [low, high, high])
    cut = StreamCut(stream.scoped_name, {0: -1 if is_0_read else 9, 1: -1, max(stream.tail().positions): 9})
    view = view_of(stream)
    middle, tail = view.resolve(cut.to_text()), view.tail()

    def between(start: dict[int, int], end: dict[int, int]) -> list[str]:
        found: list[str] = []
        for _ in range(20):
            if start == end or not view.backlog(start, end).size_bytes:
                return sorted(found)
            [until] = advance([view.backlog(start, end)], limit, [view.boundary])
            for batch in read_slices(stream, view.slices(start, until)):
                found += [event.decode() for event in batch.column("event").to_pylist()]
            start = until
        raise AssertionError(f"no end of it: {found}")

    after = ["d", "f"] if is_0_read else ["b", "d", "f"]
    assert between(view.head(), middle) == sorted(set("abcdef") - set(after))
    assert between(middle, tail) == after
    stream.truncate(cut)
    assert between(view.head(), tail) == after
    assert between(view.resolve(stream.head().to_text()), tail) == after


@pytest.mark.parametrize("limit", [1, 10_000])
def test_a_start_in_the_middle_of_two_scales(
    client: Client, scope_name: Callable[[], str], limit: int
) -> None:
    """The last segment, f, waits for c, of which the cut lists the predecessor b alone."""
    stream = client.create_stream(f"{scope_name()}/in")
    a, b = (segment.segment_id for segment in stream.split(0))
    keys = ["g", "a", "e", "e"]  # at 0.11, 0.94 and 0.60
    stream.write(["a1", "b1"], keys[:2])
    c, _ = (segment.segment_id for segment in stream.scale([b], [(0.5, 0.75), (0.75, 1.0)]))
    stream.write(["a2", "d1", "c1", "c2"], keys)
    e, _ = (segment.segment_id for segment in stream.scale([a, c], [(0.0, 0.25), (0.25, 0.75)]))
    stream.write(["e1", "d2", "f1", "f2"], keys)
    cut = StreamCut(stream.scoped_name, {a: -1, b: 0, e: 10})
    view, after = view_of(stream), ["b1", "c1", "c2", "d1", "d2", "f1", "f2"]
    for start in (cut, stream.settled_cut(cut), HEAD):
        if start is HEAD:
            stream.truncate(cut)
        begin, end, found = view.head() if start is HEAD else view.resolve(start.to_text()), view.tail(), []
        while begin != end:
            [until] = advance([view.backlog(begin, end)], limit, [view.boundary])
            for batch in read_slices(stream, view.slices(begin, until)):
                found += [event.decode() for event in batch.column("event").to_pylist()]
            begin = until
        assert sorted(found) == after
        with stream.read(start) as batches:
            assert sorted(event.decode() for event in batches.events()) == after


def test_a_start_and_an_end_may_name_one_place_in_two_forms(stream: Stream) -> None:
    stream.update(scaling=ScalingPolicy.fixed(1))
    write(stream, 0, 10)
    [(last, length)] = stream.tail().positions.items()
    low, high = (segment.segment_id for segment in stream.split(last))
    forms = [StreamCut(stream.scoped_name, at) for at in ({last: length}, {last: -1}, {low: 0, high: 0})]
    schema = StructType().add("offset", LongType())
    for start, end in itertools.product(forms, forms):
        cuts = {"start_stream_cut": start.to_text(), "end_stream_cut": end.to_text()}
        source = PravegaDataSource({**stream.options(), **cuts})
        assert not [part for part in source.reader(schema).partitions() if part.size_bytes], (start, end)
        reader = source.streamReader(schema)
        first = reader.initialOffset()
        until = reader.latestOffset(first, reader.getDefaultReadLimit())
        assert not [part for part in reader.partitions(first, until) if part.size_bytes], (start, end)
        assert reader.latestOffset(until, reader.getDefaultReadLimit()) == until


def test_a_task_reads_one_segment_after_the_other(stream: Stream) -> None:
    """Its rows are in the same order when it is repeated."""
    stream.write([b"x" * 500_000] * 20, [f"k{i}" for i in range(20)])
    pieces = view_of(stream).slices(stream.head().positions, stream.tail().positions)
    found = [batch.column("segment_id")[0].as_py() for batch in read_slices(stream, pieces)]
    assert len(found) > 2
    assert [segment for segment, _ in itertools.groupby(found)] == [0, 1]


def test_ends_of_events_are_found_also_of_one_larger_than_a_read(stream: Stream) -> None:
    chance = random.Random(1)
    sizes = [chance.randint(0, 300) for _ in range(20_000)] + [3_000_000, 0, 5]
    stream.write(pa.array([b"x" * size for size in sizes], pa.binary()), "key")
    [segment] = [s for s, offset in stream.tail().positions.items() if offset]
    ends = [0]
    for size in sizes:
        ends.append(ends[-1] + 8 + size)
    for _ in range(20):
        begin = chance.choice(ends)
        at_least = chance.randint(begin, ends[-1])
        assert stream.event_end(segment, begin, at_least) == ends[bisect.bisect_left(ends, at_least)]
    with pytest.raises(BadInputError, match="not within"):
        stream.event_end(segment, 0, ends[-1] + 1)


def test_a_stream_that_was_created_again_needs_a_new_checkpoint(stream: Stream) -> None:
    start = view_of(stream).head()
    stream.seal()
    stream.delete()
    again = stream.client.create_stream(stream.scoped_name)
    with pytest.raises(SegmentNotFoundError, match=r"created again.* a new checkpointLocation"):
        view_of(again).slices(start, view_of(again).tail())


def test_cuts_given_as_options(stream: Stream) -> None:
    view = view_of(stream)
    write(stream, 0, 50)
    assert view.resolve("earliest") == dict(stream.head().positions)
    assert view.resolve("latest") == dict(stream.tail().positions)
    other = stream.client.create_stream(f"{stream.scope}/other")
    both = f"{other.tail().to_text()}, {stream.tail().to_text()}"
    assert view.resolve(both) == dict(stream.tail().positions)
    with pytest.raises(
        BadInputError, match=f"is of {other.scoped_name}, the stream read is {stream.scoped_name}"
    ):
        view.resolve(other.tail().to_text())
    with pytest.raises(BadInputError, match="not a stream cut"):
        view.resolve("nonsense")


def test_a_cut_that_names_no_place_of_the_stream_is_refused(stream: Stream) -> None:
    """One behind the end of its segment read nothing, and left out what was there in silence."""
    write(stream, 0, 50)
    tail = stream.tail().positions

    def cut(**changed: int) -> str:
        return StreamCut(
            stream.scoped_name, {**tail, **{int(k[1:]): v for k, v in changed.items()}}
        ).to_text()

    assert view_of(stream).resolve(cut()) == dict(tail)
    with pytest.raises(BadInputError, match=rf"at 1000000 in segment 0.#epoch.0 .* has {tail[0]} bytes"):
        view_of(stream).resolve(cut(s0=1_000_000))
    for unknown in ("s77", f"s{5 << 32}"):
        with pytest.raises(SegmentNotFoundError, match=stream.scoped_name):
            view_of(stream).resolve(cut(**{unknown: 0}))
    with pytest.raises(SegmentNotFoundError, match="77"):
        stream.segments_between(StreamCut(stream.scoped_name, {77: 0}), stream.tail())


def test_a_segment_truncated_away_is_told_with_where_to_go_on(stream: Stream) -> None:
    write(stream, 0, 50)
    start = dict(stream.tail().positions)
    write(stream, 50, 100)
    scale_from = stream.segments()[0].segment_id
    stream.split(scale_from)
    write(stream, 100, 150)
    stream.truncate(stream.tail())
    with pytest.raises(TruncatedDataError, match="reading can resume at") as caught:
        view_of(stream).slices(start, dict(stream.tail().positions))
    assert caught.value.resume_at == stream.head()
    assert "fail_on_data_loss=false" in str(caught.value)


def numbers_in(batches: Iterable[pa.RecordBatch]) -> list[int]:
    return sorted(int(e.split(b":")[1]) for b in batches for e in b.column("event").to_pylist())


def test_what_was_truncated_is_left_out_where_the_options_say_so(
    stream: Stream, caplog: pytest.LogCaptureFixture
) -> None:
    write(stream, 0, 50)
    start = dict(stream.tail().positions)
    write(stream, 50, 100)
    stream.split(stream.segments()[0].segment_id)
    write(stream, 100, 150)
    middle = stream.tail()
    write(stream, 150, 200)
    tail = dict(stream.tail().positions)
    lenient = StreamView(Cluster(stream.client.uri), stream.scoped_name, fails_on_loss=False)
    planned = lenient.slices(start, tail)
    assert numbers_in(read_what_is_left(stream, planned)) == list(range(50, 200))
    assert not caplog.messages

    stream.truncate(middle)  # after the batch was planned, in part below its first segments
    assert numbers_in(read_what_is_left(stream, planned)) == list(range(150, 200))
    assert "were truncated before they were read" in caplog.text
    with pytest.raises(TruncatedDataError, match=r"reading can resume at .* fail_on_data_loss=false"):
        numbers_in(read_slices(stream, planned))
    assert numbers_in(read_slices(stream, lenient.slices(start, tail))) == list(range(150, 200))
    text = StreamCut(stream.scoped_name, start).to_text()
    assert lenient.resolve(text) == start
    backlog = lenient.backlog(start, tail)
    assert sum(backlog.end[s] - backlog.begin[s] for s in backlog.begin) == sum(
        offset - middle.positions[segment] for segment, offset in tail.items()
    )
    [cut] = advance([backlog], 1, [lenient.boundary])
    assert numbers_in(read_slices(stream, lenient.slices(start, cut)))[0] >= 150


def options(client: Client, scope: str, **more: str) -> dict[str, str]:
    return {"controller": client.uri, "scope": scope, "stream": "made", **more}


def test_a_missing_stream_is_made_by_the_options(client: Client, scope_name: Callable[[], str]) -> None:
    scope = scope_name()
    more = {
        "default_num_segments": "3",
        "default_scale_factor": "2",
        "default_segment_target_rate_events_per_sec": "100",
        "default_retention_size_bytes": "1000",
    }
    for _ in range(2):
        ensure_stream(parse_options(options(client, scope, **more)), f"{scope}/made", by_default=True)
    found = client.stream(f"{scope}/made").configuration()
    assert (found.scaling.kind, found.scaling.target_rate) == (ScalingKind.EVENTS_PER_S, 100)
    assert (found.scaling.min_segments, found.scaling.scale_factor) == (3, 2)
    assert (found.retention.kind, found.retention.minimum) == (RetentionKind.SIZE, 1000)


def test_a_missing_stream_is_not_made_unless_allowed(client: Client, scope_name: Callable[[], str]) -> None:
    scope = scope_name()
    with pytest.raises(StreamNotFoundError, match=f"no stream {scope}/made.*allow_create_stream"):
        ensure_stream(parse_options(options(client, scope)), f"{scope}/made", by_default=False)
    allowed = parse_options(options(client, scope, allow_create_stream="true"))
    ensure_stream(allowed, f"{scope}/made", by_default=False)
    assert client.stream(f"{scope}/made").exists()
