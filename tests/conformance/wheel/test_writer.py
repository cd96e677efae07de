"""The event writer of the official wheel: strings, bytes, keys, pipelining, events of any size.

Source: pravega.md E1, A11.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest

from pravega_lab.protocol.controller import controller_pb2 as pb
from tests.conformance.controller import ControllerStub, stream_info
from tests.conformance.wheel.calls import by_key, in_child, manager_of, read_events, read_nothing, read_stream

MIB = 1 << 20


@pytest.fixture
def stream(manager: Any, scope: str) -> str:
    manager.create_stream(scope, "events", 2)
    return "events"


def test_a_string_comes_back_as_utf8(manager: Any, scope: str, stream: str) -> None:
    writer = manager.create_writer(scope, stream)
    writer.write_event("plain")
    writer.write_event("Grüße 日本語")
    writer.flush()
    assert sorted(read_stream(manager, scope, stream, 2)) == sorted([b"plain", "Grüße 日本語".encode()])


def test_bytes_come_back_as_they_are(manager: Any, scope: str, stream: str) -> None:
    payload = bytes(range(256))
    manager.create_writer(scope, stream).write_event_bytes(payload)
    assert read_stream(manager, scope, stream, 1) == [payload]


def test_events_of_a_key_keep_their_order(manager: Any, scope: str, stream: str) -> None:
    writer = manager.create_writer(scope, stream, 100)
    for number in range(300):
        key = f"key{number % 7}"
        writer.write_event(f"{key}:{number}", routing_key=key)
    writer.flush()
    found = by_key(read_stream(manager, scope, stream, 300))
    assert found == {f"key{k}": list(range(k, 300, 7)) for k in range(7)}


def test_a_key_belongs_to_one_segment(manager: Any, scope: str) -> None:
    """The position of "key-1" is 0.383 and that of "hello" 0.659 (pravega.md A3)."""
    manager.create_stream(scope, "halves", 2)
    writer = manager.create_writer(scope, "halves")
    writer.write_event("low", "key-1")
    writer.write_event("high", "hello")
    assert events_per_segment(manager, scope, "halves") == {0: [b"low"], 1: [b"high"]}


def events_per_segment(manager: Any, scope: str, stream: str) -> dict[int, list[bytes]]:
    reader = manager.create_reader_group("segments", scope, stream).create_reader("reader")

    async def slices() -> dict[int, list[bytes]]:
        found: dict[int, list[bytes]] = {}
        while len(found) < 2:
            piece = await reader.get_segment_slice_async()
            events = [bytes(event.data()) for event in piece]
            if events:
                found[0 if b"low" in events else 1] = events
            reader.release_segment(piece)
        return found

    return asyncio.run(slices())


def test_each_write_waits_for_its_ack_by_default(
    manager: Any, controller: ControllerStub, scope: str, stream: str
) -> None:
    writer = manager.create_writer(scope, stream)
    group = manager.create_reader_group("follow", scope, stream)
    reader = group.create_reader("reader")
    for number in range(3):
        writer.write_event(f"event {number}", "one key")
        assert read_events(reader, 1) == [f"event {number}".encode()]


def test_many_events_in_flight_and_one_flush(manager: Any, scope: str, stream: str) -> None:
    writer = manager.create_writer(scope, stream, 1000)
    expected = [f"event {number:05}" for number in range(5000)]
    for event in expected:
        writer.write_event(event)
    writer.flush()
    assert sorted(read_stream(manager, scope, stream, 5000)) == [e.encode() for e in expected]


def test_an_asynchronous_write_is_awaited(manager: Any, scope: str, stream: str) -> None:
    writer = manager.create_writer(scope, stream, 10)

    async def write() -> None:
        for number in range(20):
            await writer.write_event_async(f"key:{number}", "key")

    asyncio.run(write())
    writer.flush()
    assert by_key(read_stream(manager, scope, stream, 20)) == {"key": list(range(20))}


def test_an_event_of_eight_mebibytes(manager: Any, scope: str, stream: str) -> None:
    check_large(manager, scope, stream, 8 * MIB)


def test_an_event_of_nine_mebibytes_goes_through_a_transient_segment(
    manager: Any, scope: str, stream: str
) -> None:
    check_large(manager, scope, stream, 9 * MIB)


def check_large(manager: Any, scope: str, stream: str, size_bytes: int) -> None:
    payload = hashlib.sha256(b"seed").digest() * (size_bytes // 32)
    writer = manager.create_writer(scope, stream)
    writer.write_event("before", "key")
    writer.write_event_bytes(payload, routing_key="key")
    writer.write_event("after", "key")
    writer.flush()
    found = read_stream(manager, scope, stream, 3)
    assert [len(event) for event in found] == [6, size_bytes, 5]
    assert found[1] == payload


def test_nothing_is_left_of_a_large_event_but_the_event(
    manager: Any, controller: ControllerStub, scope: str
) -> None:
    manager.create_stream(scope, "large", 1)
    manager.create_writer(scope, "large").write_event_bytes(b"x" * (9 * MIB))
    manager.seal_stream(scope, "large")
    assert manager.delete_stream(scope, "large") is True
    assert manager.delete_scope(scope) is True


def test_two_writers_share_a_stream(manager: Any, scope: str, stream: str) -> None:
    writers = {name: manager.create_writer(scope, stream, 10) for name in ("one", "two")}
    for number in range(50):
        for name, writer in writers.items():
            writer.write_event(f"{name}:{number}", name)
    for writer in writers.values():
        writer.flush()
    assert by_key(read_stream(manager, scope, stream, 100)) == {n: list(range(50)) for n in writers}


def test_thirty_segments_take_events(manager: Any, scope: str) -> None:
    manager.create_stream(scope, "wide", 30)
    writer = manager.create_writer(scope, "wide", 100)
    for number in range(300):
        writer.write_event(f"{number}:{number}", str(number))
    writer.flush()
    assert len(by_key(read_stream(manager, scope, "wide", 300))) == 300


def write_after_seal(uri: str, scope: str, stream: str) -> str:
    manager = manager_of(uri)
    writer = manager.create_writer(scope, stream)
    writer.write_event("before")
    manager.seal_stream(scope, stream)
    try:
        writer.write_event("after")
        writer.flush()
    except BaseException as error:
        return type(error).__name__
    return "written"


def test_a_write_to_a_sealed_stream_fails(uri: str, manager: Any, scope: str, stream: str) -> None:
    assert in_child(write_after_seal, uri, scope, stream) != "written"
    reader = manager.create_reader_group("rest", scope, stream).create_reader("reader")
    assert read_events(reader, 1) == [b"before"]
    assert read_nothing(reader) == []


def write_to_missing(uri: str, scope: str) -> str:
    manager = manager_of(uri)
    try:
        writer = manager.create_writer(scope, "missing")
        writer.write_event("lost")
    except BaseException as error:
        return type(error).__name__
    return "written"


def test_a_write_to_a_missing_stream_fails(uri: str, scope: str) -> None:
    assert in_child(write_to_missing, uri, scope) != "written"


def test_a_truncated_stream_begins_at_its_cut(manager: Any, controller: ControllerStub, scope: str) -> None:
    manager.create_stream(scope, "cut", 1)
    writer = manager.create_writer(scope, "cut")
    for number in range(4):
        writer.write_event(f"{number:04}")  # 12 bytes each, header included
    cut = pb.StreamCut(streamInfo=stream_info(scope, "cut"), cut={0: 24})
    assert controller.call("truncateStream", cut).status == pb.UpdateStreamStatus.SUCCESS
    assert read_stream(manager, scope, "cut", 2) == [b"0002", b"0003"]
