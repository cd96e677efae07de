"""The sink of ``format("pravega")``: rows become events of one stream.

The sink writes exactly once, in two phases. Each task writes into its own transaction and leaves it open. Its
commit message has the transaction, the row count and the digest of the rows. The process of the task renews
the lease, because other tasks of the batch may take longer. After all tasks have ended, one process decides
with the register which transactions make up the batch, and commits them (`register`, `commit_steps`). With
``exactly_once=false`` tasks append directly, and a repeated task or batch writes its rows twice.

Source: spark.md 5.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from pravega_lab.connector.rows.registry.registry_rows import forget_encoders
from pravega_lab.connector.spark.checkpoint import Checkpoint, local_path
from pravega_lab.connector.spark.connections import client_of, stream_of
from pravega_lab.connector.spark.options import Cluster, PravegaOptions
from pravega_lab.connector.spark.sink.commit_steps import (
    PassingRegister,
    Register,
    Settlement,
    TableRegister,
)
from pravega_lab.connector.spark.sink.digest import add, digest_of
from pravega_lab.connector.spark.sink.register import BATCH_JOB, Record, Written, abortable
from pravega_lab.connector.spark.sink.rows import (
    arrays,
    check_rows,
    in_plain_types,
    without_source_columns,
)
from pravega_lab.connector.spark.sink.table_columns import check_columns, in_columns
from pravega_lab.connector.spark.source.rows import arrow_schema
from pravega_lab.connector.spark.source.streams import ensure_stream
from pravega_lab.connector.spark.tables import refuse_new_table, refuse_table_of_query
from pravega_lab.connector.tables.catalog import REGISTER_TABLE
from pravega_lab.connector.tables.descriptions import first_segments
from pravega_lab.errors import BadInputError, PravegaError, StreamNotFoundError

if TYPE_CHECKING:
    from pravega_lab.client import Stream, Transaction

#: How long a streaming query does not look again whether its stream exists. A batch job always looks.
ENSURED_S = 10.0
_ensured_s: dict[tuple[Cluster, str], float] = {}
#: By query: its newest batch, and what this process wrote for it.
_newest: dict[str, tuple[str, list[Transaction]]] = {}


@dataclass
class TaskWritten(WriterCommitMessage):
    """The commit message of one task. ``query`` is empty in a batch job."""

    query: str
    written: Written


def write_rows(options: PravegaOptions, batches: Iterator[Any], kept: list[Transaction]) -> Written:
    """Write the rows of a task and return what was written.

    With exactly-once writing, the rows are durable in an open transaction when this returns. This process
    renews its lease until the transaction has ended. Otherwise the rows are appended to the stream.

    Args:
        kept: The open transaction is added to it, so that the caller can end the renewal.
    """
    stream = stream_of(options.cluster, options.output)
    if options.exactly_once:
        return _write_transaction(stream, options, batches, kept)
    written = (_arrays(options, batch) for batch in batches if batch.num_rows)
    with stream.writer() as writer:
        return Written(rows=sum(writer.write(*events_and_keys) for events_and_keys in written))


def _arrays(options: PravegaOptions, batch: Any) -> tuple[Any, Any | None]:
    if options.stored and not options.format:
        batch = without_source_columns(batch)
    if options.format and options.columns:
        batch = in_columns(in_plain_types(batch), options.columns)
    return arrays(
        *(batch, options.format, options.routing_key_column, options.format_options),
        *(options.primary_key, options.routing_key),
    )


def _micro_batch(context: Any) -> tuple[str, str]:
    """Return the query and the batch of a task, two empty texts in a batch job."""
    names = ("sql.streaming.queryId", "streaming.sql.batchId")
    query, batch = ((context and context.getLocalProperty(name)) or "" for name in names)
    return query, batch


def written_for(query: str, batch: str) -> list[Transaction]:
    """Return the transactions that this process wrote for a micro-batch, also in ``foreachBatch``.

    Those of the query's batch before have ended. Their renewal ends here, and not after half a lease. A batch
    job has no query, and an empty list.
    """
    if not query:
        return []
    newest, written = _newest.get(query, ("", []))
    if newest != batch:
        for transaction in written:
            transaction.close()
        written = []
        _newest[query] = batch, written
    return written


def _write_transaction(
    stream: Stream, options: PravegaOptions, batches: Iterator[Any], kept: list[Transaction]
) -> Written:
    transaction, rows, digest = None, 0, 0
    try:
        for batch in batches:
            if batch.num_rows:
                events, keys = _arrays(options, batch)
                transaction = transaction or stream.begin_transaction(options.transaction_timeout_ms)
                transaction.write(events, keys)
                rows, digest = rows + len(events), add(digest, digest_of(events, keys))
        if transaction is None:
            return Written()
        transaction.end_writing()
        kept.append(transaction)
        return Written(transaction.txn_id, rows, digest)
    except BaseException:
        if transaction is not None:
            with contextlib.suppress(PravegaError):
                transaction.abort()
        raise


def _check_table(options: PravegaOptions) -> None:
    """Refuse to write into a table of the catalog that was dropped since the query began.

    A sink does not create its stream again, because nothing would describe the rows. A new table of the name
    may have other columns.

    Raises:
        BadInputError: There is no such stream any more, or it is another one.
    """
    try:
        found = first_segments(stream_of(options.cluster, options.output))
    except StreamNotFoundError:
        found = None
    if found is None or (options.table_segments and found != options.table_segments):
        raise BadInputError(
            f"table {options.output} was dropped after the query began to write it. Create the table with "
            "CREATE TABLE if it is missing, and start the query again"
        )


class _Sink:
    """The common part of both writers."""

    def __init__(self, options: PravegaOptions, schema: Any, kept_s: float = 0.0) -> None:
        check_rows(
            *(schema, options.format, options.routing_key_column, options.format_options),
            options.primary_key,
            options.stored,
            options.field_columns,
            options.routing_key,
        )
        if options.format and options.columns:
            check_columns(arrow_schema(schema), options.columns)
        self._options = options
        if options.in_catalog:
            _check_table(options)
            return
        # Spark creates a sink for each micro-batch, and its process outlives the query and the stream.
        key, now_s = (options.cluster, options.output), time.monotonic()
        if now_s - _ensured_s.get(key, -kept_s) >= kept_s:
            ensure_stream(options, options.output, by_default=True)
            _ensured_s[key] = now_s

    def _settlement(self, register: Register) -> Settlement:
        stream = stream_of(self._options.cluster, self._options.output)
        return Settlement(stream, register, poll_s=self._options.transaction_status_poll_interval_ms / 1000)

    def _register(self, sink_id: str) -> Register:
        table = client_of(self._options.cluster).table(
            f"{self._options.output.split('/')[0]}/{REGISTER_TABLE}"
        )
        table.create()
        return TableRegister(table, sink_id)

    def _record(self, query: str, batch: int, messages: Sequence[TaskWritten]) -> Record:
        return Record(
            query=query,
            stream=self._options.output,
            batch=batch,
            partitions=tuple(message.written for message in messages),
            done=False,
            recorded_ms=time.time_ns() // 1_000_000,
        )


class PravegaStreamWriter(_Sink, DataSourceStreamArrowWriter):
    """The streaming sink.

    For every batch Spark creates one instance to write and another, in another process, to commit.
    """

    def __init__(self, options: PravegaOptions, schema: Any, overwrite: bool) -> None:
        super().__init__(options, schema, ENSURED_S)

    def write(self, iterator: Iterator[Any]) -> TaskWritten:
        """Write the rows of one task and return its commit message.

        Raises:
            BadInputError: The rows are those of a table in Spark's catalog that could not be read.
        """
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is not None and not self._options.in_catalog:
            refuse_table_of_query(self._options.address, context.getLocalProperty)
        query, batch = _micro_batch(context)
        return TaskWritten(query, write_rows(self._options, iterator, written_for(query, batch)))

    def commit(self, messages: list[TaskWritten | None], batchId: int) -> None:
        """Commit the batch exactly once. Spark calls it again for the same batch after a restart.

        Raises:
            SinkConflictError: The batch cannot be completed; see `register.decide`.
            StoreUnavailableError: The outcome is unknown. A restart of the query commits the batch.
        """
        written = [message for message in messages if message is not None]
        if self._options.exactly_once and written:
            query = written[0].query
            register = self._register(self._options.sink_id or query)
            record = replace(self._record(query, batchId, written), offsets=self._offsets(batchId))
            self._settlement(register).settle(record)

    def _offsets(self, batch: int) -> str:
        """Return a digest of the offsets at which a batch ends, "" if this process cannot read them."""
        if not self._options.checkpoint:  # a setting of the session names it
            return ""
        try:
            return Checkpoint(local_path(self._options.checkpoint, "the offsets are read")).digest(batch)
        except BadInputError:  # it is in another file system
            return ""

    def abort(self, messages: list[TaskWritten | None], batchId: int) -> None:
        """Abort the transactions that are not recorded.

        If the store does not respond, the transactions end with their leases.
        """
        written = [message for message in messages if message is not None]
        if not (self._options.exactly_once and written):
            return
        transactions = self._record("", batchId, written).transactions
        with contextlib.suppress(PravegaError):
            register = self._register(self._options.sink_id or written[0].query)
            record, _ = register.read()
            self._settlement(register).abort(abortable(record, batchId, transactions))


class PravegaWriter(_Sink, DataSourceArrowWriter):
    """The batch sink: all rows of a job become visible or none, unless the driver dies while it commits.

    Option ``sink_id`` gives the job an identity. Running the job again under the same id completes what a
    dead driver left unfinished, and adds nothing that is already in the stream. Another job, with other rows,
    is refused under that id.
    """

    def __init__(self, options: PravegaOptions, schema: Any, overwrite: bool) -> None:
        if overwrite:
            raise BadInputError(
                "mode 'overwrite': a stream is only appended to. Use mode('append'), or truncate it first"
            )
        forget_encoders()  # the process may have planned an earlier job, with a group that was replaced since
        super().__init__(options, schema)

    def write(self, iterator: Iterator[Any]) -> TaskWritten:
        """Write the rows of one task and return its commit message.

        Raises:
            BadInputError: The rows are those of a new table in Spark's catalog.
        """
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is not None and not self._options.in_catalog:
            refuse_new_table(self._options.address, context.getLocalProperty)
        forget_encoders()
        return TaskWritten("", write_rows(self._options, iterator, written_for(*_micro_batch(context))))

    def commit(self, messages: list[TaskWritten | None]) -> None:
        """Commit the rows of the job.

        Raises:
            SinkConflictError: The job cannot be completed, or the sink id is that of a job with other rows;
                see `register.decide`.
            StoreUnavailableError: The outcome is unknown.
        """
        written = [message for message in messages if message is not None]
        if self._options.exactly_once and written:
            sink_id = self._options.sink_id
            register = self._register(sink_id) if sink_id else PassingRegister()
            record = self._record(BATCH_JOB, 0, written)
            if sink_id:
                stream = stream_of(self._options.cluster, self._options.output)
                record = replace(record, first_segments=first_segments(stream))
            self._settlement(register).settle(record)

    def abort(self, messages: list[TaskWritten | None]) -> None:
        """Abort the transactions that are not recorded."""
        written = [message for message in messages if message is not None]
        if not (self._options.exactly_once and written):
            return
        transactions = self._record(BATCH_JOB, 0, written).transactions
        with contextlib.suppress(PravegaError):
            sink_id = self._options.sink_id
            record = self._register(sink_id).read()[0] if sink_id else None
            self._settlement(PassingRegister()).abort(abortable(record, 0, transactions))
