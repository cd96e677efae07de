"""Two processes of a job greet each other: what a listener learns, and how strangers and sleepers end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from pravega_lab.engine.cluster.wire import links
from pravega_lab.engine.cluster.wire.frames import Frame, Hello, Kind, encode
from pravega_lab.engine.cluster.wire.greeting import Guest, accepting
from pravega_lab.engine.cluster.wire.links import Link

TOKEN, HELLO = b"t" * 32, Hello(1, 2, 3, 4, "host")


class Host:
    """Accepts connections of whoever knows ``token``; ``come`` are the greeted."""

    def __init__(self, token: bytes = TOKEN) -> None:
        self.come: list[Hello] = []
        self.frames: list[Frame] = []
        self._token = token

    async def listen(self) -> int:
        server = await asyncio.get_running_loop().create_server(self._link, "127.0.0.1", 0)
        port: int = server.sockets[0].getsockname()[1]
        return port

    def _link(self) -> Link:
        return accepting(self._token, self._greet)

    def _greet(self, link: Link, hello: Hello) -> None:
        self.come.append(hello)
        link.take_over(lambda _link, frame: self.frames.append(frame), lambda _link, why: None)
        link.send(encode(Kind.CREDIT, rows=5))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


def test_who_knows_the_token_is_let_in_at_once_with_what_follows() -> None:
    async def run() -> None:
        host, heard = Host(), list[Frame]()
        guest = Guest(TOKEN, lambda _link, frame: heard.append(frame), lambda _link, why: None)
        link = await guest.dial("127.0.0.1", await host.listen())
        await guest.introduce(HELLO)
        link.send(encode(Kind.DONE))
        await until(lambda: bool(host.frames and heard))
        assert host.come == [HELLO]
        assert heard[0].rows == 5
        link.close()

    asyncio.run(run())


@pytest.mark.parametrize(("of_guest", "of_host"), [(TOKEN, bytes(32)), (bytes(32), TOKEN)])
def test_two_tokens_do_not_meet(of_guest: bytes, of_host: bytes) -> None:
    async def run() -> None:
        host = Host(of_host)
        guest = Guest(of_guest, lambda _link, frame: None, lambda _link, why: None)
        await guest.dial("127.0.0.1", await host.listen())
        with pytest.raises(ConnectionResetError):
            await guest.introduce(HELLO)
        assert host.come == []

    asyncio.run(run())


def test_a_host_that_does_not_know_the_token_is_not_believed() -> None:
    """It waves everybody through, so that workers would run what it says."""

    async def run() -> None:
        def wave(link: Link, frame: Frame) -> None:
            link.send(encode(Kind.WELCOME, bytes(32)) + encode(Kind.CALL, b"run this"))

        make: Callable[[], Link] = lambda: Link(  # noqa: E731
            wave, lambda _link, why: None, on_made=lambda link: link.send(encode(Kind.CHALLENGE, bytes(32)))
        )
        server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
        heard: list[Frame] = []
        guest = Guest(TOKEN, lambda _link, frame: heard.append(frame), lambda _link, why: None)
        await guest.dial("127.0.0.1", server.sockets[0].getsockname()[1])
        with pytest.raises(ConnectionResetError, match="is a stranger"):
            await guest.introduce(HELLO)
        assert heard == []

    asyncio.run(run())


def test_who_says_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "GREETING_S_MAX", 0.05)

    async def run() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", await Host().listen())
        try:
            async with asyncio.timeout(20):
                while await reader.read(1000):
                    pass
        except ConnectionResetError:
            pass  # the host does not wait for what was not read
        writer.close()

    asyncio.run(run())


def test_a_machine_that_acknowledges_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel probes only a connection on which nothing is unacknowledged."""
    silences_ms = [0, 24_999, 0, 25_000]
    monkeypatch.setattr(links, "LOOK_S", 0.01)

    async def run() -> None:
        host, lost = Host(), list[str]()
        guest = Guest(TOKEN, lambda _link, frame: None, lambda _link, why: lost.append(why))
        await guest.dial("127.0.0.1", await host.listen())
        await guest.introduce(HELLO)
        monkeypatch.setattr(links, "_silence_ms", lambda sock: silences_ms.pop(0) if silences_ms else 0)
        await until(lambda: bool(lost))
        assert lost == ["the other machine has acknowledged nothing for 25 s"]

    asyncio.run(run())


def test_a_machine_that_answers_is_not_silent() -> None:
    async def run() -> None:
        host = Host()
        link = await Guest(TOKEN, lambda _link, frame: None, lambda _link, why: None).dial(
            "127.0.0.1", await host.listen()
        )
        assert link._transport is not None
        assert links._silence_ms(link._transport.get_extra_info("socket")) == 0
        link.close()

    asyncio.run(run())
