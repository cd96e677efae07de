"""Appends of a writer when the store is away, when a writer is stopped, and when routes make no sense."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Generator, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from itertools import count
from random import Random
from typing import Any

import pytest

from pravega_lab.client import AsyncClient, ScalingPolicy
from pravega_lab.client.connection.connection import Connection, ConnectionLostError
from pravega_lab.client.framing.events import FewEvents, prepare
from pravega_lab.client.framing.values import Run
from pravega_lab.client.segment_stores import WRITER_CONNECTIONS_MAX, Connections
from pravega_lab.client.stream import AsyncStream
from pravega_lab.client.values import KIB
from pravega_lab.client.writing import appends as appends_module
from pravega_lab.client.writing.appender import BLOCK_BYTES, IN_FLIGHT_BYTES_MAX, Ticket
from pravega_lab.client.writing.appends import Appends
from pravega_lab.client.writing.event_buffer import Added, Collected
from pravega_lab.client.writing.writer import AsyncEventWriter, StreamTarget
from pravega_lab.engine.simulation.store.world import World
from pravega_lab.errors import AccessDeniedError, Definite, PravegaError, RefusedError, StreamSealedError
from pravega_lab.protocol.names import SegmentRange
from pravega_lab.protocol.wire.commands import (
    AppendSetup,
    ErrorCode,
    ErrorMessage,
    InvalidEventNumber,
    OperationUnsupported,
    SegmentSealed,
    WrongHost,
)
from tests.client.helpers import (
    HIGH,
    LOW,
    assert_each_once_in_order,
    connected_to_two,
    numbered,
    numbers_by_key,
)
from tests.simulated import STREAM, tell


async def stored(client: AsyncClient) -> list[bytes]:
    async with client.stream(STREAM).read() as batches:
        return [event async for event in batches.events()]


def tasks_of_appends() -> list[str]:
    names = [task.get_coro().__qualname__ for task in asyncio.all_tasks()]  # type: ignore[union-attr]
    return [name for name in names if name.startswith(("SegmentAppender.", "Appends."))]


def test_a_writer_that_is_idle_outlives_a_store_that_is_away_for_long(world: World) -> None:
    """Only a writer with something to write looks for the store. It has its whole time for that."""

    async def story(client: AsyncClient) -> None:
        async with client.stream(STREAM).writer() as writer:
            await writer.write("k:0", "k")
            await writer.flush()
            world.store.crash()
            await asyncio.sleep(10 * client._stores.retry_for_s)
            writing = asyncio.ensure_future(writer.write_durably(["k:1"], "k"))
            await asyncio.sleep(0.5 * client._stores.retry_for_s)
            await world.store.start()
            await writing
        assert await stored(client) == [b"k:0", b"k:1"]

    tell(world, story)


def test_an_idle_time_does_not_count_as_time_of_retries(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer lost its connection long ago, and the first attempt of the next write fails, too."""

    async def story(client: AsyncClient) -> None:
        async with client.stream(STREAM).writer() as writer:
            await writer.write_durably(["a"], "k")
            [appender] = writer.appends._appenders.values()
            assert appender._connection is not None
            appender._connection.close()
            await asyncio.sleep(2 * client._stores.retry_for_s)

            async def refuse(_: object) -> None:
                monkeypatch.undo()
                raise ConnectionRefusedError("the store begins")

            monkeypatch.setattr(writer.appends.connections, "get", refuse)
            await writer.write_durably(["b"], "k")
        assert await stored(client) == [b"a", b"b"]

    tell(world, story)


def test_a_writer_asks_for_a_token_to_write(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may only read gets none. Each new connection needs one."""
    asked: list[bool] = []

    async def story(client: AsyncClient) -> None:
        tokens = client._stores.tokens
        get = tokens.get

        async def noted(stream: str, *, write: bool) -> str:
            asked.append(write)
            return await get(stream, write=write)

        async with client.stream(STREAM).writer() as writer:
            monkeypatch.setattr(tokens, "get", noted)
            await writer.write_durably(["a"], "k")
            assert asked == [True]
            world.store.crash()
            await world.store.start()
            await writer.write_durably(["b"], "k")
            assert len(asked) >= 2
            assert all(asked)

    tell(world, story)


def test_each_success_restores_the_time_that_a_writer_retries(world: World) -> None:
    """Several outages are bearable, each of which takes more than half of that time."""

    async def story(client: AsyncClient) -> None:
        async with client.stream(STREAM).writer() as writer:
            for i in range(4):
                await writer.write_durably([f"k:{i}"], "k")
                world.store.crash()
                writing = asyncio.ensure_future(writer.write_durably([f"l:{i}"], "l"))
                await asyncio.sleep(0.7 * client._stores.retry_for_s)
                await world.store.start()
                await writing
        assert len(await stored(client)) == 8

    tell(world, story)


def test_a_writer_that_is_stopped_leaves_no_task(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        idle, busy = client.stream(STREAM).writer(), client.stream(STREAM).writer()
        await idle.write_durably(["a"], "k")
        await busy.write_durably(["b"], "k")
        await busy.write(["c"] * 100, "k")
        assert len(tasks_of_appends()) == 2
        for writer in (idle, busy):
            [appender] = writer.appends._appenders.values()
            await appender.stop()
            assert bool(appender.take_back()) is (writer is busy)
            assert (appender.take_back(), appender.is_idle) == ([], True)
        assert tasks_of_appends() == []
        await idle.stop()
        await busy.stop()
        with pytest.raises(PravegaError, match="is closed"):
            await busy.write("d", "k")

    tell(world, story)


def test_a_writer_that_is_stopped_while_it_looks_for_segments_leaves_no_task(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        world.store.crash()
        writer = client.stream(STREAM).writer()
        writing = asyncio.ensure_future(writer.write("a", "k"))
        while not tasks_of_appends():
            await asyncio.sleep(0.001)
        await writer.stop()
        await asyncio.sleep(0.001)  # much less than the retries take
        assert tasks_of_appends() == []
        with pytest.raises(PravegaError, match="is closed"):  # the task of the call is not cancelled
            await writing
        await world.store.start()

    tell(world, story)


def test_a_call_that_is_cancelled_together_with_its_writer_is_cancelled(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        world.store.crash()
        writer = client.stream(STREAM).writer()
        writing = asyncio.ensure_future(writer.write("a", "k"))
        while not tasks_of_appends():
            await asyncio.sleep(0.001)
        writing.cancel()
        await writer.stop()
        with pytest.raises(asyncio.CancelledError):
            await writing
        await world.store.start()

    tell(world, story)


@pytest.mark.parametrize("is_busy", [True, False])
def test_a_writer_whose_tasks_are_cancelled_from_outside_raises(world: World, is_busy: bool) -> None:
    """`asyncio.run` cancels all tasks when its main coroutine ends. Other tasks may write or flush then."""

    async def story(client: AsyncClient) -> None:
        writer = client.stream(STREAM).writer()
        await writer.write_durably("a", "k")
        await writer.flush()
        if is_busy:
            await writer.write(["b", "c"], "k")
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            if task.get_coro().__qualname__.startswith("SegmentAppender."):  # type: ignore[union-attr]
                task.cancel()
        await asyncio.sleep(0.001)
        with pytest.raises(PravegaError, match="Flush or close the writer before") as caught:
            await asyncio.wait_for(writer.write_durably("d", "k"), 60)
        assert caught.value.definite is Definite.NO
        if is_busy:
            with pytest.raises(PravegaError, match="on their way") as caught:
                await asyncio.wait_for(writer.flush(), 60)
            assert caught.value.definite is Definite.UNKNOWN
        await writer.close()

    tell(world, story)


def test_a_client_that_is_closed_flushes_a_writer_whose_first_write_was_cancelled(world: World) -> None:
    async def story(_: AsyncClient) -> list[bytes]:
        client = world.client("writer")
        writer = client.stream(STREAM).writer()
        writing = asyncio.ensure_future(writer.write("a", "k"))
        while not tasks_of_appends():
            await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        while not writer.appends._routes:
            await asyncio.sleep(0.001)
        await writer.write("b", "k")
        with pytest.warns(RuntimeWarning, match="was not closed"):
            await client.close()
        async with world.client("reader") as reader:
            return await stored(reader)

    assert tell(world, story) == [b"b"]


@pytest.mark.parametrize("kind", ["writer", "transaction", "follow", "stream"])
def test_a_close_that_is_cancelled_at_any_step_leaves_nothing_open(world: World, kind: str) -> None:
    async def opened(stream: AsyncStream) -> Any:
        if kind == "follow":
            batches = stream.follow()
            await batches.__aenter__()
            await batches.next_batch()
            return batches
        writer = stream.writer() if kind == "writer" else await stream.begin_transaction()
        await writer.write(["a", "b", "c"], ["j", "k", "l"])
        await writer.flush()
        return stream if kind == "stream" else writer

    async def story(client: AsyncClient) -> int:
        stream = await client.create_stream("sim/wide", scaling=ScalingPolicy.fixed(3))
        async with world.client("other") as other:
            await other.stream("sim/wide").write(["a", "b", "c"], ["j", "k", "l"])
        await stream.tail()
        tasks = asyncio.all_tasks()
        n_open = sum(connection.is_open for connection in client._stores._own)
        for n_waits in range(1, 100):
            closing = asyncio.ensure_future(_cancelled((await opened(stream)).close(), n_waits))
            with suppress(asyncio.CancelledError):
                await closing
            await asyncio.sleep(0.1)
            assert asyncio.all_tasks() == tasks
            assert client._stores.writers._in_use == []
            assert sum(connection.is_open for connection in client._stores._own) == n_open
            if not closing.cancelled():
                return n_waits
        raise AssertionError("close() did not end")

    assert tell(world, story) > 2


async def _cancelled(call: Coroutine[Any, Any, None], n_waits: int) -> None:
    """Await a call, and cancel the task when the call waits for the ``n_waits``-th time."""
    task = asyncio.current_task()
    assert task is not None

    class Waits:
        def __await__(self) -> Generator[Any, Any, None]:
            steps = call.__await__()
            resume = partial(steps.send, None)
            for number in count(1):
                try:
                    future = resume()
                except StopIteration:
                    return
                if number == n_waits:
                    asyncio.get_running_loop().call_soon(task.cancel)
                try:
                    yield future
                    resume = partial(steps.send, None)
                except BaseException as error:
                    resume = partial(steps.throw, error)

    await Waits()


def test_connections_that_are_closed_while_one_is_opened_cancel_no_caller(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        endpoint = await client._stores.endpoint(STREAM, 0)
        connections = Connections(client._stores)
        getting = asyncio.ensure_future(connections.get(endpoint))
        await asyncio.sleep(0)
        await connections.close()
        with pytest.raises(PravegaError, match="was closed while it connected"):
            await getting

    tell(world, story)


def test_large_amounts_are_sent_in_blocks_ahead_of_acknowledgements(world: World) -> None:
    """Blocks are bounded, and so is what is sent ahead. Small amounts wait for the acknowledgement."""
    event = b"x" * (100 * KIB)

    async def story(client: AsyncClient) -> None:
        async with client.stream(STREAM).writer() as writer:
            await writer.write_durably(["first"], "k")
            [appender] = writer.appends._appenders.values()
            for _ in range(70):
                await writer.write([event], "k")
            sizes = [len(block.data) for block in appender._in_flight]
            assert len(sizes) > 2
            assert max(sizes) <= BLOCK_BYTES
            assert IN_FLIGHT_BYTES_MAX <= sum(sizes) < IN_FLIGHT_BYTES_MAX + BLOCK_BYTES
            while not appender.is_idle:  # blocks that follow acknowledgements take what has come together
                await asyncio.sleep(0.001)
                sizes += [len(block.data) for block in appender._in_flight]
            assert BLOCK_BYTES - len(event) - 16 <= max(sizes) <= BLOCK_BYTES
            for _ in range(3):
                await writer.write(["small", "events"], "k")
            assert [block.n_events for block in appender._in_flight] == [2]
            await writer.flush()
            assert (appender._pending_bytes, appender._in_flight_bytes) == (0, 0)
            assert appender._last_event_number == 77
        assert len(await stored(client)) == 77

    tell(world, story)


def test_a_write_right_after_a_connection_was_lost_is_queued(world: World) -> None:
    """The appender notices before its task has its turn."""

    async def story(client: AsyncClient) -> None:
        async with client.stream(STREAM).writer() as writer:
            await writer.write_durably(["a"], "k")
            [appender] = writer.appends._appenders.values()
            assert appender._connection is not None
            appender._connection.close()
            await writer.write("b", "k")
            await writer.write(["c", "d"], "k")
        assert await stored(client) == [b"a", b"b", b"c", b"d"]

    tell(world, story)


def test_a_list_that_is_framed_while_its_writer_is_stopped_is_refused(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        writer = client.stream(STREAM).writer()
        await writer.write_durably(["in"], "k")

        class SlowlyFramed(FewEvents):
            async def runs(self, highs: Sequence[float], bytes_max: int) -> list[Run]:
                await writer.stop()
                return await super().runs(highs, bytes_max)

        with pytest.raises(PravegaError, match="is closed"):
            await writer.appends.put(SlowlyFramed([b"out"], [0.5]))
        assert await stored(client) == [b"in"]

    tell(world, story)


@pytest.mark.parametrize("is_added", [True, False])
def test_a_flush_of_a_stopped_writer_raises_only_for_events_that_were_dropped(
    world: World, is_added: bool
) -> None:
    async def story(client: AsyncClient) -> None:
        writer = client.stream(STREAM).writer()
        await writer.write_durably(["in"], "k")
        if is_added:
            assert writer.appends.buffer.add("out", "k"), "as a thread does, before the loop takes it"
        await writer.stop()
        if is_added:
            with pytest.raises(PravegaError, match="is closed"):
                await writer.flush()
        else:
            await writer.flush()
        assert await stored(client) == [b"in"]

    tell(world, story)


def test_an_answer_that_arrives_while_a_writer_is_stopped_changes_nothing(world: World) -> None:
    """Its appender is cancelled already, and has not had its turn yet."""

    async def story(client: AsyncClient) -> None:
        writer = client.stream(STREAM).writer()
        await writer.write("a", "k")
        [appender] = writer.appends._appenders.values()
        while appender._set_up is None:
            await asyncio.sleep(0.0001)
        assert appender._task is not None
        appender._task.cancel()
        appender._replied(AppendSetup(appender._request_id, appender.name, appender._writer_id, 7))
        await appender.stop()
        assert appender.take_back(), "nothing was acknowledged"
        assert appender.take_back() == []
        await writer.stop()

    tell(world, story)


@pytest.mark.parametrize("kind", ["at the beginning", "at the end", "everywhere"])
def test_successors_that_leave_keys_without_a_segment_are_refused(world: World, kind: str) -> None:
    """No event is written rather than one out of order."""
    hole = {"at the beginning": (0.25, 1.0), "at the end": (0.0, 0.75), "everywhere": None}[kind]

    class Wrong(StreamTarget):
        async def successors(self, segment_id: int) -> list[SegmentRange]:
            found = await super().successors(segment_id)
            return [SegmentRange(found[0].segment_id, *hole)] if hole else []

    async def story(client: AsyncClient) -> None:
        stream = client.stream(STREAM)
        context = stream.writer()._context
        appends = Appends(context, Wrong(context))
        await appends.put(prepare(["in"], "k", Random(1)))
        await appends.flush()
        await stream.split(0)
        await appends.put(prepare(["out"], "k", Random(1)))
        with pytest.raises(PravegaError, match="do not cover the keys"):
            await appends.flush()
        await appends.close()
        assert await stored(client) == [b"in"]

    tell(world, story)


def test_lists_wait_for_acknowledgements_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded: while too many bytes are unacknowledged, a write waits."""
    monkeypatch.setattr(appends_module, "UNACKNOWLEDGED_BYTES_MAX", 1_000)

    async def story(client: AsyncClient) -> None:
        most = 0
        async with client.stream(STREAM).writer() as writer:
            for begin in range(0, 400, 20):
                await writer.write(*numbered(20, 5, begin))
                most = max(most, writer.appends._unacknowledged_bytes)
            await writer.flush()
            assert writer.appends._unacknowledged_bytes == 0
        assert 1_000 < most < 1_500
        assert_each_once_in_order(await stored(client), 400)

    tell(world, story)


@pytest.mark.parametrize("kind", [WrongHost, InvalidEventNumber, ErrorMessage, SegmentSealed])
def test_what_may_pass_is_tried_again_on_another_connection(world: World, kind: type) -> None:
    """Another store may serve the segment now, so the controller is asked again where it is."""

    async def story(client: AsyncClient) -> None:
        async with client.stream(STREAM).writer() as writer:
            await writer.write_durably(["a"], "k")
            [appender] = writer.appends._appenders.values()
            await writer.write("b", "k")
            number, name = appender._request_id, appender.name
            answers = {
                WrongHost: lambda: WrongHost(number, name, "elsewhere", ""),
                InvalidEventNumber: lambda: InvalidEventNumber(appender._writer_id, number, "", 9),
                ErrorMessage: lambda: ErrorMessage(number, name, "full", ErrorCode.STORE_FULL),
                SegmentSealed: lambda: SegmentSealed(number, name),  # no answer to an append
            }
            assert client._stores.known_endpoint(STREAM, 0) is not None
            appender._replied(answers[kind]())
            await asyncio.sleep(0)
            assert client._stores.known_endpoint(STREAM, 0) is None
            await writer.write("c", "k")
        assert await stored(client) == [b"a", b"b", b"c"]

    tell(world, story)


def test_what_will_not_pass_ends_the_writer(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        writer = client.stream(STREAM).writer()
        await writer.write_durably(["a"], "k")
        [appender] = writer.appends._appenders.values()
        await writer.write("b", "k")
        appender._replied(OperationUnsupported(appender._request_id, "append", "no appends here"))
        with pytest.raises(RefusedError, match="no appends here"):
            await writer.flush()
        await writer.stop()

    tell(world, story)


def test_each_acknowledgement_restores_the_time_that_a_busy_writer_retries(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection is lost again and again, always with events on their way."""

    async def story(client: AsyncClient) -> None:
        async with client.stream(STREAM).writer() as writer:
            await writer.write_durably(["0"], "k")
            [appender] = writer.appends._appenders.values()
            for i in range(1, 5):
                await writer.write(f"{i}", "k")
                assert not appender.is_idle
                assert appender._connection is not None
                appender._connection.close()
                await writer.flush()
                await asyncio.sleep(0.7 * client._stores.retry_for_s)
        assert await stored(client) == [b"%d" % i for i in range(5)]

    tell(world, story)


def test_a_sealed_segment_leaves_no_listener(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        stream = client.stream(STREAM)
        async with stream.writer() as writer:
            await writer.write_durably(["a"], "k")
            [appender] = writer.appends._appenders.values()
            connection = appender._connection
            assert connection is not None
            for _ in range(3):
                [*_, last] = await stream.segments()
                await stream.split(last.segment_id)
                await writer.write_durably([f"{i}" for i in range(20)], [f"key-{i}" for i in range(20)])
            appenders = writer.appends._appenders.values()
            assert len(appenders) == 4
            assert {a._connection for a in appenders} == {connection}
            assert len(connection._listeners) == 4
        assert len(await stored(client)) == 61

    tell(world, story)


def test_a_write_that_is_cancelled_while_it_waits_for_room_holds_up_no_flush(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(appends_module, "UNACKNOWLEDGED_BYTES_MAX", 10)

    async def story(client: AsyncClient) -> None:
        async with client.stream(STREAM).writer() as writer:
            await writer.write_durably(["a"], "k")
            await writer.write(["in"] * 20, "k")
            waiting = asyncio.ensure_future(writer.write(["out"] * 20, "k"))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
            assert waiting.cancelled()
            await writer.flush()
        assert (await stored(client)).count(b"in") == 20

    tell(world, story)


def test_an_error_counts_only_what_was_stored_since_the_last_flush(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        stream = client.stream(STREAM)
        writer = stream.writer()
        await writer.write(["a", "b"], "k")
        await writer.flush()
        await stream.seal()
        await writer.write("c", "k")
        with pytest.raises(StreamSealedError) as raised:
            await writer.flush()
        assert raised.value.definite is Definite.NO
        await writer.stop()

    tell(world, story)


def test_an_event_that_a_thread_adds_while_others_are_taken_is_sent_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(client: AsyncClient) -> None:
        async with client.stream(STREAM).writer() as writer:
            await writer.write_durably(["a"], "k")
            buffer = writer.appends.buffer
            take = buffer.take

            def interrupted() -> Collected:
                taken = take()
                monkeypatch.undo()
                assert buffer.add("c", "k") is Added.TAKEN, "no thread is notified"
                return taken

            monkeypatch.setattr(buffer, "take", interrupted)
            await writer.write("b", "k")
            await asyncio.sleep(1)
            assert await stored(client) == [b"a", b"b", b"c"]

    tell(world, story)


def test_the_first_write_to_a_sealed_stream_has_certainly_stored_nothing(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        stream = client.stream(STREAM)
        await stream.seal()
        writer = stream.writer()
        with pytest.raises(StreamSealedError) as raised:
            await writer.write(["a"], "k")
        assert raised.value.definite is Definite.NO
        await writer.stop()

    tell(world, story)


def test_after_a_merge_and_a_split_at_other_keys_each_key_has_the_route_of_its_segment(world: World) -> None:
    """The merged segment has the routes of both segments before it, and each is cut by itself."""

    async def story(client: AsyncClient) -> None:
        stream = client.stream(STREAM)
        keys = [f"key-{i}" for i in range(50)]
        async with stream.writer() as writer:
            for bounds in ([(0.0, 0.5), (0.5, 1.0)], [(0.0, 1.0)], [(0.0, 0.3), (0.3, 0.6), (0.6, 1.0)]):
                await stream.scale([s.segment_id for s in await stream.segments()], bounds)
                await writer.write_durably([f"{key}:{bounds}" for key in keys], keys)
            highs = writer.appends._highs
            assert highs == sorted(set(highs))
            low = 0.0
            ranges = {s.segment_id: s for s in await stream.segments()}
            for route in writer.appends._routes:
                segment = ranges[route.appender.segment_id]
                assert segment.low <= low < route.high <= segment.high
                low = route.high
            assert low == 1.0
        assert len(await stored(client)) == 150

    tell(world, story)


def connections_of(writers: Sequence[AsyncEventWriter]) -> list[Connection | None]:
    return [appender._connection for writer in writers for appender in writer.appends._appenders.values()]


def test_more_than_ten_writers_of_a_client_share_connections(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        open_before = len(world.network.connections())
        writers = [client.stream(STREAM).writer() for _ in range(25)]
        for number, writer in enumerate(writers):
            await writer.write_durably([f"{number}:{i}" for i in range(3)], f"{number}")
        used = Counter(connections_of(writers))
        assert sorted(used.values()) == [2] * 5 + [3] * 5
        for number, writer in enumerate(writers[:-1]):
            await writer.stop()
            await writers[-1].write_durably([f"24:{3 + number}"], "24")
        [last] = connections_of(writers[-1:])
        assert last is not None
        assert last.is_open
        assert len(world.network.connections()) == open_before + 2  # its two ends
        await writers[-1].stop()
        await asyncio.sleep(1)
        assert len(world.network.connections()) == open_before
        expected = {f"{n}": list(range(3 if n < 24 else 27)) for n in range(25)}
        assert numbers_by_key(await stored(client)) == expected

    tell(world, story)


def test_a_lost_connection_of_many_writers_loses_and_doubles_nothing(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        writers = [client.stream(STREAM).writer() for _ in range(3 * WRITER_CONNECTIONS_MAX)]

        async def write(number: int) -> None:
            for i in range(40):
                await writers[number].write(f"{number}:{i}", f"{number}")
                if i % 4 == 3:
                    await writers[number].flush()

        writing = [asyncio.ensure_future(write(number)) for number in range(len(writers))]
        for _ in range(10):
            await asyncio.sleep(0.02)
            lost = next((connection for connection in connections_of(writers) if connection), None)
            if lost is not None:
                lost.close()
        await asyncio.gather(*writing)
        for writer in writers:
            await writer.close()
        expected = {f"{n}": list(range(40)) for n in range(len(writers))}
        assert numbers_by_key(await stored(client)) == expected

    tell(world, story)


def test_a_writer_that_was_closed_takes_no_connections_again(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        writer = client.stream(STREAM).writer()
        await writer.write_durably(["a"], "k")
        await writer.close()
        await writer.close()
        await writer.flush()
        assert client._stores.writers._in_use == []

    tell(world, story)


@pytest.mark.parametrize("kind", ["close", "block", "client"])
def test_an_error_that_no_call_has_raised_is_raised_by_the_end(world: World, kind: str) -> None:
    """The writer fails after the last call, while the program does something else."""

    async def write(stream: AsyncStream) -> AsyncEventWriter:
        writer = stream.writer()
        await writer.write("in", "k")
        await writer.flush()
        await stream.seal()
        await writer.write("out", "k")
        while not writer.is_failed:
            await asyncio.sleep(0.001)
        return writer

    async def story(client: AsyncClient) -> None:
        other = world.client("other")
        writer = await write(other.stream(STREAM))
        leave = partial(writer.__aexit__, None, None, None)
        end = {"close": writer.close, "block": leave, "client": other.close}[kind]
        with pytest.raises(StreamSealedError):
            await end()
        assert not writer.is_open
        await writer.close()
        await other.close()
        assert await stored(client) == [b"in"]
        assert tasks_of_appends() == []

    with pytest.warns(RuntimeWarning, match="was not closed") if kind == "client" else nullcontext():
        tell(world, story)


def test_an_error_that_a_call_has_raised_is_not_raised_again_by_the_end(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        stream = client.stream(STREAM)
        async with stream.writer() as writer:
            await writer.write_durably(["in"], "k")
            await stream.seal()
            await writer.write("out", "k")
            with pytest.raises(StreamSealedError):
                await writer.flush()
        async with stream.writer() as writer:
            await writer.stop()

    tell(world, story)


def test_a_durable_write_that_succeeded_raises_no_error_of_another(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The calls share a writer. No call has raised its error yet, because the other call was cancelled."""

    async def story(client: AsyncClient) -> None:
        stream = client.stream(STREAM)
        await stream.write("first", "k")
        assert stream._writer is not None
        appends = stream._writer.appends
        wait_for = appends.wait_for

        async def wait_and_fail(ticket: Ticket) -> None:
            await wait_for(ticket)
            await appends.put(prepare(["of the other"], "k", Random(1)))
            appends.failed(StreamSealedError("sealed just now"))

        monkeypatch.setattr(appends, "wait_for", wait_and_fail)
        assert await stream.write("second", "k") == 1

    tell(world, story)


def test_a_client_that_is_closed_writes_the_events_of_a_stream_after_the_error_of_another(
    world: World,
) -> None:
    async def story(client: AsyncClient) -> None:
        other = world.client("other")
        first, second = other.stream(STREAM), await other.create_stream("sim/second")
        writers = [stream.writer() for stream in (first, second)]
        for writer in writers:
            await writer.write("in", "k")
            await writer.flush()
        await client.stream(STREAM).seal()
        await writers[0].write("out", "k")
        for number in range(20):
            await writers[1].write(b"%d" % number * 100_000, "k")
        with pytest.warns(RuntimeWarning, match="was not closed"), pytest.raises(StreamSealedError):
            await other.close()
        assert [writer.is_open for writer in writers] == [False, False]
        async with client.stream("sim/second").read() as batches:
            assert len([event async for event in batches.events()]) == 21
        assert tasks_of_appends() == []

    tell(world, story)


def test_a_writer_that_is_stopped_while_a_segment_is_replaced_writes_nothing_afterwards(world: World) -> None:
    """The successors are known as soon as another appender is stopped."""
    asked, known = asyncio.Event(), asyncio.Event()

    class Slow(StreamTarget):
        async def successors(self, segment_id: int) -> list[SegmentRange]:
            found = await super().successors(segment_id)
            asked.set()
            await known.wait()
            return found

    async def story(client: AsyncClient) -> None:
        stream = client.stream(STREAM)
        await stream.split(0)
        context = stream.writer()._context
        appends = Appends(context, Slow(context))
        keys = [f"key-{i}" for i in range(20)]
        await appends.put(prepare(["in"] * 20, keys, Random(1)))
        await appends.flush()
        await stream.split([*appends._appenders][-1])
        await appends.put(prepare(["out"] * 20, keys, Random(1)))
        await asked.wait()
        known.set()
        await appends.close()
        assert tasks_of_appends() == []
        assert client._stores.writers._in_use == []
        [*_, low, high] = await stream.segments()
        await asyncio.sleep(10)
        assert [(await stream.segment_info(s.segment_id)).write_offset for s in (low, high)] == [0, 0]

    tell(world, story)


def slow_down(world: World) -> None:
    world.store.disk.conditions.write_us_min = world.store.disk.conditions.write_us_max = 500_000


def test_a_durable_write_whose_writer_is_stopped_does_not_know_what_is_stored(world: World) -> None:
    async def story(client: AsyncClient) -> None:
        writer = client.stream(STREAM).writer()
        await writer.write_durably(["first"], "k")
        slow_down(world)
        writing = asyncio.ensure_future(writer.write_durably(["sent"], "k"))
        await asyncio.sleep(0.1)
        await writer.stop()
        with pytest.raises(
            PravegaError, match=r"is closed\. Events that were on their way may be stored"
        ) as raised:
            await writing
        assert raised.value.definite is Definite.UNKNOWN
        await asyncio.sleep(2)
        assert await stored(client) == [b"first", b"sent"]

    tell(world, story)


def test_a_refusal_after_a_lost_connection_does_not_know_what_is_stored(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*, write: bool) -> str:
        raise AccessDeniedError("permission was taken away")

    async def story(client: AsyncClient) -> None:
        writer = client.stream(STREAM).writer()
        await writer.write_durably(["first"], "k")
        slow_down(world)
        await writer.flush()
        await writer.write("sent", "k")
        await asyncio.sleep(0.1)
        monkeypatch.setattr(writer._context, "token", refuse)
        [connection] = connections_of([writer])
        assert connection is not None
        connection.close()
        with pytest.raises(AccessDeniedError) as raised:
            await writer.flush()
        assert raised.value.definite is Definite.UNKNOWN
        monkeypatch.undo()
        await writer.stop()
        await asyncio.sleep(2)
        assert await stored(client) == [b"first", b"sent"]

    tell(world, story)


@pytest.mark.parametrize(("n_blocks", "definite"), [(1, Definite.NO), (2, Definite.UNKNOWN)])
def test_a_block_that_the_store_refuses_is_not_stored_but_later_ones_may_be(
    world: World, n_blocks: int, definite: Definite
) -> None:
    async def story(client: AsyncClient) -> None:
        writer = client.stream(STREAM).writer()
        await writer.write_durably(["first"], "k")
        await writer.flush()
        [appender] = writer.appends._appenders.values()
        for _ in range(n_blocks):
            await writer.write([b"x" * BLOCK_BYTES], "k")
        assert len(appender._in_flight) == n_blocks
        appender._replied(ErrorMessage(appender._request_id, appender.name, "refused", 1))
        with pytest.raises(RefusedError) as raised:
            await writer.flush()
        assert raised.value.definite is definite
        await writer.stop()

    tell(world, story)


def test_what_was_not_sent_when_an_error_ended_the_writer_is_never_stored(world: World) -> None:
    """The segment that would take it works."""

    async def story(client: AsyncClient) -> None:
        writer = client.stream(STREAM).writer()
        await writer.write_durably(["first"], "k")
        slow_down(world)
        await writer.write(["sent"], "k")
        writing = asyncio.ensure_future(writer.write_durably(["not sent"], "k"))
        await asyncio.sleep(0.1)
        writer.appends.failed(RefusedError("of another segment"))
        with pytest.raises(RefusedError) as raised:
            await writing
        assert raised.value.definite is Definite.NO
        await asyncio.sleep(2)
        await writer.stop()
        assert await stored(client) == [b"first", b"sent"]

    tell(world, story)


def test_a_flush_does_not_answer_for_events_that_were_written_after_it_began(world: World) -> None:
    """They are stored before those of the flush, whose segment cannot be reached."""

    async def story(client: AsyncClient) -> None:
        stream = client.stream(STREAM)
        writer = stream.writer()
        slower, faster = await connected_to_two(stream, writer)
        reports = list[bool]()
        slower._end(ConnectionLostError("lost"))
        await writer.write("flushed", LOW)
        writer.appends.begin_flush(reports.append)
        flushing = asyncio.ensure_future(writer.flush())
        while not writer.appends._waiting:
            await asyncio.sleep(0)
        await writer.write("later", HIGH)
        while faster.is_idle:  # it waits for a moment, to send together with the other one
            await asyncio.sleep(0.0001)
        while not faster.is_idle:
            await asyncio.sleep(0.0001)
        assert not slower.is_idle
        await flushing
        assert reports == [True]
        await stream.seal()
        await writer.write("too late", HIGH)
        with pytest.raises(StreamSealedError, match="Some of the events had been stored before") as raised:
            await writer.flush()
        assert raised.value.definite is Definite.UNKNOWN
        await writer.stop()

    tell(world, story)
