"""What a real 0.13.0 was seen to do on updates of a policy, and with times that come with commits."""

from __future__ import annotations

from uuid import UUID

import pytest

from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.hashing import initial_ranges
from pravega_lab.protocol.metadata.watermark import Watermark
from pravega_lab.protocol.names import segment_id, segment_name, transaction_segment_name
from tests.engine.store.controller.driver import Driven, info


@pytest.fixture
def driven() -> Driven:
    return Driven()


def test_an_update_scales_to_the_number_that_the_policy_asks_for(driven: Driven) -> None:
    """As a real 0.13.0: a fixed number exactly, a minimum at least; equal widths, all segments anew."""
    driven.make("a", 2)
    by_events = pb.ScalingPolicy(
        scaleType=pb.ScalingPolicy.BY_RATE_IN_EVENTS_PER_SEC, targetRate=50, scaleFactor=2
    )
    found = []
    for policy, count in [(pb.ScalingPolicy(), 2), (pb.ScalingPolicy(), 3), (by_events, 1), (by_events, 5)]:
        config = pb.StreamConfig(streamInfo=info("a"), scalingPolicy=policy)
        config.scalingPolicy.minNumSegments = count
        assert driven.call("updateStream", config).status == pb.UpdateStreamStatus.SUCCESS
        segments = driven.call("getCurrentSegments", info("a")).segmentRanges
        found.append([(s.segmentId.segmentId, s.minKey, s.maxKey) for s in segments])
    two, three, still_three, five = found
    assert two == [(0, 0.0, 0.5), (1, 0.5, 1.0)]
    assert [i for i, _, _ in three] == [segment_id(1, n) for n in (2, 3, 4)]
    assert [(low, high) for _, low, high in three] == initial_ranges(3)
    assert still_three == three
    assert [i for i, _, _ in five] == [segment_id(2, n) for n in range(5, 10)]
    assert driven.storage.info(segment_name("s", "a", 0)).is_sealed
    assert driven.storage.info(segment_name("s", "a", segment_id(2, 5))).target_rate == 50
    again = driven.restarted()
    assert len(again.call("getCurrentSegments", info("a")).segmentRanges) == 5


def mark_behind(driven: Driven, *commits: tuple[str, int, bytes]) -> Watermark:
    """The watermark behind transactions of (writer, time, event), committed in this order."""
    driven.make("a")
    for writer, time, text in commits:
        txn = driven.call("createTransaction", pb.CreateTxnRequest(streamInfo=info("a"), lease=10_000)).txnId
        parent = segment_name("s", "a", 0)
        name = transaction_segment_name(parent, UUID(int=txn.highBits << 64 | txn.lowBits))
        driven.append(name, text)
        request = pb.TxnRequest(streamInfo=info("a"), txnId=txn, writerId=writer, timestamp=time)
        assert driven.call("commitTransaction", request).status == pb.TxnStatus.SUCCESS
    driven.tick(1)
    driven = driven.restarted()
    driven.tick(0)
    driven.tick(10_000)
    marks = driven.text(segment_name("s", "_MARKa", 0))
    (mark,) = [Watermark.from_bytes(marks[8:])]
    return mark


def test_a_commit_notes_the_time_of_its_writer(driven: Driven) -> None:
    """The watermark lies behind the last transaction with that time, also after a restart in between."""
    mark = mark_behind(
        driven, ("w", 70, b"first"), ("v", 90, b"second"), ("w", 60, b"third"), ("", 80, b"no")
    )
    assert (mark.lower, mark.upper) == (70, 90)
    assert list(mark.cut.values()) == [len(b"first" + b"second")]


def test_times_may_be_negative_and_the_least_is_none(driven: Driven) -> None:
    none = -(2**63)
    mark = mark_behind(
        driven, ("w", none, b"no"), ("w", -70, b"first"), ("w", none, b"no"), ("v", none, b"no")
    )
    assert (mark.lower, mark.upper) == (-70, -70)
    assert list(mark.cut.values()) == [len(b"no" + b"first")]
