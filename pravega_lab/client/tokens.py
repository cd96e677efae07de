"""Delegation tokens: what the controller gives for a stream, and segment stores want in each request.

A token is asked for once per stream and operation, again shortly before it expires and whenever a store
refused it. Where no credentials were given none is asked for, and requests carry an empty one. How long a
token lives is taken from what it says of itself, by this process's steady clock, so that a clock that is
wrong here does no harm. Source: reference D5, D7; JWT's "exp" and "iat" are RFC 7519's.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from pravega_lab.client.retry import TransientError
from pravega_lab.errors import AccessDeniedError
from pravega_lab.protocol.commands import (
    AuthTokenCheckFailed,
    Command,
    CreateTableSegment,
    DeleteTableSegment,
    RemoveTableKeys,
    SetupAppend,
    TruncateSegment,
    UpdateSegmentAttribute,
    UpdateTableEntries,
)

RENEW_BEFORE_S = 5.0  # as Java's client
TOKEN_EXPIRED = 1  # AuthTokenCheckFailed.error_code
_WRITES = (
    CreateTableSegment,
    DeleteTableSegment,
    RemoveTableKeys,
    SetupAppend,
    TruncateSegment,
    UpdateSegmentAttribute,
    UpdateTableEntries,
)


class TokenExpiredError(TransientError):
    """The store wants a newer token; it did nothing."""


class _Token(NamedTuple):
    text: str
    renew_at_s: float | None  # on the loop's clock; None: it does not expire


class Tokens:
    """The tokens of one client.

    Args:
        ask: Gets the token of a stream, to read it or to ``write`` too.
        wanted: False: every token is empty, and nothing is asked.
    """

    def __init__(self, ask: Callable[[str, bool], Awaitable[str]], wanted: bool) -> None:
        self.wanted = wanted
        self._ask = ask
        self._tokens: dict[tuple[str, bool], _Token] = {}

    def known(self, stream: str, *, write: bool) -> str | None:
        """The token, if it need not be asked for."""
        if not self.wanted:
            return ""
        found = self._tokens.get((stream, write))
        now_s = asyncio.get_running_loop().time()
        if found is None or (found.renew_at_s is not None and now_s >= found.renew_at_s):
            return None
        return found.text

    async def get(self, stream: str, *, write: bool) -> str:
        """The token of a stream. Raises `AccessDeniedError`, and what a call of the controller raises."""
        known = self.known(stream, write=write)
        if known is not None:
            return known
        text = await self._ask(stream, write)
        now_s, lifetime_s = asyncio.get_running_loop().time(), lifetime_of(text)
        renew_at_s = None if lifetime_s is None else now_s + max(0.0, lifetime_s - RENEW_BEFORE_S)
        self._tokens[stream, write] = _Token(text, renew_at_s)
        return text

    def forget(self, stream: str) -> None:
        """Ask again next time."""
        self._tokens.pop((stream, False), None)
        self._tokens.pop((stream, True), None)


def is_write(request: Command) -> bool:
    """Does the request need a token that allows writing?"""
    return isinstance(request, _WRITES)


def lifetime_of(token: str) -> float | None:
    """Seconds from issue to expiry that a JWT says of itself; None if it does not."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return float(claims["exp"]) - float(claims["iat"])
    except (binascii.Error, KeyError, TypeError, ValueError):
        return None


def refused(reply: AuthTokenCheckFailed) -> Exception:
    """What a store's refusal of a token means: to try again with a newer one, or the end."""
    if reply.error_code == TOKEN_EXPIRED:
        return TokenExpiredError("the delegation token expired")
    why = (reply.stack.strip().splitlines() or ["no reason given"])[0]
    return AccessDeniedError(
        f"the segment store refused the token that these credentials have: {why:.300}. Pass credentials= or "
        "--credentials-file if there were none, or ask whoever runs the cluster for permission"
    )
