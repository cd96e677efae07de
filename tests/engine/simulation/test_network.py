"""Connections in memory: asyncio's contract on one side, a network's faults on the other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from pravega_lab.engine.simulation.kernel.loop import SimulationLoop
from pravega_lab.engine.simulation.kernel.traffic import FRAMES, FrameCounter, Size


@pytest.fixture
def loop() -> Iterator[SimulationLoop]:
    loop = SimulationLoop(11)
    yield loop
    loop.dispose()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1000):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


class Recorder(asyncio.Protocol):
    """Records the calls of the transport."""

    def __init__(self, *, keep_open: bool = False) -> None:
        self.calls: list[str] = []
        self.data = b""
        self.transport: Any = None
        self._keep_open = keep_open

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.calls.append("made")

    def data_received(self, data: bytes) -> None:
        self.data += data

    def eof_received(self) -> bool:
        self.calls.append("eof")
        return self._keep_open

    def connection_lost(self, exc: Exception | None) -> None:
        self.calls.append(f"lost {type(exc).__name__ if exc else None}")

    def pause_writing(self) -> None:
        self.calls.append("pause")

    def resume_writing(self) -> None:
        self.calls.append("resume")


async def pair(loop: SimulationLoop, near: Recorder, far: Recorder) -> None:
    server = await loop.create_server(lambda: far, "127.0.0.1", 0)
    await loop.create_connection(lambda: near, "127.0.0.1", server.sockets[0].getsockname()[1])
    server.close()


def test_streams_echo_through_splits_and_stalls(loop: SimulationLoop) -> None:
    loop.network.conditions.split_chance = 0.5
    loop.network.conditions.stall_chance = 0.2
    loop.network.conditions.window_bytes = 64
    message = Random(1).randbytes(5000)

    async def main() -> bytes:
        server = await asyncio.start_server(echo, "127.0.0.1", 9090)
        async with server:
            reader, writer = await asyncio.open_connection("127.0.0.1", 9090)
            writer.write(message)
            writer.write_eof()
            answer = await reader.read()
            writer.close()
            await writer.wait_closed()
        return answer

    assert loop.run_until_complete(main()) == message
    assert loop.network.faults["split"] > 5
    assert loop.network.faults["stall"] > 5
    assert not loop.errors


def test_nobody_listens(loop: SimulationLoop) -> None:
    with pytest.raises(ConnectionRefusedError, match="9999"):
        loop.run_until_complete(asyncio.wait_for(loop.create_connection(Recorder, "127.0.0.1", 9999), 9))


def test_a_port_is_taken_once(loop: SimulationLoop) -> None:
    async def main() -> None:
        await loop.create_server(Recorder, "127.0.0.1", 9090)
        with pytest.raises(OSError, match="in use"):
            await loop.create_server(Recorder, "127.0.0.1", 9090)

    loop.run_until_complete(main())


def test_close_sends_everything_first(loop: SimulationLoop) -> None:
    near, far = Recorder(), Recorder()

    async def main() -> None:
        await pair(loop, near, far)
        near.transport.write(b"a" * 300_000)
        near.transport.close()
        near.transport.write(b"too late")
        await asyncio.sleep(10)

    loop.run_until_complete(main())
    assert far.data == b"a" * 300_000
    assert far.calls == ["made", "eof", "lost None"]
    assert near.calls == ["made", "pause", "resume", "lost None"]


def test_abort_resets_the_peer(loop: SimulationLoop) -> None:
    near, far = Recorder(), Recorder()

    async def main() -> None:
        await pair(loop, near, far)
        near.transport.abort()
        await asyncio.sleep(10)

    loop.run_until_complete(main())
    assert (near.calls, far.calls) == (["made", "lost None"], ["made", "lost ConnectionResetError"])


def test_half_close_leaves_the_other_direction_open(loop: SimulationLoop) -> None:
    near, far = Recorder(), Recorder(keep_open=True)

    async def main() -> None:
        await pair(loop, near, far)
        near.transport.write(b"question")
        near.transport.write_eof()
        await asyncio.sleep(1)
        far.transport.write(b"answer")
        far.transport.close()
        await asyncio.sleep(1)

    loop.run_until_complete(main())
    assert (far.data, near.data) == (b"question", b"answer")
    assert far.calls == ["made", "eof", "lost None"]
    assert near.calls == ["made", "eof", "lost None"]


def test_a_slow_reader_pauses_the_writer(loop: SimulationLoop) -> None:
    near, far = Recorder(), Recorder()

    async def main() -> list[str]:
        await pair(loop, near, far)
        await asyncio.sleep(1)
        far.transport.pause_reading()
        for _ in range(100):
            near.transport.write(b"b" * 4096)
        await asyncio.sleep(10)
        before = list(near.calls)
        assert far.data == b""
        far.transport.resume_reading()
        await asyncio.sleep(10)
        return before

    assert loop.run_until_complete(main()) == ["made", "pause"]
    assert near.calls == ["made", "pause", "resume"]
    assert far.data == b"b" * 409_600


def test_a_cut_is_noticed_by_each_end_in_its_own_time(loop: SimulationLoop) -> None:
    near, far = Recorder(), Recorder()

    async def main() -> None:
        await pair(loop, near, far)
        near.transport.write(b"under way")
        near.transport.cut()
        near.transport.write(b"never sent")
        await asyncio.sleep(10)

    loop.run_until_complete(main())
    assert far.data in (b"", b"under way")
    assert near.calls == far.calls == ["made", "lost ConnectionResetError"]
    assert loop.network.faults == {"cut": 1}


def test_an_error_in_a_protocol_ends_its_connection_and_is_reported(loop: SimulationLoop) -> None:
    class Broken(Recorder):
        def data_received(self, data: bytes) -> None:
            raise ValueError("bad bytes")

    near, far = Recorder(), Broken()

    async def main() -> None:
        await pair(loop, near, far)
        near.transport.write(b"x")
        await asyncio.sleep(1)

    loop.run_until_complete(main())
    assert near.calls == ["made", "lost ConnectionResetError"]
    assert "bad bytes" in loop.errors[0]


def test_peers_of_a_killed_process_notice(loop: SimulationLoop) -> None:
    ends: list[str] = []

    async def serve() -> None:
        await loop.create_server(Recorder, "127.0.0.1", 9090)

    async def main() -> None:
        store = loop.spawn_process("store")
        await store.spawn(serve())
        recorders = [Recorder() for _ in range(12)]
        for recorder in recorders:
            await loop.create_connection(lambda r=recorder: r, "127.0.0.1", 9090)  # type: ignore[misc]
        store.kill()
        await asyncio.sleep(1)
        ends.extend(recorder.calls[-1] for recorder in recorders)
        with pytest.raises(ConnectionRefusedError):
            await loop.create_connection(Recorder, "127.0.0.1", 9090)

    loop.run_until_complete(main())
    assert set(ends) == {"lost None", "lost ConnectionResetError"}


def test_a_cut_by_a_process_that_dies_is_noticed_by_an_end_of_nobodys_process(loop: SimulationLoop) -> None:
    """The notice used to be a step of the process that sent last, and died with it. The other end waited
    forever.
    """
    near, far = Recorder(), Recorder()
    store = loop.spawn_process("store")

    async def listen() -> int:
        server = await loop.create_server(lambda: far, "127.0.0.1", 0)
        port: int = server.sockets[0].getsockname()[1]
        return port

    async def main() -> None:
        port = await store.spawn(listen())
        await loop.create_connection(lambda: near, "127.0.0.1", port)
        await asyncio.sleep(0.1)
        store.run(far.transport.cut)
        store.kill()
        await asyncio.sleep(10)

    loop.run_until_complete(main())
    assert near.calls == ["made", "lost ConnectionResetError"]


def test_frames_are_counted_however_they_are_cut() -> None:
    frames = [
        n.to_bytes(4, "big") + size.to_bytes(4, "big") + bytes(size)
        for n, size in enumerate((0, 5, 0, 90, 3))
    ]
    data = b"".join(frames)
    for width in (1, 3, 8, 11, 50, len(data)):
        counter = FrameCounter()
        pieces = [data[at : at + width] for at in range(0, len(data), width)]
        assert sum(map(counter.ended_in, pieces)) == len(frames)
    counter = FrameCounter()
    assert counter.ended_in(data[:-1]) == len(frames) - 1
    assert counter.ended_in(b"") == 0
    assert counter.ended_in(data[-1:]) == 1


def test_what_arrives_is_counted_by_name(loop: SimulationLoop) -> None:
    near, far = Recorder(), Recorder()

    async def main() -> None:
        await pair(loop, near, far)
        near.transport.write(bytes(8))
        near.transport.write(bytes(4))
        await asyncio.sleep(1)

    loop.run_until_complete(main())
    assert loop.network.traffic.carried == {FRAMES: 1}
    assert loop.network.traffic.short_of(Size(messages=2)) == [
        "size of the run: 1 messages, and 2 are the least"
    ]
    assert loop.network.traffic.short_of(Size(messages=1, failures=2)) == []
    loop.network.traffic.failures = 1
    assert len(loop.network.traffic.short_of(Size(failures=2))) == 1
