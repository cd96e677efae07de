"""`Table`: one description of a stream of rows, for Spark, pandas, and everything that reads Arrow."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from pravega_lab.client.values import HEAD, TAIL
from pravega_lab.connector.rows.changes.kinds import KIND_COLUMN
from pravega_lab.connector.rows.formats import FORMAT_METADATA
from pravega_lab.connector.rows.typed_rows import known_metadata
from pravega_lab.connector.tables.columns import parse_columns, source_ddl
from pravega_lab.connector.tables.description import Description
from pravega_lab.connector.tables.descriptions import Descriptions, StoredDescriptions
from pravega_lab.connector.tables.durations import milliseconds
from pravega_lab.connector.tables.option_names import check_option
from pravega_lab.errors import AlreadyExistsError, BadInputError, StreamNotFoundError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from pravega_lab.client import Client
    from pravega_lab.client.values import Bound
    from pravega_lab.connector.flow.config import PravegaConfig
    from pravega_lab.connector.flow.segments.source import PravegaSegmentSource
    from pravega_lab.connector.flow.sinks.transactional_sink import PravegaTransactionalSink
    from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy


@dataclass(frozen=True)
class Table:
    """A stream whose events are rows. Each method returns a changed copy, so that calls can be chained.

    ``Table.create("scope/stream").schema("id bigint, item string").json()`` describes a table, and `on` says
    in which store it is. ``lab.table("scope/stream")`` does both, with the description that the store has.

    Attributes:
        scoped_stream: ``scope/stream``.
        description: Columns, format and options.
        client: The client of the store, or None.
    """

    scoped_stream: str
    description: Description = field(default_factory=lambda: Description((), "raw"))
    client: Client | None = None

    @classmethod
    def create(cls, scoped_stream: str) -> Table:
        """Begin the description of a table. Nothing is created in a store before `save`.

        Raises:
            BadInputError: The name is not ``scope/stream``.
        """
        scope, slash, stream = scoped_stream.partition("/")
        if not (scope and slash and stream) or "/" in stream:
            raise BadInputError(f"Table.create('{scoped_stream}'): write scope/stream")
        return cls(scoped_stream)

    @classmethod
    def load(cls, client: Client, scoped_stream: str, *, descriptions: Descriptions | None = None) -> Table:
        """Return the table with the description that the store has; without one, it has no columns.

        Args:
            descriptions: Where to look in place of the store alone, such as `RegisteredDescriptions`.

        Raises:
            BadInputError: The stream was deleted and created again after it was described.
        """
        table = cls.create(scoped_stream).on(client)
        found = (descriptions or StoredDescriptions(client)).get(*scoped_stream.split("/"))
        return table if found is None else replace(table, description=found)

    def on(self, client: Client) -> Table:
        """Say in which store the stream is."""
        return replace(self, client=client)

    def schema(self, columns: str) -> Table:
        """Set the columns, such as ``id bigint, item string``. Raises `BadInputError`."""
        return self._with(columns=parse_columns(columns))

    def format(self, name: str) -> Table:
        """Set the format of the events, such as ``json``. docs/spark.md lists the formats."""
        return self._with(format=name)

    def json(self) -> Table:
        """Say that an event is a JSON object."""
        return self.format("json")

    def csv(self) -> Table:
        """Say that an event is a line of values."""
        return self.format("csv")

    def avro(self) -> Table:
        """Say that an event is a record of Avro."""
        return self.format("avro")

    def raw(self) -> Table:
        """Say that an event is the value of the one column."""
        return self.format("raw")

    def option(self, name: str, value: str) -> Table:
        """Set an option of the connector, under its name in Spark or Flink.

        Raises:
            BadInputError: There is no such option. The message suggests the nearest name.
        """
        check_option(name)
        return self._with(options={**self.description.options, name: value})

    def primary_key(self, *columns: str) -> Table:
        """Say which columns identify a row."""
        return self._with(primary_key=columns)

    def watermark(self, column: str, delay: str) -> Table:
        """Set the column of event times, and how late a row may be, such as ``5 s``."""
        return self._with(watermark=(column, delay))

    def save(self) -> Table:
        """Create the stream if it is missing, keep the description in the store, and return the table.

        Raises:
            BadInputError: The description is incomplete or contradicts itself, or no store is set.
        """
        client = self._client()
        self.described().check_writing()
        with contextlib.suppress(AlreadyExistsError):  # which is then described again
            client.create_stream(self.scoped_stream)
        scope, stream = self.scoped_stream.split("/")
        StoredDescriptions(client).put(scope, stream, self.description)
        return self

    def described(self) -> Description:
        """Return the description with what the name of the stream adds: the group of a schema registry."""
        return self.description.of_stream(self.scoped_stream)

    def spark_options(self) -> dict[str, str]:
        """Return the options of ``format("pravega")`` for this table."""
        scope, stream = self.scoped_stream.split("/")
        address = {"scope": scope, "stream": stream}
        if self.client is not None:
            address = self.client.stream(self.scoped_stream).options()
        return {**address, **self.description.spark_options()}

    def create_temporary(self, spark: Any, name: str) -> None:
        """Create or replace a temporary view of the table in a Spark session. It takes rows by INSERT too."""
        columns = f" ({source_ddl(self.description.columns)})" if self.description.columns else ""
        options = ", ".join(f"`{key}` {_literal(value)}" for key, value in self.spark_options().items())
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW `{name}`{columns} USING pravega OPTIONS ({options})")

    def read_stream(self, spark: Any, **options: str) -> Any:
        """Return a streaming frame of the rows in a Spark session, with the watermark of the table."""
        reader = spark.readStream.format("pravega").options(**{**self.spark_options(), **options})
        if self.description.columns:
            reader = reader.schema(source_ddl(self.description.columns))
        frame = reader.load()
        if self.description.watermark is None:
            return frame
        column, delay = self.description.watermark
        return frame.withWatermark(column, f"{milliseconds(delay)} milliseconds")

    def source(self, start: Bound = HEAD, end: Bound | None = None) -> PravegaSegmentSource:
        """Return the table as a source of the engine, for ``StreamEnvironment.from_table``.

        Args:
            start: The first position.
            end: The position after the last event. None: the table is read until its stream is sealed.

        Raises:
            BadInputError: The table has no columns, or no store is set.
        """
        from pravega_lab.connector.flow.segments.source import PravegaSegmentSource
        from pravega_lab.connector.tables.engine import TableRows

        rows = TableRows(description=self._of_this_stream(), access=self._client().access)
        return PravegaSegmentSource(self._config(), self.scoped_stream, start=start, end=end, rows=rows)

    def sink(self) -> PravegaTransactionalSink:
        """Return the table as an exactly-once sink of the engine, for ``DataStream.insert_into``.

        Raises:
            BadInputError: The table has no columns or one of metadata, its format has changes and no primary
                key is set, or no store is set.
        """
        from pravega_lab.connector.flow.sinks.transactional_sink import PravegaTransactionalSink
        from pravega_lab.connector.tables.engine import TableEvents

        description = self._of_this_stream()
        description.check_writing()
        if description.format in FORMAT_METADATA and not description.primary_key:
            raise BadInputError(
                f"format '{description.format}' has changes of rows, and table {self.scoped_stream} has no "
                "primary key, so the changes of a row could be read in another order. Add .primary_key(…)"
            )
        metadata = known_metadata(description.format).keys() - {KIND_COLUMN}
        if found := [column.name for column in description.columns if column.name in metadata]:
            raise BadInputError(
                f"column '{found[0]}' cannot be written: it is metadata of the events of "
                f"{self.scoped_stream}. Describe the table to write without it"
            )
        events = TableEvents(description=description, access=self._client().access)
        return PravegaTransactionalSink(self._config(), self.scoped_stream, events=events)

    def watermarks(self) -> WatermarkStrategy | None:
        """Return how rows give the engine watermarks, None without `watermark`."""
        from pravega_lab.connector.tables.engine import watermarks_of

        return watermarks_of(self.description)

    def arrow(self, start: Bound = HEAD, end: Bound = TAIL) -> pa.RecordBatchReader:
        """Return the rows between two stream cuts as a reader of Arrow batches, for one use.

        DuckDB, Polars and pandas take it as it is. Rows of one routing key are in order.

        Args:
            start: The first position; by default the head when the first batch is read.
            end: The position after the last event; by default the tail when the first batch is read.

        Raises:
            BadInputError: The table has no columns, no store is set, or the stream was deleted and created
                again after it was described.
            CorruptRowError: While reading: an event is no row of the columns.
        """
        import pyarrow as pa

        schema = self._of_this_stream().arrow_schema()
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema, self._client(), start, end))

    def to_pandas(self, start: Bound = HEAD, end: Bound = TAIL) -> pd.DataFrame:
        """Return the rows between two stream cuts as a frame; arguments and errors are those of `arrow`."""
        frame: pd.DataFrame = self.arrow(start, end).read_pandas()
        return frame

    def _batches(
        self, schema: pa.Schema, client: Client, start: Bound, end: Bound
    ) -> Iterator[pa.RecordBatch]:
        builder = self.described().typed_rows(self.scoped_stream, client.access)
        with client.stream(self.scoped_stream).read(start, end) as found:
            yield from builder.all_rows(chain.from_iterable(iter(found.next_batches, [])))

    def _with(self, **changes: Any) -> Table:
        return replace(self, description=replace(self.description, **changes))

    def _checked(self) -> Description:
        description = self.described()
        description.check()
        return description

    def _of_this_stream(self) -> Description:
        """Return the checked description.

        Raises:
            BadInputError: It is of a stream that was deleted, or has no columns.
            StreamNotFoundError: It has no columns because there is no such stream.
        """
        if not self.description.columns:
            if not self._client().stream(self.scoped_stream).exists():
                raise StreamNotFoundError(f"there is no stream {self.scoped_stream}")
            raise BadInputError(
                f"stream {self.scoped_stream} is not described, so the columns of its events are unknown. "
                "Add .schema('id bigint, name string').json(), or read the events with lab.stream(…).read()"
            )
        if self.description.first_segments:
            scope, stream = self.scoped_stream.split("/")
            StoredDescriptions(self._client()).check_stream(scope, stream, self.description)
        return self._checked()

    def _config(self) -> PravegaConfig:
        from pravega_lab.connector.flow.config import PravegaConfig

        client = self._client()
        return PravegaConfig(client.uri, access=client.access)

    def _client(self) -> Client:
        if self.client is None:
            raise BadInputError(
                f"no store is known for table {self.scoped_stream}. Call .on(client), or begin "
                "with lab.table(…)"
            )
        return self.client


def _literal(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
