"""Reading streams with Spark, batch and streaming, from an embedded store."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import BinaryType, LongType, StructType

from pravega_lab.client import Client, ScalingPolicy, Stream, connect
from pravega_lab.connector.spark.catalog.jar import LOCAL_CHECKPOINTS
from pravega_lab.connector.spark.data_source import PravegaDataSource
from pravega_lab.connector.spark.session.session import CHECKPOINTS, FILE_SYSTEM_CHECKPOINTS
from pravega_lab.errors import BadInputError, SegmentNotFoundError
from tests.spark.connect import OVER_CONNECT, here_alone, needs_jvm
from tests.standalone import Standalone

pytestmark = pytest.mark.spark
DAY_ONE_S = 1_000_000_000  # event times behind the watermark that every query begins with


@pytest.fixture
def new_stream(client: Client, scope_name: Callable[[], str]) -> Callable[..., Stream]:
    def make(name: str = "in", segments: int = 1, scope: str | None = None) -> Stream:
        return client.create_stream(f"{scope or scope_name()}/{name}", scaling=ScalingPolicy.fixed(segments))

    return make


def options(*streams: Stream, **more: str) -> dict[str, str]:
    names = ",".join(stream.name for stream in streams)
    return {"controller": streams[0].client.uri, "scope": streams[0].scope, "stream": names, **more}


def write_numbers(stream: Stream, first: int, last: int, keys: int = 7) -> None:
    """Events "<key>:<number>", in order."""
    numbers = range(first, last)
    stream.write([f"k{i % keys}:{i}" for i in numbers], [f"k{i % keys}" for i in numbers])


def scale_at_will(stream: Stream) -> None:
    """Six epochs, with splits, merges, and two segments made into three."""
    write_numbers(stream, 0, 100)
    stream.split(0)
    write_numbers(stream, 100, 200)
    low, high = stream.segments()
    stream.scale([low.segment_id, high.segment_id], [(0.0, 0.25), (0.25, 0.75), (0.75, 1.0)])
    write_numbers(stream, 200, 300)
    stream.merge([segment.segment_id for segment in stream.segments()[:2]])
    stream.split(stream.segments()[-1].segment_id, 3)
    write_numbers(stream, 300, 400)
    stream.merge([segment.segment_id for segment in stream.segments()])
    write_numbers(stream, 400, 500)


def numbers_by_key(events: list[bytes]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for event in events:
        key, number = event.decode().split(":")
        found.setdefault(key, []).append(int(number))
    return found


def assert_everything_once_in_order(events: list[bytes], last: int) -> None:
    found = numbers_by_key(events)
    assert sorted(number for numbers in found.values() for number in numbers) == list(range(last))
    assert all(numbers == sorted(numbers) for numbers in found.values())


def read(spark: Any, wanted: dict[str, str]) -> Any:
    return spark.read.format("pravega").options(**wanted)


class Collected:
    """A streaming query whose rows are kept, batch by batch, with their order inside a partition."""

    def __init__(self, spark: Any, wanted: dict[str, str], checkpoint: Path) -> None:
        if OVER_CONNECT:
            pytest.skip("foreachBatch runs in a process of the server")
        self._source = spark.readStream.format("pravega").options(**wanted)
        self._checkpoint = str(checkpoint)
        self.batches: dict[int, list[bytes]] = {}

    def _keep(self, frame: Any, batch: int) -> None:
        parts = (
            frame.select("event").rdd.mapPartitions(lambda rows: [[bytes(r.event) for r in rows]]).collect()
        )
        self.batches[batch] = [event for part in parts for event in part]

    def run(self, **trigger: Any) -> Any:
        writer = self._source.load().writeStream.foreachBatch(self._keep)
        query = (
            writer.option("checkpointLocation", self._checkpoint)
            .trigger(**trigger or {"availableNow": True})
            .start()
        )
        if not trigger:
            query.awaitTermination()
        return query

    @property
    def events(self) -> list[bytes]:
        return [event for batch in sorted(self.batches) for event in self.batches[batch]]


def test_a_batch_reads_everything_once_in_order_over_all_epochs(spark: Any, new_stream: Any) -> None:
    stream = new_stream()
    scale_at_will(stream)
    rows = read(spark, options(stream)).load().collect()
    assert_everything_once_in_order([bytes(row.event) for row in rows], 500)
    assert {(row.scope, row.stream) for row in rows} == {(stream.scope, "in")}
    assert len({row.segment_id for row in rows}) > 5
    assert min(row.offset for row in rows) == 0


def test_unordered_reads_the_same(spark: Any, new_stream: Any) -> None:
    stream = new_stream()
    scale_at_will(stream)
    frame = read(spark, options(stream, ordered="false")).load()
    assert sorted(int(row.event.decode().split(":")[1]) for row in frame.collect()) == list(range(500))


def test_a_narrower_schema_is_honoured(spark: Any, new_stream: Any) -> None:
    stream = new_stream()
    write_numbers(stream, 0, 3)
    frame = read(spark, options(stream)).schema("offset long, event binary").load()
    assert frame.columns == ["offset", "event"]
    assert [tuple(row) for row in frame.collect()] == [(0, b"k0:0"), (12, b"k1:1"), (24, b"k2:2")]


def test_cuts_bound_a_batch(spark: Any, new_stream: Any) -> None:
    stream = new_stream()
    write_numbers(stream, 0, 10)
    start = stream.tail()
    write_numbers(stream, 10, 20)
    stream.split(0)
    end = stream.tail()
    write_numbers(stream, 20, 30)
    cuts = {"start_stream_cut": start.to_text(), "end_stream_cut": end.to_text()}
    rows = read(spark, options(stream, **cuts)).load().collect()
    assert sorted(int(row.event.decode().split(":")[1]) for row in rows) == list(range(10, 20))


def test_an_end_before_the_start_is_refused(new_stream: Any) -> None:
    stream = new_stream()
    head = stream.head()
    write_numbers(stream, 0, 10)
    cuts = {"start_stream_cut": stream.tail().to_text(), "end_stream_cut": head.to_text()}
    reader = PravegaDataSource(options(stream, **cuts)).reader(StructType().add("offset", LongType()))
    with pytest.raises(BadInputError, match="lies before 'start_stream_cut' in"):
        reader.partitions()


def test_a_query_does_not_plan_with_the_segments_of_an_earlier_store_at_the_address() -> None:
    """Spark's workers outlive a store in memory that is started again on its port."""

    def planned_bytes(port: int, events: int) -> tuple[int, int]:
        with Standalone("--memory", controller_port=port) as uri, connect(uri) as client:
            stream = client.create_stream("a/in", create_scope=True)
            stream.write([b"x" * 92] * events)
            stream.split(0)
            reader = PravegaDataSource(options(stream)).reader(StructType().add("offset", LongType()))
            size_bytes = sum(partition.size_bytes for partition in reader.partitions())
            return size_bytes, int(uri.rsplit(":", 1)[1])

    size_bytes, port = planned_bytes(0, 3)
    assert size_bytes == 300
    assert planned_bytes(port, 5)[0] == 500


def test_an_end_before_the_position_of_a_query_is_refused(new_stream: Any) -> None:
    """The query would go back to the end, and read the events after it again when the option is left out."""
    stream = new_stream()
    write_numbers(stream, 0, 10)
    end = {"start_stream_cut": "earliest", "end_stream_cut": stream.tail().to_text()}
    write_numbers(stream, 10, 20)

    def end_of_batch(start: Any = None, **more: str) -> Any:
        source = PravegaDataSource(options(stream, **more)).streamReader(
            StructType().add("event", BinaryType())
        )
        return source.latestOffset(start or source.initialOffset(), source.getDefaultReadLimit())

    position = end_of_batch(start_stream_cut="earliest")
    assert end_of_batch(end_of_batch(**end), **end) == end_of_batch(**end)
    for more in ({}, {"approx_bytes_per_trigger": "10"}):
        for start in (position, None):  # None is a new query, which begins at the tail
            with pytest.raises(BadInputError, match=r"before the position of the query.*checkpointLocation"):
                end_of_batch(start, end_stream_cut=end["end_stream_cut"], **more)
    stream.split(0)
    with pytest.raises(BadInputError, match="before the position of the query"):
        end_of_batch(end_of_batch(position), **end)


@pytest.mark.parametrize("end", ["unbounded", "latest"])
def test_available_now_begins_at_the_tail_at_which_it_ends(end: str, new_stream: Any) -> None:
    """Spark asks for the end first, and the stream grows until it asks for the beginning."""
    stream = new_stream()
    write_numbers(stream, 0, 10)
    tail = stream.tail().positions[0]
    given = options(stream, end_stream_cut=end)
    source = PravegaDataSource(given).streamReader(StructType().add("event", BinaryType()))
    source.prepareForTriggerAvailableNow()
    write_numbers(stream, 10, 20)
    start = source.initialOffset()
    assert start[stream.scoped_name] == {"0": tail}
    assert source.latestOffset(start, source.getDefaultReadLimit()) == start


def test_available_now_creates_a_missing_stream(client: Client, scope_name: Callable[[], str]) -> None:
    scope = scope_name()
    given = {"controller": client.uri, "scope": scope, "stream": "in", "allow_create_stream": "true"}
    source = PravegaDataSource(given).streamReader(StructType().add("event", BinaryType()))
    source.prepareForTriggerAvailableNow()
    assert source.initialOffset()[f"{scope}/in"] == {"0": 0}


def test_a_position_after_the_end_of_the_stream_is_refused(new_stream: Any) -> None:
    """The query would go back to the end, and leave out what is written up to its old position."""
    stream = new_stream()
    write_numbers(stream, 0, 10)
    tail = stream.tail().positions[0]
    source = PravegaDataSource(options(stream)).streamReader(StructType().add("event", BinaryType()))
    start = {stream.scoped_name: {"0": tail + 9}}
    with pytest.raises(BadInputError, match=r"stream ends at .*another store.* a new checkpointLocation"):
        source.latestOffset(start, source.getDefaultReadLimit())
    with pytest.raises(SegmentNotFoundError, match="a new checkpointLocation"):
        source.latestOffset({stream.scoped_name: {str(1 << 32): 9}}, source.getDefaultReadLimit())
    end = {stream.scoped_name: {"0": tail}}
    assert source.latestOffset(end, source.getDefaultReadLimit()) == end


def test_several_streams_are_read_together(spark: Any, new_stream: Any) -> None:
    one = new_stream("one")
    other = new_stream("other", scope=one.scope)
    one.write(["a"])
    other.write(["b", "c"])
    rows = read(spark, options(one, other)).load().select("stream", "event").collect()
    assert sorted((row.stream, bytes(row.event)) for row in rows) == [
        ("one", b"a"),
        ("other", b"b"),
        ("other", b"c"),
    ]


def test_metadata_tables(spark: Any, new_stream: Any) -> None:
    stream = new_stream()
    write_numbers(stream, 0, 3)
    [cuts] = read(spark, options(stream, metadata="StreamInfo")).load().collect()
    assert (cuts.head_stream_cut, cuts.tail_stream_cut) == (stream.head().to_text(), stream.tail().to_text())
    scope = {"controller": stream.client.uri, "scope": stream.scope, "metadata": "Streams"}
    assert [tuple(row) for row in read(spark, scope).load().collect()] == [(stream.scope, "in")]


def test_an_empty_stream_gives_no_row(spark: Any, new_stream: Any) -> None:
    assert read(spark, options(new_stream())).load().count() == 0


def test_a_sealed_stream_is_read_to_its_end(spark: Any, new_stream: Any, tmp_path: Path) -> None:
    stream = new_stream()
    scale_at_will(stream)
    stream.seal()
    assert read(spark, options(stream)).load().count() == 500
    collected = Collected(spark, options(stream, start_stream_cut="earliest"), tmp_path)
    collected.run()
    assert_everything_once_in_order(collected.events, 500)


def error_of(frame: Callable[[], Any]) -> str:
    with pytest.raises(PySparkException) as caught:
        frame()
    return str(caught.value)


def test_bad_input_is_refused_in_words(spark: Any, new_stream: Any, client: Client) -> None:
    stream = new_stream()
    write_numbers(stream, 0, 20)
    assert "Did you mean 'start_stream_cut'?" in error_of(
        lambda: read(spark, options(stream, start_streamcut="x")).load().schema
    )
    missing = {**options(stream), "stream": "none"}
    assert f"there is no stream {stream.scope}/none" in error_of(lambda: read(spark, missing).load().count())
    other = new_stream("other", scope=stream.scope)
    foreign = options(stream, start_stream_cut=other.tail().to_text())
    assert f"is of {other.scoped_name}" in error_of(lambda: read(spark, foreign).load().count())
    malformed = options(stream, start_stream_cut="abc")
    assert "is not a stream cut" in error_of(lambda: read(spark, malformed).load().count())
    head = stream.head().to_text()
    middle = stream.tail()
    write_numbers(stream, 20, 30)
    stream.truncate(middle)
    truncated = error_of(lambda: read(spark, options(stream, start_stream_cut=head)).load().count())
    assert "TruncatedDataError" in truncated
    assert str(middle) in truncated or middle.to_text() in truncated
    lenient = options(stream, start_stream_cut=head, fail_on_data_loss="false")
    assert read(spark, lenient).load().count() == 10


def test_a_query_whose_head_has_moved_fails_or_continues_at_the_head(
    spark: Any, new_stream: Any, tmp_path: Path
) -> None:
    stream = new_stream()
    write_numbers(stream, 0, 20)
    first = Collected(spark, options(stream, start_stream_cut="earliest"), tmp_path)
    first.run()
    write_numbers(stream, 20, 30)
    middle = stream.tail()
    write_numbers(stream, 30, 40)
    stream.truncate(middle)
    assert "TruncatedDataError" in error_of(first.run)
    lenient = options(stream, start_stream_cut="earliest", fail_on_data_loss="false")
    then = Collected(spark, lenient, tmp_path)
    then.run()
    assert then.events == [f"k{i % 7}:{i}".encode() for i in range(30, 40)]


def test_an_unreachable_controller_is_named_within_seconds(spark: Any) -> None:
    nobody = {"controller": "tcp://127.0.0.1:1", "scope": "s", "stream": "t"}
    begin = time.monotonic()
    assert "controller 127.0.0.1:1: no success within 5 s" in error_of(
        lambda: read(spark, nobody).load().count()
    )
    assert time.monotonic() - begin < 60


def test_a_few_rows_of_many_are_taken_without_reading_on(spark: Any, new_stream: Any) -> None:
    stream = new_stream()
    scale_at_will(stream)
    frame = read(spark, options(stream)).load()
    assert len(frame.take(3)) == 3
    assert frame.limit(7).count() == 7


def test_a_stream_is_read_in_limited_batches_over_all_epochs(
    spark: Any, new_stream: Any, tmp_path: Path
) -> None:
    stream = new_stream()
    scale_at_will(stream)
    wanted = options(stream, start_stream_cut="earliest", approx_bytes_per_trigger="1500")
    collected = Collected(spark, wanted, tmp_path)
    query = collected.run()
    assert_everything_once_in_order(collected.events, 500)
    assert 3 < len(collected.batches) < 12
    progress = query.recentProgress[0]
    assert json.loads(progress.sources[0].latestOffset)[stream.scoped_name] == {
        str(segment): offset for segment, offset in stream.tail().positions.items()
    }


@needs_jvm
def test_no_worker_reads_a_small_batch(spark: Any, new_stream: Any, tmp_path: Path) -> None:
    stream = new_stream()

    def run(prefetch_bytes: int, last: int) -> Any:
        write_numbers(stream, 0, last)
        wanted = options(stream, start_stream_cut="earliest", prefetch_bytes=str(prefetch_bytes))
        rows = spark.readStream.format("pravega").options(**wanted).load()
        query = (
            rows.writeStream.format("noop")
            .option("checkpointLocation", str(tmp_path / str(prefetch_bytes)))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return query._jsq.streamingQuery().lastExecution().executedPlan().collectLeaves().head().metrics()

    by_workers = run(0, 20)
    ahead = run(1 << 20, 30)
    counted = [metrics.apply("numOutputRows").value() for metrics in (by_workers, ahead)]
    assert counted == [20, 50]
    received, still = (metrics.apply("pythonDataReceived").value() for metrics in (by_workers, ahead))
    assert received > 0
    assert still in (0, received)  # Spark counts the bytes of a session


def test_available_now_stops_at_the_cut_fixed_at_its_start(
    spark: Any, new_stream: Any, tmp_path: Path
) -> None:
    stream = new_stream()
    write_numbers(stream, 0, 100)
    collected = Collected(
        spark, options(stream, start_stream_cut="earliest", approx_bytes_per_trigger="300"), tmp_path
    )
    keep = collected._keep

    def keep_and_write(frame: Any, batch: int) -> None:
        keep(frame, batch)
        write_numbers(stream, 1000, 1010)

    collected._keep = keep_and_write  # type: ignore[method-assign]
    collected.run()
    assert_everything_once_in_order(collected.events, 100)


def test_a_query_goes_on_where_its_checkpoint_ends(spark: Any, new_stream: Any, tmp_path: Path) -> None:
    stream = new_stream()
    write_numbers(stream, 0, 50)
    collected = Collected(spark, options(stream), tmp_path)
    collected.run()
    write_numbers(stream, 50, 100)
    stream.split(0)
    write_numbers(stream, 100, 150)
    collected.run()
    assert numbers_by_key(collected.events)["k1"] == list(range(50, 150, 7))


@here_alone
def test_windows_over_a_backlog_with_many_scales_drop_no_row_as_late(
    spark: Any, new_stream: Any, tmp_path: Path
) -> None:
    """A watermark of no patience: a segment that was held back would bring its rows behind it."""
    stream = new_stream()
    scale_at_will(stream)
    wanted = options(stream, start_stream_cut="earliest", approx_bytes_per_trigger="700")
    number = "cast(split(cast(event as string), ':')[1] as long)"
    timed = (
        spark.readStream.format("pravega")
        .options(**wanted)
        .load()
        .selectExpr(f"timestamp_seconds({DAY_ONE_S} + {number} * 60) as time")
        .withWatermark("time", "150 minutes")
    )
    hours = timed.groupBy("time").count()
    kept: dict[int, int] = {}

    def keep(frame: Any, batch: int) -> None:
        kept.update({(int(row.time.timestamp()) - DAY_ONE_S) // 60: row["count"] for row in frame.collect()})

    query = hours.writeStream.outputMode("update").foreachBatch(keep)
    running = query.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    running.awaitTermination()
    late = [state.numRowsDroppedByWatermark for p in running.recentProgress for state in p.stateOperators]
    assert len(late) > 8
    assert sum(late) == 0
    assert kept == dict.fromkeys(range(500), 1)


@needs_jvm
def test_both_managers_of_checkpoints_in_local_folders_write_the_same_files(
    spark: Any, new_stream: Any, tmp_path: Path
) -> None:
    stream = new_stream()
    batches = []
    for manager, first in ((LOCAL_CHECKPOINTS, 0), (FILE_SYSTEM_CHECKPOINTS, 50), (LOCAL_CHECKPOINTS, 100)):
        write_numbers(stream, first, first + 50)
        collected = Collected(spark, options(stream, start_stream_cut="earliest"), tmp_path)
        before = spark.conf.get(CHECKPOINTS)
        spark.conf.set(CHECKPOINTS, manager)
        collected.run()
        spark.conf.set(CHECKPOINTS, before)
        batches += collected.events
    assert before == LOCAL_CHECKPOINTS
    assert_everything_once_in_order(batches, 150)
    for name in ("offsets", "commits"):
        found = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / name).iterdir()}
        assert {"0", ".0.crc", "1", ".1.crc", "2", ".2.crc"} <= found.keys()
        assert len(set(found.values())) == 1
