"""Reader groups and readers of the official wheel (pravega.md E1, E3; reader-groups.md C4)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from pravega_client import StreamReaderGroupConfig

from pravega_lab.protocol.wire import commands as c
from tests.conformance.controller import ControllerStub
from tests.conformance.wheel.calls import by_key, in_child, manager_of, read_events, read_nothing
from tests.conformance.wire.connection import Wire, endpoint
from tests.waiting import wait_until

STORED_AFTER_S = 3.2  # a wheel reader stores its offsets at the first call more than 3 s after the last time


@pytest.fixture
def stream(manager: Any, scope: str) -> str:
    manager.create_stream(scope, "read", 2)
    return "read"


def write(manager: Any, scope: str, stream: str, numbers: range, keys: int = 5) -> None:
    writer = manager.create_writer(scope, stream, 100)
    for number in numbers:
        key = f"k{number % keys}"
        writer.write_event(f"{key}:{number}", key)
    writer.flush()


def read_and_store(reader: Any, count: int) -> list[bytes]:
    """Read, and stay until the reader has stored its offsets in the group's state."""
    events = read_events(reader, count)
    time.sleep(STORED_AFTER_S)
    assert read_nothing(reader) == []
    return events


def test_a_group_reads_from_the_head(manager: Any, scope: str, stream: str) -> None:
    write(manager, scope, stream, range(100))
    reader = manager.create_reader_group("group", scope, stream).create_reader("reader")
    assert by_key(read_events(reader, 100)) == {f"k{k}": list(range(k, 100, 5)) for k in range(5)}
    assert read_nothing(reader) == []


def test_a_group_reads_from_the_tail(manager: Any, scope: str, stream: str) -> None:
    write(manager, scope, stream, range(50))
    reader = manager.create_reader_group("group", scope, stream, True).create_reader("reader")
    write(manager, scope, stream, range(50, 60))
    assert sorted(int(e.split(b":")[1]) for e in read_events(reader, 10)) == list(range(50, 60))


@pytest.mark.slow
def test_a_reader_waits_for_what_comes(manager: Any, scope: str, stream: str) -> None:
    reader = manager.create_reader_group("group", scope, stream).create_reader("reader")
    assert read_nothing(reader) == []
    write(manager, scope, stream, range(3))
    assert len(read_events(reader, 3)) == 3


def test_events_tell_their_offsets(manager: Any, scope: str) -> None:
    manager.create_stream(scope, "one", 1)
    writer = manager.create_writer(scope, "one")
    for event in ("a", "bb", "ccc"):
        writer.write_event(event)
    reader = manager.create_reader_group("group", scope, "one").create_reader("reader")

    async def offsets() -> list[int]:
        piece = await reader.get_segment_slice_async()
        return [event.offset() for event in piece]

    assert asyncio.run(offsets()) == [0, 9, 19]


def test_a_slice_not_released_is_given_back_when_the_reader_ends(manager: Any, scope: str) -> None:
    manager.create_stream(scope, "one", 1)
    write(manager, scope, "one", range(10))
    group = manager.create_reader_group("group", scope, "one")
    first = group.create_reader("first")

    async def take_some() -> list[bytes]:
        piece = await first.get_segment_slice_async()
        return [bytes(next(piece).data()) for _ in range(4)]

    assert len(asyncio.run(take_some())) == 4
    first.reader_offline()
    second = group.create_reader("second")
    assert by_key(read_events(second, 10)) == {f"k{k}": [k, k + 5] for k in range(5)}


@pytest.mark.slow
def test_a_reader_that_goes_offline_leaves_its_segments_to_the_next(
    manager: Any, scope: str, stream: str
) -> None:
    write(manager, scope, stream, range(40))
    group = manager.create_reader_group("group", scope, stream)
    first = group.create_reader("first")
    assert len(read_and_store(first, 40)) == 40
    first.reader_offline()
    write(manager, scope, stream, range(40, 60))
    second = group.create_reader("second")
    assert sorted(int(e.split(b":")[1]) for e in read_events(second, 20)) == list(range(40, 60))


@pytest.mark.slow
def test_the_group_declares_a_reader_offline(manager: Any, scope: str, stream: str) -> None:
    write(manager, scope, stream, range(40))
    group = manager.create_reader_group("group", scope, stream)
    lost = group.create_reader("lost")
    assert len(read_and_store(lost, 40)) == 40
    group.reader_offline("lost")
    write(manager, scope, stream, range(40, 50))
    second = group.create_reader("second")
    assert sorted(int(e.split(b":")[1]) for e in read_events(second, 10)) == list(range(40, 50))


@pytest.mark.slow
def test_two_readers_share_the_segments(manager: Any, controller: ControllerStub, scope: str) -> None:
    """The first one takes the only segment; when that splits, each gets its share."""
    manager.create_stream(scope, "shared", 1)
    group = manager.create_reader_group("group", scope, "shared")
    readers = {name: group.create_reader(name) for name in ("one", "two")}
    ranges = [(n / 4, (n + 1) / 4) for n in range(4)]
    controller.scale(scope, "shared", [0], ranges)
    write(manager, scope, "shared", range(200), keys=40)
    found: dict[str, list[bytes]] = {"one": [], "two": []}

    async def read(name: str) -> None:
        piece = await readers[name].get_segment_slice_async()
        found[name] += [bytes(event.data()) for event in piece]
        readers[name].release_segment(piece)

    async def read_all() -> None:
        deadline = time.monotonic() + 60
        while sum(map(len, found.values())) < 200 and time.monotonic() < deadline:
            await asyncio.gather(*map(read, readers))

    asyncio.run(read_all())
    assert all(found.values())
    assert by_key(found["one"] + found["two"]) == {f"k{k}": list(range(k, 200, 40)) for k in range(40)}


@pytest.mark.slow
def test_a_group_starts_at_the_cut_of_another(manager: Any, scope: str, stream: str) -> None:
    write(manager, scope, stream, range(30))
    first = manager.create_reader_group("first", scope, stream)
    read_and_store(first.create_reader("reader"), 30)
    cut = first.get_streamcut()
    write(manager, scope, stream, range(30, 45))
    reader = manager.create_reader_group("second", scope, stream, False, cut).create_reader("reader")
    assert sorted(int(e.split(b":")[1]) for e in read_events(reader, 15)) == list(range(30, 45))


@pytest.mark.slow
def test_the_stream_cut_of_a_group_that_has_read_all_is_the_tail(
    manager: Any, scope: str, stream: str
) -> None:
    write(manager, scope, stream, range(30))
    group = manager.create_reader_group("group", scope, stream)
    assert group.get_streamcut().get_segment_offset_map() == {0: 0, 1: 0}
    events = read_and_store(group.create_reader("reader"), 30)
    positions = group.get_streamcut().get_segment_offset_map()
    assert sum(positions.values()) == sum(len(event) + 8 for event in events)


def test_a_group_of_several_streams_by_configuration(manager: Any, scope: str) -> None:
    for name in ("one", "two"):
        manager.create_stream(scope, name, 1)
        manager.create_writer(scope, name).write_event(f"{name}:0")
    config = StreamReaderGroupConfig(False, scope, "one", "two")
    reader = manager.create_reader_group_with_config("group", scope, config).create_reader("reader")
    assert by_key(read_events(reader, 2)) == {"one": [0], "two": [0]}


def test_a_group_by_configuration_from_the_tail(manager: Any, scope: str, stream: str) -> None:
    write(manager, scope, stream, range(10))
    config = StreamReaderGroupConfig(True, scope, stream)
    reader = manager.create_reader_group_with_config("group", scope, config).create_reader("reader")
    write(manager, scope, stream, range(10, 12))
    assert sorted(int(e.split(b":")[1]) for e in read_events(reader, 2)) == [10, 11]


@pytest.mark.slow
def test_a_group_made_twice_is_one_group(manager: Any, scope: str, stream: str) -> None:
    write(manager, scope, stream, range(10))
    first = manager.create_reader_group("group", scope, stream)
    assert len(read_and_store(first.create_reader("one"), 10)) == 10
    again = manager.create_reader_group("group", scope, stream)
    assert again.get_streamcut().get_segment_offset_map() == first.get_streamcut().get_segment_offset_map()


def test_a_deleted_group_is_gone(manager: Any, controller: ControllerStub, scope: str, stream: str) -> None:
    table, wire = f"{scope}/group_kvtable/0.#epoch.0", Wire(endpoint(controller))
    manager.create_reader_group("group", scope, stream)
    assert isinstance(wire.ask(c.GetTableSegmentInfo(1, table, "")), c.TableSegmentInfo)
    manager.delete_reader_group("group", scope)
    assert wire.ask(c.GetTableSegmentInfo(1, table, "")) == c.NoSuchSegment(1, table, "", -1)
    manager.delete_reader_group("group", scope)  # of a missing group: no error
    wire.close()


@pytest.mark.slow
def test_a_deleted_group_begins_anew(store: str, scope_name: Callable[[], str]) -> None:
    """Ours only: on the released server a group made again under its old name does not get going for long."""
    manager, scope = manager_of(store), scope_name()
    manager.create_scope(scope)
    manager.create_stream(scope, "read", 2)
    write(manager, scope, "read", range(10))
    first = manager.create_reader_group("group", scope, "read").create_reader("reader")
    assert len(read_and_store(first, 10)) == 10
    first.reader_offline()
    manager.delete_reader_group("group", scope)
    again = manager.create_reader_group("group", scope, "read").create_reader("reader")
    assert len(read_events(again, 10)) == 10


def create_twice(uri: str, scope: str, stream: str) -> str:
    manager = manager_of(uri)
    group = manager.create_reader_group("group", scope, stream)
    keep = group.create_reader("same")
    try:
        group.create_reader("same")
    except BaseException as error:
        return type(error).__name__
    return repr(keep)


def test_a_reader_that_is_online_is_not_created_again(uri: str, scope: str, stream: str) -> None:
    assert in_child(create_twice, uri, scope, stream) == "PanicException"


def test_a_sealed_stream_is_read_to_its_end(manager: Any, scope: str, stream: str) -> None:
    write(manager, scope, stream, range(20))
    reader = manager.create_reader_group("group", scope, stream).create_reader("reader")
    assert len(read_events(reader, 5)) >= 5
    manager.seal_stream(scope, stream)
    group = manager.create_reader_group("after", scope, stream)
    assert len(read_events(group.create_reader("reader"), 20)) == 20
    wait_until(lambda: read_nothing(reader) == [], what="the end of a sealed stream")


def test_readers_go_through_splits_and_merges_in_key_order(
    manager: Any, controller: ControllerStub, scope: str
) -> None:
    """The wheel reads successors at once when a segment ends, a merged one after both of its predecessors."""
    manager.create_stream(scope, "scaled", 1)
    write(manager, scope, "scaled", range(100))
    halves = controller.split(scope, "scaled", 0)
    write(manager, scope, "scaled", range(100, 200))
    controller.merge(scope, "scaled", list(halves))
    write(manager, scope, "scaled", range(200, 300))
    reader = manager.create_reader_group("group", scope, "scaled").create_reader("reader")
    assert by_key(read_events(reader, 300)) == {f"k{k}": list(range(k, 300, 5)) for k in range(5)}


def test_a_reader_at_the_tail_follows_a_scale(manager: Any, controller: ControllerStub, scope: str) -> None:
    manager.create_stream(scope, "scaled", 1)
    reader = manager.create_reader_group("group", scope, "scaled").create_reader("reader")
    write(manager, scope, "scaled", range(10))
    found = read_events(reader, 10)
    halves = controller.split(scope, "scaled", 0)
    write(manager, scope, "scaled", range(10, 20))
    found += read_events(reader, 10)
    controller.merge(scope, "scaled", list(halves))
    write(manager, scope, "scaled", range(20, 30))
    found += read_events(reader, 10)
    assert by_key(found) == {f"k{k}": list(range(k, 30, 5)) for k in range(5)}
