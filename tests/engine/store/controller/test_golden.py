"""The calls recorded from a real Pravega 0.13.0 (its standalone), made again in their order.

Each answer must be the recorded one: status, gRPC code, every field. ``DELIBERATE`` lists where we differ
and why. Lists whose order upstream leaves to a hash map are compared as bags.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from pravega_lab.engine.store.metadata.replies import RpcError
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.controller.methods import METHODS
from tests.engine.store.controller.driver import Driven

GOLDEN = Path(__file__).parents[3] / "protocol" / "golden" / "controller-golden.txt"

DELIBERATE = {
    "listScopes": "the recording's server held other scopes; compared by hand below",
    "listStreams": "upstream lists the stream z0 whose creation it refused; tokens are ours",
    "listStreams.next": "tokens are ours",
    "currentSegments.n49.tail": "upstream's last maxKey is 0.9999999999999999, which no client can write to",
}
FIRST_COUNTER = 5
"""The low half of the recording's first transaction id; ours begin at 1."""


@dataclass
class Recorded:
    name: str
    method: str
    request: bytes
    response: bytes
    code: str | None


def recordings() -> list[Recorded]:
    found = []
    for block in re.split(r"\n(?=\S+\t)", GOLDEN.read_text()):
        head = re.match(r"(\S+)\t(\S+)\n", block)
        if head is None:
            continue
        request = re.search(r"REQ \S+ (\S+)", block)
        response = re.search(r"RSP (\S+) (\S+)", block)
        assert request is not None
        assert response is not None
        code = re.search(r"code=(\w+)", block) if response[1] == "gRPC-ERROR" else None
        payload = b"" if code else _bytes(response[2])
        found.append(Recorded(head[1], head[2], _bytes(request[1]), payload, code[1] if code else None))
    return found


def _bytes(text: str) -> bytes:
    return b"" if text == "(empty)" else bytes.fromhex(text)


def bag(value: Any) -> Any:
    """``value`` without the order of its lists and without the tokens of pages."""
    if isinstance(value, dict):
        return {k: bag(v) for k, v in value.items() if k != "continuationToken"}
    if isinstance(value, list):
        return sorted((bag(v) for v in value), key=repr)
    return value


def with_our_ids(message: Message) -> Message:
    """Transaction ids of the recording as ours, and our own token in a page's request."""
    for field, value in message.ListFields():
        if field.name == "txnId" and value.lowBits < 100:
            value.lowBits -= FIRST_COUNTER - 1
        if field.name == "continuationToken" and value.token:
            value.token = "zz"
    return message


def answer_of(driven: Driven, recorded: Recorded) -> Message | str:
    request = with_our_ids(METHODS[recorded.method].request.FromString(recorded.request))
    try:
        return driven.call(recorded.method, request)  # type: ignore[no-any-return]
    except RpcError as error:
        return error.code_name


@pytest.fixture(scope="module")
def replayed() -> dict[str, tuple[Recorded, Message | str]]:
    driven = Driven()
    answers = {}
    for recorded in recordings():
        if recorded.name.endswith("state_later"):
            driven.tick(1_500)
        answers[recorded.name] = (recorded, answer_of(driven, recorded))
    return answers


def test_the_recording_is_whole(replayed: dict[str, tuple[Recorded, Message | str]]) -> None:
    assert len(replayed) == 98
    assert all(name in replayed for name in DELIBERATE)


@pytest.mark.parametrize("name", [r.name for r in recordings() if r.name not in DELIBERATE])
def test_as_recorded(name: str, replayed: dict[str, tuple[Recorded, Message | str]]) -> None:
    recorded, answer = replayed[name]
    if recorded.code is not None or isinstance(answer, str):
        assert answer == recorded.code
        return
    expected = with_our_ids(METHODS[recorded.method].response.FromString(recorded.response))
    assert bag(MessageToDict(answer)) == bag(MessageToDict(expected))


def test_lists_apart_from_what_upstream_adds(replayed: dict[str, tuple[Recorded, Message | str]]) -> None:
    scopes = replayed["listScopes"][1]
    assert isinstance(scopes, pb.ScopesResponse)
    assert list(scopes.scopes) == ["_system", "cg1"]
    streams = replayed["listStreams"][1]
    assert isinstance(streams, pb.StreamsInScopeResponse)
    assert [s.stream for s in streams.streams] == ["_MARKa", "_MARKn49", "_MARKp", "a", "n49", "p"]
    last = replayed["listStreams.next"][1]
    assert isinstance(last, pb.StreamsInScopeResponse)
    assert (list(last.streams), last.HasField("continuationToken")) == ([], True)


def test_the_last_of_49_segments_ends_at_one(replayed: dict[str, tuple[Recorded, Message | str]]) -> None:
    recorded, answer = replayed["currentSegments.n49.tail"]
    assert isinstance(answer, pb.SegmentRanges)
    upstream = pb.SegmentRanges.FromString(recorded.response)
    assert answer.segmentRanges[-1].maxKey == 1.0
    assert list(answer.segmentRanges)[:-1] == list(upstream.segmentRanges)[:-1]
