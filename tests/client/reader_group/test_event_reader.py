"""How readers come and go: replaced, cancelled, cut off from the store, or with a segment of before."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from pravega_lab.client.reader_group import opening
from pravega_lab.client.reader_group.access import GroupAccess
from pravega_lab.client.reader_group.core.reader import Append, Compact, Decision, Write
from pravega_lab.client.reader_group.errors import ReaderGroupNotFoundError, ReinitializationRequiredError
from pravega_lab.client.reader_group.event_reader import AsyncReader
from pravega_lab.client.reader_group.group import AsyncReaderGroup
from pravega_lab.client.reader_group.opening import reading
from pravega_lab.engine.simulation.groups.apps import group_of
from pravega_lab.engine.simulation.store.world import World
from pravega_lab.errors import StoreUnavailableError, StreamNotFoundError
from pravega_lab.protocol.metadata import reader_group as rg

STREAM = "sim/stream"
EVENTS = [f"{number}".encode() for number in range(10)]
EVENT_BYTES = 9  # with its header
KEYS = {"low": "1", "high": "0"}  # of the lower and the upper half of the key space


def tell(world: World, story: Callable[[AsyncReaderGroup], Coroutine[Any, Any, None]]) -> None:
    """Run ``story`` with a group of a stream that holds ten events."""

    async def main() -> None:
        await world.store.start()
        async with world.client("story") as client:
            await (await client.create_stream(STREAM)).write(EVENTS)
            async with group_of(world, client) as group:
                await group.create(reading([STREAM], automatic_checkpoint_interval_ms=-1))
                await story(group)

    world.loop.run_until_complete(main())


async def take(reader: AsyncReader, n_events: int) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < n_events:
        read = await reader.read_next(1.0)
        found += [] if read.event is None else [read.event]
    return found


def test_streams_with_the_same_segment_ids_are_each_read_once_and_in_order(world: World) -> None:
    """Both merge #1 and #2 to #3. The reader first ends #1 of the one and #2 of the other."""

    async def main() -> None:
        await world.store.start()
        async with world.client("story") as client:
            streams = [await client.create_stream(f"sim/{name}") for name in "ab"]
            for stream, n_low in zip(streams, (1, 5), strict=True):
                await stream.split(0)
                for key, n_events in (("low", n_low), ("high", 6 - n_low)):
                    await stream.write(
                        [f"{stream.scoped_name} {key} {n}" for n in range(n_events)], KEYS[key]
                    )
                await stream.merge([segment.segment_id for segment in await stream.segments()])
                await stream.write(f"{stream.scoped_name} last")
                await stream.seal()
            async with group_of(world, client) as group:
                names = [stream.scoped_name for stream in streams]
                await group.create(reading(names, automatic_checkpoint_interval_ms=-1))
                async with await group.create_reader("r", checkpoint_at_segment_end=True) as reader:
                    reads = [await reader.read_next(1.0) for _ in range(50)]
        assert reads[-1].is_completed
        found = [read.event for read in reads if read.event is not None]
        for name in names:
            of_stream = [event for event in found if event.startswith(name.encode())]
            assert len(of_stream) == 7
            assert of_stream[-1] == f"{name} last".encode()

    world.loop.run_until_complete(main())


def test_a_reader_whose_stream_was_deleted_can_leave_its_group(world: World) -> None:
    async def main() -> None:
        await world.store.start()
        async with world.client("story") as client:
            gone, kept = [await client.create_stream(f"sim/{name}") for name in "ab"]
            async with group_of(world, client) as group:
                await group.create(reading(["sim/a", "sim/b"], automatic_checkpoint_interval_ms=-1))
                reader = await group.create_reader("r", checkpoint_at_segment_end=True)
                assert (await reader.read_next()).event is None
                await gone.seal()
                await gone.delete()
                for _ in range(2):
                    with pytest.raises(StreamNotFoundError, match="there is no stream sim/a"):
                        await take(reader, 1)
                    assert "1 reader online (r)" in str(await group.explain())
                await reader.close()
                assert await group.online_readers() == []
                await group.reset(config=reading(["sim/b"]))
                await kept.write("more")
                async with await group.create_reader("r") as reader:
                    assert await take(reader, 1) == [b"more"]

    world.loop.run_until_complete(main())


def test_a_write_to_the_log_of_a_deleted_group_says_that_the_group_is_gone(world: World) -> None:
    async def story(group: AsyncReaderGroup) -> None:
        reader = await group.create_reader("r")
        await group.delete()
        for step in (
            Write(lambda _: [rg.UpdatingConfig(True)]),
            Append((rg.UpdatingConfig(True),)),
            Compact(),
        ):
            with pytest.raises(ReaderGroupNotFoundError, match="there is no reader group sim/group"):
                await reader._access.take(step)
        await reader.close()

    tell(world, story)


async def replaced(group: AsyncReaderGroup, n_before: int, n_after: int) -> tuple[AsyncReader, AsyncReader]:
    """Return a reader that was declared dead, and the reader of its name that came after it."""
    old = await group.create_reader("r")
    assert await take(old, n_before) == EVENTS[:n_before]
    await group.reader_offline("r")
    new = await group.create_reader("r")
    assert await take(new, n_after) == EVENTS[:n_after]
    return old, new


@pytest.mark.parametrize(("n_before", "n_after"), [(3, 8), (8, 3)])
def test_a_reader_that_was_replaced_changes_nothing_when_it_is_closed(
    world: World, n_before: int, n_after: int
) -> None:
    async def story(group: AsyncReaderGroup) -> None:
        old, new = await replaced(group, n_before, n_after)
        await old.close()
        assert await group.online_readers() == ["r"]
        assert await take(new, 10 - n_after) == EVENTS[n_after:]
        await new.close()

    tell(world, story)


def test_a_reader_that_was_replaced_before_a_compaction_reads_nothing_more(world: World) -> None:
    async def story(group: AsyncReaderGroup) -> None:
        old, new = await replaced(group, 3, 2)
        assert await group.compact()
        await asyncio.sleep(10)
        with pytest.raises(ReinitializationRequiredError):
            await old.read_next(1.0)
        assert await take(new, 8) == EVENTS[2:]
        await new.close()

    tell(world, story)


def test_a_reader_whose_close_failed_can_be_closed_again(world: World) -> None:
    async def story(group: AsyncReaderGroup) -> None:
        reader = await group.create_reader("r")
        assert await take(reader, 3) == EVENTS[:3]
        world.store.crash()
        with pytest.raises(StoreUnavailableError):
            await reader.close()
        await world.store.start()
        await reader.close()
        assert await group.online_readers() == []
        async with await group.create_reader("other") as other:
            assert await take(other, 7) == EVENTS[3:]

    tell(world, story)


def test_a_reader_whose_close_was_cancelled_can_be_closed_again(world: World) -> None:
    async def story(group: AsyncReaderGroup) -> None:
        for limit_us in range(0, 5_000, 500):
            reader = await group.create_reader("r")
            await reader.read_next()
            try:
                async with asyncio.timeout(limit_us / 1e6):
                    await reader.close()
            except TimeoutError:
                await reader.close()
            assert await group.online_readers() == [], f"after {limit_us} us"

    tell(world, story)


def test_a_reader_whose_close_was_cancelled_keeps_no_connections(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop = AsyncReader._drop

    async def cancelled(reader: AsyncReader, segment: str) -> None:
        current = asyncio.current_task()
        assert current is not None
        current.cancel()
        await drop(reader, segment)

    async def story(group: AsyncReaderGroup) -> None:
        assert await group.online_readers() == []
        n_before = n_open(group)
        reader = await group.create_reader("r")
        assert await take(reader, 1) == EVENTS[:1]
        monkeypatch.setattr(AsyncReader, "_drop", cancelled)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.ensure_future(reader.close())
        await reader.close()
        assert n_open(group) == n_before
        assert await group.online_readers() == []

    tell(world, story)


def n_open(group: AsyncReaderGroup) -> int:
    """Return how many connections of the group's client are open."""
    return sum(connection.is_open for connection in group._access.stores._own)


def test_a_close_ends_a_read_that_another_task_waits_for(world: World) -> None:
    async def story(group: AsyncReaderGroup) -> None:
        reader = await group.create_reader("r")
        assert await take(reader, 10) == EVENTS
        reads = asyncio.ensure_future(reader.read_next(60.0))
        await asyncio.sleep(1.0)
        begin_s = world.loop.time()
        await reader.close()
        assert world.loop.time() - begin_s < 1.0
        with pytest.raises(ReinitializationRequiredError, match="it was closed"):
            await reads
        assert await group.online_readers() == []

    tell(world, story)


def test_a_reader_that_is_cancelled_as_it_comes_online_goes_offline(world: World) -> None:
    async def story(group: AsyncReaderGroup) -> None:
        n_cancelled = 0
        for limit_us in range(0, 20_000, 250):
            try:
                async with asyncio.timeout(limit_us / 1e6):
                    reader = await group.create_reader("r")
                await reader.close()
            except TimeoutError:
                n_cancelled += 1
            assert await group.online_readers() == [], f"after {limit_us} us"
        assert n_cancelled > 10

    tell(world, story)


def test_a_reader_that_is_cancelled_twice_as_it_comes_online_goes_offline(world: World) -> None:
    async def story(group: AsyncReaderGroup) -> None:
        assert await group.online_readers() == []
        n_before, n_left = n_open(group), 0
        for limit_us in range(500, 8_000, 250):
            joining = asyncio.ensure_future(group.create_reader("r"))
            for again_us in (limit_us, 300):
                await asyncio.sleep(again_us / 1e6)
                joining.cancel()
            await asyncio.wait([joining])
            if not joining.cancelled():
                await joining.result().close()
            n_left += n_open(group) > n_before
            await asyncio.sleep(1.0)
            assert await group.online_readers() == [], f"after {limit_us} us"
            assert n_open(group) == n_before
        assert n_left > 2

    tell(world, story)


def test_a_segment_that_another_reader_had_in_between_is_read_from_where_that_one_came(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader released it and acquired it again in one step, in which something else was slow."""

    async def story(group: AsyncReaderGroup) -> None:
        reader = await group.create_reader("r")
        assert await take(reader, 3) == EVENTS[:3]
        [segment], core = reader._core.held, reader._core
        behind = 8 * EVENT_BYTES
        there_and_back = (
            [rg.ReleaseSegment("r", segment, 3 * EVENT_BYTES)],
            [rg.AddReader("b"), rg.AcquireSegment("b", segment), rg.RemoveReader("b", {segment: behind})],
            [rg.AcquireSegment("r", segment)],
        )

        def before_read(*, now_ms: int) -> Decision[str | None]:
            monkeypatch.undo()
            for updates in there_and_back:
                yield from core._ask(Write(lambda _, updates=updates: updates))  # type: ignore[misc]
            return None

        monkeypatch.setattr(core, "before_read", before_read)
        monkeypatch.setattr(core, "is_quiet", lambda now_ms: False)
        assert await take(reader, 2) == EVENTS[8:]
        await reader.close()

    tell(world, story)


def test_a_compaction_does_not_hide_who_left(world: World) -> None:
    """A handle that reads on keeps the counts of departures, which a whole state does not contain."""

    async def story(group: AsyncReaderGroup) -> None:
        access: GroupAccess = group._access
        old, new = await replaced(group, 1, 1)
        before = (await access.fetch()).departures
        assert await group.compact()
        assert (await access.fetch()).departures == before == {"r": 1}
        await new.close()
        await old.close()

    tell(world, story)


def test_a_group_of_a_simulated_client_has_the_time_of_the_simulation(world: World) -> None:
    async def main() -> str | None:
        await world.store.start()
        async with world.client("story") as client:
            await client.create_stream(STREAM)
            reads = reading([STREAM], automatic_checkpoint_interval_ms=5_000)
            group = await client.create_reader_group("sim/group", reads)
            async with group, await group.create_reader("r") as reader:
                return (await reader.read_next(10.0)).checkpoint

    assert world.loop.run_until_complete(main()) is not None


def test_the_time_of_readers_continues_when_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = SimpleNamespace(wall_ms=0, monotonic_ms=0)
    monkeypatch.setattr(opening, "_ahead_ns", -(2**63))
    monkeypatch.setattr(time, "time_ns", lambda: clocks.wall_ms * 1_000_000)
    monkeypatch.setattr(time, "monotonic_ns", lambda: clocks.monotonic_ms * 1_000_000)
    seen = []
    for clocks.wall_ms, clocks.monotonic_ms in [(5_000, 700), (5_100, 800), (1_200, 900), (1_300, 1_000)]:
        seen.append(opening.wall_clock_ms())
    assert seen == [5_000, 5_100, 5_200, 5_300]
    clocks.wall_ms = 9_000  # set ahead, or the machine slept
    assert opening.wall_clock_ms() == 9_000
