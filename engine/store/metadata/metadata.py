"""Changes of the controller's metadata: a change is one submission to the log, and replies wait until it
is synced.

Changes are checked and applied at once, on the validated state, so calls are decided one after the other. A
reply rests on the latest change submitted before it and is held until that change is on disk. No client
therefore sees metadata that a crash can remove, and no reply waits for appends that came later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping

from ..errors import NoSuchSegment, SegmentSealed
from ..log.operations import CreateSegment, Delete, Merge, Operation, PutRecord, Seal
from ..log_fields import log_fields
from ..storage.storage import Storage, Ticket
from . import records as rec
from .catalog import Catalog
from .replies import Answer, Outcome, RpcError, Waiting

log = logging.getLogger(__name__)


class Change:
    """Operations on segments and records that take effect together or not at all."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.written: list[rec.Record] = []
        self.removed: list[rec.Record] = []

    def do(self, operations: Iterable[Operation]) -> None:
        """Add operations on segments."""
        self.operations.extend(operations)

    def write(self, *records: rec.Record) -> None:
        """Add records to write."""
        self.written.extend(records)

    def remove(self, *records: rec.Record) -> None:
        """Add records to remove."""
        self.removed.extend(records)

    def all_operations(self) -> list[Operation]:
        """Return the operations on segments and records, in the order in which they are submitted."""
        puts: list[Operation] = [PutRecord(r.key(), None) for r in self.removed]
        return [*self.operations, *puts, *(PutRecord(r.key(), r.value()) for r in self.written)]


class Metadata:
    """The catalog, and the only way to change it.

    ``watchers`` are called with each change and its time, once the catalog contains it. Leases, queues and
    the auto-scaler follow all changes this way, whatever made them.
    """

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.catalog = Catalog()
        self.watchers: list[Callable[[Change, int], None]] = []
        self.recovered_ms = load(self.catalog, storage)
        self._newest: Ticket | None = None

    def commit(self, change: Change, *, now_ms: int) -> None:
        """Submit ``change`` and apply it to the catalog.

        Raises:
            StorageError: The storage refused it, and nothing of it took effect.
        """
        ticket = self.storage.submit(change.all_operations(), now_ms=now_ms)
        for record in change.removed:
            self.catalog.remove(record)
        for record in change.written:
            self.catalog.apply(record)
        self._hold(ticket)
        for watch in self.watchers:
            watch(change, now_ms)

    def commit_what_is_left(self, change: Change, *, now_ms: int) -> None:
        """Commit ``change`` without those seals, deletions and merges whose segment a client has
        removed.

        Clients may seal and delete segments directly at the segment store. A stream must not get stuck
        because of that.
        """
        while True:
            try:
                return self.commit(change, now_ms=now_ms)
            except (NoSuchSegment, SegmentSealed) as refusal:
                left = self._without_moot(change.operations)
                gone = len(change.operations) - len(left)
                if not gone:
                    raise
                log.warning(
                    "the change is committed without %d operations, the first: %s",
                    gone,
                    refusal,
                    extra=log_fields("segments_changed_by_client", segment=refusal.segment, operations=gone),
                )
                change.operations = left

    def _without_moot(self, operations: list[Operation]) -> list[Operation]:
        """Return the operations without those whose segment a client has sealed or removed, all at once: a
        client may have removed thousands.
        """
        made = dict.fromkeys(o.segment for o in operations if isinstance(o, CreateSegment))
        sealed = {name: self.storage.sealed_ahead(name) for name in _ends(operations) if name not in made}
        return [o for o in operations if not _is_moot(o, sealed)]

    def release(self, outcome: Outcome, *, of_storage: bool = False) -> Answer | Waiting:
        """Return ``outcome``, or a handle for it if it rests on a change that is not on disk yet.

        ``of_storage``: the outcome is a refusal of the storage, which may rest on appends too.

        Raises:
            RpcError: The outcome is an error that does not have to wait.
        """
        if of_storage:
            self._hold(self.storage.barrier())
        if self._newest is not None:
            waiting = Waiting(outcome)
            self._newest.add_done(lambda ticket: waiting.settle(ticket.failure))
            return waiting
        if isinstance(outcome, RpcError):
            raise outcome
        return outcome

    def _hold(self, ticket: Ticket) -> None:
        if not ticket.done:
            self._newest = ticket
        ticket.add_done(self._synced)

    def _synced(self, ticket: Ticket) -> None:
        if ticket is self._newest and ticket.failure is None:
            self._newest = None


def load(catalog: Catalog, storage: Storage) -> int:
    """Fill ``catalog`` from the records of ``storage``. Return the latest time of any record, in ms."""
    by_kind: dict[str, list[rec.Record]] = {kind: [] for kind in rec.KINDS}
    for key, value in storage.records(rec.PREFIX):
        record = rec.decode(key, value)
        by_kind[record.kind].append(record)
    by_kind[rec.StreamEpochRecord.kind].sort(key=rec.Record.key)
    by_kind[rec.TransactionRecord.kind].sort(key=_commit_order)
    every = [record for records in by_kind.values() for record in records]
    for record in every:
        catalog.apply(record)
    return max((record.now_ms for record in every), default=0)


def _commit_order(record: rec.Record) -> tuple[int, str]:
    assert isinstance(record, rec.TransactionRecord)
    return record.order, record.key()


def _ends(operations: Iterable[Operation]) -> Iterator[str]:
    """Yield the segments that are sealed, deleted, or merged into others."""
    for operation in operations:
        match operation:
            case Seal(segment) | Delete(segment) | Merge(source=segment):
                yield segment


def _is_moot(operation: Operation, sealed: Mapping[str, bool | None]) -> bool:
    """Return whether a segment is ended already. ``sealed`` has None for a segment that does not exist."""
    match operation:
        case Seal(segment):
            return sealed.get(segment, False) is not False
        case Delete(segment) | Merge(source=segment):
            return sealed.get(segment, False) is None
    return False
