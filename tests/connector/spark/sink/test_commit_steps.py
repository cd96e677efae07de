"""The commit steps of the sink against a store, without Spark: transactions, register, and crashes before."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pyarrow as pa
import pytest

from pravega_lab.client import Client, ScalingPolicy, Stream, TransactionState
from pravega_lab.connector.spark.sink.commit_steps import PassingRegister, Settlement, TableRegister
from pravega_lab.connector.spark.sink.digest import digest_of
from pravega_lab.connector.spark.sink.register import Record, Written, abortable
from pravega_lab.errors import ConditionFailedError, SinkConflictError


class Sink:
    """One sink id of one stream; plays tasks, commits and what befalls transactions in between."""

    def __init__(self, client: Client, scope: str) -> None:
        self.stream: Stream = client.create_stream(f"{scope}/out", scaling=ScalingPolicy.fixed(2))
        table = client.table(f"{scope}/sinks")
        table.create()
        self.register = TableRegister(table, "sink")
        self.settlement = Settlement(self.stream, self.register, poll_s=0.002)

    def write(self, batch: int, *parts: Sequence[str]) -> Record:
        written = []
        for part in parts:
            if part:
                transaction = self.stream.begin_transaction()
                transaction.write(list(part), list(part))
                transaction.flush()
                transaction.close()
                events = pa.array([event.encode() for event in part], pa.binary())
                written.append(Written(transaction.txn_id, len(part), digest_of(events, None)))
            else:
                written.append(Written())
        return Record("query", self.stream.scoped_name, batch, tuple(written), done=False, recorded_ms=0)

    def settle(self, wanted: Record) -> None:
        self.settlement.settle(wanted)

    def decided(self, wanted: Record) -> None:
        """As a driver leaves it that dies after its decision."""
        _, version = self.register.read()
        self.register.put(wanted, version)

    def end(self, record: Record, part: int, *, commit: bool) -> None:
        transaction = self.stream.transaction(record.transactions[part])
        if commit:
            transaction.commit(wait=True)
        else:
            transaction.abort()
            transaction.wait_until(TransactionState.ABORTED)

    def states(self, record: Record) -> list[str]:
        return [self.stream.transaction(txn).state().name for txn in record.transactions]

    def events(self) -> list[str]:
        with self.stream.read() as batches:
            found = [event.decode() for batch in batches for event in batch.column("event").to_pylist()]
        return sorted(found)


@pytest.fixture
def sink(client: Client, scope_name: Callable[[], str]) -> Sink:
    return Sink(client, scope_name())


def test_batches_one_after_the_other_with_empty_partitions_and_an_empty_batch(sink: Sink) -> None:
    sink.settle(sink.write(0, ["a", "b"], [], ["c"]))
    sink.settle(sink.write(1, [], []))
    sink.settle(sink.write(2, ["d"]))
    assert sink.events() == ["a", "b", "c", "d"]
    record, _ = sink.register.read()
    assert record is not None
    assert (record.batch, record.done) == (2, True)


def test_a_replay_before_the_decision_and_after_the_end(sink: Sink) -> None:
    lost = sink.write(0, ["a"], ["b"])
    sink.settle(sink.write(0, ["a"], ["b"]))
    again = sink.write(0, ["a"], ["b"])
    sink.settle(again)
    assert sink.events() == ["a", "b"]
    assert sink.states(lost) == ["OPEN", "OPEN"]  # its lease ends it
    assert sink.states(again) == ["ABORTED", "ABORTED"]


@pytest.mark.parametrize("committed", [(), (0,), (1,), (0, 1)])
def test_a_replay_rolls_the_decision_forward(sink: Sink, committed: tuple[int, ...]) -> None:
    first = sink.write(0, ["a"], ["b"])
    sink.decided(first)
    for part in committed:
        sink.end(first, part, commit=True)
    again = sink.write(0, ["a"], ["b"])
    sink.settle(again)
    assert sink.events() == ["a", "b"]
    assert sink.states(first) == ["COMMITTED", "COMMITTED"]
    assert sink.states(again) == ["ABORTED", "ABORTED"]


@pytest.mark.parametrize("gone", [(0,), (0, 1)])
def test_after_an_outage_with_nothing_committed_the_newcomers_land(sink: Sink, gone: tuple[int, ...]) -> None:
    first = sink.write(0, ["a"], ["b"])
    sink.decided(first)
    for part in gone:
        sink.end(first, part, commit=False)
    again = sink.write(0, ["a"], ["b"])
    sink.settle(again)
    assert sink.events() == ["a", "b"]
    assert sink.states(first) == ["ABORTED", "ABORTED"]
    assert sink.states(again) == ["COMMITTED", "COMMITTED"]


def test_after_an_outage_with_half_committed_the_missing_half_lands(sink: Sink) -> None:
    first = sink.write(0, ["a"], ["b"])
    sink.decided(first)
    sink.end(first, 0, commit=True)
    sink.end(first, 1, commit=False)
    again = sink.write(0, ["a"], ["b"])
    sink.settle(again)
    assert sink.events() == ["a", "b"]
    assert sink.states(again) == ["ABORTED", "COMMITTED"]


def test_half_committed_and_other_rows_now_fails_and_says_what(sink: Sink) -> None:
    first = sink.write(0, ["a"], ["b"])
    sink.decided(first)
    sink.end(first, 0, commit=True)
    sink.end(first, 1, commit=False)
    again = sink.write(0, ["a"], ["other"])
    with pytest.raises(
        SinkConflictError, match=f"batch 0 into {sink.stream.scoped_name}.*{first.transactions[1]}"
    ):
        sink.settle(again)
    assert sink.events() == ["a"]


def test_a_batch_before_that_of_the_record_is_aborted(sink: Sink) -> None:
    for batch in range(3):
        sink.settle(sink.write(batch, [f"{batch}"]))
    older = sink.write(1, ["1", "more"])
    with pytest.raises(SinkConflictError, match="asks for batch 1, and batch 2"):
        sink.settle(older)
    assert sink.events() == ["0", "1", "2"]
    assert sink.states(older)[0] in ("ABORTING", "ABORTED")


def test_an_abort_leaves_what_is_recorded(sink: Sink) -> None:
    first = sink.write(0, ["a"])
    sink.decided(first)
    other = sink.write(0, ["a"])
    record, _ = sink.register.read()
    sink.settlement.abort(abortable(record, 0, first.transactions + other.transactions))
    assert sink.states(first) == ["OPEN"]
    assert sink.states(other)[0] in ("ABORTING", "ABORTED")


def test_of_two_drivers_at_once_one_lands(sink: Sink) -> None:
    for batch in range(10):
        both = [sink.write(batch, [f"{batch}a"], [f"{batch}b"]) for _ in range(2)]
        threads = [threading.Thread(target=sink.settle, args=(wanted,)) for wanted in both]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(sorted(sink.states(wanted)) for wanted in both) == [["ABORTED"] * 2, ["COMMITTED"] * 2]
    assert sink.events() == sorted(f"{batch}{part}" for batch in range(10) for part in "ab")


def test_the_register_is_changed_by_version_only(sink: Sink) -> None:
    record = sink.write(0, ["a"])
    _, version = sink.register.read()
    sink.register.put(record, version)
    with pytest.raises(ConditionFailedError):
        sink.register.put(record, version)


def test_a_job_without_identity_needs_no_table(sink: Sink) -> None:
    Settlement(sink.stream, PassingRegister(), poll_s=0.002).settle(sink.write(0, ["a"], ["b"]))
    assert sink.events() == ["a", "b"]
