"""Who makes a call of the controller: its ``authorization``, checked against the password file.

A hash of a password takes milliseconds on purpose, so one thread computes it while the store serves others.
Correct credentials are remembered as a keyed digest. Waiting calls have a limit, so that guesses cost little,
and wait in `Lines`, so that guesses keep out no other user.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from pravega_lab.portable.waiting import shield

from ...store.metadata.replies import RpcError
from ...store.security.passwords import DIGEST_BYTES, ITERATIONS, SALT_BYTES, PasswordHash, User, matches
from .lines import Lines

WAITING_MAX = 256
"""Calls with a password that is not known yet which may wait for the thread."""
REMEMBERED_MAX = 1024
HEADER_BYTES_MAX = 4096
_NOBODY = PasswordHash(ITERATIONS, bytes(SALT_BYTES), bytes(DIGEST_BYTES))


class _Waiting(NamedTuple):
    """A check of a password that waits for its turn."""

    seal: bytes
    name: str
    password: str


class Authenticator:
    """Finds the users of calls.

    Args:
        users: By name, as in the password file.
    """

    def __init__(self, users: Mapping[str, User]) -> None:
        self._users = users
        self._thread = ThreadPoolExecutor(1, "store-passwords")
        self._key = os.urandom(32)
        self._known: dict[bytes, User] = {}
        self._lines: Lines[_Waiting] = Lines(WAITING_MAX)
        self._outcomes: dict[bytes, asyncio.Future[User | None]] = {}  # of what waits and what is checked
        self._checking: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"Authenticator({len(self._users)} users)"

    async def user_of(self, authorization: str | None, address: str = "") -> User | None:
        """Return the user with these credentials, None without credentials.

        Args:
            authorization: What the call carries.
            address: Where the call is from, without the port.

        Raises:
            RpcError: UNAUTHENTICATED if name or password is wrong, RESOURCE_EXHAUSTED if too many calls wait.
        """
        if not authorization:
            return None
        seal = hmac.digest(self._key, authorization.encode(), "sha256")
        user = self._known.get(seal)
        if user is None:
            user = await shield(self._check(seal, authorization, address))
        if user is None:
            raise RpcError("UNAUTHENTICATED", "Authentication failed: the user or the password is wrong")
        return user

    def _check(self, seal: bytes, authorization: str, address: str) -> asyncio.Future[User | None]:
        """Return the outcome of a check of these credentials. Calls that arrive in the meantime share it."""
        outcome = self._outcomes.get(seal)
        if outcome is not None:
            return outcome
        loop = asyncio.get_running_loop()
        outcome = loop.create_future()
        try:
            name, password = _basic(authorization)
        except ValueError:
            outcome.set_result(None)
            return outcome
        self._outcomes[seal] = outcome
        leaving = self._lines.add(address, name, _Waiting(seal, name, password))
        if leaving is not None:
            refused = self._outcomes.pop(leaving.seal)
            refused.set_exception(
                RpcError("RESOURCE_EXHAUSTED", "too many calls wait for a check of their password")
            )
            refused.exception()  # its callers may have gone
        if self._checking is None:
            self._checking = loop.create_task(self._check_all())
        return outcome

    async def _check_all(self) -> None:
        while (waiting := self._lines.take()) is not None:
            try:
                user = await self._user(waiting)
            except ValueError:  # no text that can be hashed
                user = None
            self._outcomes.pop(waiting.seal).set_result(user)
        self._checking = None

    async def _user(self, waiting: _Waiting) -> User | None:
        user = self._users.get(waiting.name)
        # An unknown name takes as long as a wrong password, so that the time reveals no names.
        expected = _NOBODY if user is None else user.hash
        loop = asyncio.get_running_loop()
        is_right = await loop.run_in_executor(self._thread, matches, waiting.password, expected)
        if user is None or not is_right:
            return None
        if len(self._known) >= REMEMBERED_MAX:
            self._known.pop(next(iter(self._known)))
        self._known[waiting.seal] = user
        return user


def _basic(authorization: str) -> tuple[str, str]:
    """Return name and password. Raises ValueError for anything but ``Basic base64(name:password)``."""
    method, _, encoded = authorization.partition(" ")
    if method != "Basic" or len(authorization) > HEADER_BYTES_MAX:
        raise ValueError("no Basic credentials")
    try:
        name, colon, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError("no Basic credentials") from error
    if not colon:
        raise ValueError("no Basic credentials")
    return name, password
