"""An embedded store that only programs of this user can use: it has one user, with a random password.

The password is in no argument and no environment. The store reads its hash from a file, and clients read it
from another (`client.connection.own_stores`). Both have mode 0600 and are deleted with the store.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from pravega_lab.client.connection import own_stores
from pravega_lab.engine.server.limits.limits import Limits
from pravega_lab.engine.server.store_process import StoreProcess
from pravega_lab.engine.store.security.passwords import SALT_BYTES, password_line

USER = "lab"
PASSWORD_BYTES = 32
ITERATIONS = 1000
"""Few are enough for a password of 256 random bits, and the store is ready sooner."""


class PrivateStore(StoreProcess):
    """A `StoreProcess` with a password. Arguments and errors are the same.

    Attributes:
        credentials_file: Lines ``username=…`` and ``password=…``, for programs that do not find it.
    """

    credentials_file: Path

    def __init__(
        self,
        data: str | Path | None = None,
        *,
        scaling_clock: int = 1,
        limits: Limits | None = None,
        registry_port: int | None = None,
    ) -> None:
        self._password = secrets.token_urlsafe(PASSWORD_BYTES)
        self._users = own_stores.folder() / f"{secrets.token_hex(8)}{own_stores.USERS_SUFFIX}"
        self._open: list[int] = []  # ports with published credentials
        try:
            users = ("--password-file", str(self._users))
            super().__init__(
                data,
                scaling_clock=scaling_clock,
                limits=limits,
                options=users,
                registry_port=registry_port,
            )
        except BaseException:
            self._forget()
            raise

    def start(self) -> None:
        """Start the process, wait until it serves, and let this user's programs in. Do nothing if it runs."""
        line = password_line(USER, self._password, "prn::*,READ_UPDATE", os.urandom(SALT_BYTES), ITERATIONS)
        self._users.touch(0o600)
        self._users.write_text(f"{line}\n")
        super().start()
        self._open = [int(uri.rsplit(":", 1)[1]) for uri in (self.uri, self.registry_uri) if uri]
        self.credentials_file, *_ = [own_stores.publish(p, USER, self._password) for p in self._open]

    def close(self) -> None:
        """Stop the process for good, and delete its files."""
        try:
            super().close()
        finally:
            self._forget()

    def _forget(self) -> None:
        self._users.unlink(missing_ok=True)
        for port in self._open:
            own_stores.withdraw(port)
