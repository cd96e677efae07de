"""(f) Exactly once: data goes into transactions that are committed with the job's checkpoints.

Two forms of one thing: `PravegaWriter` for `TwoPhaseCommitSink`, `PravegaTransactionalSink` for FLIP-191,
which batch mode can run too. A lease is renewed while the subtask lives, also between pre-commit and commit;
after a failure nobody renews, so it has to be longer than the recovery takes. flink-connectors swallow a
commit that fails because the lease ran out, and lose the data in silence: here it fails the job.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.transaction import AsyncTransaction
from pravega_lab.client.values import LEASE_MS_MAX
from pravega_lab.connector.flow.config import PravegaConfig
from pravega_lab.connector.flow.events import RowEvents
from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.elements import MAX_TIMESTAMP_MS, Watermark
from pravega_lab.engine.flow.errors import IllegalStateError
from pravega_lab.engine.flow.sinks import (
    CommitRequest,
    Committer,
    Sink,
    SinkContext,
    SinkWriter,
    TwoPhaseCommitSink,
)
from pravega_lab.errors import StoreUnavailableError, TransactionFailedError

Handle = list[Any]
"""Transaction id, the watermark to note with it or None, and by which writer: what goes into checkpoints."""


class Transactions:
    """Of one subtask: those it has begun, by id, and how each is ended, by whoever holds its handle."""

    def __init__(self, client: AsyncClient, stream: str, lease_ms: int, writer: str) -> None:
        self._client, self._stream = client, client.stream(stream)
        self._lease_ms, self._writer = lease_ms, writer
        self._open: dict[str, AsyncTransaction] = {}

    async def begin(self) -> str:
        """A new one's id; its lease is renewed from now on."""
        found = await self._stream.begin_transaction(self._lease_ms)
        self._open[str(found.txn_id)] = found
        return str(found.txn_id)

    def handle(self, txn_id: str, watermark_ms: int | None) -> Handle:
        return [txn_id, watermark_ms, self._writer]

    async def write(self, txn_id: str, events: Sequence[bytes], keys: Sequence[str] | None) -> None:
        await self._open[txn_id].write(list(events), None if keys is None else list(keys))

    async def flush(self, txn_id: str) -> None:
        """All of it is durable when this returns."""
        await self._open[txn_id].flush()

    async def commit(self, handle: Handle) -> None:
        """Commit, also again, also one of another subtask or process.

        Raises:
            TransactionFailedError: its lease ran out before: what is in it is lost.
        """
        txn_id, watermark_ms, writer = handle
        transaction = self._open.pop(txn_id, None) or self._stream.transaction(UUID(txn_id))
        try:
            await transaction.commit(timestamp=watermark_ms, writer=writer)
        except TransactionFailedError as error:
            raise TransactionFailedError(
                f"{error}. Its data is lost: the lease ({self._lease_ms} ms) has to be longer than the time "
                "between two checkpoints and a recovery together",
                error.state,
            ) from error
        finally:
            await transaction.close()

    async def abort(self, txn_id: str) -> None:
        """Abort one, unless it is over already."""
        transaction = self._open.pop(txn_id, None) or self._stream.transaction(UUID(txn_id))
        try:
            await transaction.abort()
        except TransactionFailedError:
            return  # it is over
        finally:
            await transaction.close()

    async def close(self) -> None:
        """Let go of all; what was pre-committed waits for its commit, until its lease ends."""
        for transaction in self._open.values():
            await transaction.close()
        await self._client.close()


class PravegaWriter(TwoPhaseCommitSink):
    """`TwoPhaseCommitSink` into a stream. `FlinkPravegaWriter` in its exactly-once mode.

    Args:
        stream: ``scope/stream``, or a name in the default scope.
        lease_ms: 10,000 to 600,000. What of it passes between a failure and the recovery is not renewed.
        propagates_watermarks: Commits note the watermark for readers' time windows.
    """

    def __init__(
        self,
        config: PravegaConfig,
        stream: str,
        *,
        events: RowEvents | None = None,
        lease_ms: int = LEASE_MS_MAX,
        propagates_watermarks: bool = False,
    ) -> None:
        self.config, self.stream = config, config.resolve(stream)
        self.events = events or RowEvents()
        self.transaction_timeout_ms = lease_ms
        self.propagates_watermarks = propagates_watermarks
        self._lease_ms = lease_ms
        self._watermark_ms: int | None = None
        self._transactions: Transactions

    def __deepcopy__(self, memo: dict[int, Any]) -> PravegaWriter:
        made = copy.copy(self)
        memo[id(self)] = made
        return made

    def open(self, context: SinkContext) -> None:
        if not context.is_checkpointing:
            raise IllegalStateError("Enable checkpointing to use the exactly-once writer mode.")
        client = self.config.client(f"{context.task_name} sink")
        writer = f"{context.unique_id()}-{context.subtask_index}"
        self._transactions = Transactions(client, self.stream, self._lease_ms, writer)

    async def begin(self) -> Handle:
        return self._transactions.handle(await self._transactions.begin(), None)

    async def write(self, transaction: Handle, batch: Batch) -> None:
        await self._transactions.write(transaction[0], *self.events.of(batch))

    def write_watermark(self, watermark: Watermark) -> None:
        self._watermark_ms = notable(self._watermark_ms, watermark)

    async def pre_commit(self, transaction: Handle) -> None:
        await self._transactions.flush(transaction[0])
        if self.propagates_watermarks:
            transaction[1] = self._watermark_ms

    async def commit(self, transaction: Handle) -> None:
        await self._transactions.commit(transaction)

    async def abort(self, transaction: Handle) -> None:
        await self._transactions.abort(transaction[0])

    async def close(self) -> None:
        if hasattr(self, "_transactions"):
            await self._transactions.close()


class PravegaTransactionalSink(Sink):
    """FLIP-191's form of it: committables are transactions. Arguments as of `PravegaWriter`."""

    def __init__(
        self,
        config: PravegaConfig,
        stream: str,
        *,
        events: RowEvents | None = None,
        lease_ms: int = LEASE_MS_MAX,
        propagates_watermarks: bool = False,
    ) -> None:
        self.config, self.stream = config, config.resolve(stream)
        self.events = events or RowEvents()
        self.lease_ms, self.propagates_watermarks = lease_ms, propagates_watermarks

    def transactions(self, context: SinkContext, role: str) -> Transactions:
        """Those of one subtask, with a client of their own."""
        writer = f"{context.unique_id()}-{context.subtask_index}"
        client = self.config.client(f"{context.task_name} {role}")
        return Transactions(client, self.stream, self.lease_ms, writer)

    def create_writer(self, context: SinkContext, restored: Sequence[Any]) -> SinkWriter:
        return _TransactionalWriter(self, context)

    def create_committer(self, context: SinkContext) -> Committer:
        return _TransactionCommitter(self.transactions(context, "committer"))


class _TransactionalWriter(SinkWriter):
    """Begins a transaction with the first record after a checkpoint."""

    def __init__(self, sink: PravegaTransactionalSink, context: SinkContext) -> None:
        self._sink = sink
        self._transactions = sink.transactions(context, "writer")
        self._current: str | None = None
        self._watermark_ms: int | None = None

    async def write(self, batch: Batch) -> None:
        if self._current is None:
            self._current = await self._transactions.begin()
        await self._transactions.write(self._current, *self._sink.events.of(batch))

    def write_watermark(self, watermark: Watermark) -> None:
        self._watermark_ms = notable(self._watermark_ms, watermark)

    async def prepare_commit(self) -> list[Handle]:
        if self._current is None:
            return []
        current, self._current = self._current, None
        await self._transactions.flush(current)
        noted_ms = self._watermark_ms if self._sink.propagates_watermarks else None
        return [self._transactions.handle(current, noted_ms)]

    async def close(self) -> None:
        if self._current is not None:
            await self._transactions.abort(self._current)
        await self._transactions.close()


class _TransactionCommitter(Committer):
    """Commits by id, whoever wrote."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            try:
                await self._transactions.commit(request.committable)
            except TransactionFailedError as error:
                request.signal_failed_with_unknown_reason(str(error))
            except StoreUnavailableError:
                request.retry_later()

    async def close(self) -> None:
        await self._transactions.close()


def notable(before_ms: int | None, watermark: Watermark) -> int | None:
    """The time to note: neither the beginning nor the end of time, and never back."""
    at_ms = watermark.timestamp_ms
    if at_ms < 0 or at_ms >= MAX_TIMESTAMP_MS:
        return before_ms
    return at_ms if before_ms is None else max(before_ms, at_ms)
