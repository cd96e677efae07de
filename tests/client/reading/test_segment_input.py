"""`SegmentInput` on a connection that it shares with other inputs, without a store."""

from __future__ import annotations

import asyncio
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pravega_lab.client.connection import connection as connections
from pravega_lab.client.connection.connection import Connection, Listener
from pravega_lab.client.connection.dialer import Endpoint
from pravega_lab.client.connection.receiver import ReadReply
from pravega_lab.client.reading.segment_input import SegmentInput
from pravega_lab.protocol.wire.codec import encode
from pravega_lab.protocol.wire.commands import KeepAlive, ReadSegment

ENDPOINT = Endpoint("store", 1)


class Store:
    """Keeps the read that waits at the tail of each segment. One connection is open at a time."""

    def __init__(self) -> None:
        self.connect()

    def connect(self) -> None:
        self.asked: dict[str, ReadSegment] = {}
        self.connection = Connection(ENDPOINT)
        self.connection.send = self._receive  # type: ignore[method-assign, assignment]

    def _receive(self, read: ReadSegment) -> None:
        self.asked[read.segment] = read

    def lose_connection(self) -> None:
        """Lose the connection, and open another one."""
        lost = self.connection
        self.connect()
        lost.connection_lost(None)

    def input(self, segment: str) -> SegmentInput:
        """Return an input of a segment, from its beginning."""
        info = SimpleNamespace(start_offset=0, write_offset=0, is_sealed=False)
        context = SimpleNamespace(
            name="s/t",
            segment_name=lambda _: segment,
            stores=SimpleNamespace(
                endpoint=lambda *_: answer(ENDPOINT), known_endpoint=lambda *_: None, forget=lambda *_: None
            ),
            token=lambda **_: answer(""),
            info=lambda _: answer(info),
            retry_for_s=10.0,
            chance=Random(0),
        )
        connections = SimpleNamespace(get=lambda _: answer(self.connection))
        return SegmentInput(cast(Any, context), cast(Any, connections), 0, 0, None, lambda: None)

    async def reply(self, segment: str, data: bytes) -> None:
        """Answer the read of a segment, once it is there."""
        while segment not in self.asked:
            await asyncio.sleep(0.001)
        read = self.asked.pop(segment)
        self.connection._dispatch(
            cast(Any, ReadReply(read.request_id, read.offset, True, False, memoryview(data)))
        )


async def answer(value: Any) -> Any:
    return value


def test_an_input_that_ends_leaves_the_reads_of_others_alone() -> None:
    """Each connection numbers its requests from the same id. An answered read has the id of its own."""

    async def story() -> None:
        store = Store()
        leaving = store.input("leaving")
        await store.reply("leaving", b"one")
        await store.reply("leaving", b"two")
        store.lose_connection()
        while "leaving" not in store.asked:
            await asyncio.sleep(0.001)
        staying = store.input("staying")
        while "staying" not in store.asked:
            await asyncio.sleep(0.001)
        await leaving.close()
        await store.reply("staying", b"three")
        assert bytes(staying.take() or b"") == b"three"
        await staying.close()

    asyncio.run(asyncio.wait_for(story(), 20))


def test_an_input_that_ends_while_its_next_session_waits_for_a_token_leaves_no_task() -> None:
    """The segment was sealed while the connection was lost, and its last bytes had arrived before."""

    async def story() -> None:
        store, asked, granted = Store(), asyncio.Event(), asyncio.Event()
        source = store.input("sealed")
        await store.reply("sealed", b"last")

        async def token(**_: object) -> str:
            asked.set()
            await granted.wait()
            return ""

        context = cast(Any, source._context)
        context.token = token
        context.info = lambda _: answer(SimpleNamespace(start_offset=0, write_offset=4, is_sealed=True))
        store.lose_connection()
        await asked.wait()
        assert bytes(source.take() or b"") == b"last"
        assert source.is_ended
        granted.set()
        assert source._task is not None
        await source._task

    asyncio.run(asyncio.wait_for(story(), 5))


def test_an_answer_in_the_millisecond_of_its_probe_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PROBE_AFTER_S", 0.01)

    async def main() -> None:
        connection, probes = Connection(ENDPOINT), []
        later = asyncio.get_running_loop().call_later
        connection._loop = SimpleNamespace(time=lambda: 5.0, call_later=later, is_closed=lambda: False)  # type: ignore[assignment]

        def answer_at_once(probe: KeepAlive) -> None:
            probes.append(probe)
            connection.data_received(encode(probe))

        connection.send = answer_at_once  # type: ignore[method-assign, assignment]
        connection.listen(Listener(lambda _: None, lambda _: None))
        while len(probes) < 3 and connection.is_open:
            await asyncio.sleep(0.001)
        assert connection.is_open
        connection.close()

    asyncio.run(main())
