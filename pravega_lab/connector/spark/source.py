"""The data source ``pravega``: what Spark makes from ``format("pravega")``.

All of it runs in Spark's Python workers, never in the process of the user (reference/spark.md 1.2). Instances
are pickled: they hold options and schemas, nothing live. `DataSourceReader.pushFilters` is not overridden
anywhere: with Spark's default settings that would raise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    SupportsTriggerAvailableNow,
)

from ...errors import BadInputError
from . import FORMAT
from .connections import client_of, close_all, stream_of
from .gate import Hold, held
from .limits import advance
from .offsets import Cuts, bounds, check_streams, decode, encode, following, initial
from .options import EARLIEST, LATEST, UNBOUNDED, PravegaOptions, parse_options
from .reading import read_slices
from .rows import METADATA_SCHEMAS, SCHEMA, arrow_schema, check_schema, metadata_types, rows_of
from .splits import SegmentSlice, plan
from .streams import StreamView, ensure_stream

#: A batch query has no latency to keep: fewer, larger tasks (reference/spark.md 2).
BATCH_PARTITION_BYTES = 32 * 1024 * 1024


@dataclass
class SlicesPartition(InputPartition):
    """What one task reads, in order."""

    slices: tuple[SegmentSlice, ...]


class PravegaDataSource(DataSource):
    """``format("pravega")``. Options and their meaning: docs/spark.md."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._parsed = parse_options(options)

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        table = self._parsed.metadata
        return METADATA_SCHEMAS[table] if table else SCHEMA

    def reader(self, schema: Any) -> DataSourceReader:
        if self._parsed.metadata:
            return MetadataReader(self._parsed, schema)
        return PravegaReader(self._parsed, schema)

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        if self._parsed.metadata:
            raise BadInputError("option 'metadata' is for spark.read; a stream of metadata does not exist")
        return PravegaStreamReader(self._parsed, schema)

    def writer(self, schema: Any, overwrite: bool) -> DataSourceArrowWriter:
        from .sink import PravegaWriter

        return PravegaWriter(self._parsed, schema, overwrite)

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamArrowWriter:
        from .sink import PravegaStreamWriter

        return PravegaStreamWriter(self._parsed, schema, overwrite)


class _Slices:
    """What both readers share: the streams, and reading a partition."""

    def __init__(self, options: PravegaOptions, schema: Any) -> None:
        check_schema(schema)
        self._options = options
        self._schema = schema

    def read(self, partition: SlicesPartition) -> Iterator[Any]:
        """Rows of one partition: its slices one after the other, as Arrow record batches."""
        schema = arrow_schema(self._schema)
        for stream, pieces in _by_stream(partition.slices):
            yield from rows_of(schema, stream, read_slices(stream_of(self._options.cluster, stream), pieces))

    def _views(self) -> list[StreamView]:
        return [StreamView(self._options.cluster, stream) for stream in self._options.scoped_streams]

    def _plan(self, start: Cuts, end: Cuts, wanted_bytes: int | None = None) -> list[SlicesPartition]:
        streams = []
        for view in self._views():
            found = view.slices(start[view.name], end[view.name])
            streams.append((found, view.spans([piece.segment_id for piece in found])))
        size = {} if wanted_bytes is None else {"wanted_bytes": wanted_bytes}
        planned = plan(streams, ordered=self._options.ordered, **size)
        return [SlicesPartition(pieces) for pieces in planned or [()]]

    def _ensure_streams(self) -> None:
        for stream in self._options.scoped_streams:
            ensure_stream(self._options, stream, by_default=False)


class PravegaReader(_Slices, DataSourceReader):
    """A batch read between two cuts, which are fixed when Spark plans it. Default: everything there is."""

    def partitions(self) -> list[SlicesPartition]:
        self._ensure_streams()
        first, last = self._options.start_stream_cut, self._options.end_stream_cut
        start = {v.name: v.resolve(EARLIEST if first in (None, UNBOUNDED) else first) for v in self._views()}
        end = {v.name: v.resolve(last or LATEST) for v in self._views()}
        return self._plan(start, end, BATCH_PARTITION_BYTES)


class PravegaStreamReader(_Slices, SupportsTriggerAvailableNow, DataSourceStreamReader):
    """A streaming read: offsets are stream cuts, a batch lies between two of them.

    One instance of one process serves the driver side of a query (reference/spark.md 1.2); what it keeps are
    cuts.
    """

    def __init__(self, options: PravegaOptions, schema: Any) -> None:
        super().__init__(options, schema)
        self._first: dict[str, Any] | None = None
        self._frozen: Cuts | None = None
        self._seen: Cuts | None = None

    def initialOffset(self) -> dict[str, Any]:
        """Where a new query starts. Spark asks twice before the first batch; the answer stays the same."""
        if self._first is None:
            self._ensure_streams()
            wanted = self._options.start_stream_cut or LATEST
            wanted = EARLIEST if wanted == UNBOUNDED else wanted
            self._first = initial({view.name: view.resolve(wanted) for view in self._views()})
        return self._first

    def getDefaultReadLimit(self) -> ReadLimit:
        limit = self._options.approx_bytes_per_trigger
        return ReadMaxBytes(limit) if limit else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Everything written until now is what this run reads."""
        self._frozen = self._newest()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Where the next batch ends: the tail, or as far towards it as the limit allows."""
        check_streams(start, self._options.scoped_streams)
        hold = held(self._options.scoped_streams)
        if hold is not None and not hold.drain:
            hold.answer(start)
            return following(start, decode(start))
        target = self._frozen or self._newest()
        if hold is not None:
            target = self._drained(hold, target)
        if isinstance(limit, ReadMaxBytes):
            return following(start, self._advance(decode(start), target, limit.max_bytes))
        return following(start, target)

    def _drained(self, hold: Hold, newest: Cuts) -> Cuts:
        """Where a hold that drains lets reading end: what was there when it was first seen."""
        hold.answer(encode(newest))
        return decode(hold.answered() or encode(newest))

    def reportLatestOffset(self) -> dict[str, Any]:
        """The tail, from which Spark's progress and the views tell the lag."""
        return encode(self._seen or self._newest())

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[SlicesPartition]:
        check_streams(end, self._options.scoped_streams)
        return self._plan(*bounds(start, end))

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing to release: what a stream keeps is its retention policy's to say."""

    def stop(self) -> None:
        close_all()

    def _newest(self) -> Cuts:
        last = self._options.end_stream_cut
        unlimited = last in (None, UNBOUNDED)
        if last == LATEST and self._seen is not None:  # resolved once, when the query starts
            return self._seen
        self._seen = {v.name: v.tail() if unlimited else v.resolve(last or LATEST) for v in self._views()}
        return self._seen

    def _advance(self, start: Cuts, target: Cuts, limit_bytes: int) -> Cuts:
        views = self._views()
        backlogs = [view.backlog(start[view.name], target[view.name]) for view in views]
        cuts = advance(backlogs, limit_bytes, [view.boundary for view in views])
        return {view.name: cut for view, cut in zip(views, cuts, strict=True)}


class MetadataReader(DataSourceReader):
    """The small tables of option ``metadata``: the cuts of each stream, or the streams of a scope."""

    def __init__(self, options: PravegaOptions, schema: Any) -> None:
        check_schema(schema, metadata_types(str(options.metadata)))
        self._options = options
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[tuple[str, ...]]:
        rows = self._streams() if self._options.metadata == "Streams" else self._cuts()
        for row in rows:
            yield tuple(row[name] for name in self._schema.fieldNames())

    def _streams(self) -> Iterator[dict[str, str]]:
        scope = self._options.scope
        for stream in client_of(self._options.cluster).list_streams(scope):
            yield {"scope_name": scope, "stream_name": stream}

    def _cuts(self) -> Iterator[dict[str, str]]:
        for name in self._options.scoped_streams:
            stream = stream_of(self._options.cluster, name)
            yield {"head_stream_cut": stream.head().to_text(), "tail_stream_cut": stream.tail().to_text()}


def _by_stream(pieces: Sequence[SegmentSlice]) -> Iterator[tuple[str, list[SegmentSlice]]]:
    together: dict[str, list[SegmentSlice]] = {}
    for piece in pieces:
        together.setdefault(piece.stream, []).append(piece)
    yield from together.items()
