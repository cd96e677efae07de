"""Bugs that the simulation found, each as a small deterministic test, so that a fixed bug stays fixed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.connection.access import Access
from pravega_lab.client.connection.connection import Connection, ConnectionLostError, open_connection
from pravega_lab.client.connection.dialer import Dialer, Endpoint
from pravega_lab.client.reading import segment_input
from pravega_lab.client.values import TAIL, ScalingPolicy
from pravega_lab.client.writing.writer import AsyncEventWriter
from pravega_lab.engine.simulation.kernel.journal import Journal
from pravega_lab.engine.simulation.kernel.loop import SimulationLoop
from pravega_lab.engine.simulation.store.store_process import StoreProcess
from pravega_lab.engine.simulation.store.world import World
from pravega_lab.errors import (
    AppendUnknownError,
    ConditionFailedError,
    ConditionUnknownError,
    Definite,
    StoreUnavailableError,
    StreamNotFoundError,
)
from pravega_lab.protocol.wire.commands import ConditionalAppend, DataAppended, SetupAppend
from tests import simulated
from tests.simulated import STREAM


def tell(world: World, story: Callable[[AsyncClient, StoreProcess], Coroutine[Any, Any, Any]]) -> Any:
    return simulated.tell(world, lambda client: story(client, world.store))


async def texts(batches: Any, count: int) -> list[bytes]:
    """Return the next ``count`` events as text."""
    found: list[bytes] = []
    while len(found) < count:
        batch = await batches.next_batch(60.0)
        assert batch is not None, f"only {found} came"
        found += batch.column(0).to_pylist()
    return found


@pytest.mark.parametrize("moment_us", range(0, 6_000, 200))
def test_a_connection_may_be_lost_at_any_moment_of_a_read(moment_us: int) -> None:
    """A connection that was lost between two requests of a reader used to leave it waiting forever."""
    for victim in range(3):
        loop = SimulationLoop(1)  # type: ignore[abstract]
        world = World(loop, Journal())
        try:
            tell(world, _reading(world, moment_us, victim))
        finally:
            loop.dispose()


def _reading(world: World, moment_us: int, victim: int) -> Callable[..., Coroutine[Any, Any, None]]:
    async def story(client: AsyncClient, store: StoreProcess) -> None:
        await client.stream(STREAM).write(["one", "two"], "key")
        world.network.conditions.delay_us_min = world.network.conditions.delay_us_max = 300
        async with world.client("reader") as reader, reader.stream(STREAM).follow() as batches:
            open_before = len(world.network.connections())
            world.loop.call_at_us(world.loop.now_us + moment_us, _cut, world, open_before + 2 * victim)
            assert await texts(batches, 2) == [b"one", b"two"]
            await client.stream(STREAM).write(["three"], "key")
            assert await texts(batches, 1) == [b"three"]

    return story


@pytest.mark.parametrize("moment_us", range(0, 6_000, 500))
def test_a_bounded_read_ends_where_it_should_over_a_lost_connection(world: World, moment_us: int) -> None:
    async def story(client: AsyncClient, store: StoreProcess) -> None:
        stream = client.stream(STREAM)
        await stream.write(["one", "two"], "key")
        end = await stream.tail()
        await stream.write(["behind", "it"], "key")
        await stream.split(0)
        world.network.conditions.delay_us_min = world.network.conditions.delay_us_max = 300
        open_before = len(world.network.connections())
        async with world.client("reader") as reader, reader.stream(STREAM).read(end=end) as batches:
            for victim in range(3):
                world.loop.call_at_us(world.loop.now_us + moment_us, _cut, world, open_before + 2 * victim)
            assert await texts(batches, 2) == [b"one", b"two"]
            assert await batches.next_batch(60.0) is None
            assert batches.ended

    tell(world, story)


def _cut(world: World, index: int) -> None:
    connections = world.network.connections()
    if index < len(connections):
        connections[index].peer.abort()


def test_a_store_that_accepts_and_is_silent_is_a_lost_connection(world: World) -> None:
    """It used to be a cancellation, which ended the task that waited for the connection without an error."""

    async def main() -> None:
        await world.loop.create_server(asyncio.Protocol, "127.0.0.1", 9)
        with pytest.raises(ConnectionLostError, match="hello"):
            await open_connection(Endpoint("127.0.0.1", 9), Dialer(Access(), False))

    world.loop.run_until_complete(main())


def test_nobody_is_told_that_a_failed_write_is_durable(world: World) -> None:
    """Acknowledgements and replies of the controller used to be sent although the sync had failed."""

    told: list[bool] = []

    async def story(client: AsyncClient, store: StoreProcess) -> None:
        writer = client.stream(STREAM).writer()
        await writer.write("first", "key")
        await writer.flush()
        store.disk.conditions.fail_chance = 1.0
        await writer.write("second", "key")
        calls: list[Awaitable[Any]] = [writer.flush(), client.create_scope("another"), store.ends_within(5.0)]
        flushed, created, ended = [asyncio.ensure_future(call) for call in calls]
        await asyncio.wait([ended])
        await asyncio.sleep(1)
        told.extend([flushed.done(), created.done(), ended.result()])
        flushed.cancel()
        created.cancel()

    with pytest.raises(StoreUnavailableError):  # closing the client, whose writer still has the second event
        tell(world, story)
    assert told == [False, False, True]


def test_a_reader_at_the_tail_gets_every_byte_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Available bytes used to be requested while the read at the tail, from the same offset, was open."""
    monkeypatch.setattr(segment_input, "READ_BYTES", 100)

    async def story(client: AsyncClient, store: StoreProcess) -> None:
        world.network.conditions.delay_us_max = 3_000
        stream = client.stream(STREAM)
        events = [b"%03d" % number for number in range(200)]
        async with world.client("reader") as reader, reader.stream(STREAM).follow() as batches:
            assert await batches.next_batch(0.1) is None
            for at in range(0, len(events), 50):
                await stream.write(events[at : at + 50], "key")
            assert await texts(batches, len(events)) == events
            assert await batches.next_batch(0.1) is None

    tell(world, story)


def test_a_timeout_while_successors_are_asked_for_loses_no_segment(world: World) -> None:
    """The segment lost its turn, and its successors used to be never requested again."""

    async def story(client: AsyncClient, store: StoreProcess) -> None:
        stream = client.stream(STREAM)
        await stream.write("before", "key")
        async with world.client("reader") as reader, reader.stream(STREAM).follow() as batches:
            assert await texts(batches, 1) == [b"before"]
            await stream.split(0)
            store.port.lost_request_chance = 1.0
            assert await batches.next_batch(0.5) is None
            store.port.heal()
            await stream.write("after", "key")
            assert await texts(batches, 1) == [b"after"]

    tell(world, story)


def test_an_update_with_a_lost_answer_may_have_happened(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error used to say "refused, nothing was changed", although another writer had read the value and
    replaced it.
    """

    async def story(client: AsyncClient, store: StoreProcess) -> None:
        table = client.table("sim/register")
        await table.create()
        version = await table.put(b"key", b"begin")
        right = table._stores.ask_once

        async def lose_the_answer(*args: Any) -> Any:
            monkeypatch.setattr(table._stores, "ask_once", right)
            await right(*args)
            async with world.client("other") as other:
                found = await other.table("sim/register").get(b"key")
                assert found is not None
                assert found.value == b"mine"
                await other.table("sim/register").put(b"key", b"theirs", found.version)
            raise ConnectionLostError("lost")

        monkeypatch.setattr(table._stores, "ask_once", lose_the_answer)
        with pytest.raises(ConditionUnknownError) as caught:
            await table.put(b"key", b"mine", version)
        assert caught.value.definite is Definite.UNKNOWN
        with pytest.raises(ConditionFailedError) as refused:
            await table.put(b"key", b"again", version)
        assert refused.value.definite is Definite.NO

    tell(world, story)


def test_an_equal_value_proves_no_update(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two clients write one value under one condition. Both used to be told that they had succeeded, after a
    lost answer.
    """

    async def story(client: AsyncClient, store: StoreProcess) -> None:
        table = client.table("sim/register")
        await table.create()
        version = await table.put(b"key", b"begin")
        right = table._stores.ask_once

        async def lose_the_request(*args: Any) -> Any:
            monkeypatch.setattr(table._stores, "ask_once", right)
            async with world.client("other") as other:
                await other.table("sim/register").put(b"key", b"same", version)
            raise ConnectionLostError("lost")

        monkeypatch.setattr(table._stores, "ask_once", lose_the_request)
        with pytest.raises(ConditionUnknownError) as caught:
            await table.put(b"key", b"same", version)
        assert caught.value.found == await table.get(b"key")

    tell(world, story)


def test_a_conditional_append_that_arrives_late_is_recognized(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt is not in the log when the client asks, and overtakes the second one."""

    async def story(client: AsyncClient, store: StoreProcess) -> None:
        log = client.revisioned_stream(STREAM)
        end, right = await log.latest(), Connection.ask
        sent: list[Any] = []

        async def late(self: Connection, request: Any) -> Any:
            if isinstance(request, ConditionalAppend):
                sent.append(request)
                if len(sent) == 1:
                    raise ConnectionLostError("lost")
                stores = log._context.stores
                other = await stores.open(await stores.endpoint(STREAM, 0))
                await right(other, SetupAppend(0, request.writer_id, log._context.segment_name(0), ""))
                assert isinstance(await right(other, sent[0]), DataAppended)
            return await right(self, request)

        monkeypatch.setattr(Connection, "ask", late)
        after = await log.append_if_at(end, b"mine")
        assert len(sent) == 2
        assert after == await log.latest()
        assert [entry.data for entry in await log.read_from(end)] == [b"mine"]
        await log.close()

    tell(world, story)


async def cut_off_in_flight(
    world: World, client: AsyncClient, other: AsyncClient, store: StoreProcess
) -> AsyncEventWriter:
    """Return a writer that cannot reach the store while its second event is being stored; ``other`` can."""
    writer = client.stream(STREAM).writer()
    await other.stream(STREAM).tail()
    known = [connection.number for connection in world.network.connections()]
    await writer.write("one", "key")
    await writer.flush()
    store.disk.conditions.write_us_min = store.disk.conditions.write_us_max = 1_000_000
    await writer.write("two", "key")
    await asyncio.sleep(0.5)
    world.network.conditions.refuse_chance = 1.0
    for connection in world.network.connections():
        if connection.number not in known:
            connection.abort()
    return writer


def test_events_that_were_truncated_before_their_acknowledgement_are_not_written_again(world: World) -> None:
    """The writer used to take "there is no such segment" for "sealed", and wrote the stored events again."""

    async def story(client: AsyncClient, store: StoreProcess) -> None:
        async with world.client("other") as other:
            writer = await cut_off_in_flight(world, client, other, store)
            await other.stream(STREAM).split(0)
            await other.stream(STREAM).truncate(TAIL)
            world.network.conditions.heal()
            with pytest.raises(AppendUnknownError, match="truncated away"):
                await writer.flush()
            await writer.close()

    tell(world, story)


def test_events_in_flight_to_a_stream_that_was_deleted_may_have_been_stored(world: World) -> None:
    """The error used to say that nothing had happened, because the controller knows no such stream."""

    async def story(client: AsyncClient, store: StoreProcess) -> None:
        async with world.client("other") as other:
            writer = await cut_off_in_flight(world, client, other, store)
            await other.stream(STREAM).seal()
            assert (await other.stream(STREAM).tail()).positions == {0: 22}
            await other.stream(STREAM).delete()
            world.network.conditions.heal()
            with pytest.raises(StreamNotFoundError) as raised:
                await writer.flush()
            assert raised.value.definite is Definite.UNKNOWN
            await writer.close()

    tell(world, story)


def test_a_sealed_stream_does_not_scale_by_itself(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """A scale that a segment had requested before the seal used to be tried after it, and failed with a
    traceback.
    """
    world.store.scaling_clock = 1000

    async def story(client: AsyncClient, store: StoreProcess) -> None:
        stream = client.stream(STREAM)
        await stream.update(scaling=ScalingPolicy.by_event_rate(1))
        for n in range(400):
            await stream.write(str(n), str(n))
        await stream.seal()
        await asyncio.sleep(10)

    tell(world, story)
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_store_that_never_answers_is_given_up(world: World) -> None:
    async def main() -> None:
        async with world.client("story") as client:
            with pytest.raises(StoreUnavailableError, match=r"127\.0\.0\.1:12345"):
                await client.list_scopes()

    world.loop.run_until_complete(main())
