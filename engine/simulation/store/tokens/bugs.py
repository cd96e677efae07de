"""Planted bugs of delegation tokens, which the checkers must find. Never reached by production code."""

from __future__ import annotations

import hmac
from types import SimpleNamespace
from typing import Any

from ....server import appends
from ....store.security import tokens
from ....store.security.access_control import AccessControl
from ....store.security.permissions import Permission
from ....store.security.tokens import BadTokenError, Token
from ..planting import Replacement, bug

ELSE, EXPIRED, GOOD = "tokens open nothing else", "expired tokens are refused", "tokens are good in time"


@bug("tokens-for-ever", "tokens", EXPIRED)
def _tokens_for_ever() -> list[Replacement]:
    """The time of expiry in a token is not looked at."""
    right = Token.check
    return [(Token, "check", lambda self, segment, wanted, now_ms: right(self, segment, wanted, 0))]


@bug("writers-for-ever", "tokens", EXPIRED)
def _writers_for_ever() -> list[Replacement]:
    """A writer whose token was good when it was set up may append for ever."""
    return [(appends, "expiry", lambda access, token: None)]


@bug("read-token-writes", "tokens", ELSE)
def _read_token_writes() -> list[Replacement]:
    """A token that allows reading allows writing."""
    right = Token.check

    def lenient(self: Token, segment: str, wanted: Any, now_ms: int) -> None:
        right(self, segment, Permission.READ, now_ms)

    return [(Token, "check", lenient)]


@bug("tokens-by-prefix", "tokens", ELSE)
def _tokens_by_prefix() -> list[Replacement]:
    """A token of a stream opens every stream whose name begins with its name."""
    right = Token.check

    def by_prefix(self: Token, segment: str, wanted: Any, now_ms: int) -> None:
        name = next((name for name in self.permissions if segment.startswith(name)), None)
        right(self, segment if name is None else name, wanted, now_ms)

    return [(Token, "check", by_prefix)]


@bug("signatures-unchecked", "tokens", ELSE)
def _signatures_unchecked() -> list[Replacement]:
    """The signature of a token is not compared."""
    return [(tokens, "hmac", SimpleNamespace(compare_digest=lambda a, b: True, digest=hmac.digest))]


@bug("refusals-ignored", "tokens", ELSE)
def _refusals_ignored() -> list[Replacement]:
    """A token that does not allow a request is no reason to refuse the request."""
    right = AccessControl.check_token

    def ignoring(self: Any, text: str, *args: Any) -> None:
        try:
            right(self, text, *args)
        except tokens.ExpiredTokenError:
            raise
        except BadTokenError:
            self._parsed.setdefault(text, Token({}, None))

    return [(AccessControl, "check_token", ignoring)]


@bug("key-of-each-life", "tokens", GOOD)
def _key_of_each_life() -> list[Replacement]:
    """Every start of a store makes another key, so a restart ends all tokens."""
    right = AccessControl.__init__

    def with_another_key(self: Any, users: Any, key: bytes, ttl_s: int = 600) -> None:
        _LIVES.append(len(_LIVES))
        right(self, users, key + bytes([len(_LIVES) % 256]), ttl_s)

    _LIVES.clear()
    return [(AccessControl, "__init__", with_another_key)]


_LIVES: list[int] = []
