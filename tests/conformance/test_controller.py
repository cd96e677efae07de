"""Calls of the controller on both stores: what it refuses, and what it keeps of a configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import grpc
import pytest

from pravega_lab.protocol.controller import controller_pb2 as pb
from tests.conformance.controller import ControllerStub, stream_info

REFUSED = "refused"
"""A gRPC error. Which code it has is of no use to clients: they try all of these again."""


@pytest.fixture
def scope(controller: ControllerStub, scope_name: Callable[[], str]) -> str:
    name = scope_name()
    assert controller.call("createScope", pb.ScopeInfo(scope=name)).status == pb.CreateScopeStatus.SUCCESS
    return name


def answer(controller: ControllerStub, method: str, request: Any) -> Any:
    try:
        return controller.call(method, request)
    except grpc.RpcError as error:
        code = error.code()  # type: ignore[attr-defined]
        return REFUSED if code in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN) else code


def stream(scope: str, *tags: str, name: str = "a", rollover: int = 0) -> pb.StreamConfig:
    return pb.StreamConfig(
        streamInfo=stream_info(scope, name),
        scalingPolicy=pb.ScalingPolicy(minNumSegments=1),
        tags=pb.Tags(tag=tags),
        rolloverSizeBytes=rollover,
    )


def group(scope: str, **fields: Any) -> pb.ReaderGroupConfiguration:
    cuts = [pb.StreamCut(streamInfo=stream_info(scope, "a"))]
    given = {
        "scope": scope,
        "readerGroupName": "g",
        "groupRefreshTimeMillis": 3_000,
        "maxOutstandingCheckpointRequest": 1,
        "readerGroupId": str(UUID(int=1)),
        "startingStreamCuts": cuts,
        "endingStreamCuts": cuts,
    }
    return pb.ReaderGroupConfiguration(**{**given, **fields})


def at(scope: str, *offsets: int) -> list[pb.StreamCut]:
    return [pb.StreamCut(streamInfo=stream_info(scope, "a"), cut=dict(enumerate(offsets)))]


def made(controller: ControllerStub, scope: str) -> None:
    assert controller.call("createStream", stream(scope)).status == pb.CreateStreamStatus.SUCCESS


def test_no_segments_are_between_a_cut_and_an_earlier_one(controller: ControllerStub, scope: str) -> None:
    """An offset of -1 is less than every other one of its segment, also where it means its end."""
    made(controller, scope)
    left, right = controller.split(scope, "a", 0)

    def between(start: dict[int, int], end: dict[int, int]) -> Any:
        request = pb.StreamCutRange(streamInfo=stream_info(scope, "a"), to=end)
        getattr(request, "from").update(start)
        found = answer(controller, "getSegmentsBetween", request)
        return found if found == REFUSED else sorted(s.segmentId for s in found.segments)

    assert between({0: 5}, {0: 5}) == [0]
    assert between({0: 5}, {0: 4}) == REFUSED
    assert between({0: 5}, {0: -1}) == REFUSED
    assert between({0: 0}, {0: -1}) == REFUSED
    assert between({0: -1}, {0: -1}) == [0]
    assert between({left: 1, right: 1}, {0: -1}) == REFUSED
    assert between({0: 5}, {left: 1, right: -1}) == [0, left, right]
    assert between({left: 1, right: 1}, {left: -1, right: 1}) == REFUSED


@pytest.mark.parametrize("method", ["createStream", "updateStream"])
def test_a_stream_has_fewer_than_128_tags_of_fewer_than_256_characters(
    controller: ControllerStub, scope: str, method: str
) -> None:
    made(controller, scope)
    names = [f"t{n}" for n in range(128)]
    name = "a" if method == "updateStream" else "b"
    for tags in (names, ["t" * 256]):
        assert answer(controller, method, stream(scope, *tags, name=name)) == REFUSED
    assert controller.call(method, stream(scope, *names[1:], name=name)).status == 0
    other = "a" if method == "updateStream" else "c"
    assert controller.call(method, stream(scope, "t" * 255, name=other)).status == 0


def test_a_tag_is_kept_once(controller: ControllerStub, scope: str) -> None:
    controller.call("createStream", stream(scope, "x", "y", "x"))
    found = controller.call("getStreamConfiguration", stream_info(scope, "a"))
    assert sorted(found.tags.tag) == ["x", "y"]


def test_a_rollover_size_is_not_negative(controller: ControllerStub, scope: str) -> None:
    assert answer(controller, "createStream", stream(scope, rollover=-1)) == REFUSED
    made(controller, scope)
    assert answer(controller, "updateStream", stream(scope, rollover=-1)) == REFUSED


def test_two_new_ranges_never_begin_at_the_same_key(controller: ControllerStub, scope: str) -> None:
    made(controller, scope)
    request = pb.ScaleRequest(streamInfo=stream_info(scope, "a"), sealedSegments=[0], scaleTimestamp=1)
    for low, high in ((0.0, 0.5), (0.5, 1.0), (0.0, 0.5)):
        request.newKeyRanges.add(start=low, end=high)
    assert answer(controller, "scale", request) == REFUSED
    assert controller.segments(scope, "a") == {0: (0.0, 1.0)}


@pytest.mark.parametrize(
    "fields",
    [
        {"startingStreamCuts": [], "endingStreamCuts": []},
        {"maxOutstandingCheckpointRequest": 0},
        {"maxOutstandingCheckpointRequest": -1},
        {"retentionType": 3},
        {"readerGroupId": "x"},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_group_that_cannot_be(controller: ControllerStub, scope: str, fields: dict[str, Any]) -> None:
    made(controller, scope)
    assert answer(controller, "createReaderGroup", group(scope, **fields)) == REFUSED
    info = pb.ReaderGroupInfo(scope=scope, readerGroup="g")
    not_found = pb.ReaderGroupConfigResponse.RG_NOT_FOUND
    assert controller.call("getReaderGroupConfig", info).status == not_found


@pytest.mark.parametrize(("start", "end"), [((5,), (0,)), ((-1,), (5,)), ((0, 5), (0, 4))])
def test_a_group_does_not_end_before_it_begins(
    controller: ControllerStub, scope: str, start: tuple[int, ...], end: tuple[int, ...]
) -> None:
    made(controller, scope)
    backwards = group(scope, startingStreamCuts=at(scope, *start), endingStreamCuts=at(scope, *end))
    assert answer(controller, "createReaderGroup", backwards) == REFUSED
    assert controller.call("createReaderGroup", group(scope)).config.generation == 0
    assert answer(controller, "updateReaderGroup", backwards) == REFUSED


def test_a_refused_update_of_a_group_repeats_the_generation_of_the_caller(
    controller: ControllerStub, scope: str
) -> None:
    made(controller, scope)
    controller.call("createReaderGroup", group(scope))
    assert controller.call("updateReaderGroup", group(scope)).generation == 1
    for generation in (0, 7):
        stale = controller.call("updateReaderGroup", group(scope, generation=generation))
        refused = pb.UpdateReaderGroupResponse.INVALID_CONFIG
        assert (stale.status, stale.generation) == (refused, generation)
