"""Revisioned streams and state synchronizers over real connections, on both stores."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from pravega_lab.client import AsyncClient
from pravega_lab.client.connection.connection import ConnectionLostError
from pravega_lab.client.connection.retry import FullError
from pravega_lab.client.context import StreamContext
from pravega_lab.client.controller.link import ControllerLink
from pravega_lab.client.shared_state.errors import NoStateYetError
from pravega_lab.client.shared_state.revisioned import AsyncRevisionedStream, Revision
from pravega_lab.client.shared_state.synchronizer import AsyncStateSynchronizer
from pravega_lab.errors import (
    ConditionUnknownError,
    Definite,
    ProtocolError,
    StoreFullError,
    TruncatedDataError,
)
from pravega_lab.testing import SimulatedPravega
from tests.client.helpers import CuttingProxy

Log = Callable[[], AsyncRevisionedStream]


@asynccontextmanager
async def logs(uri: str, scope: str, link: ControllerLink | None = None) -> AsyncIterator[Log]:
    """Makes clients of one new log, each with its own connection."""
    async with AsyncClient(uri, link=link) as client:
        await client.create_stream(f"{scope}/log")
        opened: list[AsyncRevisionedStream] = []

        def make() -> AsyncRevisionedStream:
            context = StreamContext(f"{scope}/log", client._controller, client._stores)
            opened.append(AsyncRevisionedStream(context))
            return opened[-1]

        yield make
        for log in opened:
            await log.close()


class Numbers:
    """A state that is a list of numbers; -1 with more behind it says all of it."""

    def read(self, data: bytes) -> Sequence[list[int]]:
        try:
            return [[int(n) for n in word.split(",")] for word in data.decode().split(";")]
        except ValueError:
            raise ProtocolError("no numbers") from None

    def is_whole(self, update: list[int]) -> bool:
        return update[0] == -1

    def begin(self, update: list[int]) -> list[int]:
        return update[1:]

    def apply(self, state: list[int], update: list[int]) -> None:
        state += update

    def check(self, state: list[int], updates: Sequence[list[int]]) -> None:
        pass

    def write_whole(self, update: list[int]) -> bytes:
        return self.write([update])

    def write(self, updates: Sequence[list[int]]) -> bytes:
        return ";".join(",".join(map(str, update)) for update in updates).encode()

    def compact(self, state: list[int]) -> list[int]:
        return [-1, *state]


def synchronizer(log: AsyncRevisionedStream) -> AsyncStateSynchronizer[list[int], list[int]]:
    return AsyncStateSynchronizer(log, Numbers())


def test_a_log(uri: str, scope_name: Callable[[], str]) -> None:
    async def run() -> None:
        async with logs(uri, scope_name()) as make:
            log, other = make(), make()
            begin = await log.oldest()
            assert begin == await log.latest()
            assert Revision.from_text(begin.to_text()) == begin
            first = await log.append_if_at(begin, b"one")
            assert first is not None
            assert first.offset == begin.offset + 8 + 3
            assert await other.append_if_at(begin, b"late") is None
            await other.append(b"two")
            second = await other.append_if_at(await other.latest(), b"x" * 3_000_000)
            assert second == await log.latest()
            entries = await log.read_from(begin)
            assert [entry.data[:5] for entry in entries] == [b"one", b"two", b"xxxxx"]
            assert entries[0].revision == first
            assert await log.read_from(await log.latest()) == []
            assert await log.mark() is None
            assert await log.set_mark(first, None)
            assert not await other.set_mark(begin, begin)
            assert await other.mark() == first
            await log.truncate(first)
            assert await other.oldest() == first
            with pytest.raises(TruncatedDataError):
                await other.read_from(begin)

    asyncio.run(run())


def test_many_writers_lose_nothing(uri: str, scope_name: Callable[[], str]) -> None:
    """Each adds the length of what it saw: any lost or doubled update shows."""

    async def add(sync: AsyncStateSynchronizer[list[int], list[int]], n: int) -> None:
        await sync.fetch()
        for _ in range(n):
            assert await sync.update(lambda state: [[len(state)]])

    async def run() -> None:
        async with logs(uri, scope_name()) as make:
            members = [synchronizer(make()) for _ in range(4)]
            with pytest.raises(NoStateYetError):
                _ = members[0].state
            await members[0].fetch()
            assert not members[0].has_state
            assert members[0].bytes_since_whole == 0
            begun = [await member.initialize([-1]) for member in members]
            assert begun == [True, False, False, False]
            await asyncio.gather(*(add(member, 10) for member in members))
            for member in members:
                await member.fetch()
                assert member.state == list(range(40))
            assert not await members[0].update(lambda state: [])
            await members[1].append([[7], [8]])
            await members[0].fetch()
            assert members[0].state[-2:] == [7, 8]

    asyncio.run(run())


@pytest.mark.parametrize("cut", [90, 160, 230, 260, 330, 470])
def test_an_update_whose_answer_was_lost_is_written_once(
    uri: str, scope_name: Callable[[], str], cut: int
) -> None:
    """Connections end after some bytes, either way: before, within and behind each message of an append."""

    async def run() -> None:
        cuts = [cut + 17 * n for n in range(14)]
        async with CuttingProxy(cuts) as proxy, logs(uri, scope_name(), proxy.to(uri)) as make:
            first, second = synchronizer(make()), synchronizer(make())
            await first.initialize([-1])
            await asyncio.gather(first.fetch(), second.fetch())
            for member in (first, second, first):
                for _ in range(4):
                    await member.update(lambda state: [[len(state)]])
            await second.append([[12]])
            await first.fetch()
            assert first.state == list(range(13))
            assert proxy.connections > 4

    asyncio.run(run())


def test_compaction(uri: str, scope_name: Callable[[], str]) -> None:
    async def run() -> None:
        async with logs(uri, scope_name()) as make:
            log = make()
            first, late, behind = synchronizer(log), synchronizer(make()), synchronizer(make())
            await first.initialize([-1])
            await first.fetch()
            await behind.fetch()
            for n in range(3):
                await first.update(lambda state, n=n: [[n]])  # type: ignore[misc]
                assert await first.compact()
            assert first.bytes_since_whole == 8 + len("-1,0,1,2")
            assert (await log.oldest()).offset > 0
            assert not await behind.compact()
            await behind.fetch()  # its place was truncated
            await late.fetch()  # begins at the mark
            assert first.state == behind.state == late.state == [0, 1, 2]
            assert await behind.update(lambda state: [[9]])

    asyncio.run(run())


@pytest.mark.parametrize("is_ours", [True, False])
def test_a_mark_whose_answer_was_lost(uri: str, scope_name: Callable[[], str], is_ours: bool) -> None:
    """The log is truncated only if the mark is where this program wrote the whole state."""

    async def run() -> None:
        async with logs(uri, scope_name()) as make:
            log = make()
            first = synchronizer(log)
            await first.initialize([-1])
            await first.fetch()
            assert await first.compact()
            old_mark = await log.mark()
            assert old_mark is not None
            assert old_mark.offset > 0
            set_mark = log.set_mark

            async def lose(at: Revision, expected: Revision | None) -> bool:
                if is_ours:
                    assert await set_mark(at, expected)
                raise ConditionUnknownError("the answer was lost", await log.mark())

            log.set_mark = lose  # type: ignore[method-assign]
            await first.update(lambda state: [[7]])
            assert await first.compact()
            assert (await log.oldest()).offset == (old_mark.offset if is_ours else 0)
            late = synchronizer(make())
            await late.fetch()
            assert late.state == [7]

    asyncio.run(run())


def test_an_entry_that_is_none_names_its_place(uri: str, scope_name: Callable[[], str]) -> None:
    async def run() -> None:
        async with logs(uri, scope_name()) as make:
            log = make()
            sync = synchronizer(log)
            await sync.initialize([-1])
            await log.append(b"what?")
            with pytest.raises(ProtocolError, match=r"log/0.#epoch.0:10:0: no numbers"):
                await sync.fetch()

    asyncio.run(run())


@pytest.mark.parametrize("is_answer_lost", [False, True])
def test_a_full_store_has_no_entry_unless_an_answer_was_lost(is_answer_lost: bool) -> None:
    pravega = SimulatedPravega(1)

    async def story() -> None:
        async with pravega.client() as client:
            await client.create_stream("s/log")
            async with client.revisioned_stream("s/log") as log:
                append, tries = log._append_once, 0

                async def refuse(data: bytes, expected: int | None, repeated: bool) -> Revision | None:
                    nonlocal tries
                    tries += 1
                    if tries == 1 and is_answer_lost:
                        await append(data, expected, repeated)
                        raise ConnectionLostError("the answer is lost")
                    raise FullError("full")

                log._append_once = refuse  # type: ignore[method-assign]
                with pytest.raises(StoreFullError) as raised:
                    await log.append(b"entry")
                assert tries > 2
                assert raised.value.definite is (Definite.UNKNOWN if is_answer_lost else Definite.NO)
                found = [entry.data for entry in await log.read_from(await log.oldest())]
                assert found == ([b"entry"] if is_answer_lost else [])

    pravega.run(story())
