"""Scopes, streams, reader groups, watermarks: what the recording does not show."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest

from pravega_lab.engine.store.log.operations import PutRecord, Seal, Truncate
from pravega_lab.engine.store.metadata.records import NumberRecord, TruncationRecord
from pravega_lab.engine.store.metadata.replies import RpcError
from pravega_lab.engine.store.metadata.states import (
    STREAM_MOVES,
    IllegalMoveError,
    StreamAct,
    StreamState,
    after_stream,
)
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.controller.methods import METHODS
from pravega_lab.protocol.names import segment_id, segment_name
from tests.engine.store.controller.driver import Driven, info

EVENTS = pb.ScalingPolicy.BY_RATE_IN_EVENTS_PER_SEC
MARKS_ON_A_REAL_SERVER = [
    "0000000000000041000001000000003900000000000007d000000000000007d0"
    "010000010000000018000000000000000000000000000000003ff00000000000000000000000000014",
    "000000000000004100000100000000390000000000000bb80000000000000bb8"
    "010000010000000018000000000000000000000000000000003ff0000000000000000000000000001e",
]


@pytest.fixture
def driven() -> Driven:
    return Driven()


def streams_of(driven: Driven, tag: str | None = None) -> list[str]:
    """All streams of scope s, page by page, as the official clients ask: until a page is empty."""
    found: list[str] = []
    token = pb.ContinuationToken()
    while True:
        scope = pb.ScopeInfo(scope="s")
        if tag is None:
            asked = pb.StreamsInScopeRequest(scope=scope, continuationToken=token)
            page = driven.call("listStreamsInScope", asked)
        else:
            tagged = pb.StreamsInScopeWithTagRequest(scope=scope, tag=tag, continuationToken=token)
            page = driven.call("listStreamsInScopeForTag", tagged)
        if not page.streams:
            return found
        found += [s.stream for s in page.streams]
        token = page.continuationToken


def test_lists_go_page_by_page(driven: Driven) -> None:
    for number in range(600):
        driven.make(f"s{number:03d}")
    names = streams_of(driven)
    assert len(names) == 1_200
    assert names == sorted(names)


def test_streams_by_tag(driven: Driven) -> None:
    driven.call("createScope", pb.ScopeInfo(scope="s"))
    policy = pb.ScalingPolicy(minNumSegments=1)
    for name, tags in (("a", ["x", "y"]), ("b", ["y"]), ("c", [])):
        config = pb.StreamConfig(streamInfo=info(name), scalingPolicy=policy, tags=pb.Tags(tag=tags))
        driven.call("createStream", config)
    assert streams_of(driven, "y") == ["a", "b"]
    assert streams_of(driven, "z") == []
    too_many = pb.StreamConfig(
        streamInfo=info("d"), scalingPolicy=policy, tags=pb.Tags(tag=[str(i) for i in range(128)])
    )
    with pytest.raises(RpcError, match="127"):
        driven.call("createStream", too_many)


@pytest.mark.parametrize("n", [1, 3, 49, 98, 1_000])
def test_the_ranges_of_a_new_stream_end_at_exactly_one(driven: Driven, n: int) -> None:
    driven.make("a", n)
    segments = driven.segments("a")
    assert [s for s, _, _ in segments] == list(range(n))
    assert (segments[0][1], segments[-1][2]) == (0.0, 1.0)
    assert all(a[2] == b[1] for a, b in pairwise(segments))


@pytest.mark.parametrize(
    "policy",
    [
        pb.ScalingPolicy(),
        pb.ScalingPolicy(minNumSegments=-1),
        pb.ScalingPolicy(scaleType=EVENTS, targetRate=0, scaleFactor=2, minNumSegments=1),
    ],
)
def test_a_policy_that_cannot_be_is_refused(driven: Driven, policy: pb.ScalingPolicy) -> None:
    driven.make("a")
    config = pb.StreamConfig(streamInfo=info("x"), scalingPolicy=policy)
    assert driven.call("createStream", config).status == pb.CreateStreamStatus.FAILURE
    config.streamInfo.stream = "a"
    assert driven.call("updateStream", config).status == pb.UpdateStreamStatus.FAILURE
    assert streams_of(driven) == ["_MARKa", "a"]


def test_retention_is_stored_and_returned(driven: Driven) -> None:
    driven.make("a")
    retention = pb.RetentionPolicy(retentionType=pb.RetentionPolicy.TIME, retentionParam=5, retentionMax=9)
    config = pb.StreamConfig(
        streamInfo=info("a"),
        scalingPolicy=pb.ScalingPolicy(minNumSegments=1),
        retentionPolicy=retention,
        tags=pb.Tags(tag=["x"]),
    )
    driven.call("updateStream", config)
    assert driven.call("getStreamConfiguration", info("a")) == config
    config.retentionPolicy.retentionType = pb.RetentionPolicy.UNKNOWN
    driven.call("updateStream", config)
    assert not driven.call("getStreamConfiguration", info("a")).HasField("retentionPolicy")


def test_a_scope_is_deleted_with_all_that_is_in_it(driven: Driven) -> None:
    driven.make("a", 2)
    driven.make("b")
    driven.make("a", scope="other")
    driven.begin("a")
    config = group()
    config.startingStreamCuts.add().streamInfo.CopyFrom(info("a", "other"))
    driven.call("createReaderGroup", config)
    assert driven.call("listSubscribers", info("a", "other")).subscribers == ["s/g"]
    assert driven.call("deleteScope", pb.ScopeInfo(scope="s")).status == pb.DeleteScopeStatus.SCOPE_NOT_EMPTY
    assert driven.call("deleteScopeRecursive", pb.ScopeInfo(scope="s")).status == pb.DeleteScopeStatus.SUCCESS
    assert [s for s in driven.storage.segments() if s.startswith("s/")] == []
    assert not driven.call("checkScopeExists", pb.ScopeInfo(scope="s")).exists
    assert driven.call("listSubscribers", info("a", "other")).subscribers == []
    assert driven.restarted().call("listScopes", pb.ScopesRequest()).scopes == ["_system", "other"]


def numbers(driven: Driven) -> list[str]:
    return [key for key, _ in driven.storage.records("controller/number/")]


def deleted(driven: Driven, stream: str) -> None:
    driven.call("sealStream", info(stream))
    assert driven.call("deleteStream", info(stream)).status == pb.DeleteStreamStatus.SUCCESS


def test_a_deleted_stream_and_its_mark_stream_leave_one_number(driven: Driven) -> None:
    driven.make("a", 3)
    deleted(driven, "a")
    driven = driven.restarted()
    assert numbers(driven) == ["controller/number/s/a"]
    driven.make("a")
    assert (driven.segments("a"), driven.segments("_MARKa")) == ([(3, 0.0, 1.0)], [(3, 0.0, 1.0)])
    deleted(driven, "_MARKa")  # by a client
    assert numbers(driven) == ["controller/number/s/_MARKa", "controller/number/s/a"]
    deleted(driven, "a")
    assert numbers(driven) == ["controller/number/s/a"]
    driven.make("a")
    assert driven.segments("_MARKa") == [(4, 0.0, 1.0)]
    driven.make("A")  # its name comes before that of its mark stream
    driven.call("deleteScopeRecursive", pb.ScopeInfo(scope="s"))
    assert numbers(driven) == ["controller/number/s/A", "controller/number/s/a"]


def test_a_mark_stream_does_not_use_the_numbers_that_an_earlier_release_recorded(driven: Driven) -> None:
    driven.make("b")
    record = NumberRecord(driven.now_ms, "s", "_MARKa", 7)
    driven.storage.submit([PutRecord(record.key(), record.value())], now_ms=driven.now_ms)
    driven.sync()
    driven = driven.restarted()
    driven.make("a")
    assert (driven.segments("a"), driven.segments("_MARKa")) == ([(0, 0.0, 1.0)], [(8, 0.0, 1.0)])
    deleted(driven, "a")
    assert numbers(driven) == ["controller/number/s/a"]
    driven.make("a")
    assert (driven.segments("a"), driven.segments("_MARKa")) == ([(9, 0.0, 1.0)], [(9, 0.0, 1.0)])


def test_truncation_deletes_what_lies_before_and_keeps_what_waits(driven: Driven) -> None:
    driven.make("a", 2)
    driven.append(name(0), b"0123456789")
    driven.append(name(1), b"0123456789")
    driven.scale("a", [0], [(0.0, 0.25), (0.25, 0.5)])
    assert truncate(driven, {0: -1, 1: 4}) == pb.UpdateStreamStatus.SUCCESS
    assert (driven.storage.info(name(0)).start_offset, driven.text(name(1))) == (10, b"456789")
    assert truncate(driven, {segment_id(1, 2): 0, segment_id(1, 3): 0, 1: 4}) == 0
    assert not driven.storage.exists(name(0))
    assert truncate(driven, {0: -1, 1: 5}) == pb.UpdateStreamStatus.FAILURE
    assert (
        truncate(driven, {segment_id(1, 2): 0, segment_id(1, 3): 0, 1: 11}) == pb.UpdateStreamStatus.FAILURE
    )
    head = driven.call("getSegments", pb.GetSegmentsRequest(streamInfo=info("a")))
    assert {s.segmentId.segmentId: s.offset for s in head.segments} == {
        segment_id(1, 2): 0,
        segment_id(1, 3): 0,
        1: 4,
    }


def test_truncation_in_the_middle_of_a_merge_keeps_the_unread_successor(driven: Driven) -> None:
    driven.make(
        "a",
        pb.ScalingPolicy(scaleType=EVENTS, targetRate=1_000, scaleFactor=2, minNumSegments=1),
    )
    driven.scale("a", [0], [(0.0, 0.5), (0.5, 1.0)])
    low, high, merged = segment_id(1, 1), segment_id(1, 2), segment_id(2, 3)
    driven.append(name(low), b"low")
    driven.append(name(high), b"high")
    driven.scale("a", [low, high], [(0.0, 1.0)])
    driven.append(name(merged), b"merged")
    driven.scale("a", [merged], [(0.0, 0.5), (0.5, 1.0)])
    assert truncate(driven, {low: 1, merged: -1}) == pb.UpdateStreamStatus.SUCCESS
    assert driven.text(name(low)) == b"ow"
    assert not driven.storage.exists(name(high))
    assert driven.text(name(merged)) == b"merged"


def test_truncation_keeps_a_successor_that_waits_for_one_that_has_not_begun(driven: Driven) -> None:
    """Segment 0 is not read. Segment 3 waits for it, and segment 6 for segment 3."""
    driven.make("a", pb.ScalingPolicy(scaleType=EVENTS, targetRate=1_000, scaleFactor=2, minNumSegments=2))
    driven.scale("a", [0, 1], [(0.0, 0.25), (0.25, 0.75), (0.75, 1.0)])
    waiting, read = segment_id(1, 3), segment_id(1, 4)
    driven.scale("a", [waiting, read], [(0.25, 0.5), (0.5, 0.8), (0.8, 1.0)])
    behind, begun = segment_id(2, 6), segment_id(2, 7)
    driven.append(name(behind), b"unread")
    driven.scale("a", [behind, begun], [(0.5, 1.0)])
    assert truncate(driven, {0: 0, waiting: -1, behind: -1, begun: 0}) == pb.UpdateStreamStatus.SUCCESS
    assert not driven.storage.exists(name(read))
    assert driven.text(name(behind)) == b"unread"


def test_a_truncation_at_the_end_of_an_open_segment_is_refused(driven: Driven) -> None:
    driven.make("a", 2)
    driven.append(name(0), b"0123456789")
    assert truncate(driven, {0: -1, 1: 0}) == pb.UpdateStreamStatus.FAILURE
    driven.storage.submit([Seal(name(0))], now_ms=driven.now_ms)  # by a client, at the segment store
    driven.sync()
    assert truncate(driven, {0: -1, 1: 0}) == pb.UpdateStreamStatus.SUCCESS
    assert driven.text(name(0)) == b""


def test_a_head_at_an_open_end_as_earlier_releases_stored_it_can_be_replaced(driven: Driven) -> None:
    driven.make("a")
    driven.append(name(0), b"0123456789")
    record = TruncationRecord(driven.now_ms, "s", "a", {0: -1})
    driven.storage.submit([PutRecord(record.key(), record.value())], now_ms=driven.now_ms)
    driven.sync()
    driven = driven.restarted()
    assert truncate(driven, {0: -1}) == pb.UpdateStreamStatus.FAILURE
    assert truncate(driven, {0: 4}) == pb.UpdateStreamStatus.SUCCESS
    assert driven.restarted().text(name(0)) == b"456789"


def test_a_segment_that_a_client_truncated_further_stays_so(driven: Driven) -> None:
    driven.make("a")
    driven.append(name(0), b"0123456789")
    driven.storage.submit([Truncate(name(0), 8)], now_ms=driven.now_ms)
    driven.sync()
    assert truncate(driven, {0: 5}) == pb.UpdateStreamStatus.SUCCESS
    assert driven.text(name(0)) == b"89"


def test_a_segment_that_a_client_sealed_can_still_be_scaled(driven: Driven) -> None:
    driven.make("a", 2)
    driven.storage.submit([Seal(name(0))], now_ms=driven.now_ms)
    assert driven.scale("a", [0], [(0.0, 0.25), (0.25, 0.5)]).status == pb.ScaleResponse.STARTED
    assert len(driven.segments("a")) == 3


def test_what_this_controller_does_not_do_is_unimplemented(driven: Driven) -> None:
    for method in ("getControllerToBucketMapping", "noSuchCall"):
        with pytest.raises(RpcError) as refused:
            driven.controller.call(method, b"", now_ms=0)
        assert refused.value.code_name == "UNIMPLEMENTED"


@pytest.mark.parametrize("method", METHODS)
def test_every_call_bears_an_empty_request(driven: Driven, method: str) -> None:
    assert empty_outcome(driven, method) in {"answered", "NOT_FOUND", "INTERNAL", "UNKNOWN"}


def empty_outcome(driven: Driven, method: str) -> str:
    try:
        driven.controller.call(method, b"", now_ms=1)
    except RpcError as error:
        return error.code_name
    return "answered"


@pytest.mark.parametrize("method", [m for m in METHODS if METHODS[m].request is not pb.ServerRequest])
def test_a_request_that_cannot_be_decoded_is_refused(driven: Driven, method: str) -> None:
    with pytest.raises(RpcError) as refused:
        driven.controller.call(method, b"\x0a\xff", now_ms=1)
    assert refused.value.code_name == "INVALID_ARGUMENT"


# ---- reader groups ------------------------------------------------------------------------------


def group(
    generation: int = 0, retention: int = 1, streams: tuple[str, ...] = ("a",)
) -> pb.ReaderGroupConfiguration:
    return pb.ReaderGroupConfiguration(
        scope="s",
        readerGroupName="g",
        maxOutstandingCheckpointRequest=1,
        retentionType=retention,
        generation=generation,
        readerGroupId="00000000-0000-0000-0000-000000000009",
        startingStreamCuts=[pb.StreamCut(streamInfo=info(name)) for name in streams],
    )


def subscribers(driven: Driven, stream: str) -> list[str]:
    return list(driven.call("listSubscribers", info(stream)).subscribers)


def test_a_group_has_a_state_stream_and_subscriptions(driven: Driven) -> None:
    driven.make("a", 2)
    driven.make("b")
    made = driven.call("createReaderGroup", group())
    assert made.config == group()
    assert streams_of(driven) == ["_MARKa", "_MARKb", "_RGg", "a", "b"]
    assert (subscribers(driven, "a"), subscribers(driven, "b")) == (["s/g"], [])
    moved = driven.call("updateReaderGroup", group(streams=("b",)))
    assert (moved.status, moved.generation) == (pb.UpdateReaderGroupResponse.SUCCESS, 1)
    assert (subscribers(driven, "a"), subscribers(driven, "b")) == ([], ["s/g"])
    stale = driven.call("updateReaderGroup", group())
    assert (stale.status, stale.generation) == (pb.UpdateReaderGroupResponse.INVALID_CONFIG, 0)
    asked = pb.ReaderGroupInfo(scope="s", readerGroup="g", readerGroupId=group().readerGroupId)
    assert driven.call("deleteReaderGroup", asked).status == pb.DeleteReaderGroupStatus.SUCCESS
    assert driven.call("deleteReaderGroup", asked).status == pb.DeleteReaderGroupStatus.RG_NOT_FOUND
    assert (streams_of(driven), subscribers(driven, "b")) == (["_MARKa", "_MARKb", "a", "b"], [])


@pytest.mark.parametrize(
    ("subscriber", "generation", "cut", "status"),
    [
        ("s/g", 0, {0: 5, 1: 5}, "SUCCESS"),
        ("s/g", 0, {0: 5}, "STREAM_CUT_NOT_VALID"),
        ("s/g", 0, {0: -1, 1: 5}, "STREAM_CUT_NOT_VALID"),  # the end of a segment that is not sealed
        ("s/g", 0, {0: 2, 1: 0}, "STREAM_CUT_NOT_VALID"),  # behind the cut before it
        ("s/g", 1, {0: 5, 1: 5}, "GENERATION_MISMATCH"),
        ("s/other", 0, {0: 5, 1: 5}, "SUBSCRIBER_NOT_FOUND"),
    ],
)
def test_subscribers_tell_how_far_they_are(
    driven: Driven, subscriber: str, generation: int, cut: dict[int, int], status: str
) -> None:
    driven.make("a", 2)
    driven.call("createReaderGroup", group())

    def told(who: str, of: int, where: dict[int, int]) -> str:
        request = pb.SubscriberStreamCut(
            subscriber=who,
            generation=of,
            readerGroupId=group().readerGroupId,
            streamCut=pb.StreamCut(streamInfo=info("a"), cut=where),
        )
        return pb.UpdateSubscriberStatus.Status.Name(driven.call("updateSubscriberStreamCut", request).status)

    assert told("s/g", 0, {0: 3, 1: 0}) == "SUCCESS"
    assert told(subscriber, generation, cut) == status


# ---- times --------------------------------------------------------------------------------------


def note(driven: Driven, writer: str, timestamp: int, position: dict[int, int]) -> str:
    cut = pb.StreamCut(streamInfo=info("a"), cut=position)
    asked = pb.TimestampFromWriter(writer=writer, position=cut, timestamp=timestamp)
    return pb.TimestampResponse.Status.Name(driven.call("noteTimestampFromWriter", asked).result)


def bounds_written(driven: Driven) -> list[tuple[int, int]]:
    """(lower, upper) of each event on the mark stream."""
    data, found = driven.text(segment_name("s", "_MARKa", 0)), []
    while data:
        (length,) = struct.unpack_from(">i", data, 4)
        found.append(struct.unpack_from(">qq", data, 16))
        data = data[8 + length :]
    return found


def test_watermarks_are_the_bytes_of_a_real_server(driven: Driven) -> None:
    driven.make("a")
    note(driven, "w", 2_000, {0: 20})
    driven.tick(10_000)
    note(driven, "w", 3_000, {0: 30})
    driven.tick(10_000)
    assert driven.text(segment_name("s", "_MARKa", 0)).hex() == "".join(MARKS_ON_A_REAL_SERVER)


def test_a_watermark_waits_for_every_writer_until_one_falls_silent(driven: Driven) -> None:
    driven.make("a")
    note(driven, "fast", 200, {0: 20})
    note(driven, "slow", 100, {0: 10})
    driven.tick(10_000)
    assert bounds_written(driven) == [(100, 200)]
    note(driven, "fast", 300, {0: 30})
    driven.tick(9_999)
    assert bounds_written(driven) == [(100, 200)]
    driven.tick(1)  # slow has been silent for long enough
    assert bounds_written(driven)[1:] == [(300, 300)]
    driven.tick(60_000)
    assert len(bounds_written(driven)) == 2
    assert driven.controller.next_deadline_ms() is None


def test_a_watermark_covers_all_keys(driven: Driven) -> None:
    from pravega_lab.engine.store.metadata.epochs import Epochs, first_epoch, scaled_epoch
    from pravega_lab.engine.store.streams.watermarks import upper_bound

    epochs = Epochs([first_epoch([(0.0, 0.5), (0.5, 1.0)], 0, now_ms=0)])
    epochs.add(scaled_epoch(epochs.active, [0], [(0.0, 0.25), (0.25, 0.5)], now_ms=0))
    left, right = segment_id(1, 2), segment_id(1, 3)
    assert upper_bound(epochs, [{0: 5, 1: 7}, {0: 9, 1: 2}]) == {0: 9, 1: 7}
    assert upper_bound(epochs, [{0: 100, 1: 7}, {left: 10}]) == {left: 10, right: 0, 1: 7}
    assert upper_bound(epochs, [{left: 10}]) == {left: 10, right: 0, 1: 0}


def test_time_and_position_do_not_go_back(driven: Driven) -> None:
    driven.make("a")
    assert note(driven, "w", 100, {0: 10}) == "SUCCESS"
    assert note(driven, "w", 99, {0: 10}) == "INVALID_TIME"
    assert note(driven, "w", 100, {0: 9}) == "INVALID_POSITION"
    assert note(driven, "w", 100, {77: 9}) == "INVALID_POSITION"


def test_stream_moves_are_in_the_table_or_refused() -> None:
    for state in StreamState:
        for act in StreamAct:
            if (state, act) in STREAM_MOVES:
                assert after_stream("s/a", state, act) is STREAM_MOVES[state, act]
            else:
                with pytest.raises(IllegalMoveError, match=state.name):
                    after_stream("s/a", state, act)


def name(segment: int) -> str:
    return segment_name("s", "a", segment)


def truncate(driven: Driven, cut: dict[int, int]) -> int:
    status = driven.call("truncateStream", pb.StreamCut(streamInfo=info("a"), cut=cut)).status
    assert isinstance(status, int)
    return status
