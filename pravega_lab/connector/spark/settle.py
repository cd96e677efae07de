"""Carries out what `register.decide` says, against a store: reads, conditional puts, commits, aborts, waits.

Everything here may stop at any line, and another driver may do the same at the same time.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol, TypeVar
from uuid import UUID

from ...errors import ConditionFailedError, PravegaError, StoreUnavailableError, TransactionFailedError
from .register import Abort, Commit, Fate, Finished, Look, Put, Record, Step, decide

if TYPE_CHECKING:
    from ...client import Stream, Table

T = TypeVar("T")
R = TypeVar("R")

#: The table segment in the output's scope that holds a record per sink.
REGISTER_TABLE = "spark-sinks"
#: A store that has accepted a commit or an abort carries it out; this long is waited for it.
SETTLE_S_MAX = 600.0
_AT_ONCE = 16


class Register(Protocol):
    """Where the record of one sink lies."""

    def read(self) -> tuple[Record | None, int]:
        """The record and its version, which `put` wants to see again."""

    def put(self, record: Record, version: int) -> None:
        """Replace the record of that version. Raises `ConditionFailedError` if it is no longer there."""


class TableRegister:
    """The record of one sink in the register table of a scope."""

    def __init__(self, table: Table, sink_id: str) -> None:
        self._table = table
        self._key = sink_id.encode()

    def read(self) -> tuple[Record | None, int]:
        from ...client import NOT_EXISTS

        found = self._table.get(self._key)
        return (Record.from_bytes(found.value), found.version) if found else (None, NOT_EXISTS)

    def put(self, record: Record, version: int) -> None:
        self._table.put(self._key, record.to_bytes(), version)


class PassingRegister:
    """A record that nobody else sees: for a batch job, which has no identity to come back to."""

    def __init__(self) -> None:
        self._record: Record | None = None

    def read(self) -> tuple[Record | None, int]:
        return self._record, 0

    def put(self, record: Record, version: int) -> None:
        self._record = record


class Settlement:
    """Brings one batch into ``stream`` exactly once.

    Args:
        poll_s: Pause between two questions for a transaction's state, in seconds.
    """

    def __init__(self, stream: Stream, register: Register, *, poll_s: float) -> None:
        self._stream = stream
        self._register = register
        self._poll_s = poll_s

    def settle(self, wanted: Record) -> None:
        """Returns when the batch of ``wanted`` is in the stream and its newcomers are either used or aborted.

        Raises:
            SinkConflictError: It cannot be; see `register.decide`.
            StoreUnavailableError: Unknown how far it came; Spark repeats the batch after a restart.
        """
        while True:
            record, version = self._register.read()
            step = self._decide(record, wanted)
            if isinstance(step, Finished):
                self.abort(step.unneeded)
                return
            self._take(step, version)

    def abort(self, transactions: Sequence[UUID]) -> None:
        """Abort what nobody needs; what cannot be aborted now ends with its lease."""
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
                with contextlib.suppress(ConditionFailedError):  # another driver was first: look again
                    self._register.put(record, version)
            case Commit(transactions):
                _each(self._commit_one, transactions)
                self._wait(transactions, (Fate.COMMITTING,))
            case Abort(transactions):
                _each(self._abort_one, transactions)
                self._wait(transactions, (Fate.OPEN, Fate.ABORTING))

    def _commit_one(self, transaction: UUID) -> None:
        with contextlib.suppress(TransactionFailedError):  # its fate is read next, and decided on
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
    """``function`` of every item, several at a time; the first error is raised when all have ended."""
    if len(items) < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(min(_AT_ONCE, len(items))) as pool:
        return list(pool.map(function, items))
