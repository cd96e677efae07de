"""Transactions: all of it or nothing, also across a scale."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from uuid import UUID

import pyarrow as pa
import pytest

from pravega_lab.client import Stream, TransactionState
from pravega_lab.errors import BadInputError, TransactionFailedError
from tests.client.helpers import assert_each_once_in_order, events_of, numbered

NewStream = Callable[..., Stream]


def read_all(stream: Stream) -> list[bytes]:
    with stream.read() as batches:
        return events_of(batches)


def test_the_block_commits(new_stream: NewStream) -> None:
    stream = new_stream(segments=3)
    events, keys = numbered(300, 11)
    with stream.begin_transaction() as txn:
        txn.write(pa.array(events), keys)
        assert txn.state() is TransactionState.OPEN
        txn.flush()
        assert read_all(stream) == []
    assert txn.state() is TransactionState.COMMITTED
    assert_each_once_in_order(read_all(stream), 300)
    txn.commit()
    with pytest.raises(TransactionFailedError, match="COMMITTED") as caught:
        txn.abort()
    assert caught.value.state is TransactionState.COMMITTED


def test_the_block_aborts_after_an_error(new_stream: NewStream) -> None:
    stream = new_stream()
    with pytest.raises(ZeroDivisionError), stream.begin_transaction() as txn:
        assert txn.write(["never"] * 10) // 0
    txn.wait_until(TransactionState.ABORTED)
    assert read_all(stream) == []
    txn.abort()
    with pytest.raises(TransactionFailedError, match="ABORTED"):
        txn.commit()
    with pytest.raises(TransactionFailedError, match="ABORTED"):
        txn.wait_until(TransactionState.COMMITTED)


def test_taken_up_by_its_id(new_stream: NewStream) -> None:
    stream = new_stream()
    txn = stream.begin_transaction()
    txn.write(["a", "b"], "k")
    txn.flush()
    txn.close()
    again = stream.transaction(txn.txn_id)
    assert again.state() is TransactionState.OPEN
    with pytest.raises(BadInputError):
        again.write("c")
    again.commit(wait=True)
    assert read_all(stream) == [b"a", b"b"]
    assert stream.transaction(UUID(int=12345)).state() is TransactionState.UNKNOWN


def test_one_whose_writing_has_ended_is_small_and_another_handle_commits_it(new_stream: NewStream) -> None:
    stream = new_stream(segments=3)
    txn = stream.begin_transaction()
    txn.write("a", "k")
    txn.write([b"b"] * 100, ["k"] * 100)
    wrote = weakref.ref(txn._core.appends)
    txn.end_writing()
    txn.end_writing()
    for more in ("c", ["c"]):
        with pytest.raises(BadInputError, match="written to its end"):
            txn.write(more, "k")
    txn.flush()
    assert txn.state() is TransactionState.OPEN
    stream.transaction(txn.txn_id).commit(wait=True)
    assert read_all(stream) == [b"a"] + [b"b"] * 100
    gc.collect()
    assert wrote() is None  # the lease is renewed for some time yet
    txn.close()


def test_writing_after_somebody_aborted_it(new_stream: NewStream) -> None:
    stream = new_stream()
    txn = stream.begin_transaction()
    txn.write("a", "k")
    txn.flush()
    stream.transaction(txn.txn_id).abort()
    txn.wait_until(TransactionState.ABORTED)

    def write_on() -> None:
        txn.write("b", "k")
        txn.flush()

    with pytest.raises(TransactionFailedError):
        write_on()
    txn.close()
    assert read_all(stream) == []


def test_open_across_a_scale(new_stream: NewStream) -> None:
    stream = new_stream()
    events, keys = numbered(50, 5)
    with stream.begin_transaction() as txn:
        txn.write(events[:25], keys[:25])
        stream.split(0)
        txn.write(events[25:], keys[25:])
    assert_each_once_in_order(read_all(stream), 50)
    stream.write(*numbered(20, 5, begin=50))
    assert_each_once_in_order(read_all(stream), 70)


def test_an_empty_one_commits(new_stream: NewStream) -> None:
    stream = new_stream()
    with stream.begin_transaction(10_000) as txn:
        pass
    assert txn.state() is TransactionState.COMMITTED
    assert read_all(stream) == []


@pytest.mark.parametrize("lease_ms", [9_999, 600_001, 0, -1])
def test_leases_outside_the_limits_are_refused_in_words(new_stream: NewStream, lease_ms: int) -> None:
    with pytest.raises(BadInputError, match="10000 to 600000"):
        new_stream().begin_transaction(lease_ms)
