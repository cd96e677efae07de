"""The password file of Pravega's password handler: ``user:hash:permissions``, one user a line.

The hash is PBKDF2 with HMAC-SHA256, written as the hexadecimal form of ``iterations:salt:digest``, where salt
and digest are hexadecimal too. Files of a released 0.13.0 are read as they are, and lines made here are read
by it. Source: access.md A1.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from typing import NamedTuple

from pravega_lab.errors import BadInputError

from .permissions import Entry, parse_acl

ITERATIONS = 100_000
"""For new lines. Upstream makes 5,000. Either reads what the other wrote, because the line says how many."""
ITERATIONS_MAX = 10_000_000
_LINE_END = re.compile("\r\n|\n|\r")
"""Where Java ends a line. `str.splitlines` also does so at letters that a name may have."""

SALT_BYTES, DIGEST_BYTES = 32, 64


class PasswordHash(NamedTuple):
    """What a password file keeps in place of a password."""

    iterations: int
    salt: bytes
    digest: bytes

    def __repr__(self) -> str:
        return "PasswordHash(…)"


class User(NamedTuple):
    """A user with the hash of the password and the permissions, in the order in which they are tried."""

    name: str
    hash: PasswordHash
    acl: list[Entry]


def matches(password: str, expected: PasswordHash) -> bool:
    """Return whether the hash is that of the password. This takes milliseconds of CPU time on purpose."""
    found = _digest(password, expected.salt, expected.iterations, len(expected.digest))
    return hmac.compare_digest(found, expected.digest)


def password_line(user: str, password: str, acl: str, salt: bytes, iterations: int = ITERATIONS) -> str:
    """Return the line of a user for a password file.

    Raises:
        BadInputError: The user's name, the password or a permission cannot be written in such a file.
    """
    if not user.strip() or user.startswith("#") or any(letter in user for letter in ":\r\n"):
        raise BadInputError(
            f"the user {user!r}: a name has at least one letter, no colon, and no '#' in front"
        )
    if not password:
        raise BadInputError(f"the password of {user!r} is empty: give one")
    parse_acl(acl)
    if "\n" in acl or "\r" in acl:
        raise BadInputError("permissions have no line break: separate them by ';'")
    digest = _digest(password, salt, iterations, DIGEST_BYTES)
    return f"{user}:{f'{iterations}:{salt.hex()}:{digest.hex()}'.encode().hex()}:{acl}"


def parse_password_file(text: str, warn: Callable[[str], object] | None = None) -> dict[str, User]:
    """Return the users of a password file by name. Empty lines and lines that begin with ``#`` are skipped.

    Args:
        warn: Receives a sentence about each line that a released server accepts too, and that is a mistake:
            a line without a name, and the last of several lines for one user, which alone counts.

    Raises:
        BadInputError: A line is malformed, or there is no user. The error names the line and no hash.
    """
    users: dict[str, User] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(_LINE_END.split(text), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, hashed, acl = [*line.split(":", 2), "", ""][:3]
        try:
            user = User(name, _parse_hash(hashed), parse_acl(acl))
        except BadInputError as error:
            raise BadInputError(f"line {number}, user {name!r}: {error}") from None
        # A released server allows a user without a name nothing.
        users[name] = user if name else user._replace(acl=[])
        if warn is not None and name in lines:
            warn(
                f"line {number}, user {name!r}: line {lines[name]} is for the same user and no longer counts."
                " Remove one of the two lines"
            )
        if warn is not None and not name:
            warn(
                f"line {number}: there is no name before the first colon, so the line allows nothing."
                " Write a user's name there, or remove it"
            )
        lines[name] = number
    if not users:
        raise BadInputError("no line has a user: add what 'pravega-lab password USER ACL' prints")
    return users


def _digest(password: str, salt: bytes, iterations: int, length: int) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations, length)


def _parse_hash(text: str) -> PasswordHash:
    try:
        iterations, salt, digest = bytes.fromhex(text).decode("ascii").split(":")
        found = PasswordHash(int(iterations), bytes.fromhex(salt), bytes.fromhex(digest))
    except ValueError:
        raise BadInputError(
            "the second field is no hash of a password: make the line by 'pravega-lab password USER ACL'"
        ) from None
    if not 0 < found.iterations <= ITERATIONS_MAX or not found.salt or not found.digest:
        raise BadInputError(f"the hash has {found.iterations} iterations; 1 to {ITERATIONS_MAX} are taken")
    return found
