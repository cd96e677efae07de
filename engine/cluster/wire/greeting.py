"""How two processes of a job prove to each other that they know its token, without sending it.

::

    who was connected to          who opened the connection
    CHALLENGE random      ->
                          <-      HELLO random, who, HMAC(token, both randoms and who)
    WELCOME HMAC(token)   ->

A listener on the network learns neither the token nor a proof that works on another connection. Later
messages are neither encrypted nor signed: see docs/security.md. A connection on which this does not end in
time is closed.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Callable

from ..errors import FrameError
from .frames import NONCE_BYTES, Frame, Hello, Kind, encode, proof
from .links import Link

OnFrame = Callable[[Link, Frame], None]
OnLost = Callable[[Link, str], None]
_WELCOME = b"welcome"


def accepting(token: bytes, greet: Callable[[Link, Hello], None]) -> Link:
    """Return the link for a connection that another process opened to this one.

    ``greet(link, hello)`` is called when the other end has proved that it knows the token. It takes the link
    over, or raises a FrameError.
    """
    challenge = secrets.token_bytes(NONCE_BYTES)

    def hear(link: Link, frame: Frame) -> None:
        hello, nonce = Hello.decode(frame, token, challenge)
        link.send(encode(Kind.WELCOME, proof(token, _WELCOME, challenge, nonce)))
        link.greeted()
        greet(link, hello)

    return Link(hear, _nobody, on_made=lambda link: link.send(encode(Kind.CHALLENGE, challenge)))


class Guest:
    """The end of a connection that this process opens: ``await dial(…)``, then ``await introduce(…)``.

    ``on_frame`` and ``on_lost`` are those of a `Link`, from the welcome on.
    """

    def __init__(self, token: bytes, on_frame: OnFrame, on_lost: OnLost) -> None:
        self._token, self._on_frame, self._on_lost = token, on_frame, on_lost
        self._nonce = secrets.token_bytes(NONCE_BYTES)
        loop = asyncio.get_running_loop()
        self._challenge: asyncio.Future[bytes] = loop.create_future()
        self._welcome: asyncio.Future[None] = loop.create_future()
        self._is_introduced = False
        self.link = Link(self._hear, self._lose)

    async def dial(self, host: str, port: int) -> Link:
        """Connect, and return the link.

        Raises:
            OSError: nothing can be reached there.
        """
        await asyncio.get_running_loop().create_connection(lambda: self.link, host, port)
        return self.link

    async def introduce(self, hello: Hello) -> None:
        """Say who this process is, and wait until the other end has proved that it knows the token.

        Raises:
            OSError: the connection was lost, or the other end is a stranger.
        """
        challenge = await self._challenge
        self._is_introduced = True
        self.link.send(hello.encode(self._token, challenge, self._nonce))
        await self._welcome

    def _hear(self, link: Link, frame: Frame) -> None:
        body = bytes(frame.body)
        if not self._challenge.done():
            if frame.kind is not Kind.CHALLENGE or len(body) != NONCE_BYTES:
                raise FrameError(f"{frame.kind.name} came before CHALLENGE")
            self._challenge.set_result(body)
            return
        expected = proof(self._token, _WELCOME, self._challenge.result(), self._nonce)
        is_right = hmac.compare_digest(body, expected)
        if frame.kind is not Kind.WELCOME or not self._is_introduced or not is_right:
            raise FrameError("the other end does not know the token of this job: it is a stranger")
        link.greeted()
        link.take_over(self._on_frame, self._on_lost)
        self._welcome.set_result(None)

    def _lose(self, link: Link, why: str) -> None:
        for awaited in (self._challenge, self._welcome):
            if not awaited.done():
                awaited.set_exception(ConnectionResetError(why))
                awaited.exception()  # waiters get it too; without one it counts as seen


def _nobody(_link: Link, _why: str) -> None:
    return
