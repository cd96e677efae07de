"""Carries out the steps that `register.decide` returns: reads, conditional puts, commits, aborts, waits.

The process may die at any line, and another driver may do the same at the same time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol, TypeVar
from uuid import UUID

from pravega_lab.connector.spark.sink.register import (
    Abort,
    Commit,
    Fate,
    Finished,
    Look,
    Put,
    Record,
    Step,
    abortable,
    decide,
)
from pravega_lab.errors import (
    ConditionFailedError,
    PravegaError,
    SinkConflictError,
    StoreUnavailableError,
    TransactionFailedError,
)

if TYPE_CHECKING:
    from pravega_lab.client import Stream, Table

T = TypeVar("T")
R = TypeVar("R")

#: How long to wait until the store has carried out a commit or an abort that it accepted.
SETTLE_S_MAX = 600.0
_AT_ONCE = 16


class Register(Protocol):
    """Where the record of one sink is stored."""

    def read(self) -> tuple[Record | None, int]:
        """Return the record, or ``None``, and the version that `put` expects."""

    def put(self, record: Record, version: int) -> None:
        """Replace the record of that version. Raises `ConditionFailedError` if the version has changed."""


class TableRegister:
    """Keeps the record of one sink in the register table of a scope."""

    def __init__(self, table: Table, sink_id: str) -> None:
        self._table = table
        self._key = sink_id.encode()

    def read(self) -> tuple[Record | None, int]:
        """Return the record, or ``None``, and its version."""
        from pravega_lab.client import NOT_EXISTS

        found = self._table.get(self._key)
        return (Record.from_bytes(found.value), found.version) if found else (None, NOT_EXISTS)

    def put(self, record: Record, version: int) -> None:
        """Replace the record of that version. Raises `ConditionFailedError` if the version has changed."""
        self._table.put(self._key, record.to_bytes(), version)


class PassingRegister:
    """A record in memory, for a batch job without ``sink_id``, which no later run can identify."""

    def __init__(self) -> None:
        self._record: Record | None = None

    def read(self) -> tuple[Record | None, int]:
        """Return the record, or ``None``, and version 0."""
        return self._record, 0

    def put(self, record: Record, version: int) -> None:
        """Replace the record. Every version matches."""
        self._record = record


class Settlement:
    """Brings one batch into ``stream`` exactly once.

    Args:
        poll_s: Seconds between two requests for the state of a transaction.
    """

    def __init__(self, stream: Stream, register: Register, *, poll_s: float) -> None:
        self._stream = stream
        self._register = register
        self._poll_s = poll_s

    def settle(self, wanted: Record) -> None:
        """Commit the batch of ``wanted``. Blocks until it is in the stream.

        On return, each transaction of ``wanted`` is either part of the batch or aborted.

        Raises:
            SinkConflictError: The batch cannot be completed; see `register.decide`. The transactions of
                ``wanted`` that are not recorded are aborted.
            StoreUnavailableError: The outcome is unknown. Spark repeats the batch after a restart.
        """
        while True:
            record, version = self._register.read()
            try:
                step = self._decide(record, wanted)
            except SinkConflictError:  # Spark asks for the abort too, unless this driver is an old one
                self.abort(abortable(record, wanted.batch, wanted.transactions))
                raise
            if isinstance(step, Finished):
                self.abort(step.unneeded)
                return
            self._take(step, version)

    def abort(self, transactions: Sequence[UUID]) -> None:
        """Abort transactions that are not needed. One that cannot be aborted now ends with its lease."""
        _each(self._abort_one, transactions)

    def _decide(self, record: Record | None, wanted: Record) -> Step:
        now_ms = time.time_ns() // 1_000_000
        step = decide(record, wanted, None, now_ms=now_ms)
        if isinstance(step, Look):
            step = decide(record, wanted, self._fates(step.transactions), now_ms=now_ms)
        return step

    def _take(self, step: Step, version: int) -> None:
        match step:
            case Put(record):
                # another driver was faster: read the record again
                with contextlib.suppress(ConditionFailedError):
                    self._register.put(record, version)
            case Commit(transactions):
                _each(self._commit_one, transactions)
                self._wait(transactions, (Fate.COMMITTING,))
            case Abort(transactions):
                _each(self._abort_one, transactions)
                self._wait(transactions, (Fate.OPEN, Fate.ABORTING))

    def _commit_one(self, transaction: UUID) -> None:
        with contextlib.suppress(TransactionFailedError):  # `decide` reads its fate next
            self._stream.transaction(transaction).commit()

    def _abort_one(self, transaction: UUID) -> None:
        with contextlib.suppress(PravegaError):
            self._stream.transaction(transaction).abort()

    def _wait(self, transactions: Sequence[UUID], passing: tuple[Fate, ...]) -> None:
        deadline = time.monotonic() + SETTLE_S_MAX
        left: Iterable[UUID] = transactions
        while left := [txn for txn, fate in self._fates(left).items() if fate in passing]:
            if time.monotonic() > deadline:
                raise StoreUnavailableError(
                    f"{self._stream.scoped_name}: transactions {', '.join(map(str, left))} are still "
                    f"{passing[-1].value} after {SETTLE_S_MAX:g} s. The batch is recorded: restart the query"
                )
            time.sleep(self._poll_s)

    def _fates(self, transactions: Iterable[UUID]) -> Mapping[UUID, Fate]:
        ids = list(transactions)
        return dict(zip(ids, _each(self._fate, ids), strict=True))

    def _fate(self, transaction: UUID) -> Fate:
        state = self._stream.transaction(transaction).state().name
        return Fate.GONE if state == "ABORTED" else Fate[state]


def _each(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Return ``function(item)`` of every item, several at a time. The first error is raised after all have
    ended.
    """
    if len(items) < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(min(_AT_ONCE, len(items))) as pool:
        return list(pool.map(function, items))
