"""What Spark's benchmarks compare with: a source of the same rows out of memory, and a sink that only counts.

Both are the plainest forms of a Python data source in Spark that are fast; the difference to them is what
reading a stream costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

SCHEMA = "event binary, scope string, stream string, segment_id bigint, offset bigint"
HEADER_BYTES = 8
BATCH_ROWS = 20_000  # as many events of 100 bytes as the client gives at a time


class Rows:
    """The same rows as a stream of ``segments`` segments with ``events`` events of ``event_bytes``.

    Buffers are made once per task and sliced, nothing is done per row.
    """

    def __init__(self, options: dict[str, str]) -> None:
        self.events, self.segments = int(options["events"]), int(options["segments"])
        self.event_bytes = int(options["event_bytes"])

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(segment) for segment in range(self.segments)]

    def of(self, segment: int) -> Iterator[pa.RecordBatch]:
        n_rows = len(range(segment, self.events, self.segments))
        size = self.event_bytes
        ends = np.arange(BATCH_ROWS + 1, dtype=np.int32) * size
        payload = np.full(BATCH_ROWS * size, ord("x"), np.uint8)
        events = pa.BinaryArray.from_buffers(
            pa.binary(), BATCH_ROWS, [None, pa.py_buffer(ends), pa.py_buffer(payload)]
        )
        scope, stream = pa.repeat("bench", BATCH_ROWS), pa.repeat("events", BATCH_ROWS)
        ids = pa.array(np.full(BATCH_ROWS, segment, np.int64))
        for first in range(0, n_rows, BATCH_ROWS):
            offsets = pa.array(np.arange(first, first + BATCH_ROWS, dtype=np.int64) * (size + HEADER_BYTES))
            whole = pa.RecordBatch.from_arrays(
                [events, scope, stream, ids, offsets], ["event", "scope", "stream", "segment_id", "offset"]
            )
            yield whole.slice(0, min(BATCH_ROWS, n_rows - first))


class MemorySource(DataSource):
    """``format("memory_rows")``; options events, segments, event_bytes."""

    @classmethod
    def name(cls) -> str:
        return "memory_rows"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: Any) -> DataSourceReader:
        return MemoryReader(Rows(self.options))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return MemoryStreamReader(Rows(self.options))


class MemoryReader(DataSourceReader):
    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def partitions(self) -> Sequence[InputPartition]:
        return self._rows.partitions()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._rows.of(partition.value)


class MemoryStreamReader(SupportsTriggerAvailableNow, DataSourceStreamReader):
    """Everything is there from the start and comes in one batch."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def initialOffset(self) -> dict[str, int]:
        return {"events": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        pass

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        return {"events": self._rows.events}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return self._rows.partitions()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._rows.of(partition.value)


class CountingSink(DataSource):
    """``format("counting_sink")``: each task counts its rows, and that is all."""

    @classmethod
    def name(cls) -> str:
        return "counting_sink"

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamArrowWriter:
        return CountingWriter()


class CountingWriter(DataSourceStreamArrowWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        for batch in iterator:
            len(batch)
        return WriterCommitMessage()

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        pass

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        pass
