"""`Line`: a client whose connections run through small TCP proxies of our own, so that they can be cut.

One proxy per address: the controller, and each segment store that the streams named live on. What else the
client comes to talk to (another segment store, later) is not on the line.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from pravega_lab.client import Client, connect
from pravega_lab.client.loop_thread import loop_thread
from pravega_lab.errors import BadInputError

PIECE_BYTES = 64 * 1024
CONNECT_S = 5.0
_RESET = struct.pack("ii", 1, 0)  # close with RST, as a cable that is pulled looks from above


class Proxy:
    """Listens on a free port of the loopback and hands all bytes on, until it is cut or closed."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._lock = threading.Lock()
        self._refuse_until = 0.0
        self._closed = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name=f"proxy of {host}:{port}", daemon=True).start()

    @property
    def connections(self) -> int:
        """How many are open."""
        with self._lock:
            return len(self._pairs)

    def cut(self, for_s: float = 0.0) -> int:
        """Break all connections, refuse new ones for so many seconds; returns how many were broken."""
        self._refuse_until = time.monotonic() + for_s
        with self._lock:
            pairs, self._pairs = self._pairs, {}
        for pair in pairs.items():
            for end in pair:
                _break(end)
        return len(pairs)

    def close(self) -> None:
        self._closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while not self._closed:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if time.monotonic() < self._refuse_until:
                _break(near)
                continue
            try:
                far = socket.create_connection(self._target, CONNECT_S)
            except OSError:
                _break(near)
                continue
            far.settimeout(None)
            with self._lock:
                self._pairs[near] = far
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, target, near), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, pair: socket.socket) -> None:
        source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError):
            while piece := source.recv(PIECE_BYTES):
                target.sendall(piece)
        with self._lock:
            far = self._pairs.pop(pair, None)
        if far is not None:
            for end in (pair, far):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()


def _break(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        end.shutdown(socket.SHUT_RDWR)
    end.close()


class Line:
    """A client of its own, whose connections can be cut.

    Args:
        client: Of the same store: asked where its segment stores are.
        streams: ``scope/stream`` names; their segment stores are on the line.
        access: How to get in; see `connect`.

    Raises:
        BadInputError: ``access`` rewrites addresses already.
    """

    def __init__(self, client: Client, streams: Iterable[str], **access: Any) -> None:
        if access.get("rewrite"):
            raise BadInputError(
                "a line that can be cut rewrites addresses itself; this lab's uri does so already"
            )
        self._proxies: list[Proxy] = []
        rewrite: dict[str, str] = {}
        for host, port in dict.fromkeys([_controller(client.uri), *_segment_stores(client, streams)]):
            proxy = Proxy(host, port)
            self._proxies.append(proxy)
            rewrite[f"{host}:{port}"] = f"127.0.0.1:{proxy.port}"
        self.client = connect(client.uri, **{**access, "rewrite": rewrite})

    @property
    def connections(self) -> int:
        """How many are open now."""
        return sum(proxy.connections for proxy in self._proxies)

    def cut(self, for_s: float = 0.0) -> int:
        """Break all of them, refuse new ones for ``for_s`` seconds; returns how many were broken."""
        return sum(proxy.cut(for_s) for proxy in self._proxies)

    def close(self) -> None:
        self.client.close()
        for proxy in self._proxies:
            proxy.close()


def _controller(uri: str) -> tuple[str, int]:
    parts = urlsplit(uri)
    return parts.hostname or "127.0.0.1", parts.port or 9090


def _segment_stores(client: Client, streams: Iterable[str]) -> list[tuple[str, int]]:
    found = []
    for name in streams:
        for segment in client.stream(name).segments():
            endpoint = loop_thread().run(client._core._controller.endpoint(name, segment.segment_id))
            found.append((endpoint.host, endpoint.port))
    return found
