"""Who makes a call of the controller: its ``authorization``, checked against the password file.

A hash of a password takes milliseconds on purpose, so one thread computes it while the store serves others.
Correct credentials are remembered as a keyed digest. Waiting calls have a limit, so that guesses cost little.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from pravega_lab.portable.waiting import shield

from ...store.metadata.replies import RpcError
from ...store.security.passwords import DIGEST_BYTES, ITERATIONS, SALT_BYTES, PasswordHash, User, matches

WAITING_MAX = 64
"""Calls with a password that is not known yet which may wait for the thread."""
REMEMBERED_MAX = 1024
HEADER_BYTES_MAX = 4096
_NOBODY = PasswordHash(ITERATIONS, bytes(SALT_BYTES), bytes(DIGEST_BYTES))


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
        self._checking: dict[bytes, asyncio.Task[User | None]] = {}

    def __repr__(self) -> str:
        return f"Authenticator({len(self._users)} users)"

    async def user_of(self, authorization: str | None) -> User | None:
        """Return the user with these credentials, None without credentials.

        Raises:
            RpcError: UNAUTHENTICATED if name or password is wrong, RESOURCE_EXHAUSTED if too many calls wait.
        """
        if not authorization:
            return None
        seal = hmac.digest(self._key, authorization.encode(), "sha256")
        user = self._known.get(seal)
        if user is None:
            user = await shield(self._check(seal, authorization))
        if user is None:
            raise RpcError("UNAUTHENTICATED", "Authentication failed: the user or the password is wrong")
        return user

    def _check(self, seal: bytes, authorization: str) -> asyncio.Task[User | None]:
        """Return the task that checks these credentials; calls that arrive in the meantime share it."""
        task = self._checking.get(seal)
        if task is None:
            if len(self._checking) >= WAITING_MAX:
                raise RpcError("RESOURCE_EXHAUSTED", "too many calls wait for a check of their password")
            task = asyncio.get_running_loop().create_task(self._checked(seal, authorization))
            self._checking[seal] = task
        return task

    async def _checked(self, seal: bytes, authorization: str) -> User | None:
        try:
            name, password = _basic(authorization)
            user = self._users.get(name)
            # An unknown name takes as long as a wrong password, so that the time reveals no names.
            expected = _NOBODY if user is None else user.hash
            loop = asyncio.get_running_loop()
            is_right = await loop.run_in_executor(self._thread, matches, password, expected)
            if user is None or not is_right:
                return None
            if len(self._known) >= REMEMBERED_MAX:
                self._known.pop(next(iter(self._known)))
            self._known[seal] = user
            return user
        except ValueError:
            return None
        finally:
            del self._checking[seal]

    def close(self) -> None:
        """Let the thread end. No more credentials are checked."""
        self._thread.shutdown(wait=False, cancel_futures=True)


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
