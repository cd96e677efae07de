"""Transactions of the official wheel, also across scales (pravega.md A10, E1).

The wheel's transaction works only as long as its writer is alive, so each test keeps the writer.
"""

from __future__ import annotations

from typing import Any

import pytest
from pravega_client import TxnFailedException

from pravega_lab.protocol.controller import controller_pb2 as pb
from tests.conformance.controller import ControllerStub, stream_info
from tests.conformance.wheel.calls import by_key, read_events, read_nothing, read_stream
from tests.waiting import wait_until

STATES = pb.TxnState


@pytest.fixture
def stream(manager: Any, scope: str) -> str:
    manager.create_stream(scope, "txns", 2)
    return "txns"


def state(controller: ControllerStub, scope: str, stream: str, txn: Any) -> int:
    number = txn.get_txn_id() if hasattr(txn, "get_txn_id") else txn
    found: int = controller.call("checkTransactionState", request(scope, stream, number)).state
    return found


def request(scope: str, stream: str, number: int) -> pb.TxnRequest:
    low = number & (2**64 - 1)
    txn_id = pb.TxnId(highBits=number >> 64, lowBits=low - 2**64 if low >= 2**63 else low)
    return pb.TxnRequest(streamInfo=stream_info(scope, stream), txnId=txn_id)


def wait_committed(controller: ControllerStub, scope: str, stream: str, txn: Any) -> None:
    wait_until(lambda: state(controller, scope, stream, txn) == STATES.COMMITTED, what="COMMITTED")


@pytest.mark.slow
def test_a_committed_transaction_is_read_whole(
    manager: Any, controller: ControllerStub, scope: str, stream: str
) -> None:
    writer = manager.create_transaction_writer(scope, stream, 1)
    txn = writer.begin_txn()
    for number in range(20):
        txn.write_event(f"key:{number}", "key")
    txn.write_event_bytes(b"other:0", routing_key="other")
    assert txn.is_open() is True
    txn.commit()
    wait_committed(controller, scope, stream, txn)
    assert txn.is_open() is False
    assert by_key(read_stream(manager, scope, stream, 21)) == {"key": list(range(20)), "other": [0]}


def test_an_open_transaction_is_not_read(
    manager: Any, controller: ControllerStub, scope: str, stream: str
) -> None:
    writer = manager.create_transaction_writer(scope, stream, 1)
    txn = writer.begin_txn()
    txn.write_event("txn:0", "txn")
    manager.create_writer(scope, stream).write_event("plain:0", "plain")
    reader = manager.create_reader_group("group", scope, stream).create_reader("reader")
    assert read_events(reader, 1) == [b"plain:0"]
    assert read_nothing(reader) == []
    txn.commit()
    assert read_events(reader, 1) == [b"txn:0"]


def test_an_aborted_transaction_leaves_nothing(
    manager: Any, controller: ControllerStub, scope: str, stream: str
) -> None:
    writer = manager.create_transaction_writer(scope, stream, 1)
    dropped, kept = writer.begin_txn(), writer.begin_txn()
    dropped.write_event("dropped:0", "key")
    kept.write_event("kept:0", "key")
    dropped.abort()
    kept.commit()
    assert dropped.is_open() is False
    wait_until(lambda: state(controller, scope, stream, dropped) == STATES.ABORTED)
    assert read_stream(manager, scope, stream, 1) == [b"kept:0"]


def test_an_aborted_transaction_takes_nothing_more(manager: Any, scope: str, stream: str) -> None:
    writer = manager.create_transaction_writer(scope, stream, 1)
    txn = writer.begin_txn()
    txn.abort()
    for call in (txn.commit, txn.abort, lambda: txn.write_event("late")):
        with pytest.raises(TxnFailedException):
            call()


def test_an_empty_transaction_commits(
    manager: Any, controller: ControllerStub, scope: str, stream: str
) -> None:
    writer = manager.create_transaction_writer(scope, stream, 1)
    txn = writer.begin_txn()
    txn.commit()
    wait_committed(controller, scope, stream, txn)


def test_commit_with_a_timestamp(manager: Any, controller: ControllerStub, scope: str, stream: str) -> None:
    writer = manager.create_transaction_writer(scope, stream, 77)
    txn = writer.begin_txn()
    txn.write_event("stamped:0", "key")
    txn.commit_timestamp(1_700_000_000_000)
    wait_committed(controller, scope, stream, txn)
    assert read_stream(manager, scope, stream, 1) == [b"stamped:0"]


def test_get_txn_gives_an_object_to_inspect(
    manager: Any, controller: ControllerStub, scope: str, stream: str
) -> None:
    """Upstream's object is flagged closed: it tells the state and takes no call that changes it.

    Source: pravega.md E1.
    """
    writer = manager.create_transaction_writer(scope, stream, 1)
    txn = writer.begin_txn()
    seen = writer.get_txn(txn.get_txn_id())
    assert seen.get_txn_id() == txn.get_txn_id()
    assert seen.is_open() is True
    with pytest.raises(TxnFailedException):
        seen.commit()
    txn.commit()
    wait_committed(controller, scope, stream, txn)
    assert seen.is_open() is False


def test_transactions_become_visible_in_the_order_of_their_commits(
    manager: Any, controller: ControllerStub, scope: str
) -> None:
    manager.create_stream(scope, "ordered", 1)
    writer = manager.create_transaction_writer(scope, "ordered", 1)
    first, second, third = (writer.begin_txn() for _ in range(3))
    for name, txn in (("a", first), ("b", second), ("c", third)):
        for number in range(3):
            txn.write_event(f"{name}{number}", "key")
    for txn in (third, first, second):
        txn.commit()
    wait_committed(controller, scope, "ordered", second)
    found = [e.decode() for e in read_stream(manager, scope, "ordered", 9)]
    assert found == ["c0", "c1", "c2", "a0", "a1", "a2", "b0", "b1", "b2"]


def test_ids_of_transactions_hold_their_epoch(
    manager: Any, controller: ControllerStub, scope: str, stream: str
) -> None:
    writer = manager.create_transaction_writer(scope, stream, 1)
    before = writer.begin_txn()
    controller.split(scope, stream, 0)
    after = writer.begin_txn()
    assert [t.get_txn_id() >> 96 for t in (before, after)] == [0, 1]
    assert before.get_txn_id() & (1 << 63) == 0
    for txn in (before, after):
        txn.abort()


def test_a_transaction_open_across_a_scale_rolls_over(
    manager: Any, controller: ControllerStub, scope: str, stream: str
) -> None:
    """Two epochs more: a copy of the transaction's, which takes its events, then one of the active.

    Source: pravega.md A10.
    """
    plain = manager.create_writer(scope, stream)
    writer = manager.create_transaction_writer(scope, stream, 1)
    txn = writer.begin_txn()
    keys = [f"k{n}" for n in range(8)]
    for key in keys:
        plain.write_event(f"{key}:0", key)
        txn.write_event(f"{key}:2", key)
    controller.split(scope, stream, 0)
    controller.merge(scope, stream, list(controller.segments(scope, stream))[1:])
    for key in keys:
        plain.write_event(f"{key}:1", key)
        txn.write_event(f"{key}:3", key)
    txn.commit()
    wait_committed(controller, scope, stream, txn)
    assert {segment >> 32 for segment in controller.segments(scope, stream)} == {4}
    for key in keys:
        plain.write_event(f"{key}:4", key)
    found = by_key(read_stream(manager, scope, stream, 40))
    assert found == {key: [0, 1, 2, 3, 4] for key in keys}


def test_two_transactions_of_an_old_epoch(
    manager: Any, controller: ControllerStub, scope: str, stream: str
) -> None:
    writer = manager.create_transaction_writer(scope, stream, 1)
    txns = [writer.begin_txn() for _ in range(2)]
    for number, txn in enumerate(txns):
        txn.write_event(f"key:{number}", "key")
    controller.split(scope, stream, 1)
    for txn in txns:
        txn.commit()
    for txn in txns:
        wait_committed(controller, scope, stream, txn)
    assert by_key(read_stream(manager, scope, stream, 2)) == {"key": [0, 1]}


def test_sealing_a_stream_aborts_its_open_transactions(
    manager: Any, controller: ControllerStub, scope: str, stream: str
) -> None:
    writer = manager.create_transaction_writer(scope, stream, 1)
    txn = writer.begin_txn()
    txn.write_event("lost", "key")
    manager.seal_stream(scope, stream)
    wait_until(lambda: state(controller, scope, stream, txn) == STATES.ABORTED)
    assert txn.is_open() is False


@pytest.mark.slow
def test_a_lease_that_ends_aborts(controller: ControllerStub, manager: Any, scope: str, stream: str) -> None:
    """The shortest lease is 10 s; the wheel asks for 90 s, so this one is asked for by hand."""
    asked = pb.CreateTxnRequest(streamInfo=stream_info(scope, stream), lease=10_000)
    answer = controller.call("createTransaction", asked)
    txn = pb.TxnRequest(streamInfo=stream_info(scope, stream), txnId=answer.txnId)
    assert controller.call("checkTransactionState", txn).state == STATES.OPEN
    wait_until(lambda: controller.call("checkTransactionState", txn).state == STATES.ABORTED)
    assert controller.call("commitTransaction", txn).status == pb.TxnStatus.FAILURE
