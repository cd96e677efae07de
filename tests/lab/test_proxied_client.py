"""The proxies between a running client and its store: `cut` breaks every connection, whatever its state."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from pravega_lab.lab.proxied_client import Proxy

WAIT_S = 20.0


class SlowProxy(Proxy):
    """A proxy whose connections to the store come about only when the test allows it."""

    def __init__(self, host: str, port: int) -> None:
        self.dialling = threading.Event()
        self.allowed = threading.Event()
        super().__init__(host, port)

    def _dial(self) -> socket.socket:
        self.dialling.set()
        assert self.allowed.wait(WAIT_S)
        return super()._dial()


@pytest.fixture
def store() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield listener


def is_broken(end: socket.socket) -> bool:
    """Return whether the connection ended; False if it is still open after a second."""
    end.settimeout(1.0)
    try:
        return end.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_a_cut_breaks_a_connection_that_is_being_opened(store: socket.socket) -> None:
    proxy = SlowProxy(*store.getsockname())
    try:
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            assert proxy.dialling.wait(WAIT_S)
            assert proxy.cut() == 1
            proxy.allowed.set()
            assert is_broken(client)
            assert proxy.connections == 0
    finally:
        proxy.allowed.set()
        proxy.close()


def test_a_cut_breaks_connections_that_the_proxy_has_not_accepted_yet(store: socket.socket) -> None:
    proxy = Proxy(*store.getsockname())
    try:
        with ExitStack() as clients:
            opened = [
                clients.enter_context(socket.create_connection(("127.0.0.1", proxy.port))) for _ in range(24)
            ]
            assert proxy.cut() == len(opened)
            assert all(is_broken(client) for client in opened)
    finally:
        proxy.close()


def test_a_connection_opened_after_a_cut_works(store: socket.socket) -> None:
    proxy = Proxy(*store.getsockname())
    store.settimeout(WAIT_S)
    try:
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            assert proxy.cut() == 1
            assert is_broken(client)
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            client.sendall(b"x")
            received = b""
            while not received:  # the proxy may have reached the store for the first client too
                end, _ = store.accept()
                with end, suppress(ConnectionError):
                    end.settimeout(WAIT_S)
                    received = end.recv(1)
            assert received == b"x"
    finally:
        proxy.close()


def test_a_cut_for_some_seconds_refuses_new_connections(store: socket.socket) -> None:
    proxy = Proxy(*store.getsockname())
    try:
        assert proxy.cut(for_s=WAIT_S) == 0
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            assert is_broken(client)
    finally:
        proxy.close()
