"""What a restart brings back: everything that was told, nothing that was not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import Message

from pravega_lab.engine.store.metadata.replies import RpcError, Waiting
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.names import segment_name, transaction_segment_name
from tests.engine.store.controller.driver import Driven, info, txn_uuid

EVENTS = pb.ScalingPolicy.BY_RATE_IN_EVENTS_PER_SEC
TXNS = [pb.TxnId(highBits=epoch << 32, lowBits=n) for epoch in (0, 1) for n in range(1, 8)]


def observed(driven: Driven) -> dict[str, Any]:
    """All that the controller tells of scope s and its streams."""
    scope = pb.ScopeInfo(scope="s")
    asks: dict[str, tuple[str, Message]] = {
        "scopes": ("listScopes", pb.ScopesRequest()),
        "streams": ("listStreamsInScope", pb.StreamsInScopeRequest(scope=scope)),
        "group": ("getReaderGroupConfig", pb.ReaderGroupInfo(scope="s", readerGroup="g")),
    }
    for stream in ("a", "b"):
        asks |= {
            f"{stream} config": ("getStreamConfiguration", info(stream)),
            f"{stream} head": ("getSegments", pb.GetSegmentsRequest(streamInfo=info(stream))),
            f"{stream} current": ("getCurrentSegments", info(stream)),
            f"{stream} subscribers": ("listSubscribers", info(stream)),
            f"{stream} all": ("getSegmentsBetween", _from_the_beginning(stream)),
        }
        for txn in TXNS:
            asks[f"{stream} {txn}"] = (
                "checkTransactionState",
                pb.TxnRequest(streamInfo=info(stream), txnId=txn),
            )
    for epoch in range(5):
        asks[f"epoch {epoch}"] = (
            "getEpochSegments",
            pb.GetEpochSegmentsRequest(streamInfo=info("a"), epoch=epoch),
        )
    return {what: _answer(driven, *ask) for what, ask in asks.items()}


def _from_the_beginning(stream: str) -> pb.StreamCutRange:
    request = pb.StreamCutRange(streamInfo=info(stream))
    getattr(request, "from")[0] = 0
    return request


def _answer(driven: Driven, method: str, request: Message) -> str:
    try:
        return str(driven.call(method, request))
    except RpcError as error:
        return error.code_name


def group(generation: int = 0, refresh_ms: int = 3_000) -> pb.ReaderGroupConfiguration:
    return pb.ReaderGroupConfiguration(
        scope="s",
        readerGroupName="g",
        groupRefreshTimeMillis=refresh_ms,
        maxOutstandingCheckpointRequest=1,
        retentionType=1,
        generation=generation,
        readerGroupId="00000000-0000-0000-0000-000000000009",
        startingStreamCuts=[pb.StreamCut(streamInfo=info("a"))],
    )


def script() -> list[Callable[[Driven], Any]]:
    """A life of two streams, step by step."""
    a, txn = info("a"), TXNS
    policy = pb.ScalingPolicy(scaleType=EVENTS, targetRate=100, scaleFactor=2, minNumSegments=1)
    return [
        lambda d: d.make("a", 2),
        lambda d: d.make("b", policy),
        lambda d: d.begin("a"),
        lambda d: d.begin("a", 90_000),
        lambda d: d.scale("a", [0], [(0.0, 0.25), (0.25, 0.5)]),
        lambda d: d.begin("a"),
        lambda d: d.abort("a", txn[1]),
        lambda d: d.commit("a", txn[0]),
        lambda d: d.call("createReaderGroup", group()),
        lambda d: d.tick(),
        lambda d: d.call("updateReaderGroup", group(refresh_ms=500)),
        lambda d: d.call("truncateStream", pb.StreamCut(streamInfo=a, cut=_tail(d))),
        lambda d: d.tick(60_000),
        lambda d: d.call(
            "updateStream",
            pb.StreamConfig(streamInfo=a, scalingPolicy=policy, tags=pb.Tags(tag=["x"])),
        ),
        lambda d: d.call(
            "deleteReaderGroup",
            pb.ReaderGroupInfo(scope="s", readerGroup="g", readerGroupId=group().readerGroupId),
        ),
        lambda d: d.call("sealStream", a),
        lambda d: d.call("deleteStream", a),
        lambda d: d.make("a", 3),
        lambda d: d.tick(24 * 3_600_000),
    ]


def _tail(driven: Driven) -> dict[int, int]:
    return {segment: 0 for segment, _, _ in driven.segments("a")}


def test_a_restart_after_each_step_changes_no_answer() -> None:
    driven = Driven()
    for number, step in enumerate(script()):
        step(driven)
        driven.sync()
        before = observed(driven)
        again = driven.restarted()
        assert observed(again) == before, f"after step {number}"
        if number % 2:
            driven = again  # life goes on in the new process every other time


def test_nothing_is_told_before_it_is_on_disk_and_what_was_not_told_is_gone() -> None:
    driven = Driven()
    driven.make("a", 2)
    before = observed(driven)
    requests: list[tuple[str, Message]] = [
        ("createScope", pb.ScopeInfo(scope="new")),
        ("createTransaction", pb.CreateTxnRequest(streamInfo=info("a"), lease=60_000)),
        ("sealStream", info("a")),
        ("getCurrentSegments", info("a")),  # rests on the seal before it
        ("getCurrentSegments", info("missing")),  # a refusal may rest on it too
        ("deleteStream", info("a")),
    ]
    answers = [driven.controller.call(m, r.SerializeToString(), now_ms=driven.now_ms) for m, r in requests]
    assert all(isinstance(answer, Waiting) and answer.outcome is None for answer in answers)
    assert observed(driven.restarted()) == before
    driven.sync()
    told = [answer.outcome for answer in answers if isinstance(answer, Waiting)]
    assert None not in told
    assert isinstance(told[4], RpcError)
    again = driven.restarted()
    assert _answer(again, "getCurrentSegments", info("a")) == "NOT_FOUND"


def test_open_transactions_get_their_lease_anew_and_in_full() -> None:
    driven = Driven()
    driven.make("a")
    txn, _ = driven.begin("a", 60_000)
    driven.tick(50_000)
    again = driven.restarted()
    again.now_ms += 100_000  # the store was down for longer than the lease
    assert again.state("a", txn) == "OPEN"
    again.tick(59_999)
    assert again.state("a", txn) == "OPEN"
    again.tick(1)
    assert again.state("a", txn) == "ABORTED"


def test_a_commit_that_was_told_goes_on_after_a_restart_in_its_order() -> None:
    driven = Driven()
    driven.make("a")
    txns = []
    for data in (b"1", b"2", b"3"):
        txn, parents = driven.begin("a")
        driven.append(transaction_segment_name(segment_name("s", "a", parents[0]), txn_uuid(txn)), data)
        txns.append(txn)
    for txn in (txns[2], txns[0], txns[1]):
        driven.commit("a", txn)
    again = driven.restarted()
    assert [again.state("a", t) for t in txns] == ["COMMITTING"] * 3
    assert again.controller.next_deadline_ms() is not None
    again.tick()
    assert again.text(segment_name("s", "a", 0)) == b"312"


def test_ids_of_transactions_are_never_given_out_again() -> None:
    driven = Driven()
    driven.make("a")
    seen: list[int] = []
    for _ in range(3):
        seen += [driven.begin("a")[0].lowBits for _ in range(4)]
        driven = driven.restarted()
    assert len(set(seen)) == len(seen) == 12
    assert seen == sorted(seen)


def test_time_never_goes_back_after_a_restart() -> None:
    driven = Driven(now_ms=5_000_000)
    driven.make("a")
    txn, _ = driven.begin("a", 60_000)
    again = Driven(driven.disk, now_ms=1_000)
    assert again.ping("a", txn, 10_000) == "OK"
    again.controller.tick(5_009_999)
    assert again.state("a", txn) == "OPEN"
    again.controller.tick(5_010_000)
    again.sync()
    assert again.state("a", txn) == "ABORTED"


@pytest.mark.parametrize("kind", ["config", "seal"])
def test_records_carry_the_time_they_were_written(kind: str) -> None:
    driven = Driven(now_ms=123_456)
    driven.make("a")
    driven.now_ms = 123_999
    if kind == "seal":
        driven.call("sealStream", info("a"))
    value = driven.storage.record("controller/stream/s/a")
    assert value is not None
    assert (b"123999" if kind == "seal" else b"123456") in value
