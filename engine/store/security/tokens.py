"""Delegation tokens: what the controller issues per stream, and what the segment store demands in requests.

A token is a JSON Web Token that is signed with HMAC-SHA512. Its claims are resources with a permission, as in
the released server, so that either could read the other's with the same key. Source: access.md A4.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from .permissions import Permission

TTL_S = 600
"""The lifetime of a token, as upstream."""
TOKEN_BYTES_MAX = 4096
TABLE_SUFFIX = "_kvtable/"
"""What is between the name of a key-value table and the names of its segments."""
_HEADER = {"alg": "HS512"}
_RESOURCE = re.compile("prn::/scope:([^/:]+)/(stream|key-value-table):([^/:]+)")
"""The resources that a token can name. Upstream removes the markers wherever they stand in a claim, so a
scope named ``a/scope:bc`` would be ``abc``."""


class BadTokenError(Exception):
    """Raised when a token is missing, malformed, signed with another key, or does not allow the request."""


class ExpiredTokenError(BadTokenError):
    """Raised when a token was valid once. Its owner may request another."""


class Token(NamedTuple):
    """A token whose signature was checked.

    Attributes:
        permissions: The permission on each stream or table, by its name: ``scope/stream``, or
            ``scope/table_kvtable``. Clients ask for the token of a table as for that of a stream, so one of a
            stream allows the table of that name, too.
        expires_s: Seconds since 1970; None for a token that does not expire.
    """

    permissions: dict[str, Permission]
    expires_s: float | None

    def check(self, segment: str, wanted: Permission, now_ms: int) -> None:
        """Check that the token allows ``wanted`` on a segment now. Raises BadTokenError."""
        if self.expires_s is not None and now_ms > self.expires_s * 1000:
            raise ExpiredTokenError("the delegation token has expired")
        for name, allowed in self.permissions.items():
            is_of_it = segment == name or segment.startswith((f"{name}/", name + TABLE_SUFFIX))
            if is_of_it and allowed >= wanted:
                return
        raise BadTokenError(f"the delegation token does not allow {wanted.name} on {segment}")


def issue(key: bytes, resource: str, permission: Permission, now_ms: int, ttl_s: int = TTL_S) -> str:
    """Return a token that allows ``permission`` on ``resource`` for ``ttl_s`` seconds."""
    now_s = now_ms // 1000
    claims = {"sub": "segmentstoreresource", "aud": "segmentstore", "iat": now_s}
    body = _encode({**claims, resource: permission.name, "exp": now_s + ttl_s})
    text = f"{_encode(_HEADER)}.{body}"
    return f"{text}.{_base64(_signature(key, text))}"


def parse(key: bytes, text: str) -> Token:
    """Return the token behind its text. Whether it has expired is for `Token.check` to say.

    Raises:
        BadTokenError: It is no token, or not signed with ``key``.
    """
    if not text:
        raise BadTokenError("the request carries no delegation token")
    signed, _, signature = text.rpartition(".")
    header, _, body = signed.partition(".")
    if len(text) > TOKEN_BYTES_MAX or not text.isascii() or not header or not body:
        raise BadTokenError("the delegation token is malformed")
    if not hmac.compare_digest(_decode_bytes(signature), _signature(key, signed)):
        raise BadTokenError("the delegation token was not signed by this cluster")
    if _decode(header).get("alg") != _HEADER["alg"]:
        raise BadTokenError("the delegation token is not signed with HS512")
    claims = _decode(body)
    expires_s = claims.get("exp")
    if expires_s is not None and not isinstance(expires_s, (int, float)):
        raise BadTokenError("the delegation token has no time of expiry")
    named = [(_RESOURCE.fullmatch(name), str(level)) for name, level in claims.items()]
    permissions = {
        f"{found[1]}/{found[3]}{'' if found[2] == 'stream' else TABLE_SUFFIX[:-1]}": (
            Permission.__members__.get(level, Permission.NONE)
        )
        for found, level in named
        if found is not None
    }
    return Token(permissions, expires_s)


def _signature(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode("ascii"), "sha512")


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _encode(fields: Mapping[str, object]) -> str:
    return _base64(json.dumps(fields, separators=(",", ":")).encode())


def _decode_bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise BadTokenError("the delegation token is malformed") from None


def _decode(text: str) -> dict[str, Any]:
    try:
        found = json.loads(_decode_bytes(text))
    except ValueError:
        raise BadTokenError("the delegation token is malformed") from None
    if not isinstance(found, dict):
        raise BadTokenError("the delegation token is malformed")
    return found
