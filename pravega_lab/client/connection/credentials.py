"""Define `Credentials`: who a user is, from an argument, a file or the environment; never printed."""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pravega_lab.errors import BadInputError

AUTH_PREFIX = "pravega_client_auth_"  # Java and Rust: method, token; Rust also: username, password
_FIELDS = ("method", "username", "password", "token")
_WAYS = "(user, password), Credentials.basic(user, password) or Credentials.bearer(token)"


@dataclass(frozen=True, repr=False)
class Credentials:
    """Holds what a user shows to the controller: the two words of ``authorization:``. Prints the first only.

    Attributes:
        method: ``Basic``, ``Bearer``, or the name of a handler of the cluster's own.
        token: For Basic the base64 text of ``user:password``.
    """

    method: str
    token: str

    def __post_init__(self) -> None:
        text = self.method + self.token  # goes into a header of HTTP
        if not self.method or not self.token or not text.isascii() or not text.isprintable():
            raise BadInputError(
                "credentials: method and token are printable letters of ASCII, and neither may be empty. Look"
                " for line breaks and quotation marks that were copied along"
            )

    @classmethod
    def basic(cls, user: str, password: str) -> Credentials:
        """Return credentials of a name and a password, for the server's password handler.

        Raises:
            BadInputError: The name is empty or has a colon.
        """
        if not user or ":" in user:
            raise BadInputError("credentials: a user name has at least one letter and no colon")
        return cls("Basic", base64.b64encode(f"{user}:{password}".encode()).decode())

    @classmethod
    def bearer(cls, token: str) -> Credentials:
        """Return credentials with a token from elsewhere (OAuth, Keycloak)."""
        return cls("Bearer", token)

    @classmethod
    def from_file(cls, path: str | Path) -> Credentials:
        """Read lines ``name=value``: ``username`` and ``password``, or ``method`` and ``token``.

        A name may have a prefix of Pravega's clients (``pravega_client_auth_``, ``pravega.client.auth.``).
        Empty lines and lines that begin with ``#`` are skipped.

        Raises:
            BadInputError: The file cannot be read, is readable by others, or is incomplete. The error does
                not repeat its content.
        """
        try:
            with open(path, encoding="utf-8-sig") as file:
                _check_mode(path, os.fstat(file.fileno()))
                lines = file.read().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise unreadable(path, error) from None
        pairs = [line.partition("=") for line in lines if line.strip() and not line.lstrip().startswith("#")]
        named = {name.strip().replace(".", "_"): value.strip() for name, _, value in pairs}
        return cls._from_names(
            {name.removeprefix(AUTH_PREFIX): value for name, value in named.items()},
            f"credentials file {path}",
            "",
        )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Credentials | None:
        """Read the variables of Pravega's clients; None if ``pravega_client_auth_method`` is not set."""
        named = {name: environ.get(AUTH_PREFIX + name, "") for name in _FIELDS}
        if not named["method"]:
            return None
        return cls._from_names(named, "the environment", AUTH_PREFIX)

    @classmethod
    def _from_names(cls, named: Mapping[str, str], where: str, prefix: str) -> Credentials:
        method, token = named.get("method") or "Basic", named.get("token")
        if token:
            return cls(method, token)
        if method == "Basic" and named.get("username") and "password" in named:
            return cls.basic(named["username"], named["password"])
        needed = f"{prefix}username and {prefix}password" if method == "Basic" else f"{prefix}token"
        raise BadInputError(f"{where} has no whole credentials for method {method}: add {needed}")

    @property
    def header(self) -> str:
        """Return the value of gRPC's ``authorization``. It is secret."""
        return f"{self.method} {self.token}"

    def __repr__(self) -> str:
        return f"Credentials({self.method!r}, …)"


def _check_mode(path: str | Path, found: os.stat_result) -> None:
    """Refuse a file that others may use. The group may read a file that another user placed here."""
    if not hasattr(os, "geteuid") or not stat.S_ISREG(found.st_mode):
        return
    forbidden = 0o077 if found.st_uid == os.geteuid() else 0o037
    if found.st_mode & forbidden:
        raise BadInputError(
            f"credentials file {path}: others may use it (mode {stat.S_IMODE(found.st_mode):04o}). "
            f"Run: chmod 600 {path}"
        )


def unreadable(path: str | Path, error: OSError | UnicodeDecodeError) -> BadInputError:
    """Return the error of a file that cannot be read. It does not repeat the content."""
    why = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
    return BadInputError(
        f"credentials file {path} cannot be read: {why}. "
        "Name a file of mode 0600 with the lines username=… and password=…"
    )


def credentials_of(given: Any) -> Credentials | None:
    """Return `Credentials` from a caller's argument. Raises `BadInputError`, which does not repeat it."""
    if given is None or isinstance(given, Credentials):
        return given
    if isinstance(given, tuple) and len(given) == 2 and all(isinstance(part, str) for part in given):
        return Credentials.basic(*given)
    raise BadInputError(f"credentials of type {type(given).__name__}: give {_WAYS}")
