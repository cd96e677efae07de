"""The data source ``pravega``: the classes that Spark creates for ``format("pravega")``.

They run in Spark's Python workers, never in the process of the user (spark.md 1.2). Spark pickles their
instances, so they hold options and schemas and no connection. Only `FilteringReader` overrides
`DataSourceReader.pushFilters`, because Spark raises an error for it unless a setting allows it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    Filter,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    SupportsTriggerAvailableNow,
)

from pravega_lab.connector.spark.catalog.described import described
from pravega_lab.connector.spark.connections import client_of, close_all, stream_of
from pravega_lab.connector.spark.format import FORMAT
from pravega_lab.connector.spark.options import (
    COMMAND,
    EARLIEST,
    LATEST,
    UNBOUNDED,
    PravegaOptions,
    parse_options,
)
from pravega_lab.connector.spark.source.ahead import read_ahead
from pravega_lab.connector.spark.source.hold import Hold, held
from pravega_lab.connector.spark.source.limits import advance
from pravega_lab.connector.spark.source.offsets import (
    Cuts,
    bounds,
    check_streams,
    decode,
    encode,
    following,
    initial,
)
from pravega_lab.connector.spark.source.prefetch import Prefetched, Prefetcher, is_plain, offer_rows
from pravega_lab.connector.spark.source.pushdown import PUSHING, Wanted
from pravega_lab.connector.spark.source.reading import BATCH_BYTES, read_slices, read_what_is_left
from pravega_lab.connector.spark.source.rows import (
    METADATA_SCHEMAS,
    SCHEMA,
    arrow_schema,
    check_schema,
    metadata_types,
    rows_of,
)
from pravega_lab.connector.spark.source.splits import SegmentSlice, plan
from pravega_lab.connector.spark.source.streams import (
    ANOTHER_STREAM,
    NEW_CHECKPOINT,
    StreamView,
    ensure_stream,
    forget_facts,
)
from pravega_lab.connector.spark.source.typed_rows import check_typed_schema, default_schema, typed_rows
from pravega_lab.connector.spark.tables import (
    is_created,
    own_options,
    refuse_unmarked,
    stored_options,
    table_schema,
    ways_that_work,
)
from pravega_lab.connector.spark.worker_end import end_quietly
from pravega_lab.connector.spark.worker_python import check_packages
from pravega_lab.connector.tables.columns import columns_of_arrow, ddl, parse_columns, source_ddl
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.names import short_name
from pravega_lab.protocol.stream_cut import StreamCut

#: Options of which one says what to read or write.
ADDRESSES = ("scope", "stream", "scan.streams", "sink.stream", "metadata")
#: A batch query needs no low latency, so its tasks are fewer and larger (spark.md 2).
BATCH_PARTITION_BYTES = 32 * 1024 * 1024

end_quietly(sys.modules["__main__"])  # a process that imports this module plans, reads or commits


@dataclass
class SlicesPartition(InputPartition):
    """The slices that one task reads, in reading order."""

    slices: tuple[SegmentSlice, ...]

    @property
    def size_bytes(self) -> int:
        """The number of bytes in the slices."""
        return sum(piece.size_bytes for piece in self.slices)


class PravegaDataSource(DataSource):
    """The data source ``format("pravega")``. docs/spark.md describes its options."""

    #: Properties of the session that stand in for missing options; `register` sets them in a subclass.
    properties: Mapping[str, str] = {}
    #: The folder of holds of a client of Spark Connect; otherwise the environment names it (`hold`).
    hold_folder: str = ""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        check_packages()
        self._command = COMMAND in options
        self._is_created = is_created(options)
        self._given = own_options(options) if self._is_created else dict(options)
        self._is_addressed = any(name.lower() in ADDRESSES for name in self._given)
        if not self._command and self._is_addressed:
            self._parsed()  # A table of the session catalog has its address in its columns.

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def schema(self) -> Any:
        """Return the columns of the rows, or of the table that option ``metadata`` names.

        Raises:
            BadInputError: A format is given, whose columns only the user can know.
        """
        if self._command:
            from pravega_lab.connector.spark.catalog.commands import answer, answer_schema

            return answer_schema(answer(self.options, self.properties))
        options = self._parsed()
        if self._is_created:
            return self._new_table(options)
        if options.format:
            named = parse_columns(options.columns) if options.columns else ()
            return source_ddl(named) or default_schema(options)
        return METADATA_SCHEMAS[options.metadata] if options.metadata else SCHEMA

    def _parsed(self, schema: Any = None) -> PravegaOptions:
        """Return the options: the user's, and before these, those of the table that the schema is of.

        Rows of such a table have its options also where the user writes them elsewhere.
        """
        stored = {} if schema is None or self._is_addressed else stored_options(schema)
        options = parse_options({**stored, **self._given}, properties=self.properties)
        return replace(options, stored=True) if stored else options

    def _new_table(self, options: PravegaOptions) -> Any:
        """Return the schema of a table of the session catalog."""
        if options.format:
            columns = options.columns or default_schema(options)
            if not isinstance(columns, str):
                columns = ddl(columns_of_arrow(arrow_schema(columns)))
            return table_schema(columns, self._given)
        if found := described(options):
            columns, more = found
            return table_schema(columns, {**more, **self._given})
        return table_schema(SCHEMA, self._given)

    def reader(self, schema: Any) -> DataSourceReader:
        """Return the reader of a batch query. Only tables of our catalog take filters.

        Spark keeps what it planned with the filters of a query in the DataFrame, and reads no more for the
        next query of the same DataFrame, or the other side of a union. The catalog makes a new source for
        every scan.
        """
        options = self._parsed(schema)
        if options.metadata:
            return MetadataReader(options, schema)
        takes_filters = options.in_catalog and PUSHING in sys.modules
        return (FilteringReader if takes_filters else PravegaReader)(options, schema)

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        """Return the reader of a streaming query.

        Raises:
            BadInputError: Option ``metadata`` is given, or the options are those of a batch query.
        """
        options = self._parsed(schema)
        if options.execution_type == "batch":
            raise BadInputError(
                "'scan.execution.type' is 'batch', and this is a streaming query. Use spark.read, or leave "
                "the option out"
            )
        if options.metadata:
            raise BadInputError("option 'metadata' works with spark.read only. Remove it, or use spark.read")
        return PravegaStreamReader(options, schema, self.hold_folder)

    def writer(self, schema: Any, overwrite: bool) -> DataSourceArrowWriter:
        """Return the writer of a batch query."""
        from pravega_lab.connector.spark.sink.writer import PravegaWriter

        options = self._parsed(schema)
        if options.stored:
            refuse_unmarked(schema)
        return PravegaWriter(options, schema, overwrite)

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamArrowWriter:
        """Return the writer of a streaming query.

        Raises:
            BadInputError: The options are stored ones: of the table that is read, not of the one to write.
        """
        from pravega_lab.connector.spark.sink.writer import PravegaStreamWriter

        options = self._parsed(schema)
        if options.stored:
            raise BadInputError(
                "a streaming query cannot write into a table USING pravega: Spark passes no options of that "
                "table. No row was written. Write with .format('pravega'), the options of the stream "
                f"and .start(). {ways_that_work({})}"
            )
        return PravegaStreamWriter(options, schema, overwrite)


class _Slices:
    """The common part of both readers: the streams, and how a task reads a partition."""

    def __init__(self, options: PravegaOptions, schema: Any) -> None:
        if not schema.fields:
            raise BadInputError(
                "the schema has no columns, so that no row could be counted. Name at least one"
            )
        names = schema.fieldNames()
        if len(set(names)) < len(names):
            doubled = next(name for name in names if names.count(name) > 1)
            raise BadInputError(f"column '{doubled}' is in the schema twice. Name each column once")
        if options.format:
            check_typed_schema(options, schema)
        else:
            check_schema(schema)
        self._options = options
        self._schema = schema
        self._streams = options.scoped_streams
        self._wanted = Wanted()

    def read(self, partition: SlicesPartition) -> Iterator[Any]:
        """Yield the rows of one partition as Arrow record batches, slice after slice.

        Raises:
            CorruptRowError: An event is not a row of the schema, and option ``corrupt_rows`` is ``fail``.
        """
        rows = self._rows(partition)
        yield from read_ahead(rows) if partition.size_bytes > BATCH_BYTES else rows

    def _rows(self, partition: SlicesPartition) -> Generator[Any]:
        schema = arrow_schema(self._schema)
        for stream, pieces in _by_stream(partition.slices):
            read = read_slices if self._options.fail_on_data_loss else read_what_is_left
            batches = read(stream_of(self._options.cluster, stream), pieces)
            batches = self._wanted.events(pieces, batches)
            if self._options.format:
                yield from typed_rows(self._options, schema, stream, batches)
            else:
                yield from rows_of(schema, stream, batches)

    def _views(self) -> list[StreamView]:
        fails = self._options.fail_on_data_loss
        return [StreamView(self._options.cluster, stream, fails_on_loss=fails) for stream in self._streams]

    def _plan(self, start: Cuts, end: Cuts, wanted_bytes: int | None = None) -> list[SlicesPartition]:
        streams = []
        for view in self._views():
            found = self._wanted.slices(view.slices(start[view.name], end[view.name]), view.is_event)
            streams.append((found, view.spans([piece.segment_id for piece in found])))
        size = {} if wanted_bytes is None else {"wanted_bytes": wanted_bytes}
        planned = plan(streams, ordered=self._options.ordered, **size)
        return [SlicesPartition(pieces) for pieces in planned or [()]]

    def _ensure_streams(self) -> None:
        for stream in self._options.scoped_streams:
            ensure_stream(self._options, stream, by_default=False)


class PravegaReader(_Slices, DataSourceReader):
    """Reads the events between two stream cuts, by default all events of the streams.

    The cuts are fixed when Spark plans the query.
    """

    def partitions(self) -> list[SlicesPartition]:
        """Return the partitions between the two cuts.

        Raises:
            BadInputError: The second lies before the first.
        """
        forget_facts()
        self._ensure_streams()
        first, last = self._options.start_stream_cut, self._options.end_stream_cut
        start = {v.name: v.resolve(EARLIEST if first in (None, UNBOUNDED) else first) for v in self._views()}
        end = {v.name: v.resolve(last or LATEST) for v in self._views()}
        if first not in (None, EARLIEST, UNBOUNDED):  # a head that has moved beyond the end is lost data
            end = {view.name: view.not_before(start[view.name], end[view.name]) for view in self._views()}
            _check_order(start, end)
        return self._plan(start, end, BATCH_PARTITION_BYTES)


class FilteringReader(PravegaReader):
    """Reads what the filters of a query on segment, offset and pointer admit. Spark evaluates all again."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Remember the filters, and return all of them for Spark to evaluate."""
        self._wanted = self._wanted.narrowed(filters, is_typed=bool(self._options.format))
        return filters


class PravegaStreamReader(_Slices, SupportsTriggerAvailableNow, DataSourceStreamReader):
    """Reads a stream in micro-batches. Offsets are stream cuts, and a batch reads what is between two of
    them.

    One instance in one process serves the driver side of a query (spark.md 1.2). It keeps cuts and no
    connection.
    """

    def __init__(self, options: PravegaOptions, schema: Any, hold_folder: str = "") -> None:
        super().__init__(options, schema)
        self._hold_folder = hold_folder
        self._prefetcher: Prefetcher | None = None
        self._first: dict[str, Any] | None = None
        self._frozen: Cuts | None = None
        self._seen: Cuts | None = None

    @property
    def _ends_at_cut(self) -> bool:
        return self._options.end_stream_cut not in (None, UNBOUNDED, LATEST)

    def initialOffset(self) -> dict[str, Any]:
        """Return the offset of a new query. Spark asks twice before the first batch and gets the same one."""
        if self._first is None:
            self._ensure_streams()
            wanted = self._options.start_stream_cut or LATEST
            if wanted == LATEST and self._frozen and not self._ends_at_cut:
                self._first = initial(self._frozen)  # the tail has moved since then
            else:
                wanted = EARLIEST if wanted == UNBOUNDED else wanted
                self._first = initial({view.name: view.resolve(wanted) for view in self._views()})
        return self._first

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit of option ``approx_bytes_per_trigger``, or no limit."""
        limit = self._options.approx_bytes_per_trigger
        return ReadMaxBytes(limit) if limit else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Fix the current tail as the end of this run. Spark calls this before `initialOffset`."""
        self._ensure_streams()
        self._frozen = self._newest()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return where the next batch ends: at the tail, or before it if the limit is smaller than the
        backlog.
        """
        end = self._end_of_batch(start, limit)
        if end != start and self._may_prefetch():
            if self._prefetcher is None:
                self._prefetcher = Prefetcher()
            self._prefetcher.begin((start, end), lambda: self._prefetch(start, end))
        return end

    def _end_of_batch(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        check_streams(start, self._options.scoped_streams)
        hold = held(self._options.scoped_streams, self._hold_folder)
        if hold is not None and not hold.drain:
            hold.answer(start)
            return following(start, decode(start))
        begin = decode(start)
        target = self._checked_end(begin, self._frozen or self._newest())
        if hold is not None:
            target = self._drained(hold, begin, target)
        if isinstance(limit, ReadMaxBytes):
            return following(start, self._advance(begin, target, limit.max_bytes))
        return following(start, target)

    def _checked_end(self, start: Cuts, target: Cuts) -> Cuts:
        """Return an end that is not before the start; see `StreamView.not_before`. Refuse any other.

        Reading would resume there, and repeat events or leave some out.
        """
        target = {view.name: view.not_before(start[view.name], target[view.name]) for view in self._views()}
        for view in self._views():
            if view.is_before(target[view.name], start[view.name]):
                position, end = (StreamCut(view.name, cuts[view.name]) for cuts in (start, target))
                if self._ends_at_cut:
                    raise BadInputError(
                        f"'end_stream_cut' lies before the position of the query, which is {position}. "
                        f"Pass a later cut, or leave the option out. To read events again, {NEW_CHECKPOINT}"
                    )
                raise BadInputError(
                    f"the stream ends at {end}, and the position of the query is after that, at {position}. "
                    f"{ANOTHER_STREAM}, {NEW_CHECKPOINT}"
                )
        return target

    def _drained(self, hold: Hold, start: Cuts, newest: Cuts) -> Cuts:
        """Return where a draining hold ends reading: at the tail when a source first saw the hold.

        That source may be of another query of these streams, with an end before ``start``.
        """
        hold.answer(encode(newest))
        end = decode(hold.answered() or encode(newest))
        is_past = any(view.is_before(end[view.name], start[view.name]) for view in self._views())
        return start if is_past else end

    def reportLatestOffset(self) -> dict[str, Any]:
        """Return the tail. Spark's progress reports and the views compute the lag from it."""
        return encode(self._seen or self._newest())

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[SlicesPartition]:
        """Return the partitions of the batch from ``start`` to ``end``."""
        check_streams(end, self._options.scoped_streams)
        found = self._prefetcher.result((start, end)) if self._prefetcher else None
        return found.partitions if found else self._plan(*bounds(start, end))

    def prefetched(self, start: dict[str, Any], end: dict[str, Any]) -> list[Any] | None:
        """Return the rows of a small batch, if they were read ahead; see `prefetch`."""
        found = self._prefetcher.result((start, end)) if self._prefetcher else None
        return found.rows if found else None

    def _may_prefetch(self) -> bool:
        return self._options.prefetch_bytes > 0 and is_plain(self._schema) and offer_rows(PravegaStreamReader)

    def _prefetch(self, start: dict[str, Any], end: dict[str, Any]) -> Prefetched:
        planned = self._plan(*bounds(start, end))
        size_bytes = sum(piece.size_bytes for partition in planned for piece in partition.slices)
        if len(planned) > 1 or size_bytes > self._options.prefetch_bytes:
            return Prefetched(planned, None)
        return Prefetched(planned, list(self.read(planned[0])))

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: the retention policy of the stream alone decides what is deleted."""

    def stop(self) -> None:
        """Close the connections of this process."""
        close_all()

    def _newest(self) -> Cuts:
        last = self._options.end_stream_cut
        unlimited = last in (None, UNBOUNDED)
        if last == LATEST and self._seen is not None:  # ``latest`` means the tail when the query starts.
            return self._seen
        self._seen = {v.name: v.tail() if unlimited else v.resolve(last or LATEST) for v in self._views()}
        return self._seen

    def _advance(self, start: Cuts, target: Cuts, limit_bytes: int) -> Cuts:
        views = self._views()
        backlogs = [view.backlog(start[view.name], target[view.name]) for view in views]
        cuts = advance(backlogs, limit_bytes, [view.boundary for view in views])
        return {view.name: cut for view, cut in zip(views, cuts, strict=True)}


class MetadataReader(DataSourceReader):
    """Reads the small tables of option ``metadata``: the cuts of each stream, or the streams of a scope."""

    def __init__(self, options: PravegaOptions, schema: Any) -> None:
        check_schema(schema, metadata_types(str(options.metadata)))
        self._options = options
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        """Return one partition: the tables are small."""
        return [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[tuple[str, ...]]:
        """Yield the rows of the table, with the columns that Spark asked for."""
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


def _check_order(start: Cuts, end: Cuts) -> None:
    """Raise `BadInputError` if a stream would be read backwards."""
    for stream, last in end.items():
        for segment in start[stream].keys() & last.keys():
            if last[segment] < start[stream][segment]:
                raise BadInputError(
                    f"'end_stream_cut' lies before 'start_stream_cut' in {stream}: at {last[segment]} and at "
                    f"{start[stream][segment]} in segment {short_name(segment)}. Exchange them"
                )


def _by_stream(pieces: Sequence[SegmentSlice]) -> Iterator[tuple[str, list[SegmentSlice]]]:
    together: dict[str, list[SegmentSlice]] = {}
    for piece in pieces:
        together.setdefault(piece.stream, []).append(piece)
    yield from together.items()
