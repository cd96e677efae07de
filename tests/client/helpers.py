"""What several tests of the client need: events by key, and a link between client and store that breaks."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from pravega_lab.client.connection.dialer import Endpoint
from pravega_lab.client.controller.grpc_link import GrpcLink
from pravega_lab.client.segment_stores import Connections
from pravega_lab.client.stream import AsyncStream
from pravega_lab.client.writing.appender import SegmentAppender
from pravega_lab.client.writing.writer import AsyncEventWriter
from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.hashing import key_position

LOW, HIGH = "key-1", "key-2"
"""A key in each half of the key space."""


async def connected_to_two(
    stream: AsyncStream, writer: AsyncEventWriter
) -> tuple[SegmentAppender, SegmentAppender]:
    """Split a stream's only segment, and connect a writer to both parts: the appenders of LOW and HIGH."""
    assert key_position(LOW) < 0.5 < key_position(HIGH)
    await stream.split(0)
    await writer.write_durably(["a", "b"], [LOW, HIGH])
    low, high = (route.appender for route in writer.appends._routes)
    return low, high


def numbered(n: int, n_keys: int, begin: int = 0) -> tuple[list[bytes], list[str]]:
    """Events ``key:number`` with ascending numbers, spread over keys."""
    keys = [f"key-{(begin + i) % n_keys}" for i in range(n)]
    return [f"{key}:{begin + i}".encode() for i, key in enumerate(keys)], keys


def events_of(batches: Iterable[Any]) -> list[bytes]:
    return [event for batch in batches for event in batch.column("event").to_pylist()]


def numbers_by_key(events: Iterable[bytes]) -> Mapping[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for event in events:
        key, number = event.decode().split(":")
        found[key].append(int(number))
    return found


def assert_each_once_in_order(events: list[bytes], n: int) -> None:
    """Numbers 0 to n-1 are there once each, ascending within every key."""
    assert sorted(int(event.split(b":")[1]) for event in events) == list(range(n))
    for key, numbers in numbers_by_key(events).items():
        assert numbers == sorted(numbers), key


async def until_a_request_waits(connections: Connections) -> None:
    """Wait until a request was sent over one of the connections, and is not answered yet."""
    while not any(task.done() and task.result()._listeners for task in connections._opening.values()):
        await asyncio.sleep(0.001)


class RedirectedLink(GrpcLink):
    """A controller that names another port for every segment."""

    def __init__(self, uri: str, port: int) -> None:
        host, _, own_port = uri.removeprefix("tcp://").rpartition(":")
        super().__init__(Endpoint(host, int(own_port)))
        self._port = port
        self.real_port = 0

    async def call(self, method: str, request: bytes) -> bytes:
        answer = await super().call(method, request)
        if method != "getURI":
            return answer
        found = pb.NodeUri.FromString(answer)
        self.real_port, found.port = found.port, self._port
        return found.SerializeToString()


class CuttingProxy:
    """Passes bytes on; kills a connection, both ways, after the next number of ``cuts`` (bytes either way).

    With ``cuts`` used up it only passes on.
    """

    def __init__(self, cuts: Iterable[int]) -> None:
        self.cuts_left = list(cuts)
        self.connections = 0
        self.port = 0
        self.link: RedirectedLink | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> CuttingProxy:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def to(self, uri: str) -> RedirectedLink:
        self.link = RedirectedLink(uri, self.port)
        return self.link

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert self.link is not None
        self.connections += 1
        budget = [self.cuts_left.pop(0) if self.cuts_left else None]
        store_reader, store_writer = await asyncio.open_connection("127.0.0.1", self.link.real_port)
        ends = [writer, store_writer]
        pipes = [(reader, store_writer), (store_reader, writer)]
        self._tasks += [asyncio.ensure_future(_pipe(a, b, budget, ends)) for a, b in pipes]


async def _pipe(
    source: asyncio.StreamReader,
    target: asyncio.StreamWriter,
    budget: list[int | None],
    ends: list[asyncio.StreamWriter],
) -> None:
    try:
        while data := await source.read(65_536):
            if budget[0] is not None:
                data, budget[0] = data[: budget[0]], budget[0] - len(data)
            target.write(data)
            if budget[0] is not None and budget[0] <= 0:
                break
            await target.drain()
    except OSError:
        pass
    finally:
        for end in ends:
            end.transport.abort() if budget[0] is not None and budget[0] <= 0 else end.close()
