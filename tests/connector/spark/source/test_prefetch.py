"""Micro-batches that are read while Spark plans them: what Spark's runner sends to the JVM, and when."""

from __future__ import annotations

import importlib
import io
import threading
from typing import Any

import pyarrow as pa
import pytest
from pyspark.serializers import read_int, write_with_length
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import (
    BinaryType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from pravega_lab.connector.spark.source import prefetch
from pravega_lab.connector.spark.source.prefetch import Prefetched, Prefetcher, is_plain, offer_rows

START, END = b'{"s": 0}', b'{"s": 1}'
SCHEMA = StructType().add("event", BinaryType()).add("offset", LongType())


class Planned(DataSourceStreamReader):
    """A reader of one partition, with or without its rows."""

    def __init__(self, rows: list[Any] | None) -> None:
        self._rows = rows

    def initialOffset(self) -> dict[str, Any]:
        return {"s": 0}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        return [InputPartition((start["s"], end["s"]))]

    def prefetched(self, start: dict[str, Any], end: dict[str, Any]) -> list[Any] | None:
        return self._rows

    def read(self, partition: InputPartition) -> Any:
        raise AssertionError("no task runs here")


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Any:
    found = importlib.import_module(prefetch.RUNNER)
    monkeypatch.setattr(found, "partitions_func", found.partitions_func)  # restored after the test
    return found


def sent(runner: Any, reader: DataSourceStreamReader) -> tuple[bytes, int, bytes]:
    """Return the one partition that the JVM receives, the kind of rows, and the bytes after that."""
    asked, answer = io.BytesIO(), io.BytesIO()
    for offset in (START, END):
        write_with_length(offset, asked)
    asked.seek(0)
    runner.partitions_func(reader, None, SCHEMA, 10_000, asked, answer)
    answer.seek(0)
    assert read_int(answer) == 1
    partition = answer.read(read_int(answer))
    return partition, read_int(answer), answer.read()


def test_the_jvm_receives_the_rows_of_a_batch_with_its_partition(runner: Any) -> None:
    columns = pa.schema([("event", pa.binary()), ("offset", pa.int64())])
    rows = pa.RecordBatch.from_pydict({"event": [b"a", b"b"], "offset": [0, 9]}, schema=columns)
    before = sent(runner, Planned([rows]))
    assert before[1:] == (runner.PREFETCHED_RECORDS_NOT_FOUND, b"")
    assert offer_rows(Planned)
    assert offer_rows(Planned)  # once is enough
    partition, kind, data = sent(runner, Planned([rows]))
    assert (partition, kind) == (before[0], runner.NON_EMPTY_PYARROW_RECORD_BATCHES)
    assert pa.ipc.open_stream(data[4:]).read_all().to_batches() == [rows]
    assert sent(runner, Planned([]))[1] == runner.EMPTY_PYARROW_RECORD_BATCHES
    assert sent(runner, Planned(None)) == before


def test_another_runner_than_that_of_spark_4_3_is_left_as_it_is(runner: Any) -> None:
    def other(reader: Any, schema: Any, stream: Any) -> None:
        raise AssertionError

    runner.partitions_func = other
    assert not offer_rows(Planned)
    assert runner.partitions_func is other


def test_a_batch_is_read_ahead_once_and_a_failure_leaves_it_to_the_task() -> None:
    reads: list[str] = []
    may_end = threading.Event()

    def work(name: str) -> Prefetched:
        may_end.wait(10)
        reads.append(name)
        if name == "bad":
            raise OSError("no answer")
        return Prefetched([name], None)

    prefetcher = Prefetcher()
    assert prefetcher.result("good") is None
    prefetcher.begin("good", lambda: work("good"))
    prefetcher.begin("good", lambda: work("good"))  # Spark may ask for the same end again
    may_end.set()
    assert prefetcher.result("good") == Prefetched(["good"], None)
    assert prefetcher.result("other") is None
    prefetcher.begin("bad", lambda: work("bad"))
    assert prefetcher.result("bad") is None
    assert reads == ["good", "bad"]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (StructField("scope", StringType()), True),
        (StructField("event", BinaryType(), nullable=False), False),  # Arrow's columns are nullable,
        (StructField("event", BinaryType(), metadata={"a": 1}), False),  # and the JVM compares the schemas
        (StructField("item", SCHEMA), False),
        (StructField("at", TimestampType()), False),
    ],
)
def test_only_plain_columns_are_read_ahead(column: StructField, expected: bool) -> None:
    assert is_plain(StructType([*SCHEMA, column])) is expected
