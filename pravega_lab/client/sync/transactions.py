"""Provide `Transaction`: events that become readable together or never."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from pravega_lab.client.loop_thread import OfThisProcess, keep_to_this_process
from pravega_lab.client.sync.core import collect_soon, refuse, run
from pravega_lab.client.values import TransactionState
from pravega_lab.client.writing.event_buffer import Added

if TYPE_CHECKING:
    from uuid import UUID

    from pravega_lab.client.values import Events, Keys
    from pravega_lab.client.writing.transaction import AsyncTransaction


_TAKEN, _WANTED = Added.TAKEN, Added.WANTED  # looked up once, not for every event


class Transaction(OfThisProcess):
    """Writes events that become readable together, or never (pravega.md A10).

    Leaving its ``with`` block commits and waits for ``COMMITTED``; an error in the block aborts.
    """

    def __init__(self, core: AsyncTransaction) -> None:
        self._core = core
        keep_to_this_process(self)
        self._add = refuse if core.appends is None else core.appends.buffer.add
        self.txn_id: UUID = core.txn_id

    def write(self, events: Events, keys: Keys = None) -> int:
        """Write events to the transaction. See `EventWriter.write`.

        Raises:
            TransactionFailedError: It was aborted or its lease ended.
            BadInputError: This handle came from `Stream.transaction`, which cannot write, or its
                writing has ended.
        """
        try:
            added = self._add(events, keys)
            if added is _TAKEN:
                return 1
            if added is _WANTED:
                return collect_soon(self._core.appends)
        except BaseException:  # an interrupt: the buffer reports the event only once
            collect_soon(self._core.appends)
            raise
        return run(self._core.write(events, keys))

    def flush(self) -> None:
        """Wait until all events taken so far are durable in the transaction."""
        run(self._core.flush())

    def end_writing(self) -> None:
        """Flush and close the connections: another handle, also of another process, ends the transaction.

        This process renews the lease until the transaction has ended, or until `close`.
        """
        run(self._core.end_writing())
        self._add = refuse

    def commit(self, wait: bool = False, *, timestamp: int | None = None, writer: str | None = None) -> None:
        """Flush and commit. Without ``wait`` the events may not be readable yet (``COMMITTING``).

        Committing a committed transaction does nothing.

        Args:
            timestamp: What `EventWriter.note_time` takes, noted together with the commit: what its writer
                commits after this is of that time or later. An earlier one than before is not noted.
            writer: Whose time that is: the same name in each of its transactions. By default those of this
                client are one writer. Readers see the time of the slowest writer that still notes times.

        Raises:
            TransactionFailedError: It was aborted or its lease ended; none of its events can be read.
            BadInputError: ``timestamp`` is no number of 64 bits, or the least of them.
        """
        run(self._core.commit(wait, timestamp=timestamp, writer=writer))

    def abort(self) -> None:
        """Drop its events. Aborting an aborted transaction does nothing.

        Raises:
            TransactionFailedError: It is committed already (``state`` says so: the events are there).
        """
        run(self._core.abort())

    def state(self) -> TransactionState:
        """Return its present state from the controller."""
        return run(self._core.state())

    def wait_until(
        self, state: TransactionState = TransactionState.COMMITTED, *, timeout_s: float = 120.0
    ) -> None:
        """Wait for a final state.

        Raises:
            TransactionFailedError: It ended in the other one.
            StoreUnavailableError: Still undecided after ``timeout_s`` seconds.
        """
        run(self._core.wait_until(state, timeout_s=timeout_s))

    def close(self) -> None:
        """Close its connections and stop renewing its lease, without ending it. Its id can be resumed."""
        run(self._core.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run(self._core.__aexit__(kind, error, trace))
