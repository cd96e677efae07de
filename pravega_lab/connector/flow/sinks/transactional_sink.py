"""(f) Exactly once: the sink writes into transactions, and the job's checkpoints commit them.

The two forms are `PravegaWriter` for `TwoPhaseCommitSink`, and `PravegaTransactionalSink` for FLIP-191, which
also runs in batch mode. While its subtask runs, a transaction's lease is renewed, also between pre-commit and
commit. After a failure no process renews it, so the lease has to be longer than the recovery takes. When a
commit fails because the lease ran out, flink-connectors ignore the error and silently lose the data. Here the
job fails.

A store only accepts a commit, and carries it out afterwards. Pravega 0.13.0 can leave a transaction in
COMMITTING for good, if another one of the stream is committed at the same moment. So a commit counts when its
events can be read. If that never happens, the job fails, and its checkpoint still has the transaction.

A store remembers for 24 h how a transaction ended (pravega.md A10). A job that resumes from an older
savepoint commits its transactions again, and the store answers UNKNOWN: the data is in the stream, or it is
lost. The job fails, unless the user has looked and sets ``skips_forgotten``.
"""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Sequence
from math import inf
from typing import Any
from uuid import UUID

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.values import LEASE_MS_MAX, TransactionState
from pravega_lab.client.writing.transaction import AsyncTransaction
from pravega_lab.connector.flow.config import PravegaConfig
from pravega_lab.connector.flow.events import RowEvents
from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.elements import MAX_TIMESTAMP_MS, Watermark
from pravega_lab.engine.flow.errors import IllegalStateError, LostTransactionError
from pravega_lab.engine.flow.sink.committers import CommitError
from pravega_lab.engine.flow.sink.sinks import (
    CommitRequest,
    Committer,
    Sink,
    SinkContext,
    SinkWriter,
    TwoPhaseCommitSink,
)
from pravega_lab.errors import StoreUnavailableError, TransactionFailedError

_log = logging.getLogger(__name__)

COMMITTED_S_MAX = 120.0
"""How long a sink waits until the store has carried out a commit that it accepted."""

_LEAVING_OUT = "give the sink another uid, and restore with allow_non_restored_state=True"

Handle = list[Any]
"""What a checkpoint stores of a transaction: its id, the watermark to note or None, and the writer's name."""


class Transactions:
    """The transactions of one subtask: those that it began, by id, and how a handle is committed or aborted.

    A handle may come from another subtask or process.
    """

    def __init__(self, client: AsyncClient, stream: str, lease_ms: int, writer: str) -> None:
        self._client, self._stream = client, client.stream(stream)
        self._lease_ms, self._writer = lease_ms, writer
        self._open: dict[str, AsyncTransaction] = {}

    async def begin(self) -> str:
        """Begin a transaction and return its id. Its lease is renewed from now on."""
        found = await self._stream.begin_transaction(self._lease_ms)
        self._open[str(found.txn_id)] = found
        return str(found.txn_id)

    def handle(self, txn_id: str, watermark_ms: int | None) -> Handle:
        """Return the handle of a transaction of this writer."""
        return [txn_id, watermark_ms, self._writer]

    async def write(self, txn_id: str, events: Sequence[bytes], keys: Sequence[str] | None) -> None:
        """Write events into an open transaction of this subtask."""
        await self._open[txn_id].write(list(events), None if keys is None else list(keys))

    async def flush(self, txn_id: str) -> None:
        """Wait until everything in the transaction is durable."""
        await self._open[txn_id].flush()

    async def hand_over(self, txn_id: str) -> None:
        """Make the transaction durable. Another object, which may be in another process, commits its handle.

        Its lease is renewed until then, or until `close`.
        """
        await self._open.pop(txn_id).end_writing()

    async def commit(self, handle: Handle) -> None:
        """Commit a transaction, also again, also one of another subtask or process.

        The store has then accepted the commit; see `wait_until_committed`.

        Raises:
            TransactionFailedError: Its lease ran out before, and its data is lost. Or the store does not know
                it any more (``state`` is UNKNOWN).
        """
        txn_id, watermark_ms, writer = handle
        transaction = self._open.pop(txn_id, None) or self._stream.transaction(UUID(txn_id))
        try:
            await transaction.commit(timestamp=watermark_ms, writer=writer)
        except TransactionFailedError as error:
            raise TransactionFailedError(f"{error}. {self._consequence(error)}", error.state) from error
        finally:
            await transaction.close()

    async def wait_until_committed(self, handle: Handle) -> None:
        """Wait until the events of a transaction can be read, after its commit was accepted.

        Raises:
            CommitError: They cannot be read after `COMMITTED_S_MAX`.
        """
        transaction = self._stream.transaction(UUID(handle[0]))
        try:
            async with asyncio.timeout(COMMITTED_S_MAX):
                await transaction.wait_until(TransactionState.COMMITTED, timeout_s=inf)
        except TimeoutError:
            raise CommitError(
                f"transaction {handle[0]} is not COMMITTED {COMMITTED_S_MAX:g} s after the store has accepted"
                " its commit. None of its events can be read yet, and the job does not continue without them:"
                " after a restart it waits again. If the state never changes, write the output again from an"
                f" older savepoint into a new stream. Or continue without these events: {_LEAVING_OUT}"
            ) from None

    def _consequence(self, error: TransactionFailedError) -> str:
        if is_forgotten(error):
            return (
                "The store remembers for 24 h how a transaction ended. If the events are in the stream, it "
                "was committed, and the sink's option skips_forgotten=True leaves it out. If they are not, "
                f"its lease ({self._lease_ms} ms) ran out, and its data is lost"
            )
        return (
            f"Its data is lost: the lease ({self._lease_ms} ms) has to be longer than the time between two "
            f"checkpoints and a recovery together. To continue without it, {_LEAVING_OUT}"
        )

    async def abort(self, txn_id: str) -> None:
        """Abort a transaction, unless it has already ended."""
        transaction = self._open.pop(txn_id, None) or self._stream.transaction(UUID(txn_id))
        try:
            await transaction.abort()
        except TransactionFailedError:
            return  # it has already ended
        finally:
            await transaction.close()

    async def close(self) -> None:
        """Release all transactions. One that was pre-committed can be committed until its lease ends."""
        for transaction in self._open.values():
            await transaction.close()
        await self._client.close()


class PravegaWriter(TwoPhaseCommitSink):
    """Writes rows to a stream exactly once, as a `TwoPhaseCommitSink` (upstream ``FlinkPravegaWriter``).

    Args:
        stream: ``scope/stream``, or a name in the default scope.
        lease_ms: 10,000 to 600,000. It is not renewed between a failure and the recovery.
        propagates_watermarks: Each commit notes the watermark, for readers' time windows.
        skips_forgotten: Leave out a restored transaction of which the store does not know any more whether
            it was committed, and log an error. Otherwise the job fails. Set it to resume from a savepoint
            that is older than 24 h, after looking whether the events are in the stream.
    """

    def __init__(
        self,
        config: PravegaConfig,
        stream: str,
        *,
        events: RowEvents | None = None,
        lease_ms: int = LEASE_MS_MAX,
        propagates_watermarks: bool = False,
        skips_forgotten: bool = False,
    ) -> None:
        self.config, self.stream = config, config.resolve(stream)
        self.events = events or RowEvents()
        self.transaction_timeout_ms = lease_ms
        self.propagates_watermarks, self.skips_forgotten = propagates_watermarks, skips_forgotten
        self._lease_ms = lease_ms
        self._watermark_ms: int | None = None
        self._transactions: Transactions

    def __deepcopy__(self, memo: dict[int, Any]) -> PravegaWriter:
        made = copy.copy(self)
        memo[id(self)] = made
        return made

    def open(self, context: SinkContext) -> None:
        """Connect to the store.

        Raises:
            IllegalStateError: The job takes no checkpoints.
        """
        if not context.is_checkpointing:
            raise IllegalStateError("Enable checkpointing to use the exactly-once writer mode.")
        client = self.config.client(f"{context.task_name} sink")
        writer = f"{context.unique_id()}-{context.subtask_index}"
        self._transactions = Transactions(client, self.stream, self._lease_ms, writer)

    async def begin(self) -> Handle:
        """Begin a transaction and return its handle."""
        return self._transactions.handle(await self._transactions.begin(), None)

    async def write(self, transaction: Handle, batch: Batch) -> None:
        """Write the rows of a batch into the transaction."""
        await self._transactions.write(transaction[0], *self.events.of(batch))

    def write_watermark(self, watermark: Watermark) -> None:
        """Remember the watermark for the next pre-commit."""
        self._watermark_ms = notable(self._watermark_ms, watermark)

    async def pre_commit(self, transaction: Handle) -> None:
        """Make the transaction durable, and put the watermark into its handle."""
        await self._transactions.flush(transaction[0])
        if self.propagates_watermarks:
            transaction[1] = self._watermark_ms

    async def commit(self, transaction: Handle) -> None:
        """Commit the transaction, also again.

        Raises:
            LostTransactionError: It can never be committed; see `Transactions.commit`.
            CommitError: Its events cannot be read; see `Transactions.wait_until_committed`.
        """
        try:
            await self._transactions.commit(transaction)
            await self._transactions.wait_until_committed(transaction)
        except TransactionFailedError as error:
            raise LostTransactionError(str(error)) from error

    async def recover_and_commit(self, transaction: Handle) -> None:
        """Commit the transaction after a restore.

        Raises:
            LostTransactionError: See `commit`. With ``skips_forgotten``, UNKNOWN is logged.
            CommitError: See `commit`.
        """
        try:
            await self._transactions.commit(transaction)
            await self._transactions.wait_until_committed(transaction)
        except TransactionFailedError as error:
            if not (self.skips_forgotten and is_forgotten(error)):
                raise LostTransactionError(str(error)) from error
            _log.error("transaction %s was left out: %s", transaction[0], error)

    async def abort(self, transaction: Handle) -> None:
        """Abort the transaction, unless it has already ended."""
        await self._transactions.abort(transaction[0])

    async def close(self) -> None:
        """Close the client. A pre-committed transaction can be committed until its lease ends."""
        if hasattr(self, "_transactions"):
            await self._transactions.close()


class PravegaTransactionalSink(Sink):
    """Writes rows to a stream exactly once, in the form of FLIP-191. The arguments are those of
    `PravegaWriter`.
    """

    def __init__(
        self,
        config: PravegaConfig,
        stream: str,
        *,
        events: RowEvents | None = None,
        lease_ms: int = LEASE_MS_MAX,
        propagates_watermarks: bool = False,
        skips_forgotten: bool = False,
    ) -> None:
        self.config, self.stream = config, config.resolve(stream)
        self.events = events or RowEvents()
        self.lease_ms, self.propagates_watermarks = lease_ms, propagates_watermarks
        self.skips_forgotten = skips_forgotten

    def transactions(self, context: SinkContext, role: str) -> Transactions:
        """Return the transactions of one subtask, with a client that belongs to them."""
        writer = f"{context.unique_id()}-{context.subtask_index}"
        client = self.config.client(f"{context.task_name} {role}")
        return Transactions(client, self.stream, self.lease_ms, writer)

    def create_writer(self, context: SinkContext, restored: Sequence[Any]) -> SinkWriter:
        """Return the writer of one subtask. It has no state to restore."""
        return _TransactionalWriter(self, context)

    def create_committer(self, context: SinkContext) -> Committer:
        """Return the committer of one subtask."""
        return _TransactionCommitter(self.transactions(context, "committer"), self.skips_forgotten)


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
        await self._transactions.hand_over(current)
        noted_ms = self._watermark_ms if self._sink.propagates_watermarks else None
        return [self._transactions.handle(current, noted_ms)]

    async def close(self) -> None:
        if self._current is not None:
            await self._transactions.abort(self._current)
        await self._transactions.close()


class _TransactionCommitter(Committer):
    """Commits transactions by id, also those of other subtasks."""

    def __init__(self, transactions: Transactions, skips_forgotten: bool) -> None:
        self._transactions, self._skips_forgotten = transactions, skips_forgotten

    async def commit(self, requests: Sequence[CommitRequest]) -> None:
        lost: TransactionFailedError | None = None
        accepted: list[CommitRequest] = []
        for request in requests:
            try:
                await self._transactions.commit(request.committable)
                accepted.append(request)
            except TransactionFailedError as error:
                if self._skips_forgotten and is_forgotten(error):
                    request.signal_failed_with_known_reason(str(error))  # logged and left out
                else:
                    lost = lost or error
            except StoreUnavailableError:
                request.retry_later()
        for request in accepted:
            try:
                await self._transactions.wait_until_committed(request.committable)
            except StoreUnavailableError:
                request.retry_later()
        if lost is not None:  # only after the others were committed
            raise LostTransactionError(str(lost)) from lost

    async def close(self) -> None:
        await self._transactions.close()


def is_forgotten(error: TransactionFailedError) -> bool:
    """Return whether the store does not know any more how the transaction ended."""
    return error.state is TransactionState.UNKNOWN


def notable(before_ms: int | None, watermark: Watermark) -> int | None:
    """Return the time to note: never the minimum or maximum time, and never earlier than ``before_ms``."""
    at_ms = watermark.timestamp_ms
    if at_ms < 0 or at_ms >= MAX_TIMESTAMP_MS:
        return before_ms
    return at_ms if before_ms is None else max(before_ms, at_ms)
