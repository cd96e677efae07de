"""A client whose connections run through TCP proxies in this process, so that they can be cut.

There is one proxy for the controller and one for each segment store that serves a named stream. Connections
to a segment store that the client learns of later do not run through a proxy.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

from pravega_lab.client import Client, connect
from pravega_lab.client.loop_thread import loop_thread
from pravega_lab.errors import BadInputError

PIECE_BYTES = 64 * 1024
CONNECT_S = 5.0
_RESET = struct.pack("ii", 1, 0)  # close with RST, as a cable that is pulled looks from above


class Proxy:
    """Listen on a free port of the loopback and forward all bytes to ``host:port``, until cut or closed."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        # One lock guards accepting and cutting: a connection is in the listener's queue, in `_opening` (not
        # yet connected to the target) or in `_pairs`, and a cut empties all three.
        self._lock = threading.Lock()
        self._opening: set[socket.socket] = set()
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._refuse_until = 0.0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self._stop, self._stopped = socket.socketpair()
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, name=f"proxy of {host}:{port}", daemon=True)
        self._thread.start()

    @property
    def connections(self) -> int:
        """Return how many connections are open."""
        with self._lock:
            return len(self._pairs)

    def cut(self, for_s: float = 0.0) -> int:
        """Break all connections, also those that are being opened, and return how many they were.

        New connections are refused for ``for_s`` seconds.
        """
        with self._lock:
            self._refuse_until = time.monotonic() + for_s
            opening, pairs = self._opening, self._pairs
            self._opening, self._pairs = set(), {}
            while (near := self._accept_waiting()) is not None:
                opening.add(near)
        for end in (*opening, *pairs, *pairs.values()):
            _break(end)
        return len(opening) + len(pairs)

    def close(self) -> None:
        """Break all connections and stop listening."""
        self._stop.close()
        self._thread.join()
        self.cut()
        self._listener.close()
        self._stopped.close()

    def _accept(self) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(self._listener, selectors.EVENT_READ)
            ready.register(self._stopped, selectors.EVENT_READ)
            while all(key.fileobj is self._listener for key, _ in ready.select()):
                with self._lock:
                    near = self._accept_waiting()
                    is_refused = time.monotonic() < self._refuse_until
                    if near is not None and not is_refused:
                        self._opening.add(near)
                if near is None:  # a cut was faster, or the process has no descriptor left
                    time.sleep(0.01)
                elif is_refused:
                    _break(near)
                else:
                    threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _accept_waiting(self) -> socket.socket | None:
        """Return a connection from the listener's queue, None if the queue is empty. Hold the lock."""
        try:
            near, _ = self._listener.accept()
        except OSError:  # none is waiting, or the one that was has gone
            return None
        near.setblocking(True)
        return near

    def _dial(self) -> socket.socket:
        far = socket.create_connection(self._target, CONNECT_S)
        far.settimeout(None)
        return far

    def _serve(self, near: socket.socket) -> None:
        far: socket.socket | None = None
        with contextlib.suppress(OSError):
            far = self._dial()
        with self._lock:
            is_cut = near not in self._opening
            self._opening.discard(near)
            if far is not None and not is_cut:
                self._pairs[near] = far
        if far is None or is_cut:
            for end in (near, far):
                if end is not None:
                    _break(end)
            return
        threading.Thread(target=self._pump, args=(far, near, near), daemon=True).start()
        self._pump(near, far, near)

    def _pump(self, source: socket.socket, target: socket.socket, pair: socket.socket) -> None:
        with contextlib.suppress(OSError):
            source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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


class ProxiedClient:
    """A client whose connections can be cut, as ``client``.

    Args:
        client: A client of the same store, which is asked where its segment stores are.
        streams: ``scope/stream`` names. Connections to their segment stores can be cut.
        access: How to get into the store; see `connect`.

    Raises:
        BadInputError: ``access`` rewrites addresses already.
    """

    def __init__(self, client: Client, streams: Iterable[str], **access: Any) -> None:
        if access.get("rewrite"):
            raise BadInputError(
                "connections that can be cut need a rewrite of their own, and the access has one already"
            )
        self._proxies: list[Proxy] = []
        rewrite: dict[str, str] = {}
        with ExitStack() as undo:
            for host, port in dict.fromkeys([_controller(client.uri), *_segment_stores(client, streams)]):
                proxy = Proxy(host, port)
                undo.callback(proxy.close)
                self._proxies.append(proxy)
                rewrite[f"{host}:{port}"] = f"127.0.0.1:{proxy.port}"
            self.client = connect(client.uri, **{**access, "rewrite": rewrite})
            undo.pop_all()

    @property
    def connections(self) -> int:
        """Return how many connections are open."""
        return sum(proxy.connections for proxy in self._proxies)

    def cut(self, for_s: float = 0.0) -> int:
        """Break all connections, and return how many they were. Refuse new ones for ``for_s`` seconds."""
        return sum(proxy.cut(for_s) for proxy in self._proxies)

    def close(self) -> None:
        """Close the client, and the proxies also if the client fails to close."""
        with ExitStack() as closing:  # calls its callbacks in reverse order
            for proxy in self._proxies:
                closing.callback(proxy.close)
            closing.callback(self.client.close)


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
