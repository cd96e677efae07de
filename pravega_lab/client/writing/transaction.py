"""Provide `AsyncTransaction`: events that become readable together or never (pravega.md A10).

`sync.Transaction` states the contract.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias
from uuid import UUID

from pravega_lab.client.context import StreamContext
from pravega_lab.client.controller.calls import NO_TIME
from pravega_lab.client.framing.events import prepare
from pravega_lab.client.values import LEASE_MS_MAX, LEASE_MS_MIN, TransactionState
from pravega_lab.client.writing.appends import Appends
from pravega_lab.errors import (
    BadInputError,
    PravegaError,
    StoreFullError,
    StoreUnavailableError,
    TransactionFailedError,
)
from pravega_lab.portable.waiting import cancel_all
from pravega_lab.protocol.names import SegmentRange, transaction_segment_name

if TYPE_CHECKING:
    from pravega_lab.client.values import Events, Keys

POLL_S = 0.02
POLL_S_MAX = 0.5
_FINAL = (TransactionState.COMMITTED, TransactionState.ABORTED, TransactionState.UNKNOWN)


async def begin(context: StreamContext, lease_ms: int, left: Left | None = None) -> AsyncTransaction:
    """Begin a transaction and the renewal of its lease. ``left`` is called when nothing is left to close."""
    if not isinstance(lease_ms, int) or not LEASE_MS_MIN <= lease_ms <= LEASE_MS_MAX:
        raise BadInputError(f"lease_ms={lease_ms!r}: a lease is {LEASE_MS_MIN} to {LEASE_MS_MAX} ms")
    txn_id, segments = await context.controller.create_transaction(context.name, lease_ms)
    return AsyncTransaction(context, txn_id, segments, lease_ms, left)


Left: TypeAlias = "Callable[[AsyncTransaction], object]"


class TransactionTarget:
    """Provides the transaction's own segments. If one is sealed, the transaction is over."""

    def __init__(self, context: StreamContext, txn_id: UUID, segments: list[SegmentRange]) -> None:
        self._context = context
        self._txn_id = txn_id
        self._segments = segments

    async def first_segments(self) -> list[SegmentRange]:
        """Return the segments that were active when the transaction began."""
        return self._segments

    async def successors(self, segment_id: int) -> list[SegmentRange]:
        """Raise `TransactionFailedError`, because the transaction is over."""
        state = await self._context.controller.transaction_state(self._context.name, self._txn_id)
        raise _failed(self._context, self._txn_id, state, "write")

    def segment_name(self, segment_id: int) -> str:
        """Return the name of the transaction's own segment on the wire."""
        return transaction_segment_name(self._context.segment_name(segment_id), self._txn_id)


class AsyncTransaction:
    """Implements `sync.Transaction` with asyncio, under the same contract.

    Without ``segments`` it is a handle by id, which cannot write.
    """

    def __init__(
        self,
        context: StreamContext,
        txn_id: UUID,
        segments: list[SegmentRange] | None = None,
        lease_ms: int = LEASE_MS_MAX,
        left: Left | None = None,
    ) -> None:
        self._left = left
        self.txn_id = txn_id
        self._context = context
        self._lease_ms = lease_ms
        self._appends: Appends | None = None
        self._renewing: asyncio.Task[None] | None = None
        if segments is not None:
            self._appends = Appends(context, TransactionTarget(context, txn_id, segments))
            self._renewing = asyncio.get_running_loop().create_task(self._renew())

    @property
    def appends(self) -> Appends | None:
        """Return what takes single events without waiting, None for a handle by id."""
        return self._appends

    async def write(self, events: Events, keys: Keys = None) -> int:
        """Queue events, and return their number. `flush` waits until they are durable."""
        if self._appends is None:
            raise BadInputError(
                f"transaction {self.txn_id} takes no events here: it was taken up by its id, "
                "or written to its end"
            )
        if self._appends.add(events, keys):
            return 1
        batch = prepare(events, keys, self._context.chance)
        await self._appends.put(batch)
        return len(batch)

    async def flush(self) -> None:
        """Wait until all events written before are durable."""
        if self._appends is not None:
            await self._appends.flush()

    async def end_writing(self) -> None:
        """Flush, and close the connections: another handle commits or aborts the transaction.

        The lease is renewed until the transaction has ended. Then nothing of it is left to close.
        """
        await self.flush()
        if self._appends is not None:
            await self._appends.close()
            self._appends = None  # a lease may be renewed for minutes, and what wrote is large
        if self._renewing is not None and self._left is not None:
            left = self._left
            self._renewing.add_done_callback(lambda _: left(self))

    async def commit(
        self, wait: bool = False, *, timestamp: int | None = None, writer: str | None = None
    ) -> None:
        """Flush and commit. With ``wait``, return when the events are readable."""
        noted = _noted(self._context, timestamp, writer)
        try:
            await self.flush()
        except PravegaError as error:
            await self._explain(error)
            raise
        await self._context.controller.commit_transaction(self._context.name, self.txn_id, *noted)
        await self.close()
        if wait:
            await self.wait_until(TransactionState.COMMITTED)

    async def _explain(self, error: PravegaError) -> None:
        """Raise `TransactionFailedError` if the end of the transaction caused ``error``."""
        if isinstance(error, (StoreUnavailableError, TransactionFailedError)):
            return
        state = await self.state()
        if state is not TransactionState.OPEN:
            raise _failed(self._context, self.txn_id, state, "commit") from error

    async def abort(self) -> None:
        """Abort, so that no event of the transaction becomes readable."""
        await self.close()
        await self._context.controller.abort_transaction(self._context.name, self.txn_id)

    async def state(self) -> TransactionState:
        """Return the transaction's state at the controller."""
        return await self._context.controller.transaction_state(self._context.name, self.txn_id)

    async def wait_until(
        self, state: TransactionState = TransactionState.COMMITTED, *, timeout_s: float = 120.0
    ) -> None:
        """Wait until the transaction has reached a state, ``timeout_s`` seconds at most."""
        loop = asyncio.get_running_loop()
        end, pause_s = loop.time() + timeout_s, POLL_S
        while (now := await self.state()) != state:
            if now in _FINAL:
                raise _failed(self._context, self.txn_id, now, f"wait for {state.name}")
            if loop.time() + pause_s > end:
                raise StoreUnavailableError(
                    f"transaction {self.txn_id} is still {now.name} after {timeout_s:g} s; ask state() later"
                )
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 1.5, POLL_S_MAX)

    async def close(self) -> None:
        """Stop renewing the lease and close the connections, without a commit or an abort."""
        if self._left is not None:
            self._left(self)
        renewing, self._renewing = self._renewing, None
        try:
            if renewing is not None:
                await cancel_all(renewing)
        finally:  # also when this call is cancelled
            if self._appends is not None:
                await self._appends.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                await self.commit(wait=True)
            else:
                await self._abort_after(error)
        finally:
            await self.close()

    async def _abort_after(self, error: BaseException) -> None:
        """Abort because of ``error``. If the abort fails, add a note to ``error``; the lease then expires."""
        try:
            await self.abort()
        except PravegaError as also:
            error.add_note(f"transaction {self.txn_id} was not aborted: {also}")

    async def _renew(self) -> None:
        """Renew the lease at half its time, until the controller has nothing to renew.

        After a failed renewal little of the lease may be left, so the next attempt follows sooner.
        """
        renewed, pause_s = True, self._lease_ms / 2000
        while renewed:
            await asyncio.sleep(pause_s)
            pause_s = self._lease_ms / 2000
            try:
                renewed = await self._context.controller.ping_transaction(
                    self._context.name, self.txn_id, self._lease_ms
                )
            except (StoreUnavailableError, StoreFullError):
                pause_s = self._lease_ms / 20_000  # the lease may outlast the outage
            except PravegaError:
                return


def _noted(context: StreamContext, timestamp: int | None, writer: str | None) -> tuple[str, int]:
    """Return the writer and the time that a commit notes.

    A commit without a time names no writer. The controller would take a named writer without a time for one
    that lags, and hold all time windows back until that writer had been silent for long enough.
    """
    if timestamp is None:
        return "", NO_TIME
    if not NO_TIME < timestamp < 2**63:
        raise BadInputError(
            f"commit(timestamp={timestamp}): a time is a whole number of 64 bits, and not the least of them"
        )
    return writer or context.transaction_writer, timestamp


def _failed(
    context: StreamContext, txn_id: UUID, state: TransactionState, what: str
) -> TransactionFailedError:
    return TransactionFailedError(
        f"{what}: transaction {txn_id} on {context.name} is {state.name}; write its events in a new one",
        state,
    )
