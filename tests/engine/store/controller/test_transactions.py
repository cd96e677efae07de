"""Transactions through the controller: leases, order of commits, rolling transactions, what is remembered."""

from __future__ import annotations

import pytest

from pravega_lab.engine.store.errors import StoreFull
from pravega_lab.engine.store.log.operations import Delete
from pravega_lab.engine.store.metadata.replies import RpcError
from pravega_lab.engine.store.metadata.states import (
    TRANSACTION_MOVES,
    IllegalMoveError,
    TransactionAct,
    TransactionState,
    after_transaction,
)
from pravega_lab.engine.store.transactions.leases import Leases
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.names import segment_id, segment_name, transaction_segment_name
from tests.engine.store.controller.driver import Driven, info, txn_uuid

SUCCESS, FAILURE = pb.TxnStatus.SUCCESS, pb.TxnStatus.FAILURE
HOUR_MS = 3_600_000


def name(number: int, epoch: int = 0) -> str:
    return segment_name("s", "a", segment_id(epoch, number))


def write(driven: Driven, txn: pb.TxnId, parents: list[int], data: bytes) -> None:
    """Put ``data`` into every segment of a transaction."""
    for parent in parents:
        driven.append(transaction_segment_name(segment_name("s", "a", parent), txn_uuid(txn)), data)


def begun(driven: Driven, data: bytes, lease_ms: int = 60_000) -> pb.TxnId:
    txn, parents = driven.begin("a", lease_ms)
    write(driven, txn, parents, data)
    return txn


@pytest.fixture
def driven() -> Driven:
    made = Driven()
    made.make("a", 2)
    return made


def test_nothing_is_seen_before_the_commit_and_everything_after(driven: Driven) -> None:
    txn = begun(driven, b"one")
    assert (txn.highBits, txn.lowBits) == (0, 1)
    assert driven.text(name(0)) == b""
    assert driven.commit("a", txn) == SUCCESS
    assert driven.state("a", txn) == "COMMITTING"
    driven.tick()
    assert driven.state("a", txn) == "COMMITTED"
    assert [driven.text(name(i)) for i in (0, 1)] == [b"one", b"one"]


def test_commits_are_merged_in_the_order_of_the_calls(driven: Driven) -> None:
    first, second, third = (begun(driven, data) for data in (b"1", b"2", b"3"))
    for txn in (third, first, second):
        assert driven.commit("a", txn) == SUCCESS
    driven.tick()
    assert driven.text(name(0)) == b"312"


def test_many_commits_take_several_passes(driven: Driven) -> None:
    txns = [begun(driven, b"%03d" % i) for i in range(120)]
    for txn in txns:
        driven.commit("a", txn)
    driven.controller.tick(driven.now_ms)
    driven.sync()
    assert [driven.state("a", t) for t in txns].count("COMMITTED") == 100
    driven.tick()
    assert driven.text(name(1)) == b"".join(b"%03d" % i for i in range(120))


def test_abort_takes_the_events_away(driven: Driven) -> None:
    txn = begun(driven, b"gone")
    assert driven.abort("a", txn) == SUCCESS
    assert driven.state("a", txn) == "ABORTED"
    assert not driven.storage.exists(transaction_segment_name(name(0), txn_uuid(txn)))
    assert driven.abort("a", txn) == SUCCESS
    assert driven.commit("a", txn) == FAILURE
    driven.tick(1_000)
    assert driven.text(name(0)) == b""


def test_a_missing_stream_or_segment_is_reported(driven: Driven) -> None:
    txn = begun(driven, b"open")
    for end in (driven.commit, driven.abort):
        assert end("never", txn) == pb.TxnStatus.STREAM_NOT_FOUND
    with pytest.raises(RpcError, match="never") as missing:
        driven.state("never", txn)
    with pytest.raises(RpcError, match="segment 7") as unknown:
        driven.call("getSegmentsImmediatelyFollowing", pb.SegmentId(streamInfo=info("a"), segmentId=7))
    assert (missing.value.code_name, unknown.value.code_name) == ("NOT_FOUND", "NOT_FOUND")


def test_what_may_not_be_aborted(driven: Driven) -> None:
    committed, of_another_stream = begun(driven, b"kept"), begun(driven, b"open")
    assert driven.commit("a", committed) == SUCCESS
    assert driven.abort("a", committed) == FAILURE
    driven.tick()
    assert driven.abort("a", committed) == FAILURE
    assert driven.abort("never", of_another_stream) == pb.TxnStatus.STREAM_NOT_FOUND
    unknown = pb.TxnId(highBits=1, lowBits=2)
    assert driven.abort("a", unknown) == FAILURE
    assert driven.state("a", of_another_stream) == "OPEN"
    assert driven.text(name(0)) == b"kept"


@pytest.mark.parametrize(
    ("lease_ms", "code"), [(9_999, "UNKNOWN"), (10_000, None), (600_000, None), (600_001, "UNKNOWN")]
)
def test_lease_limits(driven: Driven, lease_ms: int, code: str | None) -> None:
    if code is None:
        driven.begin("a", lease_ms)
        return
    with pytest.raises(RpcError) as refused:
        driven.begin("a", lease_ms)
    assert refused.value.code_name == code
    assert str(lease_ms) in refused.value.details


def test_a_lease_runs_out_unless_it_is_renewed(driven: Driven) -> None:
    kept, lost = begun(driven, b"kept", 10_000), begun(driven, b"lost", 10_000)
    driven.tick(9_999)
    assert driven.ping("a", kept, 10_000) == "OK"
    driven.tick(1)
    assert (driven.state("a", kept), driven.state("a", lost)) == ("OPEN", "ABORTED")
    assert driven.ping("a", lost, 10_000) == "ABORTED"
    driven.tick(10_000)
    assert driven.state("a", kept) == "ABORTED"


def test_ping_answers(driven: Driven) -> None:
    txn = begun(driven, b"x", 10_000)
    assert driven.ping("a", txn, 600_001) == "LEASE_TOO_LARGE"
    assert driven.ping("a", pb.TxnId(lowBits=77), 10_000) == "UNKNOWN"
    driven.commit("a", txn)
    assert driven.ping("a", txn, 10_000) == "COMMITTED"  # it is only committing, and says so: pravega.md A10
    driven.tick()
    assert driven.ping("a", txn, 10_000) == "COMMITTED"


def test_the_longest_execution_time(driven: Driven) -> None:
    txn = begun(driven, b"x", 10_000)  # 1000 leases: 10,000 s
    for _ in range(1_998):
        driven.tick(5_000)
        assert driven.ping("a", txn, 10_000) == "OK"
    driven.tick(5_000)
    assert driven.ping("a", txn, 10_000) == "MAX_EXECUTION_TIME_EXCEEDED"
    driven.tick(5_000)
    assert driven.state("a", txn) == "ABORTED"


def test_the_rust_client_is_granted_three_leases_and_hears_no_answer_that_stops_it(driven: Driven) -> None:
    txn = begun(driven, b"x", 90_000)
    driven.tick(269_999)
    assert driven.ping("a", txn, 90_000) == "OK"
    driven.tick(270_000)
    assert driven.ping("a", txn, 90_000) == "ABORTED"
    driven.tick(24 * HOUR_MS)
    assert driven.state("a", txn) == "UNKNOWN"
    assert driven.ping("a", txn, 90_000) == "ABORTED"  # there was one once
    assert driven.ping("a", txn, 60_000) == "UNKNOWN"  # Java's meaning
    assert driven.ping("a", pb.TxnId(lowBits=999), 90_000) == "UNKNOWN"


def test_the_end_of_a_transaction_is_remembered_for_a_day(driven: Driven) -> None:
    txn = begun(driven, b"x")
    driven.commit("a", txn)
    driven.tick()
    driven.tick(24 * HOUR_MS - 1)
    assert driven.state("a", txn) == "COMMITTED"
    completed = driven.call("listCompletedTransactions", pb.ListCompletedTxnRequest(streamInfo=info("a")))
    assert [(r.txnId, r.status) for r in completed.response] == [(txn, 0)]
    driven.tick(1)
    assert driven.state("a", txn) == "UNKNOWN"
    assert driven.commit("a", txn) == FAILURE
    assert not [k for k, _ in driven.storage.records("controller/transaction")]


def test_what_ended_in_a_stream_that_is_gone_is_forgotten_too(driven: Driven) -> None:
    """A day later there is another stream of that name, whose own transactions are remembered."""
    driven.make("b")
    for stream in ("a", "b"):
        driven.commit(stream, driven.begin(stream)[0])
        driven.tick()
        driven.call("sealStream", info(stream))
        driven.call("deleteStream", info(stream))
    driven.make("a", 2)
    driven.tick(HOUR_MS)
    txn = begun(driven, b"one")
    driven.commit("a", txn)
    driven.tick(24 * HOUR_MS - 1)
    assert driven.state("a", txn) == "COMMITTED"
    driven.tick(1)
    assert driven.state("a", txn) == "UNKNOWN"
    assert driven.controller.next_deadline_ms() is None


def scaled(driven: Driven) -> pb.TxnId:
    """The case seen on a real server: a transaction of epoch 1, then epoch 2 = {4, 5}, then its commit."""
    driven.scale("a", [0], [(0.0, 0.25), (0.25, 0.5)])
    txn = begun(driven, b"txn")
    driven.append(name(2, 1), b"before")
    seal = [segment_id(1, 2), segment_id(1, 3), 1]
    assert driven.scale("a", seal, [(0.0, 0.5), (0.5, 1.0)]).status == pb.ScaleResponse.STARTED
    driven.append(name(4, 2), b"between")
    return txn


def test_a_transaction_open_across_a_scale_rolls(driven: Driven) -> None:
    txn = scaled(driven)
    assert (txn.highBits >> 32, driven.commit("a", txn)) == (1, SUCCESS)
    driven.tick()
    assert driven.state("a", txn) == "COMMITTED"
    assert driven.segments("a") == [(segment_id(4, 4), 0.0, 0.5), (segment_id(4, 5), 0.5, 1.0)]
    assert [driven.text(name(n, 3)) for n in (1, 2, 3)] == [b"txn"] * 3
    assert driven.text(name(4, 2)) == b"between"
    assert [driven.storage.info(name(n, 3)).is_sealed for n in (1, 2, 3)] == [True] * 3
    assert driven.storage.info(name(4, 2)).is_sealed
    assert not driven.storage.info(name(4, 4)).is_sealed
    follow = driven.call(
        "getSegmentsImmediatelyFollowing", pb.SegmentId(streamInfo=info("a"), segmentId=segment_id(2, 4))
    )
    assert [s.segment.segmentId.segmentId for s in follow.segments] == [segment_id(3, 2), segment_id(3, 3)]


def test_after_a_rolling_transaction_others_merge_without_rolling_again(driven: Driven) -> None:
    old = scaled(driven)
    newer = begun(driven, b"newer")  # of epoch 2, which the last epoch duplicates
    driven.commit("a", old)
    driven.tick()
    latest = begun(driven, b"latest")
    assert (newer.highBits >> 32, latest.highBits >> 32) == (2, 2)
    driven.commit("a", newer)
    driven.commit("a", latest)
    driven.tick()
    assert driven.text(name(4, 4)) == b"newerlatest"
    assert driven.segments("a")[0][0] == segment_id(4, 4)


def test_transactions_of_two_epochs_commit_lowest_epoch_first(driven: Driven) -> None:
    old = scaled(driven)
    newer = begun(driven, b"newer")
    driven.commit("a", newer)
    driven.commit("a", old)
    driven.tick()
    assert [driven.state("a", t) for t in (old, newer)] == ["COMMITTED", "COMMITTED"]
    assert driven.text(name(1, 3)) == b"txn"
    assert driven.text(name(5, 4)) == b"newer"


def test_sealing_finishes_what_is_committing_and_aborts_what_is_open(driven: Driven) -> None:
    committing, open_ = begun(driven, b"in"), begun(driven, b"out")
    driven.commit("a", committing)
    driven.call("sealStream", info("a"))
    assert (driven.state("a", committing), driven.state("a", open_)) == ("COMMITTED", "ABORTED")
    assert driven.text(name(0)) == b"in"
    assert driven.storage.info(name(0)).is_sealed
    with pytest.raises(RpcError) as refused:
        driven.begin("a")
    assert refused.value.code_name == "INTERNAL"


def test_a_transaction_segment_deleted_by_a_client_does_not_stop_the_others(driven: Driven) -> None:
    broken, whole = begun(driven, b"broken"), begun(driven, b"whole")
    driven.storage.submit([Delete(transaction_segment_name(name(0), txn_uuid(broken)))], now_ms=driven.now_ms)
    driven.commit("a", broken)
    driven.commit("a", whole)
    driven.tick()
    assert [driven.text(name(i)) for i in (0, 1)] == [b"whole", b"brokenwhole"]


def test_what_is_due_on_a_full_disk_is_done_when_there_is_room(
    driven: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued, open_ = begun(driven, b"in"), begun(driven, b"out", 10_000)
    driven.commit("a", queued)

    def refuse(*args: object, **kwargs: object) -> None:
        raise StoreFull("no room")

    with monkeypatch.context() as full:
        full.setattr(driven.storage, "submit", refuse)
        driven.now_ms += 10_000
        driven.controller.tick(driven.now_ms)
        assert (driven.state("a", queued), driven.state("a", open_)) == ("COMMITTING", "OPEN")
        with pytest.raises(RpcError) as refused:
            driven.begin("a")
        assert refused.value.code_name == "RESOURCE_EXHAUSTED"
        assert driven.controller.next_deadline_ms() == driven.now_ms + 1_000  # not at once: no busy loop
    driven.tick(1_000)
    assert (driven.state("a", queued), driven.state("a", open_)) == ("COMMITTED", "ABORTED")
    assert driven.text(name(0)) == b"in"


def test_what_could_not_be_forgotten_on_a_full_disk_is_forgotten_when_there_is_room(
    driven: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    txns = [begun(driven, b"x") for _ in range(2)]
    for txn in txns:
        driven.commit("a", txn)
    driven.tick()

    def refuse(*args: object, **kwargs: object) -> None:
        raise StoreFull("no room")

    with monkeypatch.context() as full:
        full.setattr(driven.storage, "submit", refuse)
        driven.now_ms += 24 * HOUR_MS
        driven.controller.tick(driven.now_ms)
        assert driven.state("a", txns[0]) == "COMMITTED"
        assert driven.controller.next_deadline_ms() == driven.now_ms + 1_000  # not at once: no busy loop
        driven.controller.tick(driven.now_ms + 999)
    driven.tick(1_000)
    assert [driven.state("a", txn) for txn in txns] == ["UNKNOWN"] * 2
    assert not [k for k, _ in driven.storage.records("controller/transaction")]
    assert driven.controller.next_deadline_ms() is None


def test_deleting_a_stream_leaves_no_segment_and_no_record_of_it(driven: Driven) -> None:
    driven.commit("a", scaled(driven))
    driven.tick()
    begun(driven, b"open")
    driven.call("sealStream", info("a"))
    driven.call("deleteStream", info("a"))
    assert driven.storage.segments() == []
    left = [key for key, _ in driven.storage.records("controller/")]
    kinds = ["counter/transactions", "number/s/a", "scope/s"]
    assert left == [f"controller/{kind}" for kind in kinds]
    driven.make("a", 1)
    assert driven.segments("a") == [(6, 0.0, 1.0)]


def test_every_move_is_in_the_table_or_refused_with_what_is_legal() -> None:
    for state in TransactionState:
        for act in TransactionAct:
            if (state, act) in TRANSACTION_MOVES:
                assert after_transaction("t", state, act) is TRANSACTION_MOVES[state, act]
                continue
            with pytest.raises(IllegalMoveError) as refused:
                after_transaction("t", state, act)
            legal = [a.value.split(" ")[0] for s, a in TRANSACTION_MOVES if s is state]
            assert all(word in str(refused.value) for word in [state.name, *legal])


def test_leases_expire_in_the_order_of_their_deadlines() -> None:
    leases = Leases()
    a, b, c = (("s", "a", i) for i in range(3))
    leases.renew(a, 30, now_ms=0)
    leases.renew(b, 10, now_ms=0)
    leases.renew(c, 20, now_ms=0)
    leases.renew(b, 10, now_ms=15)
    leases.drop(c)
    assert leases.next_deadline_ms() == 25
    assert leases.pop_expired(now_ms=24) == []
    assert leases.pop_expired(now_ms=30) == [b, a]
    assert leases.next_deadline_ms() is None
