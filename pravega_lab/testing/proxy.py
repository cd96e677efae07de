"""A proxy in front of a store that withholds the n-th message of one kind, so that a kill comes right there.

It understands both of Pravega's ports as far as needed: names of controller calls, and frames of wire
commands (two big-endian int32: type, length). The controller's answers that name a segment store are changed
to name the proxy.

    proxy.hold("commitTransaction", nth=2, what="request")   # keep the 2nd request from the store
    proxy.hold("TableEntriesUpdated")                        # the store has done it, the client waits
    proxy.wait_held(); ...kill...; proxy.release()

Only plain connections work: the proxy cannot read TLS. Credentials pass through. Where a client finds the
password of a store by its address (see `own_stores`), it finds it by the address of the proxy, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import grpc

from pravega_lab.client.connection import own_stores
from pravega_lab.errors import BadInputError
from pravega_lab.portable.waiting import FIRST_COMPLETED, wait
from pravega_lab.protocol.addresses import is_loopback
from pravega_lab.protocol.controller import controller_pb2
from pravega_lab.protocol.controller.methods import METHODS
from pravega_lab.protocol.wire import commands

WAIT_S_MAX = 240.0  # a driver may have to start before the message comes
_NAMES = {
    command.code: command.__name__
    for command in vars(commands).values()
    if isinstance(command, type) and issubclass(command, commands.Command) and hasattr(command, "code")
}


@dataclass
class Hold:
    """A message to withhold; ``left`` counts down to it. ``peer_port`` is the client's, and identifies
    its process.
    """

    name: str
    left: int
    what: str
    held: threading.Event = field(default_factory=threading.Event)
    released: asyncio.Event | None = None
    dropped: bool = False
    peer_port: int | None = None


class DroppedError(ConnectionError):
    """Raised when the message that was withheld is never delivered."""


class StoreProxy:
    """A proxy for clients, which connect to ``proxy.uri`` instead of ``uri``. A context manager: leaving
    it closes it.

    Args:
        uri: Address of a controller, ``tcp://host:port``.

    ``seen`` counts the messages of each name so far, requests and replies.

    Raises:
        BadInputError: ``uri`` is not ``tcp://``.
    """

    def __init__(self, uri: str) -> None:
        if not uri.startswith("tcp://"):
            raise BadInputError(f"a proxy reads what passes, so it needs tcp://host:port, not {uri!r}")
        self._upstream = uri.removeprefix("tcp://")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._holds: list[Hold] = []
        self.seen: dict[str, int] = {}
        self._stores: dict[tuple[str, int], int] = {}
        self._tasks: dict[asyncio.Task[None], None] = {}
        self.uri = ""
        self._thread.start()
        self._run(self._start())

    def __enter__(self) -> StoreProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Deliver what is withheld, then stop listening. May be called twice."""
        if self._loop.is_running():
            self.release()
            self._run(self._stop())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)

    def __repr__(self) -> str:
        return f"StoreProxy({self.uri!r} for {self._upstream})"

    def _run(self, call: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(call, self._loop).result(30)

    async def _start(self) -> None:
        self._channel = grpc.aio.insecure_channel(self._upstream)
        self._server = grpc.aio.server()
        self._server.add_generic_rpc_handlers((_Calls(self),))
        port = self._server.add_insecure_port("127.0.0.1:0")
        await self._server.start()
        self._port = port
        host, _, upstream_port = self._upstream.rpartition(":")
        if is_loopback(host):
            own_stores.share(int(upstream_port), port)
        self.uri = f"tcp://127.0.0.1:{port}"

    async def _stop(self) -> None:
        own_stores.withdraw(self._port)
        await self._server.stop(None)
        for task in list(self._tasks):
            task.cancel()
        await self._channel.close()

    def hold(self, name: str, nth: int = 1, what: str = "reply") -> None:
        """Withhold the ``nth`` message of this name from now on.

        Args:
            name: A controller call (``commitTransaction``) or a wire command (``DataAppended``).
            nth: Which of them; 1 is the next.
            what: ``request``: the store does not receive it. ``reply``: the store has done it, and the
                client is not notified.

        Raises:
            BadInputError: No message has this name, ``what`` is neither, or ``nth`` is below 1.
        """
        if name not in METHODS and name not in _NAMES.values():
            raise BadInputError(f"{name!r} is neither a controller call nor a wire command of Pravega")
        if what not in ("request", "reply"):
            raise BadInputError(f"hold(what={what!r}): give 'request' or 'reply'")
        if nth < 1:
            raise BadInputError(f"hold(nth={nth}): 1 is the next message")
        self._holds.append(Hold(name, nth, what))

    def wait_held(self) -> Hold:
        """Wait until the last `hold` has its message.

        Raises:
            BadInputError: Nothing is to be withheld.
            TimeoutError: The message does not come.
        """
        if not self._holds:
            raise BadInputError("wait_held(): call hold() first; release() forgets what was to be withheld")
        held = self._holds[-1]
        if not held.held.wait(WAIT_S_MAX):
            raise TimeoutError(
                f"no {held.what} {held.name} came in {WAIT_S_MAX:g} s; {held.left} were awaited"
            )
        return held

    def release(self, *, drop: bool = False) -> None:
        """Deliver all messages from now on, and also those that were withheld, unless ``drop`` discards
        them.
        """

        async def open_all() -> None:
            holds, self._holds = self._holds, []
            for hold in holds:
                hold.dropped = drop
                if hold.released is not None:
                    hold.released.set()

        self._run(open_all())

    def wait_seen(self, name: str, n: int) -> None:
        """Wait until ``n`` messages of this name came in all.

        Raises:
            TimeoutError: They do not come.
        """
        deadline = time.monotonic() + WAIT_S_MAX
        while self.seen.get(name, 0) < n:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.seen.get(name, 0)} of {n} {name} came in {WAIT_S_MAX:g} s")
            time.sleep(0.01)

    # the two ports

    async def pass_on(self, name: str, what: str, peer_port: int | None = None) -> None:
        """Returns when this message may go on."""
        self.seen[name] = self.seen.get(name, 0) + 1
        for hold in self._holds:
            if hold.name == name and hold.what == what and hold.left > 0:
                hold.left -= 1
                if hold.left == 0:
                    hold.released = asyncio.Event()
                    hold.peer_port = peer_port
                    hold.held.set()
                    await hold.released.wait()
                    if hold.dropped:
                        raise DroppedError(name)

    async def store_port(self, host: str, port: int) -> int:
        """The port of the proxy that stands for a segment store."""
        if (host, port) not in self._stores:
            self._stores[host, port] = 0

            async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await self._serve(reader, writer, host, port)

            server = await asyncio.start_server(accept, "127.0.0.1", 0)
            self._stores[host, port] = server.sockets[0].getsockname()[1]
        while not self._stores[host, port]:
            await asyncio.sleep(0)
        return self._stores[host, port]

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int
    ) -> None:
        peer_port = writer.get_extra_info("peername")[1]
        store_reader, store_writer = await asyncio.open_connection(host, port)
        pair = [
            asyncio.create_task(self._pump(reader, store_writer, "request", peer_port)),
            asyncio.create_task(self._pump(store_reader, writer, "reply", peer_port)),
        ]
        for task in pair:
            self._tasks[task] = None
            task.add_done_callback(self._tasks.pop)
        await wait(pair, return_when=FIRST_COMPLETED)
        for end in (writer, store_writer):
            end.close()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, what: str, peer_port: int
    ) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                header = await reader.readexactly(8)
                code, length = struct.unpack(">ii", header)
                body = await reader.readexactly(length)
                await self.pass_on(_NAMES.get(code, str(code)), what, peer_port)
                writer.write(header + body)
                await writer.drain()


class _Calls(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Passes every controller call on as bytes."""

    def __init__(self, proxy: StoreProxy) -> None:
        self._proxy = proxy

    def service(self, call: Any) -> Any:
        path, name = call.method, call.method.rsplit("/", 1)[1]

        async def pass_on(request: bytes, context: Any) -> bytes:
            peer_port = int(context.peer().rsplit(":", 1)[1])
            await self._proxy.pass_on(name, "request", peer_port)
            credentials = [pair for pair in context.invocation_metadata() if pair[0] == "authorization"]
            try:
                answer = await self._proxy._channel.unary_unary(path)(request, metadata=credentials)
            except grpc.aio.AioRpcError as error:
                await context.abort(error.code(), error.details())
            await self._proxy.pass_on(name, "reply", peer_port)
            return await self._renamed(name, answer)

        return grpc.unary_unary_rpc_method_handler(pass_on)

    async def _renamed(self, name: str, answer: bytes) -> bytes:
        if METHODS[name].response is not controller_pb2.NodeUri:
            return answer
        node = controller_pb2.NodeUri.FromString(answer)
        port = await self._proxy.store_port(node.endpoint, node.port)
        return controller_pb2.NodeUri(endpoint="127.0.0.1", port=port).SerializeToString()
