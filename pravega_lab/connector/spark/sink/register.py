"""The decisions of the exactly-once sink: what to do next to have a batch in the stream once. No I/O.

The register holds one record per sink: the last batch whose outcome was decided, with the transaction, row
count and digest of each partition. A driver that commits a batch reads the record, calls `decide`, carries
out the step and calls `decide` again, until the step is `Finished`. A driver may die after any step. The
record changes only on condition of its version, so of two drivers one is refused and decides again.

======================================  ====================================================================
the record has                          steps
======================================  ====================================================================
nothing, or an earlier batch, done      record this batch, commit its transactions, mark it done
an earlier batch, not done              finish that one first
this batch, not done (a replay)         * none gone: commit what is recorded, abort the newcomers
                                        * none committed, some gone: abort the rest, then record the newcomers
                                        * some committed, some gone: newcomers for the missing partitions
                                          only, if all counts and digests agree with the record; else fail
this batch, done                        * abort the newcomers
                                        * of a batch job with other rows than its record: fail
this batch, up to other offsets         fail: the query runs from an older copy of its checkpoint
a later batch                           fail for the same reason
======================================  ====================================================================

The *newcomers* are the transactions that the tasks have just written. *Gone* means aborted or unknown. Facts:
pravega.md A10; spark.md 5.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any
from uuid import UUID

from pravega_lab.connector.spark.sink.digest import MODULUS
from pravega_lab.errors import PravegaError, SinkConflictError

#: The query id in the record of a batch job, which has batch 0 only.
BATCH_JOB = "batch job"

#: Pravega forgets the outcome of a transaction after 24 h (pravega.md A10). One hour allows for clocks that
#: differ.
OUTCOME_REMEMBERED_MS = 23 * 3600 * 1000


class Fate(Enum):
    """The state of a transaction, as far as a sink needs to know it."""

    OPEN = "open"
    COMMITTING = "committing"
    COMMITTED = "committed"
    ABORTING = "aborting"
    GONE = "gone"
    UNKNOWN = "unknown"


_KEPT = (Fate.OPEN, Fate.COMMITTING, Fate.COMMITTED)
_LANDED = (Fate.COMMITTING, Fate.COMMITTED)


@dataclass(frozen=True)
class Written:
    """What one task wrote: its transaction (``None`` if it had no rows), its row count and their digest."""

    transaction: UUID | None = None
    rows: int = 0
    digest: int = 0


@dataclass(frozen=True)
class Record:
    """The last decided batch of a sink.

    ``query`` distinguishes a replay from a batch of another query, for example of a fork or of a new
    checkpoint. ``offsets`` is a digest of the offsets at which the batch ends, and empty if they are unknown.
    ``first_segments`` has the ids of the segments of epoch 0 for a batch job: they distinguish
    the stream from a later one of the same name. A streaming query leaves it empty.
    """

    query: str
    stream: str
    batch: int
    partitions: tuple[Written, ...]
    done: bool
    recorded_ms: int
    first_segments: tuple[int, ...] = ()
    offsets: str = ""

    @property
    def transactions(self) -> tuple[UUID, ...]:
        """The transactions of all partitions with rows, in the order of the partitions."""
        return _transactions(self.partitions)

    def to_bytes(self) -> bytes:
        """Return the record as the table stores it: JSON with sorted keys, partitions as [transaction, rows,
        digest].
        """
        fields: dict[str, Any] = {**vars(self), "partitions": [_pack(part) for part in self.partitions]}
        return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, value: bytes) -> Record:
        """Return the record that `to_bytes` wrote.

        Raises:
            SinkConflictError: The table has another kind of value under this key.
        """
        try:
            fields = json.loads(value)
            fields["partitions"] = tuple(_unpack(part) for part in fields["partitions"])
            fields["first_segments"] = tuple(fields.get("first_segments", ()))
            return cls(**fields)
        except (KeyError, TypeError, ValueError) as error:
            raise SinkConflictError(
                f"the register of the sink holds {value[:80]!r}, which is not a record of a batch. "
                f"Give the sink another id with option 'sink_id'"
            ) from error


@dataclass(frozen=True)
class Look:
    """Read the fates of these transactions, then decide again."""

    transactions: tuple[UUID, ...]


@dataclass(frozen=True)
class Put:
    """Write this record on condition that the register is unchanged, then decide again."""

    record: Record


@dataclass(frozen=True)
class Commit:
    """Commit these transactions, wait until the store reports them committed, then decide again. Committing
    twice does no harm.
    """

    transactions: tuple[UUID, ...]


@dataclass(frozen=True)
class Abort:
    """Abort these recorded transactions, wait until none is open or aborting, then decide again."""

    transactions: tuple[UUID, ...]


@dataclass(frozen=True)
class Finished:
    """The batch is in the stream once. Abort the transactions in ``unneeded``."""

    unneeded: tuple[UUID, ...]


Step = Look | Put | Commit | Abort | Finished


def decide(record: Record | None, wanted: Record, fates: Mapping[UUID, Fate] | None, *, now_ms: int) -> Step:
    """Return the next step towards having ``wanted`` in the stream exactly once.

    Args:
        record: The current record of the register, or ``None``.
        wanted: The batch that Spark asks to commit, with the transactions that its tasks have just written.
            Not done.
        fates: The fates of the transactions in ``record``, read after it; ``None`` if they were not read yet.
        now_ms: Wall clock of the caller. It serves only to distinguish an outcome that the store has
            forgotten from a transaction that never existed.

    Raises:
        SinkConflictError: The sink id is used by another query, for another stream, by a batch job with
            other rows or from an older checkpoint, or a batch was lost, wholly or in part, and cannot be
            completed. The message names batch, partitions and transactions.
    """
    if record is None:
        return _first(wanted)
    _check_owner(record, wanted)
    if _is_of_earlier_stream(record, wanted):
        return _first(wanted)
    if record.batch > wanted.batch or _ends_elsewhere(record, wanted):
        raise _older_checkpoint(record, wanted)
    if record.batch == wanted.batch and record.done:
        if wanted.query == BATCH_JOB:
            _check_same_rows(record, wanted)
        return Finished(tuple(txn for txn in wanted.transactions if txn not in record.transactions))
    if record.done:
        return _first(wanted)
    if fates is None:
        return Look(record.transactions)
    return _complete(record, wanted, fates, now_ms)


def abortable(record: Record | None, batch: int, transactions: Sequence[UUID]) -> tuple[UUID, ...]:
    """Return the transactions that a failed write may abort: those that are not recorded.

    Spark also asks for an abort when a commit raised an error after it had recorded its decision (spark.md
    5).
    """
    recorded = record.transactions if record is not None and record.batch == batch else ()
    return tuple(txn for txn in transactions if txn not in recorded)


def _first(wanted: Record) -> Step:
    return Put(replace(wanted, done=not wanted.transactions))


def _complete(record: Record, wanted: Record, fates: Mapping[UUID, Fate], now_ms: int) -> Step:
    recorded = record.transactions
    _check_remembered(record, fates, now_ms)
    if all(fates[txn] is Fate.COMMITTED for txn in recorded):
        return Put(replace(record, done=True))
    if all(fates[txn] in _KEPT for txn in recorded):
        return Commit(recorded)
    if record.batch < wanted.batch:
        raise _lost(record, fates, "a later batch was asked for, so Spark will not repeat this one")
    if any(fates[txn] in _LANDED for txn in recorded):
        return Put(_filled(record, wanted, fates))
    rest = tuple(txn for txn in recorded if fates[txn] in (Fate.OPEN, Fate.ABORTING))
    if rest:
        return Abort(rest)
    if recorded == wanted.transactions:
        raise _lost(
            record,
            fates,
            "their leases ended before the last task of the batch did; restarting the query or the job "
            "repeats the batch. If this happens again, raise option 'transaction_timeout_ms', which is at "
            "most 600000, or write fewer rows at a time",
        )
    return _first(wanted)


def _filled(record: Record, wanted: Record, fates: Mapping[UUID, Fate]) -> Record:
    """Return the record with newcomers in place of the transactions that are gone."""
    lost = [
        i
        for i, part in enumerate(record.partitions)
        if part.transaction and fates[part.transaction] not in _KEPT
    ]
    if [_content(part) for part in record.partitions] != [_content(part) for part in wanted.partitions]:
        raise _lost(
            record,
            fates,
            "the repeated batch has other rows in its partitions, so they cannot be filled in. Start the "
            "query with as many partitions as before: spark.sql.shuffle.partitions, repartition() and the "
            "option 'ordered' of the source decide about them. If it computes other rows in each run, set "
            "option 'sink_id' to an id that was not used before: it then writes the whole batch, and the "
            "rows of the committed partitions twice",
        )
    if any(wanted.partitions[i].transaction == record.partitions[i].transaction for i in lost):
        raise _lost(record, fates, "restarting the query writes the missing partitions again")
    parts = tuple(wanted.partitions[i] if i in lost else part for i, part in enumerate(record.partitions))
    return replace(record, partitions=parts, recorded_ms=wanted.recorded_ms)


def _content(part: Written) -> tuple[int, int]:
    return part.rows, part.digest


def _check_owner(record: Record, wanted: Record) -> None:
    for what, found, asked in (
        ("stream", record.stream, wanted.stream),
        ("query", record.query, wanted.query),
    ):
        if found != asked:
            raise SinkConflictError(
                f"this sink id was used for {what} {found}, now {what} {asked} asks for it. Batch numbers "
                f"of two cannot be told apart: give each a sink id of its own with option 'sink_id'"
            )


def _ends_elsewhere(record: Record, wanted: Record) -> bool:
    """Return whether the same batch ends at other offsets than those of the record, as far as is known."""
    are_known = bool(record.offsets and wanted.offsets)
    return record.batch == wanted.batch and are_known and record.offsets != wanted.offsets


def _older_checkpoint(record: Record, wanted: Record) -> PravegaError:
    """Return the error about a batch whose rows may be those of later batches, or in no batch so far."""
    where = " up to other offsets" if record.batch == wanted.batch else ""
    return SinkConflictError(
        f"the query asks for batch {wanted.batch}, and batch {record.batch} of the same query is already in "
        f"{record.stream}{where}. The query runs from an older copy of its checkpoint, or a second time. "
        "None of its rows is written. Continue with the newest checkpoint. Or set option 'sink_id' to an id "
        "that was not used before: the query then writes all rows since the copy again"
    )


def _is_of_earlier_stream(record: Record, wanted: Record) -> bool:
    """Return whether the stream was deleted and created again since the record was written."""
    return bool(record.first_segments) and record.first_segments != wanted.first_segments


def _check_same_rows(record: Record, wanted: Record) -> None:
    """Check that a repeated job has the rows of its record, in any order and in any partitions."""
    found, asked = _sum(record.partitions), _sum(wanted.partitions)
    if found != asked:
        raise SinkConflictError(
            f"a batch job with this sink id wrote {found[0]} rows into {record.stream}, and the job that "
            f"uses the sink id now has {asked[0]} rows that are not the same. None of them is written. For "
            f"new rows, set option 'sink_id' to an id that was not used before. If the job is the same one "
            f"and computes other rows in each run, there is nothing to do: it has written its rows"
        )


def _sum(partitions: Sequence[Written]) -> tuple[int, int]:
    """Return the row count and the digest of all partitions together."""
    return sum(part.rows for part in partitions), sum(part.digest for part in partitions) % MODULUS


def _check_remembered(record: Record, fates: Mapping[UUID, Fate], now_ms: int) -> None:
    forgotten = any(fate is Fate.UNKNOWN for fate in fates.values())
    if forgotten and now_ms - record.recorded_ms > OUTCOME_REMEMBERED_MS:
        raise _lost(
            record,
            fates,
            "the store remembers outcomes for 24 h and the batch was decided before that, so it is unknown "
            "whether the batch is in the stream. Compare the end of the stream with the batch, then "
            "continue with a new sink id and a checkpoint of your choice",
        )


def _lost(record: Record, fates: Mapping[UUID, Fate], why: str) -> PravegaError:
    parts = ", ".join(
        f"partition {i}: transaction {part.transaction} {fates[part.transaction].value}"
        for i, part in enumerate(record.partitions)
        if part.transaction is not None
    )
    return SinkConflictError(f"batch {record.batch} into {record.stream} is not complete ({parts}): {why}")


def _transactions(partitions: Sequence[Written]) -> tuple[UUID, ...]:
    return tuple(part.transaction for part in partitions if part.transaction is not None)


def _pack(part: Written) -> list[Any]:
    return [part.transaction.hex if part.transaction else None, part.rows, f"{part.digest:x}"]


def _unpack(part: Sequence[Any]) -> Written:
    transaction, rows, digest = part
    return Written(UUID(hex=transaction) if transaction else None, rows, int(digest, 16))
