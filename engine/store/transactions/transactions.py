"""Transactions: created, pinged, committed, aborted, forgotten (pravega.md A10).

A commit call only queues the transaction (COMMITTING). ``commits`` merges it afterwards, at the next tick.
An abort is one step. The table in ``metadata.states`` says which act is legal, and ``leases`` how long a
transaction stays open.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import replace
from uuid import UUID

from pravega_lab.protocol.controller import controller_pb2 as pb

from ..errors import StorageError
from ..log.operations import Delete
from ..log_fields import log_fields
from ..metadata import records as rec
from ..metadata.catalog import Catalog, StreamEntry, segment_range
from ..metadata.metadata import Change, Metadata
from ..metadata.states import (
    IllegalMoveError,
    StreamAct,
    TransactionAct,
    TransactionState,
    after_stream,
    after_transaction,
)
from . import commits
from .leases import (
    EXPIRED_MAX,
    LEASE_MS_MAX,
    RUST_LEASE_MS,
    Leases,
    TransactionKey,
    check_lease,
    execution_ms_max,
    granted_lease_ms,
)

log = logging.getLogger(__name__)

REMEMBERED_MS = 24 * 3_600_000
"""How long an ended transaction is known. Afterwards its state is UNKNOWN (pravega.md A10)."""

FORGOTTEN_MAX = 1000
"""Ended transactions that are forgotten before others have a turn."""

COUNTERS_RESERVED = 1_000
"""Ids are reserved in blocks. A restart uses none twice, and most creations write only one record."""

RETRY_MS = 1_000
"""Pause after the storage refused a merge, an abort or a removal, on a full disk for example."""

_LOW_64 = (1 << 64) - 1
_ENDED = (TransactionState.COMMITTED, TransactionState.ABORTED)


class Transactions:
    """The calls on transactions, and what happens to transactions by time alone."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        self._catalog: Catalog = metadata.catalog
        self._leases = Leases()
        self._next_counter = max(1, metadata.catalog.reserved_counters)
        self._to_commit: dict[tuple[str, str], None] = {}
        self._retry_ms = 0
        self._ended: deque[tuple[int, TransactionKey]] = deque()  # (ended_ms, which), oldest first
        metadata.watchers.append(self._follow)

    def start(self, now_ms: int) -> None:
        """Begin after a restart: leases are renewed in full, commits continue, ended transactions stay
        known.
        """
        ended: list[tuple[int, TransactionKey]] = []
        for stream in self._catalog.streams():
            for txn in stream.open:
                self._leases.renew(_key(stream, txn), stream.transactions[txn].lease_ms, now_ms=now_ms)
            if stream.committing:
                self._to_commit[stream.scope, stream.name] = None
            gone = (t for t in stream.transactions.values() if t.state in _ENDED)
            ended += [(t.now_ms, _key(stream, t.txn_id)) for t in gone]
        self._ended = deque(sorted(ended))

    # ---- calls ----------------------------------------------------------------------------------

    def create(self, request: pb.CreateTxnRequest, now_ms: int) -> pb.CreateTxnResponse:
        """Create a transaction and its segments."""
        stream = self._catalog.stream(request.streamInfo.scope, request.streamInfo.stream)
        check_lease(request.lease)
        after_stream(stream.scoped_name, stream.record.state, StreamAct.CREATE_TRANSACTION)
        active = stream.epochs.active
        parents = commits.parents(stream.epochs.epoch(active.reference_epoch), active.segments)
        change = Change()
        record = self._new_record(change, stream, active.reference_epoch, request.lease, now_ms)
        segments = commits.segment_names(stream, record.txn_id, parents)
        change.do(stream.creation(name) for name in segments)
        change.write(record)
        self._metadata.commit(change, now_ms=now_ms)
        return pb.CreateTxnResponse(
            txnId=_to_wire(record.txn_id), activeSegments=[segment_range(stream, p) for p in parents]
        )

    def commit(self, request: pb.TxnRequest, now_ms: int) -> pb.TxnStatus:
        """Queue the transaction for its commit. Its position in the order of commits is decided here."""
        status = pb.TxnStatus
        found = self._open_transaction(request, TransactionAct.COMMIT)
        if isinstance(found, pb.TxnStatus):
            return found
        stream, record, state = found
        if record.state is not state:
            change = Change()
            record = replace(record, state=state, order=stream.last_order + 1, now_ms=now_ms)
            change.write(replace(record, writer=request.writerId, timestamp=request.timestamp))
            self._metadata.commit(change, now_ms=now_ms)
        return status(status=status.SUCCESS)

    def abort(self, request: pb.TxnRequest, now_ms: int) -> pb.TxnStatus:
        """Abort an open transaction."""
        found = self._open_transaction(request, TransactionAct.ABORT)
        if isinstance(found, pb.TxnStatus):
            return found
        self._abort_now(found[0], found[1], now_ms)
        return pb.TxnStatus(status=pb.TxnStatus.SUCCESS)

    def _open_transaction(
        self, request: pb.TxnRequest, act: TransactionAct
    ) -> tuple[StreamEntry, rec.TransactionRecord, TransactionState] | pb.TxnStatus:
        """Return the stream and the transaction of a request with its state after the act, or the refusal."""
        status = pb.TxnStatus
        stream = self._catalog.find(request.streamInfo.scope, request.streamInfo.stream)
        if stream is None:
            return status(status=status.STREAM_NOT_FOUND)
        record = stream.transactions.get(_from_wire(request.txnId))
        if record is None:
            return status(status=status.FAILURE)
        try:
            state = after_transaction(_name(stream, record), record.state, act)
        except IllegalMoveError:
            return status(status=status.FAILURE)
        return stream, record, state

    def ping(self, request: pb.PingTxnRequest, now_ms: int) -> pb.PingTxnStatus:
        """Renew the lease of an open transaction from now.

        The Rust client, recognised by the only lease that it requests, stops renewing for ever at any
        response other than OK, COMMITTED and ABORTED (pravega.md E3-10). It receives ABORTED where other
        clients learn that the longest execution time is over, and for a transaction that existed and has
        been forgotten.
        """
        status = pb.PingTxnStatus
        stream = self._catalog.find(request.streamInfo.scope, request.streamInfo.stream)
        txn = _from_wire(request.txnId)
        record = stream.transactions.get(txn) if stream else None
        if stream is None or record is None:
            forgotten = request.lease == RUST_LEASE_MS and 0 < txn & _LOW_64 < self._next_counter
            return status(status=status.ABORTED if forgotten else status.UNKNOWN)
        if record.state is TransactionState.OPEN:
            return status(status=self._ping_open(stream, record, request.lease, now_ms))
        return status(status=status.ABORTED if record.state is TransactionState.ABORTED else status.COMMITTED)

    def state(self, request: pb.TxnRequest, now_ms: int) -> pb.TxnState:
        """Return the state of a transaction, UNKNOWN if it is forgotten or never existed."""
        stream = self._catalog.stream(request.streamInfo.scope, request.streamInfo.stream)
        record = stream.transactions.get(_from_wire(request.txnId))
        state = record.state if record else TransactionState.UNKNOWN
        return pb.TxnState(state=pb.TxnState.State.Name(state.value))

    def list_completed(self, request: pb.ListCompletedTxnRequest, now_ms: int) -> pb.ListCompletedTxnResponse:
        """Return the committed and aborted transactions of a stream, in the order in which they ended."""
        stream = self._catalog.stream(request.streamInfo.scope, request.streamInfo.stream)
        entry = pb.TxnResponse
        ended = sorted((t for t in stream.transactions.values() if t.state in _ENDED), key=lambda t: t.now_ms)
        return pb.ListCompletedTxnResponse(
            response=[entry(txnId=_to_wire(t.txn_id), status=t.state.name) for t in ended]
        )

    # ---- for other calls ------------------------------------------------------------------------

    def add_aborts(self, change: Change, stream: StreamEntry, now_ms: int) -> None:
        """Add to ``change`` the abort of every open transaction of a stream that is sealed or deleted."""
        for txn in list(stream.open):
            self._add_abort(change, stream, stream.transactions[txn], now_ms)

    def add_aborts_of(self, change: Change, stream: StreamEntry, most: int, now_ms: int) -> None:
        """Add to ``change`` the abort of up to ``most`` open transactions."""
        for txn in list(stream.open)[:most]:
            self._add_abort(change, stream, stream.transactions[txn], now_ms)

    def open_segments(self, stream: StreamEntry) -> list[str]:
        """Return the names of the segments that open transactions write to."""
        found = (_own_segments(stream, txn) for txn in stream.open)
        return [name for names in found for name in names]

    def finish_commits(self, stream: StreamEntry, now_ms: int) -> None:
        """Merge at once everything that is queued on ``stream``."""
        while stream.committing:
            self._commit_batch(stream, now_ms)

    # ---- time -------------------------------------------------------------------------------------

    def tick(self, now_ms: int) -> None:
        """Merge what is queued, abort what has expired, and forget what is old."""
        if now_ms >= self._retry_ms:
            for scope, name in list(self._to_commit):
                self._commit_queued(scope, name, now_ms)
        for key in self._leases.pop_expired(now_ms=now_ms, most=EXPIRED_MAX):
            self._expire(key, now_ms)
        if now_ms >= self._retry_ms:
            self._forget(now_ms)

    def next_deadline_ms(self) -> int | None:
        """Return when ``tick`` has something to do next. It is in the past while a commit is queued."""
        merge_ms = self._retry_ms if self._to_commit else None
        forget_ms = max(self._ended[0][0] + REMEMBERED_MS, self._retry_ms) if self._ended else None
        times = (merge_ms, self._leases.next_deadline_ms(), forget_ms)
        return min((t for t in times if t is not None), default=None)

    # ---- steps ------------------------------------------------------------------------------------

    def _new_record(
        self, change: Change, stream: StreamEntry, epoch: int, asked_ms: int, now_ms: int
    ) -> rec.TransactionRecord:
        counter = self._next_counter
        if counter >= self._catalog.reserved_counters:
            change.write(rec.CounterRecord(now_ms, counter + COUNTERS_RESERVED))
        self._next_counter += 1
        return rec.TransactionRecord(
            now_ms,
            stream.scope,
            stream.name,
            txn_id=epoch << 96 | counter,  # the low half stays below 2^63: Rust extends its sign
            state=TransactionState.OPEN,
            lease_ms=granted_lease_ms(asked_ms),
            created_ms=now_ms,
            execution_ends_ms=now_ms + execution_ms_max(asked_ms),
        )

    def _ping_open(
        self, stream: StreamEntry, record: rec.TransactionRecord, asked_ms: int, now_ms: int
    ) -> pb.PingTxnStatus.Status:
        status = pb.PingTxnStatus
        if asked_ms > LEASE_MS_MAX:
            return status.LEASE_TOO_LARGE
        if now_ms + asked_ms > record.execution_ends_ms:
            if asked_ms != RUST_LEASE_MS:
                return status.MAX_EXECUTION_TIME_EXCEEDED
            self._abort_now(stream, record, now_ms)
            return status.ABORTED
        self._leases.renew(_key(stream, record.txn_id), granted_lease_ms(asked_ms), now_ms=now_ms)
        return status.OK

    def _commit_queued(self, scope: str, name: str, now_ms: int) -> None:
        """Run one pass over a stream. It stays queued while there is more, or if the storage refuses."""
        stream = self._catalog.find(scope, name)
        try:
            if stream is not None and stream.committing:
                self._commit_batch(stream, now_ms)
        except StorageError as refusal:
            self._retry_ms = now_ms + RETRY_MS
            fields = log_fields("commit_retried", scope=scope, stream=name, retry_ms=RETRY_MS)
            log.warning(
                "%s/%s: commits are tried again in %d ms: %s", scope, name, RETRY_MS, refusal, extra=fields
            )
        if stream is None or not stream.committing:
            del self._to_commit[scope, name]

    def _expire(self, key: TransactionKey, now_ms: int) -> None:
        stream = self._catalog.find(key[0], key[1])
        record = stream.transactions.get(key[2]) if stream else None
        if stream is None or record is None or record.state is not TransactionState.OPEN:
            return
        fields = {"stream": stream.scoped_name, "transaction": UUID(int=record.txn_id)}
        log.info(
            "%s: its lease has expired, so it is aborted",
            _name(stream, record),
            extra=log_fields("transaction_expired", **fields),
        )
        try:
            self._abort_now(stream, record, now_ms)
        except StorageError as refusal:
            self._leases.renew(key, RETRY_MS, now_ms=now_ms)
            log.warning(
                "%s: aborting is tried again in %d ms: %s",
                _name(stream, record),
                RETRY_MS,
                refusal,
                extra=log_fields("abort_retried", retry_ms=RETRY_MS, **fields),
            )

    def _commit_batch(self, stream: StreamEntry, now_ms: int) -> None:
        change = commits.next_batch(stream, self._metadata.storage.length_ahead, now_ms)
        self._metadata.commit_what_is_left(change, now_ms=now_ms)

    def _abort_now(self, stream: StreamEntry, record: rec.TransactionRecord, now_ms: int) -> None:
        change = Change()
        self._add_abort(change, stream, record, now_ms)
        self._metadata.commit_what_is_left(change, now_ms=now_ms)

    def _add_abort(
        self, change: Change, stream: StreamEntry, record: rec.TransactionRecord, now_ms: int
    ) -> None:
        state = after_transaction(_name(stream, record), record.state, TransactionAct.ABORT)
        if record.state is state:
            return
        change.do(Delete(name) for name in _own_segments(stream, record.txn_id))
        change.write(replace(record, state=state, now_ms=now_ms))

    def _follow(self, change: Change, now_ms: int) -> None:
        """Update leases, queue and memory from the records of ``change``."""
        for record in change.written:
            if isinstance(record, rec.TransactionRecord):
                key = (record.scope, record.stream, record.txn_id)
                if record.state is TransactionState.OPEN:
                    self._leases.renew(key, record.lease_ms, now_ms=now_ms)
                    continue
                self._leases.drop(key)
                if record.state is TransactionState.COMMITTING:
                    self._to_commit[record.scope, record.stream] = None
                else:
                    self._ended.append((now_ms, key))

    def _forget(self, now_ms: int) -> None:
        change = Change()
        n_due = 0
        for ended_ms, (scope, name, txn) in self._ended:
            if ended_ms + REMEMBERED_MS > now_ms or len(change.removed) >= FORGOTTEN_MAX:
                break
            n_due += 1
            stream = self._catalog.find(scope, name)
            record = stream.transactions.get(txn) if stream else None
            if stream is not None and record is not None and record.state in _ENDED:
                after_transaction(_name(stream, record), record.state, TransactionAct.FORGET)
                change.remove(record)
        try:
            if change.removed:
                self._metadata.commit(change, now_ms=now_ms)
        except StorageError as refusal:
            self._retry_ms = now_ms + RETRY_MS
            log.warning(
                "forgetting ended transactions is tried again in %d ms: %s",
                RETRY_MS,
                refusal,
                extra=log_fields("forget_retried", retry_ms=RETRY_MS),
            )
            return
        for _ in range(n_due):
            self._ended.popleft()


def _key(stream: StreamEntry, txn: int) -> TransactionKey:
    return stream.scope, stream.name, txn


def _name(stream: StreamEntry, record: rec.TransactionRecord) -> str:
    return f"transaction {UUID(int=record.txn_id)} of {stream.scoped_name}"


def _from_wire(txn: pb.TxnId) -> int:
    return (txn.highBits & _LOW_64) << 64 | txn.lowBits & _LOW_64


def _to_wire(txn: int) -> pb.TxnId:
    return pb.TxnId(highBits=txn >> 64, lowBits=txn & _LOW_64)


def _own_segments(stream: StreamEntry, txn: int) -> list[str]:
    return commits.segment_names(stream, txn, commits.parents_of(stream, txn))
