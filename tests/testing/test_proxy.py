"""`StoreProxy`: what is kept back, what passes, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from pravega_lab.client import Stream, connect
from pravega_lab.errors import BadInputError
from pravega_lab.testing import StoreProxy


def events(stream: Stream) -> list[bytes]:
    with stream.read() as batches:
        return [event for batch in batches for event in batch.column("event").to_pylist()]


def ours(port: int | None) -> bool:
    """Whether it is a port of a connection of this process."""
    found = psutil.Process().net_connections("tcp")
    return port in [connection.laddr.port for connection in found if connection.raddr]


def test_a_reply_kept_back_is_done_and_nobody_knows(store: str, scope_name: Callable[[], str]) -> None:
    with (
        connect(store) as direct,
        StoreProxy(store) as proxy,
        connect(proxy.uri) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        seen = direct.create_stream(f"{scope_name()}/orders")
        proxy.hold("DataAppended")
        writing = pool.submit(client.stream(seen.scoped_name).write, ["first"], ["IBM"])
        held = proxy.wait_held()
        assert (held.name, held.what, held.left) == ("DataAppended", "reply", 0)
        assert ours(held.peer_port)
        assert events(seen) == [b"first"]
        assert not writing.done()
        proxy.release()
        assert writing.result(60) == 1
        proxy.wait_seen("DataAppended", 1)


def test_a_request_kept_back_is_not_done_until_it_passes(store: str, scope_name: Callable[[], str]) -> None:
    with (
        connect(store) as direct,
        StoreProxy(store) as proxy,
        connect(proxy.uri) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        stream = direct.create_stream(f"{scope_name()}/orders")
        proxy.hold("sealStream", what="request")
        sealing = pool.submit(client.stream(stream.scoped_name).seal)
        assert ours(proxy.wait_held().peer_port)
        stream.write(["still open"], ["IBM"])
        proxy.release()
        sealing.result(60)
        assert events(stream) == [b"still open"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"name": "DataApended"}, "neither a controller call"),
        ({"what": "answer"}, "give 'request'"),
        ({"nth": 0}, "1 is the next message"),
    ],
)
def test_what_cannot_be_kept_back_is_said(store: str, asked: dict[str, str], said: str) -> None:
    with StoreProxy(store) as proxy, pytest.raises(BadInputError, match=said):
        proxy.hold(**{"name": "DataAppended", **asked})


def test_waiting_without_a_hold_is_refused(store: str) -> None:
    with StoreProxy(store) as proxy, pytest.raises(BadInputError, match="call hold"):
        proxy.wait_held()


def test_what_speaks_tls_cannot_be_read_on_the_way() -> None:
    with pytest.raises(BadInputError, match="tcp://host:port"):
        StoreProxy("tls://localhost:9090")


def test_closing_twice_is_harmless(store: str) -> None:
    proxy = StoreProxy(store)
    proxy.close()
    proxy.close()
