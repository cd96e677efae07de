"""Every case of the sink's decisions, and a model in which drivers die after any step."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pravega_lab.connector.spark.sink.register import (
    BATCH_JOB,
    Abort,
    Commit,
    Fate,
    Finished,
    Look,
    Put,
    Record,
    Written,
    abortable,
    decide,
)
from pravega_lab.errors import SinkConflictError

A, B, C, D = (UUID(int=i) for i in range(1, 5))
OPEN, COMMITTING, COMMITTED, ABORTING, GONE, UNKNOWN = Fate
HOUR_MS = 3600 * 1000


def record(batch: int, *parts: Written, done: bool = False, **fields: object) -> Record:
    base = Record("query", "s/out", batch, parts, done, recorded_ms=0)
    return replace(base, **fields)  # type: ignore[arg-type]


def rows(txn: UUID | None, n: int = 1, digest: int = 7) -> Written:
    return Written(txn, n, digest)


OLD = record(4, rows(A), rows(B))
NEW = record(4, rows(C), rows(D))


def test_a_first_batch_is_recorded() -> None:
    assert decide(None, NEW, None, now_ms=0) == Put(NEW)


def test_a_batch_after_a_finished_one_is_recorded() -> None:
    assert decide(record(3, rows(A), done=True), NEW, None, now_ms=0) == Put(NEW)


def test_a_batch_without_rows_advances_the_record_and_is_done() -> None:
    empty = record(4, Written(), Written())
    assert decide(None, empty, None, now_ms=0) == Put(replace(empty, done=True))


def test_fates_are_read_before_anything_is_decided_about_a_recorded_batch() -> None:
    assert decide(OLD, NEW, None, now_ms=0) == Look((A, B))


@pytest.mark.parametrize(
    "fates",
    [(OPEN, OPEN), (OPEN, COMMITTED), (COMMITTING, OPEN), (COMMITTED, COMMITTING), (COMMITTING, COMMITTING)],
)
def test_a_replay_rolls_the_recorded_transactions_forward(fates: tuple[Fate, Fate]) -> None:
    assert decide(OLD, NEW, dict(zip((A, B), fates, strict=True)), now_ms=0) == Commit((A, B))


def test_it_is_done_only_when_all_are_committed() -> None:
    assert decide(OLD, NEW, {A: COMMITTED, B: COMMITTED}, now_ms=0) == Put(replace(OLD, done=True))


def test_newcomers_of_a_finished_batch_are_aborted() -> None:
    assert decide(replace(OLD, done=True), NEW, None, now_ms=0) == Finished((C, D))


def test_the_own_transactions_of_a_finished_batch_are_kept() -> None:
    assert decide(replace(OLD, done=True), OLD, None, now_ms=0) == Finished(())


@pytest.mark.parametrize("done", [False, True])
def test_a_batch_before_that_of_the_record_is_refused(done: bool) -> None:
    """Its rows may be others than those of the batch that had the number before."""
    with pytest.raises(SinkConflictError, match=r"batch 4, and batch 5 .*older copy.*'sink_id'"):
        decide(record(5, rows(A), done=done), NEW, None, now_ms=0)


@pytest.mark.parametrize("gone", [GONE, UNKNOWN])
@pytest.mark.parametrize("rest", [OPEN, ABORTING])
def test_after_an_outage_longer_than_the_lease_the_rest_is_aborted_first(gone: Fate, rest: Fate) -> None:
    assert decide(OLD, NEW, {A: gone, B: rest}, now_ms=0) == Abort((B,))


def test_then_the_newcomers_are_recorded() -> None:
    assert decide(OLD, NEW, {A: GONE, B: UNKNOWN}, now_ms=0) == Put(NEW)


@pytest.mark.parametrize("landed", [COMMITTED, COMMITTING])
@pytest.mark.parametrize("lost", [GONE, UNKNOWN, ABORTING])
def test_missing_partitions_are_filled_in_when_the_rows_agree(landed: Fate, lost: Fate) -> None:
    filled = record(4, rows(A), rows(D))
    assert decide(OLD, NEW, {A: landed, B: lost}, now_ms=0) == Put(filled)
    assert decide(filled, NEW, {A: COMMITTED, D: OPEN}, now_ms=0) == Commit((A, D))
    assert decide(replace(filled, done=True), NEW, None, now_ms=0) == Finished((C,))


def test_an_open_transaction_stays_when_another_partition_is_filled_in() -> None:
    old, new = record(4, rows(A), rows(B), rows(C)), record(4, rows(D), rows(D), rows(D))
    step = decide(old, new, {A: COMMITTED, B: OPEN, C: GONE}, now_ms=0)
    assert step == Put(record(4, rows(A), rows(B), rows(D)))


@pytest.mark.parametrize(
    "parts",
    [(rows(C, n=2), rows(D)), (rows(C), rows(D, digest=8)), (rows(C),), (rows(C), rows(D), rows(None, 0, 0))],
)
def test_other_rows_in_any_partition_fail_and_name_everything(parts: tuple[Written, ...]) -> None:
    words = (
        f"batch 4.*partition 0: transaction {A} committed.*{B} gone.*as many partitions as before.*'sink_id'"
    )
    with pytest.raises(SinkConflictError, match=words):
        decide(OLD, record(4, *parts), {A: COMMITTED, B: GONE}, now_ms=0)


def test_an_empty_partition_needs_no_filling() -> None:
    old, new = record(4, rows(A), Written(), rows(B)), record(4, rows(C), Written(), rows(D))
    assert decide(old, new, {A: COMMITTED, B: GONE}, now_ms=0) == Put(record(4, rows(A), Written(), rows(D)))


def test_own_transactions_that_ended_too_early_fail_instead_of_going_round() -> None:
    with pytest.raises(SinkConflictError, match=r"leases ended .*restarting .*transaction_timeout_ms"):
        decide(OLD, OLD, {A: GONE, B: GONE}, now_ms=0)
    with pytest.raises(SinkConflictError, match="writes the missing partitions again"):
        decide(OLD, OLD, {A: COMMITTED, B: GONE}, now_ms=0)


def test_an_earlier_batch_is_finished_first() -> None:
    later = record(5, rows(C))
    assert decide(OLD, later, {A: OPEN, B: COMMITTED}, now_ms=0) == Commit((A, B))
    assert decide(OLD, later, {A: COMMITTED, B: COMMITTED}, now_ms=0) == Put(replace(OLD, done=True))
    with pytest.raises(SinkConflictError, match="Spark will not repeat"):
        decide(OLD, later, {A: GONE, B: COMMITTED}, now_ms=0)


def test_after_a_day_an_unknown_outcome_is_not_guessed() -> None:
    with pytest.raises(SinkConflictError, match="24 h"):
        decide(OLD, NEW, {A: UNKNOWN, B: UNKNOWN}, now_ms=24 * HOUR_MS)
    assert decide(OLD, NEW, {A: UNKNOWN, B: UNKNOWN}, now_ms=22 * HOUR_MS) == Put(NEW)


@pytest.mark.parametrize("fields", [{"query": "other"}, {"stream": "s/other"}])
def test_a_sink_id_belongs_to_one_query_and_one_stream(fields: dict[str, str]) -> None:
    with pytest.raises(SinkConflictError, match="option 'sink_id'"):
        decide(OLD, replace(NEW, **fields), None, now_ms=0)  # type: ignore[arg-type]


@pytest.mark.parametrize("done", [True, False])
def test_a_batch_up_to_other_offsets_is_none_that_is_repeated(done: bool) -> None:
    """An older copy of the checkpoint planned it, with rows that no later batch has."""
    known = replace(OLD, offsets="5", done=done)
    with pytest.raises(SinkConflictError, match=r"batch 4, and batch 4 .*up to other offsets.*'sink_id'"):
        decide(known, replace(NEW, offsets="6"), None, now_ms=0)
    for one, other in ((known, NEW), (known, replace(NEW, offsets="5")), (OLD, replace(NEW, offsets="6"))):
        step = decide(replace(one, done=True), other, None, now_ms=0)
        assert step == Finished(NEW.transactions)


JOB = record(0, rows(A, 2, 5), rows(B, 1, 2**64 - 2), done=True, query=BATCH_JOB, first_segments=(0, 1))


def test_a_job_repeated_in_other_partitions_adds_nothing() -> None:
    again = replace(JOB, partitions=(rows(C, 3, 3), Written()), done=False)
    assert decide(JOB, again, None, now_ms=0) == Finished((C,))


@pytest.mark.parametrize("other", [rows(C, 4, 3), rows(C, 3, 4)])
def test_a_job_with_other_rows_under_an_old_sink_id_is_refused(other: Written) -> None:
    day_2 = replace(JOB, partitions=(other,), done=False)
    with pytest.raises(SinkConflictError, match=r"wrote 3 rows into s/out.*that was not used before"):
        decide(JOB, day_2, None, now_ms=0)


def test_a_job_that_died_is_completed_before_other_rows_are_refused() -> None:
    died, day_2 = replace(JOB, done=False), replace(JOB, partitions=(rows(C),), done=False)
    assert decide(died, day_2, {A: COMMITTED, B: OPEN}, now_ms=0) == Commit((A, B))
    assert decide(died, day_2, {A: COMMITTED, B: COMMITTED}, now_ms=0) == Put(JOB)


def test_a_record_of_an_earlier_stream_of_the_name_does_not_count() -> None:
    again = replace(JOB, partitions=(rows(C),), done=False, first_segments=(2, 3))
    assert decide(JOB, again, None, now_ms=0) == Put(again)
    unknown = replace(JOB, first_segments=())  # of a version that did not record them
    assert decide(unknown, replace(JOB, done=False), None, now_ms=0) == Finished(())


def test_abort_touches_only_what_is_not_recorded() -> None:
    assert abortable(OLD, 4, (A, B, C)) == (C,)
    assert abortable(record(3, rows(A)), 4, (B, C)) == (B, C)
    assert abortable(None, 4, (A,)) == (A,)


def test_a_record_survives_the_table() -> None:
    written = record(9, rows(A, 3, 2**128 - 1), Written(), done=True, recorded_ms=5, first_segments=(1, 2))
    assert Record.from_bytes(written.to_bytes()) == written


@pytest.mark.parametrize("value", [b"", b"{}", b"[1]", b'{"partitions":[[1]]}', b"\xff"])
def test_another_value_under_the_key_is_refused(value: bytes) -> None:
    with pytest.raises(SinkConflictError, match="not a record"):
        Record.from_bytes(value)


@dataclass
class World:
    """A store with transactions, a register, and what readers of the stream see."""

    chance: random.Random
    record: Record | None = None
    fates: dict[UUID, Fate] = field(default_factory=dict)
    content: dict[UUID, tuple[int, int]] = field(default_factory=dict)

    def write(self, batch: int, partitions: int) -> Record:
        parts = []
        for i in range(partitions):
            txn = UUID(int=len(self.fates) + 1)
            self.fates[txn], self.content[txn] = OPEN, (batch, i)
            parts.append(Written(txn, 1, i))
        return record(batch, *parts)

    def commit(self, txn: UUID) -> None:
        if self.fates[txn] in (OPEN, COMMITTING):
            self.fates[txn] = self.chance.choice((COMMITTING, COMMITTED))

    def abort(self, txn: UUID) -> None:
        if self.fates[txn] in (OPEN, ABORTING):
            self.fates[txn] = self.chance.choice((ABORTING, GONE))

    def outage(self) -> None:
        """Longer than the lease: what is open ends, what was decided is carried out."""
        ends = {OPEN: GONE, ABORTING: GONE, COMMITTING: COMMITTED}
        self.fates = {txn: ends.get(fate, fate) for txn, fate in self.fates.items()}

    def visible(self) -> list[tuple[int, int]]:
        return [self.content[txn] for txn, fate in self.fates.items() if fate is COMMITTED]


def driver(world: World, wanted: Record) -> Iterator[None]:
    """One driver, step by step: it yields before each effect (a put, one commit, one abort). Stop asking: it
    died.
    """
    while True:
        seen = world.record
        yield
        fates = {txn: world.fates[txn] for txn in seen.transactions} if seen else None
        match decide(seen, wanted, fates, now_ms=0):
            case Put(new):
                yield
                if world.record is seen:  # by version
                    world.record = new
            case Commit(transactions):
                for txn in transactions:
                    yield
                    world.commit(txn)
            case Abort(transactions):
                for txn in transactions:
                    yield
                    world.abort(txn)
            case Finished(unneeded):
                for txn in unneeded:
                    yield
                    world.abort(txn)
                return
            case Look():
                raise AssertionError("fates were given")


def survives(steps: Iterator[None]) -> bool:
    """Take one step; False when the driver has returned or failed, as it should, for its own transactions
    ended.
    """
    try:
        next(steps)
    except StopIteration:
        return False
    except SinkConflictError as error:
        if "restarting" not in str(error):
            raise
        return False
    return True


@given(seed=st.integers(0, 2**32))
@settings(max_examples=300)
def test_whatever_dies_when_every_batch_lands_once(seed: int) -> None:
    chance = random.Random(seed)
    world, partitions = World(chance), chance.randint(0, 3)
    for batch in range(3):
        while not (world.record and world.record.batch == batch and world.record.done):
            steps, lives = driver(world, world.write(batch, partitions)), chance.randint(0, 24)
            while lives and survives(steps):
                lives -= 1
            if chance.random() < 0.4:
                world.outage()
    world.outage()
    assert sorted(world.visible()) == [(batch, part) for batch in range(3) for part in range(partitions)]


@given(seed=st.integers(0, 2**32))
@settings(max_examples=300)
def test_a_zombie_beside_its_successor_changes_nothing(seed: int) -> None:
    chance = random.Random(seed)
    world, partitions = World(chance), chance.randint(1, 3)
    both = [driver(world, world.write(0, partitions)) for _ in range(2)]
    while both:
        steps = chance.choice(both)
        if not survives(steps):
            both.remove(steps)
        if chance.random() < 0.05:
            world.outage()
    while not (world.record and world.record.done):
        steps = driver(world, world.write(0, partitions))
        while survives(steps):
            pass
    world.outage()
    assert sorted(world.visible()) == [(0, part) for part in range(partitions)]
