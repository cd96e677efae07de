"""Stop with savepoint: where a query stops, how another resumes from the copy, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.types import BinaryType, StructType

from pravega_lab.client import Client, ScalingPolicy, Stream
from pravega_lab.connector.spark import submit
from pravega_lab.connector.spark.data_source import PravegaDataSource
from pravega_lab.connector.spark.savepoint.savepoint import Savepoint, _at_the_end, stop_with_savepoint
from pravega_lab.connector.spark.source.hold import HOLD_FOLDER_VARIABLE, held, holding
from pravega_lab.connector.spark.source.offsets import decode
from pravega_lab.errors import BadInputError
from tests.spark.connect import needs_jvm
from tests.waiting import wait_until

pytestmark = pytest.mark.spark
FOLLOW = Path(__file__).parent / "jobs" / "follow_stream.py"
DAY_ONE_S = 1_000_000_000
WAIT_S = 120.0


@pytest.fixture
def streams(client: Client, scope_name: Callable[[], str]) -> tuple[Stream, Stream]:
    """Input of two segments, and output."""
    scope = scope_name()
    into = client.create_stream(f"{scope}/in", scaling=ScalingPolicy.fixed(2))
    return into, client.create_stream(f"{scope}/out")


def options(stream: Stream, **more: str) -> dict[str, str]:
    return {"controller": stream.client.uri, "scope": stream.scope, "stream": stream.name, **more}


def write(stream: Stream, first: int, last: int) -> None:
    """Events ``<key>:<number>``."""
    numbers = range(first, last)
    stream.write([f"k{n % 5}:{n}" for n in numbers], [f"k{n % 5}" for n in numbers])


def events(stream: Stream) -> list[str]:
    with stream.read() as batches:
        return [event.decode() for batch in batches for event in batch["event"].to_pylist()]


def reading(spark: Any, stream: Stream, limit: int = 3000) -> Any:
    more = {"start_stream_cut": "earliest", "approx_bytes_per_trigger": str(limit)}
    return spark.readStream.format("pravega").options(**options(stream, **more)).load()


def windows(spark: Any, into: Stream, out: Stream, checkpoint: Path | str) -> Any:
    """Counts of ten seconds, by key, once the watermark says that they are complete: ``start:key:count``."""
    rows = reading(spark, into).selectExpr(
        "split(cast(event as string), ':')[0] AS key",
        f"timestamp_seconds({DAY_ONE_S} + cast(split(cast(event as string), ':')[1] as long)) AS at",
    )
    counts = rows.withWatermark("at", "0 seconds").selectExpr("key", "window(at, '10 seconds') AS w", "at")
    counts = counts.groupBy("w", "key").count()
    lines = counts.selectExpr(f"concat(unix_timestamp(w.start) - {DAY_ONE_S}, ':', key, ':', count) AS event")
    writing = lines.writeStream.format("pravega").options(**options(out)).outputMode("append")
    return writing.option("checkpointLocation", str(checkpoint))


def copying(spark: Any, into: Stream, out: Stream, checkpoint: Path | str) -> Any:
    rows = reading(spark, into).select("event")
    return (
        rows.writeStream.format("pravega")
        .options(**options(out))
        .option("checkpointLocation", str(checkpoint))
    )


def finish(writing: Any) -> None:
    query = writing.trigger(availableNow=True).start()
    assert query.awaitTermination(WAIT_S), query.status


def complete_windows(last: int) -> Counter[str]:
    """What is complete when the newest event is of second ``last - 1``."""
    counts = Counter((n // 10 * 10, f"k{n % 5}") for n in range(last))
    return Counter(f"{at}:{key}:{n}" for (at, key), n in counts.items() if at + 10 <= last - 1)


def is_at_rest(savepoint: Savepoint) -> bool:
    logs = [
        sorted(int(p.name) for p in Path(savepoint.path, log).glob("[0-9]*"))
        for log in ("offsets", "commits")
    ]
    return logs[0][-1] == logs[1][-1] == savepoint.batch


def test_a_submitted_driver_is_stopped_with_a_savepoint(
    streams: tuple[Stream, Stream], tmp_path: Path
) -> None:
    into, out = streams
    write(into, 0, 1000)
    with submit(FOLLOW, into.client.uri, into.scope, str(tmp_path / "cp")) as driver:
        with pytest.raises(BadInputError, match=r"set driver\.checkpoint"):
            stop_with_savepoint(driver, tmp_path / "sp")
        driver.checkpoint = tmp_path / "cp"
        savepoint = stop_with_savepoint(driver, tmp_path / "sp", drain=True, timeout_s=WAIT_S)
        assert not driver.alive
        with pytest.raises(BadInputError, match="does not run"):
            stop_with_savepoint(driver, tmp_path / "another")
    assert Counter(events(out)) == Counter(events(into))
    assert savepoint.cuts == {into.scoped_name: dict(into.tail().positions)}
    assert is_at_rest(savepoint)


@needs_jvm
def test_an_aggregation_goes_on_from_the_copy(
    spark: Any, streams: tuple[Stream, Stream], tmp_path: Path
) -> None:
    into, out = streams
    write(into, 0, 600)
    query = windows(spark, into, out, tmp_path / "cp").start()
    wait_until(lambda: (query.lastProgress or {"batchId": 0})["batchId"] >= 1)
    savepoint = stop_with_savepoint(query, tmp_path / "sp", timeout_s=WAIT_S)
    assert not query.isActive
    assert query.exception() is None
    assert is_at_rest(savepoint)
    write(into, 600, 900)
    again = windows(spark, into, out, savepoint.path).trigger(availableNow=True).start()
    assert again.awaitTermination(WAIT_S)
    assert str(again.id) == savepoint.sink_id != savepoint.query_id == str(query.id)
    assert Counter(events(out)) == complete_windows(900)
    register = into.client.table(f"{out.scope}/spark-sinks")
    assert {key.decode() for key in register.items()} == {savepoint.sink_id, savepoint.query_id}


@needs_jvm
def test_drained_first_and_then_from_the_copy(
    spark: Any, streams: tuple[Stream, Stream], tmp_path: Path
) -> None:
    into, out = streams
    write(into, 0, 800)
    query = copying(spark, into, out, tmp_path / "cp").start()
    savepoint = stop_with_savepoint(query, tmp_path / "sp", drain=True, timeout_s=WAIT_S)
    assert savepoint.drained
    assert savepoint.cuts == {into.scoped_name: dict(into.tail().positions)}
    assert Counter(events(out)) == Counter(events(into))
    write(into, 800, 900)
    finish(copying(spark, into, out, savepoint.path))
    assert Counter(events(out)) == Counter(events(into))


@needs_jvm
def test_without_drain_it_stops_before_the_end_and_the_original_can_go_on_too(
    spark: Any, streams: tuple[Stream, Stream], tmp_path: Path
) -> None:
    into, out = streams
    write(into, 0, 1500)
    query = copying(spark, into, out, tmp_path / "cp").start()
    wait_until(lambda: query.lastProgress is not None)
    savepoint = stop_with_savepoint(query, tmp_path / "sp", timeout_s=WAIT_S)
    read = sum(savepoint.cuts[into.scoped_name].values())
    assert 0 < read < sum(into.tail().positions.values())
    before = Counter(events(out))
    finish(copying(spark, into, out, tmp_path / "cp"))
    assert Counter(events(out)) == Counter(events(into))
    finish(copying(spark, into, out, savepoint.path))  # a fork: what came after the savepoint, once more
    assert Counter(events(out)) == Counter(events(into)) + (Counter(events(into)) - before)


@needs_jvm
def test_refusals_leave_the_query_running(spark: Any, streams: tuple[Stream, Stream], tmp_path: Path) -> None:
    into, out = streams
    write(into, 0, 10)
    full = tmp_path / "full"
    full.mkdir()
    (full / "notes.txt").write_text("mine")
    query = copying(spark, into, out, tmp_path / "cp").trigger(processingTime="1 hour").start()
    wait_until(lambda: query.lastProgress is not None)
    for folder, words in (
        (full, r"is not empty \(it has notes\.txt\)"),
        (full / "notes.txt" / "in", "cannot be written"),
        (tmp_path / "cp" / "in", "inside the checkpoint that the savepoint copies"),
        ("s3://bucket/savepoint", "of a local file system"),
    ):
        with pytest.raises(BadInputError, match=words):
            stop_with_savepoint(query, folder)
    with pytest.raises(TimeoutError, match=r"Spark has not asked its source for new data since.*not stopped"):
        stop_with_savepoint(query, tmp_path / "late", drain=True, timeout_s=1)
    assert query.isActive
    savepoint = stop_with_savepoint(
        query, tmp_path / "late"
    )  # between two triggers there is nothing to wait for
    assert is_at_rest(savepoint)
    with pytest.raises(BadInputError, match="does not run"):
        stop_with_savepoint(query, tmp_path / "again")


@needs_jvm
def test_queries_that_cannot_be_held_are_refused(spark: Any, tmp_path: Path) -> None:
    def started(**given: str) -> Any:
        rows = spark.readStream.format("rate").load()
        return rows.writeStream.format("noop").options(**given).start()

    with pytest.raises(
        BadInputError, match=r"a running StreamingQuery or the driver of lab\.submit\(\), not a str"
    ):
        stop_with_savepoint("query", tmp_path / "sp")
    for given, words in (
        ({"checkpointLocation": str(tmp_path / "cp")}, r"a source that is not format\('pravega'\)"),
        ({}, "has no checkpointLocation"),
    ):
        query = started(**given)
        try:
            with pytest.raises(BadInputError, match=words):
                stop_with_savepoint(query, tmp_path / "sp")
            assert query.isActive
        finally:
            query.stop()


def test_a_hold_ends_by_itself_and_is_one_of_its_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert held(["s/a"]) is None
    monkeypatch.setenv(HOLD_FOLDER_VARIABLE, str(tmp_path))
    with holding(tmp_path, ["s/b", "s/a"], drain=True, within_s=60) as hold:
        found = held(["s/a", "s/b"])
        assert found is not None
        assert found.drain
        assert held(["s/a"]) is None
        found.answer({"s/a": {"0": 8}})
        found.answer({"s/a": {"0": 9}})  # the first one stays
        assert hold.answered() == {"s/a": {"0": 8}}
    assert held(["s/a", "s/b"]) is None
    assert list(tmp_path.iterdir()) == []
    with holding(tmp_path, ["s/a"], drain=False, within_s=-1):  # its owner died long ago
        assert held(["s/a"]) is None


def test_a_drain_that_another_query_answered_moves_no_query_back(
    streams: tuple[Stream, Stream], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other query ends at a cut, and this one is past it. It would read the events after it again."""
    monkeypatch.setenv(HOLD_FOLDER_VARIABLE, str(tmp_path))
    into, _ = streams

    def next_end(start: Any = None, **more: str) -> Any:
        given = options(into, start_stream_cut="earliest", **more)
        source = PravegaDataSource(given).streamReader(StructType().add("event", BinaryType()))
        return source.latestOffset(start or source.initialOffset(), source.getDefaultReadLimit())

    write(into, 0, 10)
    bounded = {"end_stream_cut": into.tail().to_text()}
    write(into, 10, 20)
    position = next_end()
    with holding(tmp_path, [into.scoped_name], drain=True, within_s=60) as hold:
        end = next_end(**bounded)
        assert decode(hold.answered() or {}) == decode(end) != decode(position)
        assert next_end(position) == position
        stopped = SimpleNamespace(checkpoint=SimpleNamespace(offsets=lambda: [position]))
        assert _at_the_end(stopped, [hold])  # type: ignore[arg-type]
        assert next_end(end) == end


def test_an_offset_that_is_written_by_halves_is_none(tmp_path: Path) -> None:
    from pravega_lab.connector.spark.checkpoint import Checkpoint

    checkpoint = Checkpoint(tmp_path)
    assert (checkpoint.planned, checkpoint.committed, checkpoint.offsets()) == (-1, -1, [])
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / ".3.crc").write_text("")
    (tmp_path / "offsets" / "3").write_text('v1\n{}\n{"s/a": {"0"')
    assert (checkpoint.planned, checkpoint.offsets()) == (3, [])
    (tmp_path / "offsets" / "3").write_text("v1\n{}\n-\n" + json.dumps({"s/a": {"0": 1}}))
    assert checkpoint.offsets() == [{"s/a": {"0": 1}}]
