"""The real Pravega 0.13.0 with TLS and authentication on, and a segment store whose name nobody knows here.

Certificates are made by openssl, key stores by keytool, for this run only. The segment store is advertised
as ``ADVERTISED``, which the server's Java alone resolves (``jdk.net.hosts.file``): who is outside has to
rewrite it, as one has to at a cluster behind a port-forward.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shutil
import socket
import tempfile
import time
from base64 import urlsafe_b64encode
from pathlib import Path

from pravega_lab.client import AccessOptions, connect
from pravega_lab.errors import StoreUnavailableError
from tests.certificates import NoToolError, make_certificates, run_tool
from tests.conformance.real_pravega import START_TIMEOUT_S, NoRealPravegaError, RealPravega

ADVERTISED = "segmentstore-0.pravega.test"
NAMES = ("DNS:localhost", f"DNS:{ADVERTISED}", "IP:127.0.0.1")
ADMIN, READER, STRANGER = ("admin", "1111_aaaa"), ("reader", "only looks"), ("stranger", "may do nothing")
OWNER = ("owner", "of one scope")  # of the scope ``own``
ACLS = {
    ADMIN: "prn::*,READ_UPDATE",
    READER: "prn::*,READ",
    STRANGER: "prn::/scope:elsewhere,READ",
    OWNER: "prn::/scope:own,READ_UPDATE;prn::/scope:own/*,READ_UPDATE",
}
_STORE_PASSWORD = "1111_aaaa"  # the released standalone has it built in for ZooKeeper
SIGNING_KEY = b"secret"  # as above, for delegation tokens
_ITERATIONS = 5000


class SecurePravega(RealPravega):
    """``with SecurePravega() as uri:`` as `RealPravega`; ``access()`` has what a client needs besides."""

    signing_key = SIGNING_KEY

    def __init__(self, heap: str = "1g") -> None:
        super().__init__(heap)
        self.folder = Path(tempfile.mkdtemp(prefix="secure-pravega-"))
        self.uri = f"tls://127.0.0.1:{self.controller_port}"
        try:
            self.ca_file = make_certificates(self.folder, NAMES)
            make_key_stores(self.folder)
        except NoToolError as error:
            raise NoRealPravegaError(f"certificates cannot be made: {error}") from error
        (self.folder / "hosts").write_text(
            "".join(f"127.0.0.1 {name}\n" for name in (ADVERTISED, "localhost", socket.gethostname()))
        )
        (self.folder / "passwd").write_text(
            "".join(f"{user}:{_encrypted(word)}:{acl}\n" for (user, word), acl in ACLS.items())
        )
        (self.folder / "store.passwd").write_text(_STORE_PASSWORD)
        self._settings = self._security()

    def start(self) -> str:
        uri = super().start()
        self._warm_up()
        return uri

    def _warm_up(self) -> None:
        """Wait until it makes a scope. On a busy machine the first one takes longer than a client waits."""
        end = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                with connect(self.uri, **self.access()) as client:
                    client.create_scope("warm-up")
                    client.delete_scope("warm-up")
                return
            except StoreUnavailableError:
                if time.monotonic() > end:
                    raise

    def access(self, who: tuple[str, str] | None = ADMIN) -> AccessOptions:
        """Options with which ``who`` gets in from here."""
        return {
            "ca_file": self.ca_file,
            "credentials": who,
            "rewrite": {ADVERTISED: "127.0.0.1"},
        }

    def stop(self) -> None:
        super().stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _security(self) -> dict[str, object]:
        security, folder = "singlenode.security", self.folder
        return {
            "jdk.net.hosts.file": folder / "hosts",
            "pravegaservice.service.published.host.nameOrIp": ADVERTISED,
            f"{security}.tls.enable": "true",
            f"{security}.tls.privateKey.location": folder / "server.key",
            f"{security}.tls.certificate.location": folder / "server.crt",
            f"{security}.tls.keyStore.location": folder / "server.jks",
            f"{security}.tls.keyStore.pwd.location": folder / "store.passwd",
            f"{security}.tls.trustStore.location": folder / "trust.jks",
            f"{security}.auth.enable": "true",
            f"{security}.auth.credentials.username": ADMIN[0],
            f"{security}.auth.credentials.pwd": ADMIN[1],
            f"{security}.auth.pwdAuthHandler.accountsDb.location": folder / "passwd",
        }


def make_key_stores(folder: Path) -> None:
    """The server's key and the authority once more, as Java's key stores."""
    pair = ("-inkey", "server.key", "-in", "server.crt", "-certfile", "ca.crt", "-name", "server")
    locked = ("-passout", f"pass:{_STORE_PASSWORD}", "-out", "server.p12")
    run_tool(folder, "openssl", "pkcs12", "-export", *pair, *locked)
    words = ("-srcstorepass", _STORE_PASSWORD, "-deststorepass", _STORE_PASSWORD, "-noprompt")
    stores = ("-srckeystore", "server.p12", "-srcstoretype", "PKCS12", "-destkeystore", "server.jks")
    run_tool(folder, "keytool", "-importkeystore", *stores, *words)
    trusted = ("-alias", "authority", "-file", "ca.crt", "-keystore", "trust.jks", "-noprompt")
    run_tool(folder, "keytool", "-importcert", *trusted, "-storepass", _STORE_PASSWORD)


def signed_token(key: bytes, stream: str, issued_s: int, expires_s: int) -> str:
    """A delegation token for a stream, as the released standalone signs them (HS512)."""
    claims: dict[str, object] = {"sub": "subject", "aud": "segmentstore", "iat": issued_s, "exp": expires_s}
    scope, name = stream.split("/")
    claims[f"prn::/scope:{scope}/stream:{name}"] = "READ_UPDATE"
    text = f"{_part({'alg': 'HS512'})}.{_part(claims)}"
    signature = hmac.digest(key, text.encode(), "sha512")
    return f"{text}.{urlsafe_b64encode(signature).decode().rstrip('=')}"


def _part(fields: dict[str, object]) -> str:
    return urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")


def _encrypted(password: str) -> str:
    """As Pravega's password handler wants it: PBKDF2 with SHA-256, all in hex, and that in hex again."""
    salt = os.urandom(32)
    hashed = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS, 64)
    return f"{_ITERATIONS}:{salt.hex()}:{hashed.hex()}".encode().hex()
