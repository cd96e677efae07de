"""Writing streams with Spark: what is written, that a replay adds nothing, and what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from pravega_lab.client import Client, ScalingPolicy, Stream

pytestmark = pytest.mark.spark


@pytest.fixture
def scope(client: Client, scope_name: Callable[[], str]) -> str:
    name = scope_name()
    client.create_scope(name)
    return name


def sink(client: Client, scope: str, stream: str = "out", **more: str) -> dict[str, str]:
    return {"controller": client.uri, "scope": scope, "stream": stream, **more}


def events(stream: Stream) -> list[str]:
    with stream.read() as batches:
        return [event.decode() for batch in batches for event in batch.column("event").to_pylist()]


def numbers(spark: Any, n: int, partitions: int = 3) -> Any:
    return spark.range(0, n, 1, partitions).selectExpr("cast(id as string) AS event", "'k' AS routing_key")


def write(frame: Any, wanted: dict[str, str]) -> None:
    frame.write.format("pravega").mode("append").options(**wanted).save()


class Copying:
    """A query that copies a stream into another, by the sink under test."""

    def __init__(self, spark: Any, client: Client, scope: str, checkpoint: Path, **more: str) -> None:
        self.source = client.stream(f"{scope}/in")
        if not self.source.exists():
            client.create_stream(f"{scope}/in", scaling=ScalingPolicy.fixed(2))
        self.target = client.stream(f"{scope}/out")
        self.checkpoint = checkpoint
        self._frame = (
            spark.readStream.format("pravega")
            .options(controller=client.uri, scope=scope, stream="in", start_stream_cut="earliest")
            .load()
            .selectExpr("event", "split(cast(event as string), ':')[0] AS routing_key")
        )
        self._sink = sink(client, scope, **more)

    def write(self, first: int, last: int) -> None:
        self.source.write(
            [f"k{i % 5}:{i}" for i in range(first, last)], [f"k{i % 5}" for i in range(first, last)]
        )

    def start(self) -> Any:
        query = self._frame.writeStream.format("pravega").options(**self._sink)
        return query.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()

    def run(self) -> Any:
        running = self.start()
        running.awaitTermination()
        return running

    def forget_last_commit(self) -> None:
        """As a driver leaves it that dies between the sink's commit and Spark's commit log."""
        last = max(self.checkpoint.glob("commits/[0-9]*"), key=lambda file: int(file.name))
        last.unlink()
        last.with_name(f".{last.name}.crc").unlink(missing_ok=True)


def in_order(found: list[str], last: int) -> bool:
    by_key: dict[str, list[int]] = {}
    for event in found:
        key, number = event.split(":")
        by_key.setdefault(key, []).append(int(number))
    return all(numbers == sorted(numbers) for numbers in by_key.values()) and sorted(
        number for numbers in by_key.values() for number in numbers
    ) == list(range(last))


def test_a_batch_job_writes_every_row_once(spark: Any, client: Client, scope: str) -> None:
    write(numbers(spark, 1000), sink(client, scope, default_num_segments="2"))
    stream = client.stream(f"{scope}/out")
    assert sorted(events(stream), key=int) == [str(i) for i in range(1000)]
    assert len(stream.segments()) == 2


def test_a_batch_job_with_an_identity_can_be_run_again(spark: Any, client: Client, scope: str) -> None:
    for partitions in (3, 2):
        write(numbers(spark, 100, partitions), sink(client, scope, sink_id="monday"))
    stream = client.stream(f"{scope}/out")
    assert len(events(stream)) == 100
    with pytest.raises(PySparkException, match=r"wrote 100 rows .* now has 20 rows that are not the same"):
        write(numbers(spark, 20), sink(client, scope, sink_id="monday"))
    assert len(events(stream)) == 100
    stream.seal()
    stream.delete()
    write(numbers(spark, 100), sink(client, scope, sink_id="monday"))
    assert len(events(stream)) == 100


def test_a_plain_append_writes_binary_events_without_keys(spark: Any, client: Client, scope: str) -> None:
    frame = spark.range(100).selectExpr("cast(cast(id as string) as binary) AS event")
    write(frame, sink(client, scope, exactly_once="false"))
    assert sorted(events(client.stream(f"{scope}/out")), key=int) == [str(i) for i in range(100)]


def test_a_failed_job_leaves_nothing(spark: Any, client: Client, scope: str) -> None:
    frame = numbers(spark, 100).selectExpr("if(event = '77', raise_error('broken row'), event) AS event")
    with pytest.raises(PySparkException, match="broken row"):
        write(frame, sink(client, scope))
    assert events(client.stream(f"{scope}/out")) == []


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ("cast(id as string) AS value", "no column 'event', but value"),
        ("id AS event", "'event' is bigint"),
        ("cast(null as string) AS event", "rows have a null event"),
        ("repeat('x', 8388609) AS event", "8388609 bytes"),
    ],
)
def test_rows_that_cannot_be_written_are_refused(
    spark: Any, client: Client, scope: str, frame: str, words: str
) -> None:
    with pytest.raises(PySparkException, match=words):
        write(spark.range(2).selectExpr(frame), sink(client, scope))


def test_a_stream_that_may_not_be_made_and_a_sealed_one_are_refused(
    spark: Any, client: Client, scope: str
) -> None:
    with pytest.raises(PySparkException, match="there is no stream"):
        write(numbers(spark, 1), sink(client, scope, allow_create_stream="false"))
    stream = client.create_stream(f"{scope}/sealed")
    stream.seal()
    with pytest.raises(PySparkException, match=r"(?i)sealed"):
        write(numbers(spark, 1), sink(client, scope, "sealed"))


def test_a_stream_is_copied_once_and_in_order_through_restarts_and_replays(
    spark: Any, client: Client, scope: str, tmp_path: Path
) -> None:
    copying = Copying(spark, client, scope, tmp_path)
    copying.write(0, 100)
    copying.run()
    assert in_order(events(copying.target), 100)
    copying.forget_last_commit()
    copying.run()
    assert in_order(events(copying.target), 100)
    copying.write(100, 200)
    copying.source.split(copying.source.segments()[0].segment_id)
    copying.target.split(copying.target.segments()[0].segment_id)
    copying.write(200, 300)
    copying.run()
    copying.forget_last_commit()
    copying.run()
    assert in_order(events(copying.target), 300)


@pytest.mark.parametrize("batches", [2, 3])
def test_an_older_copy_of_a_checkpoint_is_refused(
    spark: Any, client: Client, scope: str, tmp_path: Path, batches: int
) -> None:
    """Its next batch has the number of one that is written, and also rows that no batch has written."""
    copying = Copying(spark, client, scope, tmp_path / "a")
    for batch in range(batches):
        copying.write(10 * batch, 10 * batch + 10)
        copying.run()
        if batch == 0:
            shutil.copytree(tmp_path / "a", tmp_path / "b")
    copying.write(10 * batches, 10 * batches + 10)
    copying.checkpoint = tmp_path / "b"
    words = rf"asks for batch 1, and batch {batches - 1} .*newest checkpoint"
    with pytest.raises(PySparkException, match=words):
        copying.run()
    copying.checkpoint = tmp_path / "a"
    copying.run()
    assert in_order(events(copying.target), 10 * batches + 10)


def test_without_exactly_once_a_replay_doubles(
    spark: Any, client: Client, scope: str, tmp_path: Path
) -> None:
    copying = Copying(spark, client, scope, tmp_path, exactly_once="false")
    copying.write(0, 100)
    copying.run()
    copying.forget_last_commit()
    copying.run()
    assert len(events(copying.target)) == 200


def test_a_forgotten_checkpoint_under_an_old_sink_id_is_refused(
    spark: Any, client: Client, scope: str, tmp_path: Path
) -> None:
    """Its batches begin at 0 again and would all be taken for repeated ones."""
    copying = Copying(spark, client, scope, tmp_path / "a", sink_id="mine")
    copying.write(0, 10)
    copying.run()
    copying.checkpoint = tmp_path / "b"
    with pytest.raises(PySparkException, match="this sink id was used for query"):
        copying.run()
    shutil.rmtree(tmp_path / "b")
