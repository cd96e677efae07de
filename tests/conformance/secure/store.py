"""The embedded store with TLS and authentication on: the same users and names as `SecurePravega` has."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pravega_lab.client import AccessOptions
from pravega_lab.client.connection.access import Access
from pravega_lab.client.connection.credentials import AUTH_PREFIX
from tests.certificates import make_certificates
from tests.conformance.real_pravega import free_ports
from tests.conformance.secure.pravega import ACLS, ADMIN, ADVERTISED, NAMES
from tests.standalone import Standalone


class SecureStore:
    """A process of `pravega-lab standalone`; ``access()`` has what a client needs besides its address.

    Args:
        advertised: Where clients find the segment store.
        more: Further options of the command.
    """

    def __init__(self, advertised: str = ADVERTISED, more: tuple[str, ...] = ()) -> None:
        self.folder = folder = Path(tempfile.mkdtemp(prefix="secure-store-"))
        self.ca_file = make_certificates(folder, NAMES)
        (folder / "server.key").chmod(0o600)
        self.passwords = folder / "passwd"
        self.passwords.touch(0o600)
        self.passwords.write_text("".join(password_line(*who, acl) for who, acl in ACLS.items()))
        self.options = (
            *("--data", str(folder / "data"), "--host", "0.0.0.0", "--advertised-host", advertised),
            *("--tls-cert", str(folder / "server.crt"), "--tls-key", str(folder / "server.key")),
            *("--password-file", str(self.passwords), *more),
        )
        [self.store_port] = free_ports(1)
        self.process = Standalone(*self.options, segment_store_port=self.store_port)

    def start(self) -> str:
        self.process.start()
        self.controller_port = self.process.controller_port
        self.uri = f"tls://127.0.0.1:{self.controller_port}"
        self.named_uri = f"tls://localhost:{self.controller_port}"
        self.signing_key = (self.folder / "data" / "security" / "token-key").read_bytes()
        return self.uri

    def access(self, who: tuple[str, str] | None = ADMIN) -> AccessOptions:
        """Options with which ``who`` gets in from here."""
        return {"ca_file": self.ca_file, "credentials": who, "rewrite": {ADVERTISED: "127.0.0.1"}}

    def variables(self, who: tuple[str, str] = ADMIN) -> dict[str, str]:
        """Variables with which the official clients of ``who`` get in: Java takes a token, Rust a name."""
        found = Access.of({"ca_file": self.ca_file, "credentials": who}).to_environment()
        return {**found, f"{AUTH_PREFIX}username": who[0], f"{AUTH_PREFIX}password": who[1]}

    def stop(self) -> None:
        self.process.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def password_line(user: str, password: str, acl: str) -> str:
    """What `pravega-lab password` prints for a password on its standard input."""
    command = [sys.executable, "-m", "pravega_lab.cli", "password", user, acl]
    done = subprocess.run(command, input=f"{password}\n", capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout
