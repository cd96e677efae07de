"""Credentials of the stores that a user's own programs started, for the other programs of that user.

A private store on the loopback has a random password. It is in a file that is named after the store's port,
with mode 0600, in a folder that only this user can enter. A client without credentials finds it there. A
plain Spark session or ``pravega-lab watch`` therefore needs no more than the address, and other users of the
machine get nowhere.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pravega_lab.client.connection.access import Access
from pravega_lab.errors import BadInputError
from pravega_lab.portable.leaving import at_exit
from pravega_lab.protocol.addresses import is_loopback

SUFFIX = ".credentials"
USERS_SUFFIX = ".users"
"""Of the file of users that a store reads when it starts."""
KEPT_S = 86_400
"""How long the credentials of a store stay that was killed together with its program."""


_advisers: dict[str, Callable[[], str]] = {}
"""What to do when a store of this process does not answer, by the ``uri`` of its controller."""


def advise(uri: str, adviser: Callable[[], str]) -> None:
    """Let errors about a store that this process started say what to do, as long as ``adviser`` knows it."""
    _advisers[uri] = adviser


def advise_no_more(uri: str) -> None:
    """Forget the adviser of a store that is gone for good."""
    _advisers.pop(uri, None)


def advice(uri: str) -> str:
    """Return what to do when the store at ``uri`` does not answer, "" if that is not known."""
    return _advisers.get(uri, str)()


def folder() -> Path:
    """Return the folder of this user's files, and make it if it is missing.

    Raises:
        BadInputError: Others can enter it, or it belongs to another user.
    """
    path = Path(tempfile.gettempdir()) / f"pravega-lab-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    is_safe = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    if not is_safe:
        raise BadInputError(
            f"{path} is to hold passwords of stores, and is not a folder of yours that only you can enter. "
            f"Remove it, or set TMPDIR to a folder of your own"
        )
    return path


def publish(port: int, user: str, password: str) -> Path:
    """Write the credentials of the store at a port of the loopback, and return the file."""
    _sweep(time.time())
    path = folder() / f"{port}{SUFFIX}"
    _write(path, f"username={user}\npassword={password}\n")
    return path


def share(port: int, proxy_port: int) -> None:
    """Write the credentials of the store at ``port``, if it has any here, also for a proxy in front of it."""
    if hasattr(os, "getuid") and (found := _path(port)).exists():
        folder()  # refuses one that others can enter
        _write(_path(proxy_port), found.read_text(encoding="utf-8"))
        at_exit(withdraw, proxy_port)


def withdraw(port: int) -> None:
    """Delete the credentials of a store that is gone."""
    if hasattr(os, "getuid"):
        _path(port).unlink(missing_ok=True)


def with_own_credentials(access: Access, host: str, port: int) -> Access:
    """Return ``access`` with the credentials of a store of this user's at an address, if it has none.

    The address is the one that was asked for: ``rewrite`` may lead to it through a proxy of this machine.
    """
    reached, _ = access.reach(host, port)
    is_here = is_loopback(host) and is_loopback(reached)
    if access.has_credentials or not is_here or not hasattr(os, "getuid"):
        return access
    path = _path(port)
    if not _is_there(path):
        return access
    folder()
    return replace(access, credentials_file=str(path), is_own=True)


def _is_there(path: Path) -> bool:
    """Return whether the file exists. Raises `BadInputError` if another user keeps its folder closed."""
    try:
        path.stat()
    except PermissionError:
        folder()
        raise
    except OSError:
        return False
    return True


def _sweep(now_s: float) -> None:
    """Delete old credentials of stores that do not answer, and old files of users.

    A store that starts again gets a file of users again.
    """
    for path in folder().glob(f"*{USERS_SUFFIX}"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime <= now_s - KEPT_S:
                path.unlink()
    for path in folder().glob(f"*{SUFFIX}"):
        with contextlib.suppress(OSError, ValueError):
            if path.stat().st_mtime > now_s - KEPT_S:
                continue
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", int(path.name.removesuffix(SUFFIX)))):
                    path.unlink()


def _path(port: int) -> Path:
    return Path(tempfile.gettempdir()) / f"pravega-lab-{os.getuid()}" / f"{port}{SUFFIX}"


def _write(path: Path, text: str) -> None:
    """Replace the file at once, readable by this user alone from the beginning."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as file:
        file.write(text)
    temporary.replace(path)
