"""Keep delegation tokens, which the controller issues per stream and segment stores want in each request.

A token is requested once per stream and operation, again shortly before it expires, and whenever a store
refused it. Without credentials no token is requested, and requests carry an empty one. The lifetime of a
token comes from the token itself, and is measured with this process's steady clock, so that a wrong clock
does no harm. Source: pravega.md D5, D7; JWT's "exp" and "iat" are RFC 7519's.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from pravega_lab.client.connection.retry import TransientError
from pravega_lab.errors import AccessDeniedError
from pravega_lab.protocol.wire.commands import (
    AuthTokenCheckFailed,
    Command,
    CreateSegment,
    CreateTableSegment,
    CreateTransientSegment,
    DeleteSegment,
    DeleteTableSegment,
    MergeSegments,
    MergeSegmentsBatch,
    RemoveTableKeys,
    SealSegment,
    SetupAppend,
    TruncateSegment,
    UpdateSegmentAttribute,
    UpdateSegmentPolicy,
    UpdateTableEntries,
)

RENEW_BEFORE_S = 5.0  # as Java's client
TOKEN_EXPIRED = 1  # AuthTokenCheckFailed.error_code
WRITES = (
    CreateSegment,
    CreateTableSegment,
    CreateTransientSegment,
    DeleteSegment,
    DeleteTableSegment,
    MergeSegments,
    MergeSegmentsBatch,
    RemoveTableKeys,
    SealSegment,
    SetupAppend,
    TruncateSegment,
    UpdateSegmentAttribute,
    UpdateSegmentPolicy,
    UpdateTableEntries,
)
"""The requests that change a segment."""


class TokenExpiredError(TransientError):
    """Raised when the store wants a newer token. The store did nothing."""


class _Token(NamedTuple):
    text: str
    renew_at_s: float | None  # on the loop's clock; None: the token does not expire


class Tokens:
    """Holds the tokens of one client.

    Args:
        ask: Requests the token of a stream, to read it or to ``write`` too.
        wanted: With False every token is empty, and none is requested.
    """

    def __init__(self, ask: Callable[[str, bool], Awaitable[str]], wanted: bool) -> None:
        self.wanted = wanted
        self._ask = ask
        self._tokens: dict[tuple[str, bool], _Token] = {}

    def known(self, stream: str, *, write: bool) -> str | None:
        """Return the token if it need not be requested, else None."""
        if not self.wanted:
            return ""
        found = self._tokens.get((stream, write))
        now_s = asyncio.get_running_loop().time()
        if found is None or (found.renew_at_s is not None and now_s >= found.renew_at_s):
            return None
        return found.text

    async def get(self, stream: str, *, write: bool) -> str:
        """Return the token of a stream. Raises `AccessDeniedError`, and other errors of the controller."""
        known = self.known(stream, write=write)
        if known is not None:
            return known
        text = await self._ask(stream, write)
        now_s, lifetime_s = asyncio.get_running_loop().time(), lifetime_of(text)
        renew_at_s = None if lifetime_s is None else now_s + max(0.0, lifetime_s - RENEW_BEFORE_S)
        self._tokens[stream, write] = _Token(text, renew_at_s)
        return text

    def forget(self, stream: str) -> None:
        """Drop the tokens of a stream, so that the next call requests one."""
        self._tokens.pop((stream, False), None)
        self._tokens.pop((stream, True), None)


def is_write(request: Command) -> bool:
    """Return whether the request needs a token that allows writing."""
    return isinstance(request, WRITES)


def lifetime_of(token: str) -> float | None:
    """Return the seconds from issue to expiry in a JWT, or None if it does not state them."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return float(claims["exp"]) - float(claims["iat"])
    except (binascii.Error, KeyError, TypeError, ValueError):
        return None


def refused(reply: AuthTokenCheckFailed) -> Exception:
    """Return the error for a store's refusal: `TokenExpiredError`, or `AccessDeniedError` for good."""
    if reply.error_code == TOKEN_EXPIRED:
        return TokenExpiredError("the delegation token expired")
    why = (reply.stack.strip().splitlines() or ["no reason given"])[0]
    return AccessDeniedError(
        f"the segment store refused the token that these credentials have: {why:.300}. Pass credentials= or "
        "--credentials-file if there were none, or ask the cluster's administrator for permission"
    )
