"""What one client may take of the store: each limit is refused in words, and holds nobody else up."""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import re
import socket
import weakref
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from pravega_lab.engine.server import reads
from pravega_lab.engine.server.connection import PIECE_BYTES, SegmentStoreProtocol
from pravega_lab.engine.server.grpc import CallTurns
from pravega_lab.engine.server.limits import limits as options
from pravega_lab.engine.server.limits.descriptors import report_in_words
from pravega_lab.engine.server.limits.limits import Limits
from pravega_lab.engine.server.limits.log_lines import LogLines
from pravega_lab.engine.server.limits.passes import is_one_ready, new_loop
from pravega_lab.engine.server.limits.turns import FIRST_COMMANDS, Turns
from pravega_lab.engine.server.segment_store import DISMISSED_AT_ONCE
from pravega_lab.engine.store.log.operations import Append
from pravega_lab.engine.store.security.access_control import AccessControl
from pravega_lab.engine.store.security.permissions import Permission, of_stream
from pravega_lab.engine.store.security.tokens import issue
from pravega_lab.engine.store.storage.storage import WORK_BYTES
from pravega_lab.errors import BadInputError, ProtocolError
from pravega_lab.protocol.wire import commands as c
from pravega_lab.protocol.wire.codec import encode
from pravega_lab.protocol.wire.frames import FrameDecoder
from tests.engine.server.test_connection import SEGMENT, WRITER, House, Transport, append, replies, send

MIB = 1 << 20
HELLO = c.Hello(16, 5)
HALF = encode(c.AppendBlock(WRITER, b"x" * (8 * MIB)))[: 4 * MIB]


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


def pass_time(house: House, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    later = house.loop.time() + seconds
    monkeypatch.setattr(house.loop, "time", lambda: later)
    house.front.frames._now_s = house.loop.time
    house.front.dismiss_the_slow()
    house.turn()


def last_words(transport: Transport) -> str:
    [word] = replies(transport)[-1:]
    assert isinstance(word, c.ErrorMessage)
    assert transport.is_closed
    return word.message


def test_a_connection_too_many_is_refused_in_words(loop: asyncio.AbstractEventLoop) -> None:
    house = House(loop, Limits(connections=2))
    for transport in (house.connect(), house.connect()):
        send(transport, HELLO, c.GetStreamSegmentInfo(1, SEGMENT, ""))
    assert "2 connections already (--max-connections)" in last_words(house.connect())
    assert len(house.front.connections) == 2


def test_a_connection_that_says_nothing_makes_room_for_a_new_one(loop: asyncio.AbstractEventLoop) -> None:
    house = House(loop, Limits(connections=2))
    spoke, silent = house.connect(), house.connect()
    send(spoke, HELLO)
    third = house.connect()
    send(third, HELLO)
    house.turn()
    assert [type(reply) for reply in replies(third)] == [c.Hello]
    assert (silent.is_closed, spoke.is_closed) == (True, False)


def test_the_first_command_has_a_deadline(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(loop, Limits(frame_s=5))
    silent, half, spoke = house.connect(), house.connect(), house.connect()
    half.protocol.data_received(encode(HELLO)[:9])
    send(spoke, HELLO)
    pass_time(house, monkeypatch, 4)
    assert not silent.is_closed
    pass_time(house, monkeypatch, 2)
    assert "no command arrived within 5 s" in last_words(silent)
    assert "no command arrived within 5 s" in last_words(half)
    assert not spoke.is_closed


def test_a_connection_that_only_greeted_makes_room_for_a_new_one(loop: asyncio.AbstractEventLoop) -> None:
    """With passwords, a request whose token is refused counts for no more than a greeting."""
    house = House(loop, Limits(connections=4))
    house.front.access = AccessControl({}, b"k" * 64)
    token = issue(b"k" * 64, of_stream("scope", "stream"), Permission.READ, 0)
    working, greeting, refused, alive = (house.connect() for _ in range(4))
    for transport in (working, greeting, refused, alive):
        send(transport, HELLO)
    send(working, c.GetStreamSegmentInfo(1, SEGMENT, token))
    send(refused, c.GetStreamSegmentInfo(1, SEGMENT, ""))
    send(alive, c.KeepAlive())
    house.turn()
    later = [house.connect() for _ in range(3)]
    for transport in later:
        send(transport, HELLO)
    house.turn()
    assert [type(reply) for transport in later for reply in replies(transport)] == [c.Hello] * 3
    assert (greeting.is_closed, refused.is_closed, alive.is_closed) == (True, True, True)
    assert not working.is_closed
    assert len(house.front.connections) == 4


def test_connections_that_say_nothing_are_dismissed_some_at_a_time(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(loop, Limits(frame_s=5))
    silent = [house.connect() for _ in range(DISMISSED_AT_ONCE + 2)]
    later = loop.time() + 6
    monkeypatch.setattr(loop, "time", lambda: later)
    assert [house.front.dismiss_the_slow() for _ in range(3)] == [DISMISSED_AT_ONCE, 2, 0]
    house.turn()
    assert all(transport.is_closed for transport in silent)


def test_half_frames_wait_for_room_and_not_for_ever(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(loop, Limits(frame_bytes=6 * MIB, frame_s=5))
    first, second, third = (house.connect() for _ in range(3))
    for transport in (first, second, third):
        send(transport, HELLO)
    for transport in (first, second):
        transport.protocol.data_received(HALF)
    assert (first.is_reading, second.is_reading) == (True, False)
    third.protocol.data_received(encode(c.AppendBlock(WRITER, b"small"))[:-1])
    assert third.is_reading  # small frames are never in anybody's way
    pass_time(house, monkeypatch, 6)
    assert "a frame was not complete after 5 s" in last_words(first)
    assert not second.is_closed
    first.protocol.connection_lost(None)
    assert second.is_reading
    assert house.front.frames.held_bytes == len(HALF)
    second.protocol.data_received(encode(c.AppendBlock(WRITER, b"x" * (8 * MIB)))[len(HALF) :])
    assert house.front.frames.held_bytes == 0


def test_what_a_closed_connection_held_is_free_without_a_garbage_collector(
    loop: asyncio.AbstractEventLoop,
) -> None:
    house = House(loop)
    house.filled(0)
    gc.collect()
    gc.disable()
    try:
        transport = house.connect()
        send(transport, HELLO, c.SetupAppend(1, WRITER, SEGMENT, ""), c.ReadSegment(SEGMENT, 0, 100, "", 2))
        transport.protocol.data_received(HALF)
        house.turn()
        protocol = transport.protocol
        parts = [weakref.ref(protocol), weakref.ref(protocol.appends), weakref.ref(protocol.reads)]
        del transport.protocol  # as asyncio's transports do
        protocol.connection_lost(None)
        del protocol, transport
        assert [part() for part in parts] == [None, None, None]
    finally:
        gc.enable()


def test_the_transport_of_a_closed_connection_is_free_without_a_garbage_collector(
    loop: asyncio.AbstractEventLoop,
) -> None:
    house, transports = House(loop), []

    class Kept(SegmentStoreProtocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            transports.append(weakref.ref(transport))

    async def connect_and_leave() -> None:
        server = await loop.create_server(lambda: Kept(house.front), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(encode(HELLO))
        assert await reader.read(1)
        writer.close()
        while house.front.connections:
            await asyncio.sleep(0)
        server.close()

    gc.disable()
    try:
        loop.run_until_complete(connect_and_leave())
        loop.run_until_complete(asyncio.sleep(0))
        assert [transport() for transport in transports] == [None]
    finally:
        gc.enable()


def test_a_connection_with_many_commands_lets_others_go_first(loop: asyncio.AbstractEventLoop) -> None:
    house = House(loop, Limits(turn_commands=100, turn_ms=60_000))
    house.filled(0)
    greedy, modest = house.connect(), house.connect()
    data = b"".join(encode(c.GetStreamSegmentInfo(n, SEGMENT, "")) for n in range(1000))
    greedy.protocol.data_received(data)
    assert not greedy.is_reading
    send(modest, c.GetStreamSegmentInfo(1, SEGMENT, ""))
    loop.run_until_complete(asyncio.sleep(0))
    assert len(replies(modest)) == 1
    assert 100 <= len(replies(greedy)) <= 300
    for _ in range(20):
        house.turn()
    assert greedy.is_reading


def test_many_connections_with_many_commands_take_turns(loop: asyncio.AbstractEventLoop) -> None:
    house = House(loop, Limits(turn_commands=100, turn_ms=60_000))
    house.filled(0)
    data = b"".join(encode(c.GetStreamSegmentInfo(n, SEGMENT, "")) for n in range(300))
    greedy = [house.connect() for _ in range(10)]
    for transport in greedy:
        transport.protocol.data_received(data)
    loop.run_until_complete(asyncio.sleep(0))
    handled = [len(replies(transport)) for transport in greedy]
    assert sum(handled) <= 100 + 9 * 16 + 200
    for _ in range(40):
        house.turn()
    assert [before + len(replies(t)) for before, t in zip(handled, greedy, strict=True)] == [300] * 10


def test_a_turn_ends_after_its_time_too(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(loop, Limits(turn_ms=5))
    house.filled(0)
    transport = house.connect()
    times = iter(range(1000))
    monkeypatch.setattr(loop, "time", lambda: next(times) / 1000)
    send(transport, *(c.GetStreamSegmentInfo(n, SEGMENT, "") for n in range(100)))
    transport.protocol.flush()
    assert 3 <= len(replies(transport)) <= 7
    monkeypatch.undo()
    house.turn()
    assert len(replies(transport)) >= 93


def test_connections_that_send_at_once_share_the_time_of_one_turn(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(loop, Limits(turn_ms=5))
    house.filled(0)
    some = [house.connect() for _ in range(20)]
    times = iter(range(100_000))
    monkeypatch.setattr(loop, "time", lambda: next(times) / 1000)
    for transport in some:
        send(transport, *(c.GetStreamSegmentInfo(n, SEGMENT, "") for n in range(3)))
    for transport in some:
        transport.protocol.flush()
    answered = [bool(transport.written) for transport in some]
    assert answered == sorted(answered, reverse=True)
    assert 1 <= sum(answered) <= 3
    monkeypatch.undo()
    house.turn()
    assert [len(replies(transport)) for transport in some] == [3] * 20


def test_a_large_reply_is_written_in_pieces_and_others_go_first(loop: asyncio.AbstractEventLoop) -> None:
    house = House(loop)
    house.filled(2 * MIB)
    greedy, modest = house.connect(), house.connect()
    written, write = [], greedy.write
    greedy.write = lambda data: written.append(len(data)) or write(data)  # type: ignore[method-assign]
    send(greedy, c.ReadSegment(SEGMENT, 0, 2 * MIB, "", 1), c.GetStreamSegmentInfo(2, SEGMENT, ""))
    send(modest, c.GetStreamSegmentInfo(1, SEGMENT, ""))
    loop.run_until_complete(asyncio.sleep(0))
    assert len(replies(modest)) == 1
    for _ in range(20):
        house.turn()
    assert max(written) <= PIECE_BYTES
    large, small = replies(greedy)
    assert isinstance(large, c.SegmentRead)
    assert (len(large.data), type(small)) == (2 * MIB, c.StreamSegmentInfo)
    assert greedy.is_reading


def test_who_has_sent_little_goes_before_who_has_sent_much(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, order = Turns(loop, 100, 60.0), []

    class Worker:
        def __init__(self, name: str) -> None:
            self.name = name

        def work(self, commands: int | None = None) -> None:
            order.append((self.name, commands))

    greedy, patient, modest = Worker("greedy"), Worker("patient"), Worker("modest")
    turns.wait(greedy)
    turns.wait(patient)
    turns.wait(modest, is_brief=True)
    turns.wait(greedy, is_brief=True)  # no connection goes first because it has sent even more
    assert turns.share(modest) == 0
    for _ in range(2):
        loop.run_until_complete(asyncio.sleep(0))
    assert order == [("modest", FIRST_COMMANDS), ("greedy", 100), ("patient", 100)]


def test_long_lists_are_decoded_one_at_a_time_and_only_in_a_turn(loop: asyncio.AbstractEventLoop) -> None:
    house = House(loop, Limits(turn_commands=1, turn_ms=60_000))
    greedy = house.connect()
    lists = [c.RemoveTableKeys(n, "table", "", (c.TableKey(b"k", 0),), -1) for n in range(10)]
    send(greedy, *lists)
    protocol = greedy.protocol
    assert len(protocol._backlog) <= 1
    send(greedy, *lists)  # was on its way already
    assert len(protocol._backlog) <= 1
    for _ in range(25):
        house.turn()
    assert [reply.request_id for reply in replies(greedy)] == [*range(10), *range(10)]  # type: ignore


def test_many_held_reads_are_answered_in_turns(loop: asyncio.AbstractEventLoop) -> None:
    house = House(loop)
    house.filled(0)
    transport = house.connect()
    send(transport, *(c.ReadSegment(SEGMENT, 0, 100, "", n) for n in range(100)))
    group = []
    house.storage.submit([Append(SEGMENT, b"z")], now_ms=2)
    serve = transport.protocol.reads._serve
    transport.protocol.reads._serve = lambda number: (group.append(number), serve(number))  # type: ignore
    house.sync()
    for _ in range(5):
        house.turn()
    assert len(replies(transport)) == 100
    assert group == sorted(group)


def test_reads_of_what_is_not_there_yet_cost_an_append_nothing(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(loop)
    house.filled(0)
    transport = house.connect()
    far = [c.ReadSegment(SEGMENT, 1000 - n, 100, "", n) for n in range(500)]
    send(transport, *far, c.ReadSegment(SEGMENT, 0, 100, "", 999))
    looked, read = [], house.storage.read
    monkeypatch.setattr(house.storage, "read", lambda *args: looked.append(args) or read(*args))
    house.storage.submit([Append(SEGMENT, b"z")], now_ms=2)
    house.sync()
    house.turn()
    assert len(looked) == 1
    assert [reply.request_id for reply in replies(transport)] == [999]  # type: ignore[union-attr]
    house.storage.submit([Append(SEGMENT, bytes(1000))], now_ms=2)
    house.sync()
    house.turn()
    assert sorted(reply.request_id for reply in replies(transport)) == list(range(500))  # type: ignore
    assert house.front.held_reads == 0


def test_a_list_of_too_many_items_is_refused_before_it_is_read() -> None:
    key = c.TableKey(b"", c.NO_VERSION)
    with pytest.raises(ProtocolError, match=r"a list has 10001 items; the most is 10000"):
        FrameDecoder().feed(encode(c.RemoveTableKeys(1, "table", "", (key,) * 10_001, -1)))


@pytest.mark.parametrize(
    "command",
    [
        c.UpdateSegmentAttribute(1, SEGMENT, UUID(int=9), c.NO_EVENT_NUMBER, c.NO_EVENT_NUMBER, ""),
        c.UpdateTableEntries(
            1, "scope/table", "", (c.TableEntry(c.TableKey(b"key", c.NO_VERSION), b"v" * 300),), -1
        ),
    ],
)
def test_tables_and_attributes_wait_for_the_disk_as_appends_do(
    loop: asyncio.AbstractEventLoop, command: c.Command
) -> None:
    house = House(loop, Limits(unsynced_bytes=500, turn_ms=60_000))
    house.filled(0)
    transport = house.connect()
    send(transport, c.CreateTableSegment(1, "scope/table", "", None))
    house.sync()
    send(transport, *[command] * 20)
    assert not transport.is_reading
    assert house.storage._queued_bytes < 2000
    for _ in range(20):
        house.sync()
    assert transport.is_reading
    assert len(replies(transport)) == 21


def test_changes_of_many_do_not_hold_up_who_changes_little(loop: asyncio.AbstractEventLoop) -> None:
    change = c.UpdateSegmentAttribute(1, SEGMENT, UUID(int=9), c.NO_EVENT_NUMBER, c.NO_EVENT_NUMBER, "")
    house = House(loop, Limits(unsynced_bytes=100 * WORK_BYTES, turn_ms=60_000))
    house.filled(0)
    greedy, modest = [house.connect() for _ in range(10)], house.connect()
    for transport in greedy:
        send(transport, *[change] * 100)
    for _ in range(3):
        house.turn()
    queued = house.storage.queued
    send(modest, change)
    assert modest.is_reading
    assert house.storage.queued == queued + 1 < 100
    assert not any(transport.is_reading for transport in greedy)
    for _ in range(300):
        house.sync()
    assert [len(replies(transport)) for transport in greedy] == [100] * 10


def test_connections_that_waited_for_the_disk_resume_one_after_the_other(
    loop: asyncio.AbstractEventLoop,
) -> None:
    keys = tuple(c.TableEntry(c.TableKey(b"%d" % n, c.NO_VERSION), b"") for n in range(50))
    update = c.UpdateTableEntries(1, "scope/table", "", keys, -1)
    house = House(loop, Limits(unsynced_bytes=100 * WORK_BYTES, turn_ms=60_000))
    greedy = [house.connect() for _ in range(10)]
    send(greedy[0], c.CreateTableSegment(1, "scope/table", "", None))
    house.sync()
    for transport in greedy:
        send(transport, update, update)
    assert house.storage.queued <= 3
    for _ in range(40):
        house.sync()
        house.turn()
        assert house.storage.queued <= 3
    assert [len(replies(transport)) for transport in greedy] == [3, *[2] * 9]


def test_a_connection_sets_up_only_so_many_writers(loop: asyncio.AbstractEventLoop) -> None:
    house = House(loop, Limits(writers=3, turn_ms=60_000))
    house.filled(0)
    transport = house.connect()
    again = [c.SetupAppend(n, UUID(int=n % 3), SEGMENT, "") for n in range(6)]
    send(transport, *again, append(1))
    house.sync()
    send(transport, c.SetupAppend(9, UUID(int=9), SEGMENT, ""))
    house.sync()
    assert "3 writers (--max-writers)" in last_words(transport)


def test_held_reads_are_counted_for_all_connections(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "HELD_READS_MIN", 1)
    house = House(loop, Limits(held_reads=3, turn_ms=60_000))
    house.filled(0)
    first, second = house.connect(), house.connect()
    for transport in (first, second):
        send(transport, *(c.ReadSegment(SEGMENT, 0, 100, "", n) for n in range(2)))
    house.turn()
    assert replies(second) == [c.SegmentRead(SEGMENT, 0, True, False, b"", 1)]
    first.protocol.connection_lost(None)
    assert house.front.held_reads == 1


def test_who_holds_all_reads_does_not_keep_others_from_waiting(loop: asyncio.AbstractEventLoop) -> None:
    house = House(loop, Limits(held_reads=30, turn_ms=60_000))
    house.filled(0)
    greedy, other = house.connect(), house.connect()
    send(greedy, *(c.ReadSegment(SEGMENT, 0, 100, "", n) for n in range(40)))
    send(other, *(c.ReadSegment(SEGMENT, 0, 100, "", n) for n in range(20)))
    house.turn()
    assert len(replies(greedy)) == 10
    assert [reply.request_id for reply in replies(other)] == [16, 17, 18, 19]


def test_lines_of_one_kind_are_counted_and_not_repeated() -> None:
    now = [0.0]
    lines = LogLines(2, lambda: now[0])
    record = logging.LogRecord("a", logging.WARNING, "connection.py", 7, "closed %s", ("x",), None)
    other = logging.LogRecord("a", logging.WARNING, "connection.py", 8, "other", (), None)
    assert [lines.filter(record) for _ in range(5)] == [True, True, False, False, False]
    assert lines.filter(other)
    now[0] = 11
    assert lines.filter(record)
    assert record.getMessage() == "closed x (3 more lines like this one were not logged)"


def test_no_descriptors_left_is_one_line_without_a_traceback(
    loop: asyncio.AbstractEventLoop, caplog: pytest.LogCaptureFixture
) -> None:
    context = {"message": "socket.accept() out of system resource", "socket": object()}
    report_in_words(loop, {**context, "exception": OSError(24, "Too many open files")})
    [line] = caplog.records
    assert line.getMessage() == "no connection is accepted for a second: Too many open files"
    assert line.exc_info is None


def test_limits_are_options_and_back() -> None:
    parser = argparse.ArgumentParser()
    options.add_options(parser)
    limits = Limits(connections=7, stream_segments=9)
    assert limits.options() == ["--max-connections", "7", "--max-stream-segments", "9"]
    assert options.limits_of(parser.parse_args(limits.options())) == limits
    assert options.limits_of(parser.parse_args([])) == Limits()
    assert limits.within(1000) == limits
    assert Limits().within(1128).connections == 500


@pytest.mark.parametrize("value", [0, -1, 1.5, 1 << 31])
def test_a_limit_is_a_whole_number_from_1(value: float) -> None:
    with pytest.raises(BadInputError, match=rf"--max-connections {value}: give a whole number from 1"):
        Limits(connections=value)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "x", "\u0663", "1" + "0" * 30, "9" * 5000])
def test_an_option_that_is_no_limit_is_refused_in_words(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    options.add_options(parser)
    with pytest.raises(SystemExit):
        parser.parse_args([f"--max-frame-s={text}"])
    assert "is not a limit: give a whole number from 1 to 2147483647" in capsys.readouterr().err


@pytest.mark.parametrize("passes", range(6))
def test_a_call_that_ends_as_its_turn_comes_leaves_it_to_the_next(passes: int) -> None:
    """A lost connection cancels its calls, in any pass of the loop."""

    async def main() -> None:
        turns, decided = CallTurns(), []

        async def call(number: int) -> None:
            async with turns:
                decided.append(number)

        calls = [asyncio.create_task(call(number)) for number in range(3)]
        for _ in range(passes):
            await asyncio.sleep(0)
        calls[1].cancel()
        await asyncio.wait_for(calls[2], 5)
        await asyncio.wait(calls)
        assert decided in ([0, 2], [0, 1, 2])

    asyncio.run(main())


def test_the_documentation_states_each_default() -> None:
    text = (Path(__file__).parents[3] / "docs" / "store.md").read_text()
    stated = dict(re.findall(r"^\| `(--max-[a-z-]+)` \| ([\d,]+)", text, re.MULTILINE))
    parser = argparse.ArgumentParser()
    options.add_options(parser)
    defaults = {a.option_strings[0]: f"{a.default:,}" for a in parser._actions if a.dest.startswith("max_")}
    assert stated == defaults


def test_the_loop_knows_whether_one_socket_alone_is_ready(loop: asyncio.AbstractEventLoop) -> None:
    """A store then writes and answers what arrived, for nothing else can join its group."""
    found: list[bool] = []

    async def main() -> None:
        mine = asyncio.get_running_loop()
        pairs = [socket.socketpair() for _ in range(2)]

        def take(own: socket.socket) -> None:
            own.recv(1)
            found.append(is_one_ready(mine))

        for own, other in pairs:
            own.setblocking(False)
            mine.add_reader(own, take, own)
            other.send(b"1")
        while len(found) < 2:
            await asyncio.sleep(0.001)
        pairs[0][1].send(b"1")
        while len(found) < 3:
            await asyncio.sleep(0.001)
        for own, other in pairs:
            mine.remove_reader(own)
            own.close()
            other.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main())
    assert found == [False, False, True]
    assert not is_one_ready(loop), "a loop of another kind does not know"
