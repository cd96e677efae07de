"""Events that are written one at a time: collected, sent together, and reported as exactly as others."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from itertools import islice
from random import Random

import pytest

from pravega_lab.client import AsyncClient, Stream
from pravega_lab.client.connection.connection import ConnectionLostError
from pravega_lab.client.framing import events as inputs
from pravega_lab.client.framing.events import FewEvents
from pravega_lab.client.framing.values import Run
from pravega_lab.client.sync import transactions as sync_transactions
from pravega_lab.client.sync import writer as sync_writer
from pravega_lab.client.writing import appends as appends_module
from pravega_lab.client.writing import event_buffer
from pravega_lab.client.writing.appends import PATIENCE_S, Appends
from pravega_lab.client.writing.event_buffer import Added, EventBuffer
from pravega_lab.engine.simulation.store.scenarios import run_seed
from pravega_lab.engine.simulation.store.world import World
from pravega_lab.errors import BadInputError, Definite, EventTooLargeError, PravegaError, StreamSealedError
from pravega_lab.protocol.hashing import key_position
from tests.client.helpers import (
    HIGH,
    LOW,
    CuttingProxy,
    assert_each_once_in_order,
    connected_to_two,
    events_of,
    numbered,
)
from tests.simulated import STREAM, tell

NewStream = Callable[..., Stream]


@pytest.fixture
def buffer() -> EventBuffer:
    found = EventBuffer(Random(1))
    found.open()
    return found


# -- the buffer ----------------------------------------------------------------------------------------------


def test_a_buffer_returns_what_was_added_in_order_and_once(buffer: EventBuffer) -> None:
    assert buffer.add(b"a", "k") is Added.TAKEN
    assert buffer.add("b", None) is Added.TAKEN
    assert buffer.add("ü", "日本") is Added.TAKEN
    assert len(buffer) == 3
    payloads, places = buffer.take()
    assert payloads == [b"a", b"b", "ü".encode()]
    assert places == ["k", Random(1).random(), "日本"]
    assert buffer.take().payloads == []


@pytest.mark.parametrize(
    ("event", "key"),
    [([b"a"], "k"), (5, "k"), (None, "k"), (bytearray(b"a"), "k"), (b"a", 5), (b"a", ["k"]), ("\ud800", "k"),
     (b"a", "\ud800"), (b"x" * (8 * 1024 * 1024 + 1), "k")],
    ids=repr,
)  # fmt: skip
def test_what_has_to_be_converted_or_refused_is_not_taken(
    buffer: EventBuffer, event: object, key: object
) -> None:
    assert buffer.add(event, key) is Added.REFUSED
    assert len(buffer) == 0


def test_the_largest_event_is_taken(buffer: EventBuffer) -> None:
    assert buffer.add(b"x" * (8 * 1024 * 1024), "k") is Added.WANTED


def test_a_wanted_event_is_reported_once(buffer: EventBuffer) -> None:
    assert buffer.want()
    assert [buffer.add(b"a", "k") for _ in range(3)] == [Added.WANTED, Added.TAKEN, Added.TAKEN]
    assert not buffer.want(), "nobody would be told of the two events that are there"
    buffer.take()
    assert buffer.want()
    assert buffer.add(b"a", "k") is Added.WANTED


def test_enough_bytes_are_reported_once_and_a_full_buffer_refuses(buffer: EventBuffer) -> None:
    part = b"x" * (64 * 1024)
    found = [buffer.add(part, "k") for _ in range(70)]
    enough = event_buffer.ENOUGH_BYTES // len(part)
    assert found[:enough] == [Added.TAKEN] * (enough - 1) + [Added.WANTED]
    assert found.count(Added.WANTED) == 2, "once when it is enough, and once when it is full"
    n_taken = found.index(Added.REFUSED)
    assert n_taken == event_buffer.BUFFERED_BYTES_MAX // (len(part) + 64) + 1
    assert buffer.has_enough
    assert len(buffer.take().payloads) == n_taken
    assert buffer.add(part, "k") is Added.TAKEN


def test_a_buffer_is_full_as_soon_as_its_room_is_taken(buffer: EventBuffer) -> None:
    half = b"x" * (event_buffer.BUFFERED_BYTES_MAX // 2 - event_buffer.OVERHEAD_BYTES)
    assert [buffer.add(half, "k") for _ in range(2)] == [Added.WANTED, Added.WANTED]
    assert buffer.add(b"", "k") is Added.REFUSED
    buffer.take()
    assert [buffer.add(event, "k") for event in (half, half[1:], b"")] == [
        Added.WANTED,
        Added.TAKEN,
        Added.WANTED,
    ]


def test_a_closed_buffer_drops_and_refuses(buffer: EventBuffer) -> None:
    assert EventBuffer(Random(1)).add(b"a", "k") is Added.REFUSED
    buffer.add(b"a", "k")
    assert buffer.close() == 1
    assert buffer.close() == 0
    assert buffer.add(b"a", "k") is Added.REFUSED
    assert buffer.take().payloads == []


def test_threads_that_add_at_once_lose_nothing(buffer: EventBuffer) -> None:
    n_threads, part = 4, 2_000
    taken: list[bytes] = []

    def add(thread: int) -> None:
        for i in range(part):
            assert buffer.add(b"%d:%d" % (thread, i), "k")

    threads = [threading.Thread(target=add, args=(n,)) for n in range(n_threads)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        taken += buffer.take().payloads
    taken += buffer.take().payloads
    for n in range(n_threads):
        assert [e for e in taken if e.startswith(b"%d:" % n)] == [b"%d:%d" % (n, i) for i in range(part)]


@pytest.mark.parametrize("n_events", [1, 3, 100])
def test_collected_events_are_routed_as_any_others(n_events: int) -> None:
    highs = [0.3, 0.6, 1.0]
    payloads = [b"%d" % i for i in range(n_events)]
    places = [f"é{i}" if i % 3 else i / n_events for i in range(n_events)]
    positions = [p if isinstance(p, float) else inputs._position(p) for p in places]
    framed = map(inputs.pure_python.frame, payloads)
    expected = inputs.pure_python.runs_of(framed, positions, highs, 50)
    found = inputs.runs_of(payloads, places, highs, 50)
    assert [(r.route, bytes(r.frames), r.n_events, [*r.positions]) for r in found] == [
        (r.route, bytes(r.frames), r.n_events, [*r.positions]) for r in expected
    ]


# -- in the simulation ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(1, 5))
def test_single_events_of_a_thread_survive_scales_cuts_and_crashes(seed: int) -> None:
    assert run_seed(seed, "singles").problems == []


def test_events_that_find_all_appenders_busy_are_sent_together(world: World) -> None:
    async def story(client: AsyncClient) -> int:
        async with client.stream(STREAM).writer() as writer:
            for i in range(100):
                assert await writer.write(f"k:{i}", "k") == 1
            n_collected = len(writer.appends.buffer)
            await writer.flush()
            assert len(writer.appends.buffer) == 0
        async with client.stream(STREAM).read() as batches:
            assert_each_once_in_order([e async for e in batches.events()], 100)
        return n_collected

    assert tell(world, story) == 98, "the first finds the appender idle, and the second finds that out"


def test_segments_send_together_and_none_waits_long_for_another(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        stream = client.stream(STREAM)
        async with stream.writer() as writer:
            slower, faster = await connected_to_two(stream, writer)
            await writer.write("to the slower one", LOW)
            while slower.is_idle:
                await asyncio.sleep(0.00001)
            await writer.write("to the faster one", HIGH)
            assert (faster.is_idle, len(writer.appends.buffer)) == (True, 1)
            while not slower.is_idle:
                await asyncio.sleep(0.00001)
            assert (faster.is_idle, len(writer.appends.buffer)) == (False, 0)
            await writer.flush()

            slower._end(ConnectionLostError("lost"))
            await writer.write("to the slower one", LOW)
            while slower.is_idle:
                await asyncio.sleep(0.00001)
            for i in range(3):
                began_s = world.loop.time()
                await writer.write(f"{i} to the faster one", HIGH)
                while len(writer.appends.buffer):
                    await asyncio.sleep(0.0001)
                assert world.loop.time() - began_s <= PATIENCE_S + 0.0002
            assert not slower.is_idle

    tell(world, story)


def test_a_flush_after_an_error_raises_it_although_nothing_was_routed(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        stream = client.stream(STREAM)
        writer = stream.writer()
        await writer.write("in", "k")
        await writer.flush()
        await stream.seal()
        for i in range(3):
            await writer.write(f"out {i}", "k")
        for _ in range(2):
            with pytest.raises(StreamSealedError) as raised:
                await writer.flush()
            assert raised.value.definite is Definite.NO
        with pytest.raises(StreamSealedError):
            await writer.write("out", "k")
        await writer.stop()

    tell(world, story)


def test_a_flush_without_a_task_reports_once_everything_before_it_is_durable(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        stream = client.stream(STREAM)
        async with stream.writer() as writer:
            reports: list[tuple[str, bool, bool]] = []

            def begin(name: str) -> None:
                appends = writer.appends
                appends.begin_flush(lambda good: reports.append((name, good, appends.has_stored)))

            await writer.write("1", "k")
            begin("first")
            await writer.write("2", "k")
            begin("second")
            assert reports == []
            await writer.flush()
            assert [report[:2] for report in reports] == [("first", True), ("second", True)]
            begin("nothing to wait for")
            assert reports[2:] == [("nothing to wait for", True, False)]
        async with stream.read() as batches:
            assert [e async for e in batches.events()] == [b"1", b"2"]

    tell(world, story)


@pytest.mark.parametrize("is_sealed", [True, False])
def test_a_flush_without_a_task_reports_that_the_writer_has_ended(world: World, is_sealed: bool) -> None:
    async def story(client: AsyncClient) -> None:
        stream, reports = client.stream(STREAM), list[bool]()
        writer = stream.writer()
        await writer.write("in", "k")
        await writer.flush()
        if is_sealed:
            await stream.seal()
        await writer.write("out", "k")
        writer.appends.begin_flush(reports.append)
        assert reports == []
        if is_sealed:
            with pytest.raises(StreamSealedError):
                await writer.flush()
        else:
            await writer.stop()
        assert reports == [False]
        writer.appends.begin_flush(reports.append)
        assert reports == [False, False]
        await writer.stop()

    tell(world, story)


def test_a_flush_without_a_task_does_not_wait_for_room(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appends_module, "UNACKNOWLEDGED_BYTES_MAX", 1_000)

    async def story(client: AsyncClient) -> None:
        reports = list[bool]()
        async with client.stream(STREAM).writer() as writer:
            await writer.write(b"x" * 2_000, "k")
            await writer.write(b"y", "k")
            await writer.write(b"z", "k")
            writer.appends.begin_flush(reports.append)
            assert reports == [False], "the caller awaits flush() in its place"
            await writer.flush()

    tell(world, story)


def test_a_durable_write_says_exactly_what_was_stored(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        stream = client.stream(STREAM)
        async with stream.writer() as writer:
            assert await writer.write_durably(["in", "too"], "k") == 2
            async with stream.read() as batches:
                assert [e async for e in batches.events()] == [b"in", b"too"]
        writer = stream.writer()
        await stream.seal()
        with pytest.raises(StreamSealedError) as raised:
            await writer.write_durably(["out"], "k")
        assert raised.value.definite is Definite.NO
        assert "had been stored" not in str(raised.value)
        await writer.stop()

    tell(world, story)


def test_a_full_buffer_waits_for_acknowledgements(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_buffer, "ENOUGH_BYTES", 500)
    monkeypatch.setattr(event_buffer, "BUFFERED_BYTES_MAX", 1_000)
    monkeypatch.setattr(appends_module, "UNACKNOWLEDGED_BYTES_MAX", 1_000)

    async def story(client: AsyncClient) -> None:
        most = 0
        async with client.stream(STREAM).writer() as writer:
            for event, key in zip(*numbered(400, 5), strict=True):
                await writer.write(event, key)
                most = max(most, writer.appends._unacknowledged_bytes)
        assert 1_000 < most < 2_000, "of a full buffer, and what a call writes after it"
        async with client.stream(STREAM).read() as batches:
            assert_each_once_in_order([e async for e in batches.events()], 400)

    tell(world, story)


def test_a_segment_that_is_sealed_while_events_are_framed_gets_none_of_them(world: World) -> None:
    """Routes may change at each await: what was framed for the old ones is split again."""

    async def story(client: AsyncClient) -> None:
        stream = client.stream(STREAM)
        async with stream.writer() as writer:
            await writer.write("key-0:0", "key-0")
            await writer.flush()
            [old] = await stream.segments()

            class SlowlyFramed(FewEvents):
                async def runs(self, highs: Sequence[float], bytes_max: int) -> list[Run]:
                    found = await super().runs(highs, bytes_max)
                    await stream.scale([old.segment_id], [(0.0, 0.5), (0.5, 1.0)])
                    await writer.write("key-0:1", "key-0")  # meets the seal
                    while writer.appends._highs is highs:
                        await asyncio.sleep(0.1)
                    return found

            events, keys = numbered(40, 7, begin=2)
            await writer.appends.put(SlowlyFramed(events, [*map(key_position, keys)]))
            await writer.flush()
            assert set(writer.appends._idle) == set(writer.appends._appenders.values())
            low, _ = await stream.segments()
            low_bytes = (await stream.tail()).positions[low.segment_id]
        async with stream.read() as batches:
            found = [e async for e in batches.events()]
        assert len(found) == 42
        belongs = [e for e in found[1:] if key_position(e.split(b":")[0].decode()) < low.high]
        assert sum(8 + len(event) for event in belongs) == low_bytes

    tell(world, story)


# -- on a store ----------------------------------------------------------------------------------------------


def read_all(stream: Stream) -> list[bytes]:
    with stream.read() as batches:
        return events_of(batches)


def test_single_events_and_lists_keep_their_order(new_stream: NewStream) -> None:
    stream = new_stream(segments=3)
    events, keys = numbered(3_000, 7)
    given = zip(events, keys, strict=True)
    with stream.writer() as writer:
        while some := list(islice(given, 100)):
            for event, key in some[:80]:
                assert writer.write(event, key) == 1
            writer.write([event for event, _ in some[80:]], [key for _, key in some[80:]])
        writer.flush()
        assert_each_once_in_order(read_all(stream), 3_000)
    with stream.begin_transaction() as transaction:
        for i in range(100):
            transaction.write(f"k:{3_000 + i}", "k")
    assert len(read_all(stream)) == 3_100


def test_an_event_that_is_not_followed_by_a_flush_is_sent(new_stream: NewStream) -> None:
    stream = new_stream()
    with stream.writer() as writer, stream.follow() as batches:
        writer.write("first", "k")
        assert events_of([batches.next_batch(60)]) == [b"first"]
        writer.write("second", "k")
        assert events_of([batches.next_batch(60)]) == [b"second"]


def test_an_event_whose_call_is_interrupted_is_sent(
    new_stream: NewStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interrupt arrives after the buffer has taken the event, and before the loop is notified."""

    def interrupt(appends: Appends) -> int:
        monkeypatch.undo()
        raise KeyboardInterrupt

    stream = new_stream()
    with stream.writer() as writer, stream.follow() as batches:
        writer.write("first", "k")
        writer.flush()
        stream.segments()  # after it, the loop has handled the acknowledgement
        monkeypatch.setattr(sync_writer, "collect_soon", interrupt)
        with pytest.raises(KeyboardInterrupt):
            writer.write("interrupted", "k")
        found: list[bytes] = []
        while len(found) < 2:
            batch = batches.next_batch(60)
            assert batch is not None, "the loop was not notified"
            found += events_of([batch])
    assert found == [b"first", b"interrupted"]


def test_an_event_of_a_transaction_whose_call_is_interrupted_is_sent(
    new_stream: NewStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(appends: Appends) -> int:
        monkeypatch.undo()
        raise KeyboardInterrupt

    with new_stream().begin_transaction() as transaction:
        transaction.write("first", "k")
        transaction.flush()
        appends = transaction._core.appends
        assert appends is not None
        monkeypatch.setattr(sync_transactions, "collect_soon", interrupt)
        with pytest.raises(KeyboardInterrupt):
            transaction.write("interrupted", "k")
        deadline = time.monotonic() + 60
        while not appends.has_stored:
            assert time.monotonic() < deadline, "the loop was not notified"
            time.sleep(0.001)


def test_an_error_is_raised_by_a_later_call_and_by_flush(new_stream: NewStream) -> None:
    stream = new_stream()
    writer = stream.writer()
    writer.write("in", "k")
    writer.flush()
    stream.seal()

    def write_on() -> None:
        for _ in range(10_000_000):
            writer.write("out", "k")

    with pytest.raises(StreamSealedError) as raised:
        write_on()
    assert raised.value.definite is Definite.NO
    with pytest.raises(StreamSealedError):
        writer.flush()
    writer.close()
    with pytest.raises(PravegaError):
        writer.write("out", "k")
    assert read_all(stream) == [b"in"]


def test_a_wrong_event_is_refused_by_its_own_call(new_stream: NewStream) -> None:
    stream = new_stream()
    with stream.writer() as writer:
        writer.write("a", "k")
        for event, key in ((5, "k"), ("b", 5), ("\ud800", "k")):
            with pytest.raises(BadInputError):
                writer.write(event, key)  # type: ignore[arg-type]
        with pytest.raises(EventTooLargeError):
            writer.write(b"x" * (8 * 1024 * 1024 + 1), "k")
        writer.write(bytearray(b"b"), "k")
    assert read_all(stream) == [b"a", b"b"]


def test_single_events_over_a_cut_connection_arrive_once(uri: str, new_stream: NewStream) -> None:
    stream = new_stream(segments=2)

    async def write() -> None:
        proxy = CuttingProxy([3_000, 500, 20_000, 9_000])
        async with proxy, AsyncClient(uri, link=proxy.to(uri)) as client:
            writer = client.stream(stream.scoped_name).writer()
            for i, (event, key) in enumerate(zip(*numbered(4_000, 23), strict=True)):
                await writer.write(event, key)
                if i % 50 == 0:
                    await asyncio.sleep(0)
            await writer.close()

    asyncio.run(write())
    assert_each_once_in_order(read_all(stream), 4_000)


def test_several_threads_share_a_writer(new_stream: NewStream) -> None:
    stream = new_stream(segments=2)
    part = 500
    with stream.writer() as writer:

        def write(thread: int) -> None:
            for i in range(part):
                writer.write(f"key-{thread}:{i}", f"key-{thread}")

        threads = [threading.Thread(target=write, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = read_all(stream)
    for n in range(3):
        assert [e for e in found if e.startswith(b"key-%d:" % n)] == [
            b"key-%d:%d" % (n, i) for i in range(part)
        ]
