"""Much work at once: it is refused in words, or done in steps between which other calls are decided."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.message import Message

from pravega_lab.engine.store.log.operations import CreateSegment, Delete
from pravega_lab.engine.store.metadata.replies import RpcError, Waiting
from pravega_lab.engine.store.transactions import leases
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.controller.methods import METHODS
from tests.engine.store.controller.driver import Driven, info

SCOPE = pb.ScopeInfo(scope="s")
SUCCESS = pb.DeleteScopeStatus.SUCCESS


def begin(driven: Driven, method: str, request: Message) -> Waiting:
    """A call that is not answered at once."""
    handle = driven.controller.call(method, request.SerializeToString(), now_ms=driven.now_ms)
    assert isinstance(handle, Waiting)
    driven.sync()
    assert handle.outcome is None
    return handle


def answer(handle: Waiting, method: str) -> Any:
    assert handle.outcome is not None
    assert not isinstance(handle.outcome, RpcError)
    return METHODS[method].response.FromString(handle.outcome.payload)


def finish(driven: Driven, *handles: Waiting) -> int:
    """How many steps it took until all are answered."""
    for steps in range(1, 1000):
        assert driven.controller.next_deadline_ms() == 0
        driven.controller.tick(driven.now_ms)
        driven.sync()
        if all(handle.outcome is not None for handle in handles):
            return steps
    raise AssertionError("the work does not end")


def full(**limits: int) -> Driven:
    driven = Driven(**limits)
    for number in range(20):
        driven.make(f"x{number}")
    driven.make("elsewhere", scope="t")
    return driven


def test_a_scope_is_deleted_in_steps_and_other_calls_are_decided_between_them() -> None:
    driven = full(operations_max=10)
    handle = begin(driven, "deleteScopeRecursive", SCOPE)
    again = begin(driven, "deleteScopeRecursive", SCOPE)
    assert driven.segments("elsewhere", "t")
    refused = driven.call("createStream", pb.StreamConfig(streamInfo=info("new"), scalingPolicy=POLICY))
    assert refused.status == pb.CreateStreamStatus.SCOPE_NOT_FOUND
    group = pb.ReaderGroupConfiguration(
        scope="s",
        readerGroupName="g",
        maxOutstandingCheckpointRequest=1,
        startingStreamCuts=[pb.StreamCut(streamInfo=info("new"))],
    )
    assert driven.call("createReaderGroup", group).status == pb.CreateReaderGroupResponse.SCOPE_NOT_FOUND
    assert finish(driven, handle, again) >= 3
    assert [answer(h, "deleteScopeRecursive").status for h in (handle, again)] == [SUCCESS, SUCCESS]
    assert driven.call("checkScopeExists", SCOPE).exists is False
    assert driven.storage.segments() == [name for name in driven.storage.segments() if name.startswith("t/")]
    driven.make("x1")  # the scope is usable again


def test_a_scope_whose_deletion_a_crash_cut_off_is_deleted_by_the_next_call() -> None:
    driven = full(operations_max=10)
    begin(driven, "deleteScopeRecursive", SCOPE)
    restarted = driven.restarted()
    listed = restarted.call("listStreamsInScope", pb.StreamsInScopeRequest(scope=SCOPE)).streams
    assert 0 < len(listed) < 40
    handle = begin(restarted, "deleteScopeRecursive", SCOPE)
    finish(restarted, handle)
    assert answer(handle, "deleteScopeRecursive").status == SUCCESS
    assert restarted.call("checkScopeExists", SCOPE).exists is False


def test_a_stream_of_many_segments_is_deleted_in_steps() -> None:
    driven = Driven(operations_max=10)
    driven.make("x", 35)
    driven.call("sealStream", info("x"))
    handle = begin(driven, "deleteStream", info("x"))
    crashed = driven.restarted()
    assert crashed.call("deleteStream", info("x")).status == pb.DeleteStreamStatus.SUCCESS
    assert crashed.storage.segments() == []
    assert finish(driven, handle) >= 2
    assert answer(handle, "deleteStream").status == pb.DeleteStreamStatus.SUCCESS
    assert driven.storage.segments() == []
    driven.make("x")
    assert driven.segments("x")[0][0] == 35  # numbers are not used again


def test_a_stream_with_many_open_transactions_is_sealed_in_steps() -> None:
    driven = Driven(operations_max=10)
    driven.make("x", 2)
    transactions = [driven.begin("x")[0] for _ in range(20)]
    handle = begin(driven, "sealStream", info("x"))
    finish(driven, handle)
    assert {driven.state("x", txn) for txn in transactions} == {"ABORTED"}
    assert answer(handle, "sealStream").status == pb.UpdateStreamStatus.SUCCESS
    assert driven.segments("x") == []


def test_many_transactions_that_expire_at_once_are_aborted_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pravega_lab.engine.store.transactions.transactions.EXPIRED_MAX", 4)
    driven = Driven()
    driven.make("x")
    transactions = [driven.begin("x", 10_000)[0] for _ in range(10)]
    driven.now_ms += 10_000
    aborted = []
    for _ in range(3):
        driven.controller.tick(driven.now_ms)
        driven.sync()
        aborted.append([driven.state("x", txn) for txn in transactions].count("ABORTED"))
    assert aborted == [4, 8, 10]


def test_renewed_leases_leave_nothing_behind() -> None:
    kept = leases.Leases()
    key = ("s", "x", 1)
    for now_ms in range(10_000):
        kept.renew(key, 60_000, now_ms=now_ms)
    assert len(kept._heap) <= leases.STALE_MAX + 3
    assert kept.next_deadline_ms() == 9_999 + 60_000


POLICY = pb.ScalingPolicy(minNumSegments=11)
WORDS = r"stream s/x asks for 11 segments; the store allows 10 in a stream or table \(--max-stream-segments\)"


def test_too_many_segments_of_a_stream_are_refused_in_words() -> None:
    driven = Driven(stream_segments_max=10)
    driven.call("createScope", SCOPE)
    asked = pb.StreamConfig(streamInfo=info("x"), scalingPolicy=POLICY)
    with pytest.raises(RpcError, match=f"INVALID_ARGUMENT: {WORDS}"):
        driven.call("createStream", asked)
    driven.make("x", 10)
    with pytest.raises(RpcError, match=WORDS):
        driven.call("updateStream", asked)
    with pytest.raises(RpcError, match=WORDS):
        driven.scale("x", [0], [(0.0, 0.05), (0.05, 0.1)])
    assert len(driven.segments("x")) == 10
    end = driven.segments("x")[1][2]
    replaced = driven.scale("x", [0, 1], [(0.0, 0.03), (0.03, end)])
    assert replaced.status == pb.ScaleResponse.STARTED


def test_too_many_segments_of_the_store_are_refused_in_words() -> None:
    driven = Driven()
    driven.make("x", 3)
    driven.storage.segments_max = 6
    with pytest.raises(RpcError, match=r"RESOURCE_EXHAUSTED: .*may hold 6 segments \(--max-segments\)"):
        driven.make("y", 3)
    driven.make("z", 1)  # with its mark stream it is the last that fits
    driven.append("s/x/0.#epoch.0", b"still served")
    driven.call("sealStream", info("x"))
    driven.call("deleteStream", info("x"))
    driven.make("y", 3)
    restarted = driven.restarted()  # a lower limit refuses what is new, and nothing that is there
    restarted.storage.segments_max = 1
    with pytest.raises(RpcError, match="may hold 1 segments"):
        restarted.make("w")


def test_a_client_that_removed_all_segments_of_a_stream_makes_its_deletion_no_slower() -> None:
    driven = Driven()
    driven.make("x", 200)
    names = [name for name in driven.storage.segments() if name.startswith("s/x/")]
    driven.storage.submit([Delete(name) for name in names[1:]], now_ms=driven.now_ms)
    driven.sync()
    tries: list[int] = []
    submit = driven.storage.submit

    def counted(operations: Any, **time: Any) -> Any:
        tries.append(len(operations))
        return submit(operations, **time)

    driven.storage.submit = counted  # type: ignore[method-assign]
    driven.call("sealStream", info("x"))
    driven.call("deleteStream", info("x"))
    assert len(tries) == 4
    assert driven.storage.segments() == []


def test_a_limit_counts_segments_that_clients_create_themselves() -> None:
    driven = Driven()
    driven.storage.segments_max = 2
    driven.storage.submit([CreateSegment("a"), CreateSegment("b")], now_ms=1)
    with pytest.raises(Exception, match="may hold 2 segments"):
        driven.storage.submit([CreateSegment("c")], now_ms=1)
