"""What a connection hands to its transport: in order, small frames together, nothing while it is paused."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from pravega_lab.client.connection import JOIN_BYTES_MAX, WRITE_BYTES, Connection, ConnectionLostError
from pravega_lab.client.dialer import Endpoint
from pravega_lab.engine.simulation.loop import SimulationLoop
from pravega_lab.protocol.codec import encode
from pravega_lab.protocol.commands import KeepAlive


class _Sink:
    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.written.append(bytes(data))

    def abort(self) -> None: ...


def simulated(run: Callable[[], Coroutine[Any, Any, None]]) -> None:
    loop = SimulationLoop(1)
    try:
        loop.run_until_complete(run())
    finally:
        loop.close()


def connected() -> tuple[Connection, _Sink]:
    connection, sink = Connection(Endpoint("h", 1)), _Sink()
    connection._transport = sink  # type: ignore[assignment]
    return connection, sink


def put(connection: Connection, *parts: bytes) -> None:
    connection.write(parts, sum(map(len, parts)))


def test_what_is_gathered_goes_out_in_one_piece() -> None:
    async def run() -> None:
        connection, sink = connected()
        put(connection, b"at", b"once")
        with connection.gathering():
            put(connection, b"a", b"b")
            with connection.gathering():
                put(connection, b"c")
        assert sink.written == [b"atonce", b"abc"]
        connection.close()

    simulated(run)


def test_small_and_large_frames_and_requests_keep_their_order() -> None:
    async def run() -> None:
        connection, sink = connected()
        large = b"L" * (JOIN_BYTES_MAX + 1)
        with connection.gathering():
            put(connection, b"small")
            connection.send(KeepAlive())
            put(connection, b"head", large, b"foot")
            put(connection, b"last")
        assert b"".join(sink.written) == b"small" + encode(KeepAlive()) + b"head" + large + b"footlast"
        assert large in sink.written  # and was not copied into another piece
        connection.close()

    simulated(run)


def test_many_small_frames_are_not_kept_back() -> None:
    async def run() -> None:
        connection, sink = connected()
        with connection.gathering():
            for _ in range(5):
                put(connection, b"x" * JOIN_BYTES_MAX)
            assert sum(map(len, sink.written)) >= WRITE_BYTES
        assert b"".join(sink.written) == b"x" * (5 * JOIN_BYTES_MAX)
        connection.close()

    simulated(run)


@pytest.mark.parametrize("parts", [[b"a"], [b"a", b"b" * (JOIN_BYTES_MAX + 1), b"c"]], ids=["small", "large"])
def test_a_paused_transport_gets_nothing_before_it_asks(parts: Sequence[bytes]) -> None:
    async def run() -> None:
        connection, sink = connected()
        connection.pause_writing()
        put(connection, *parts)
        put(connection, b"more")
        assert sink.written == []
        connection.resume_writing()
        assert b"".join(sink.written) == b"".join(parts) + b"more"
        connection.close()
        with pytest.raises(ConnectionLostError):
            put(connection, b"late")

    simulated(run)
