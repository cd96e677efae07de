"""Whether a client's error says if the operation happened, after a lost reply or a late end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.controller.link import ControllerCallError
from pravega_lab.client.values import ScalingPolicy, TransactionState
from pravega_lab.engine.simulation.store.store_process import StoreProcess
from pravega_lab.engine.simulation.store.world import World
from pravega_lab.errors import (
    AlreadyExistsError,
    Definite,
    PravegaError,
    StreamNotFoundError,
    StreamSealedError,
)
from tests import simulated
from tests.simulated import STREAM

EVENT_BYTES = 1 << 20


def tell(world: World, story: Callable[[AsyncClient, StoreProcess], Coroutine[Any, Any, None]]) -> None:
    simulated.tell(world, lambda client: story(client, world.store))


def lose_first_answers(client: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Lose the first reply to each call after the call was done. Returns the list of calls, as
    they arrive.
    """
    link, seen = client._controller._link, []
    right = link.call

    async def call(method: str, request: bytes) -> bytes:
        answer = await right(method, request)
        seen.append(method)
        if seen.count(method) == 1:
            raise ControllerCallError("UNAVAILABLE", "connection reset by peer")
        return answer

    monkeypatch.setattr(link, "call", call)
    return seen


def test_a_call_whose_answer_was_lost_does_not_refuse_itself(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second attempt used to fail because of the first: "is there already", "there is no such stream"."""

    async def story(client: AsyncClient, store: StoreProcess) -> None:
        calls = lose_first_answers(client, monkeypatch)
        stream = await client.create_stream("sim/other", scaling=ScalingPolicy.fixed(2))
        await stream.seal()
        await stream.delete()
        assert not await stream.exists()
        assert [calls.count(method) for method in ("createStream", "sealStream", "deleteStream")] == [2, 2, 2]

    tell(world, story)


def test_what_somebody_else_did_is_still_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(client: AsyncClient, store: StoreProcess) -> None:
        async with world.client("second") as second:
            lose_first_answers(second, monkeypatch)
            with pytest.raises(AlreadyExistsError):
                await second.create_stream(STREAM, scaling=ScalingPolicy.fixed(2))
        with pytest.raises(StreamNotFoundError):
            await client.stream("sim/never").delete()

    tell(world, story)


def test_a_write_that_a_seal_cut_short_tells_how_much_is_in(world: World) -> None:
    """The error used to say that nothing was written. A caller that wrote everything again wrote a part
    twice.
    """

    async def story(client: AsyncClient, store: StoreProcess) -> None:
        stream = client.stream(STREAM)
        events = [number.to_bytes(1, "big") * EVENT_BYTES for number in range(20)]
        writing = asyncio.ensure_future(stream.write(events, "key"))
        while (await stream.segment_info(0)).write_offset < 3 * EVENT_BYTES:
            await asyncio.sleep(0.0001)
        await stream.seal()
        with pytest.raises(StreamSealedError) as caught:
            await writing
        stored = (await stream.segment_info(0)).write_offset // (8 + EVENT_BYTES)
        assert 3 <= stored < 20
        assert f"{stored} of the events had been stored" in str(caught.value)
        assert caught.value.definite is Definite.UNKNOWN
        with pytest.raises(StreamSealedError) as caught:
            await stream.write("one more", "key")
        assert caught.value.definite is Definite.NO
        assert "had been stored" not in str(caught.value)

    tell(world, story)


def test_a_pipelined_writer_tells_what_it_had_stored_since_its_last_flush(world: World) -> None:
    async def story(client: AsyncClient, store: StoreProcess) -> None:
        stream = client.stream(STREAM)
        async with stream.writer() as writer:
            await writer.write(["one", "two"], "key")
            await writer.flush()
            await stream.seal()
            await writer.write("three", "key")
            with pytest.raises(StreamSealedError) as caught:
                await writer.flush()
            assert caught.value.definite is Definite.NO

    tell(world, story)


def test_a_client_that_is_closed_renews_nothing(world: World) -> None:
    """A transaction without an end used to stay open for a day, over a channel that was opened
    again for it.
    """

    async def story(client: AsyncClient, store: StoreProcess) -> None:
        async with world.client("forgetful") as forgetful:
            transaction = await forgetful.stream(STREAM).begin_transaction(lease_ms=10_000)
            await asyncio.sleep(60)
            assert await transaction.state() is TransactionState.OPEN
        assert not [task for task in asyncio.all_tasks() if "_renew" in repr(task.get_coro())]
        await asyncio.sleep(20)
        assert await client.stream(STREAM).transaction(transaction.txn_id).state() is TransactionState.ABORTED

    tell(world, story)


def test_what_was_left_open_ends_with_its_client(world: World) -> None:
    """A reader at the tail and a writer that were not closed used to continue over new connections."""

    async def story(client: AsyncClient, store: StoreProcess) -> None:
        forgetful = world.client("forgetful")
        stream = forgetful.stream(STREAM)
        before = len(world.network.connections())
        batches = stream.follow()
        await batches.__aenter__()
        assert await batches.next_batch(0.1) is None
        writer = stream.writer()
        await writer.write("one", "key")
        await forgetful.close()
        await asyncio.sleep(5)
        assert len(world.network.connections()) == before
        with pytest.raises(PravegaError, match="was closed"):
            await batches.next_batch(60)
        with pytest.raises(PravegaError, match="was closed"):
            await forgetful.list_scopes()
        await forgetful.close()

    tell(world, story)


def test_a_lease_survives_a_controller_that_is_away_when_it_is_renewed(world: World) -> None:
    """After a failed renewal, the next one used to come half a lease later, when the lease had ended."""

    async def story(client: AsyncClient, store: StoreProcess) -> None:
        transaction = await client.stream(STREAM).begin_transaction(lease_ms=600_000)
        await transaction.write("event", "key")
        await asyncio.sleep(299)
        store.port.lost_request_chance = 1.0
        await asyncio.sleep(40)
        store.port.heal()
        await asyncio.sleep(300)
        assert await transaction.state() is TransactionState.OPEN
        await transaction.commit(wait=True)

    tell(world, story)
