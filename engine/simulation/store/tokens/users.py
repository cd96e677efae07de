"""The user of a simulated store, and how the store knows it."""

from __future__ import annotations

from ....store.security.access_control import AccessControl
from ....store.security.passwords import PasswordHash, User
from ....store.security.permissions import parse_acl

USER = User("sim", PasswordHash(1, b"", b""), parse_acl("prn::*,READ_UPDATE"))
KEY = b"k" * 64
TTL_S = 7
"""Clients renew a token 5 s before it expires."""


def access_control() -> AccessControl:
    """Return what a store that keeps its key makes at each start."""
    return AccessControl({USER.name: USER}, KEY, TTL_S)
