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
import subprocess
import tempfile
from base64 import urlsafe_b64encode
from pathlib import Path

from pravega_lab.client import AccessOptions
from tests.conformance.real_pravega import NoRealPravegaError, RealPravega

ADVERTISED = "segmentstore-0.pravega.test"
ADMIN, READER, STRANGER = ("admin", "1111_aaaa"), ("reader", "only looks"), ("stranger", "may do nothing")
_ACLS = {ADMIN: "prn::*,READ_UPDATE", READER: "prn::*,READ", STRANGER: "prn::/scope:elsewhere,READ"}
_STORE_PASSWORD = "1111_aaaa"  # the released standalone has it built in for ZooKeeper
_SIGNING_KEY = b"secret"  # as above, for delegation tokens
_ITERATIONS = 5000


class SecurePravega(RealPravega):
    """``with SecurePravega() as uri:`` as `RealPravega`; ``access()`` has what a client needs besides."""

    def __init__(self, heap: str = "1g") -> None:
        super().__init__(heap)
        for tool in ("openssl", "keytool"):
            if shutil.which(tool) is None:
                raise NoRealPravegaError(f"no {tool} on the PATH to make certificates")
        self.folder = Path(tempfile.mkdtemp(prefix="secure-pravega-"))
        self.uri = f"tls://127.0.0.1:{self.controller_port}"
        self.ca_file = make_certificates(self.folder)
        (self.folder / "hosts").write_text(
            "".join(f"127.0.0.1 {name}\n" for name in (ADVERTISED, "localhost", socket.gethostname()))
        )
        (self.folder / "passwd").write_text(
            "".join(f"{user}:{_encrypted(word)}:{acl}\n" for (user, word), acl in _ACLS.items())
        )
        (self.folder / "store.passwd").write_text(_STORE_PASSWORD)
        self._settings = self._security()

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


def make_certificates(folder: Path) -> Path:
    """An authority and a server certificate that it signed, as files and key stores. Returns the first."""
    names = f"subjectAltName=DNS:localhost,DNS:{ADVERTISED},IP:127.0.0.1"
    (folder / "names").write_text(names)
    password = f"pass:{_STORE_PASSWORD}"
    new_key = ("-newkey", "rsa:2048", "-nodes", "-keyout")
    ca, server = ("ca.key", "-out", "ca.crt"), ("server.key", "-out", "server.csr")
    _run(folder, "openssl", "req", "-x509", *new_key, *ca, "-days", "2", "-subj", "/CN=test authority")
    _run(folder, "openssl", "req", *new_key, *server, "-subj", "/CN=localhost")
    signed = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names", "-days", "2")
    _run(folder, "openssl", "x509", "-req", "-in", "server.csr", *signed, "-out", "server.crt")
    pair = ("-inkey", "server.key", "-in", "server.crt", "-certfile", "ca.crt", "-name", "server")
    _run(folder, "openssl", "pkcs12", "-export", *pair, "-passout", password, "-out", "server.p12")
    words = ("-srcstorepass", _STORE_PASSWORD, "-deststorepass", _STORE_PASSWORD, "-noprompt")
    stores = ("-srckeystore", "server.p12", "-srcstoretype", "PKCS12", "-destkeystore", "server.jks")
    _run(folder, "keytool", "-importkeystore", *stores, *words)
    trusted = ("-alias", "authority", "-file", "ca.crt", "-keystore", "trust.jks", "-noprompt")
    _run(folder, "keytool", "-importcert", *trusted, "-storepass", _STORE_PASSWORD)
    return folder / "ca.crt"


def expired_token(stream: str) -> str:
    """A delegation token for a stream as the released standalone signs them (HS512), of long ago."""
    claims = {"sub": "subject", "aud": "segmentstore", "iat": 1_000_000, "exp": 1_000_600}
    scope, name = stream.split("/")
    claims |= {f"prn::/scope:{scope}/stream:{name}": "READ_UPDATE"}
    text = f"{_part({'alg': 'HS512'})}.{_part(claims)}"
    signature = hmac.digest(_SIGNING_KEY, text.encode(), "sha512")
    return f"{text}.{urlsafe_b64encode(signature).decode().rstrip('=')}"


def _part(fields: dict[str, object]) -> str:
    return urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")


def _encrypted(password: str) -> str:
    """As Pravega's password handler wants it: PBKDF2 with SHA-256, all in hex, and that in hex again."""
    salt = os.urandom(32)
    hashed = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS, 64)
    return f"{_ITERATIONS}:{salt.hex()}:{hashed.hex()}".encode().hex()


def _run(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise NoRealPravegaError(f"{' '.join(command[:2])}: {(done.stdout + done.stderr)[-500:]}")
