"""What the act about TLS of tutorial 15 needs: a stranger on the wire, and a store with TLS and users."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pravega_lab.engine.server.store_process import StoreProcess
from pravega_lab.engine.store.security.passwords import ITERATIONS, SALT_BYTES, password_line
from pravega_lab.errors import NotFoundError

HERE = "127.0.0.1"


class Wire:
    """A wire with a stranger on it: it passes on every byte between a client and a port, and keeps a copy.

    ``seen`` has the bytes of both directions and of all connections so far. ``rewrite`` is the option of
    `connect` that leads a client over this wire.
    """

    def __init__(self, port: int) -> None:
        self._port, self._kept = port, bytearray()
        self._listening = socket.create_server((HERE, 0))
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True, name=f"wire to {port}").start()

    @property
    def rewrite(self) -> dict[str, str]:
        """Return ``{"host:port": "host:port"}`` for the hosts under which the port is known."""
        to = f"{HERE}:{self._listening.getsockname()[1]}"
        return {f"{host}:{self._port}": to for host in (HERE, "localhost")}

    @property
    def seen(self) -> bytes:
        """Return what the stranger has seen so far."""
        return bytes(self._kept)

    def close(self) -> None:
        """Cut the wire."""
        for each in (self._listening, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                store = socket.create_connection((HERE, self._port))
                self._sockets += [client, store]
                for start, to in ((client, store), (store, client)):
                    threading.Thread(target=self._pass_on, args=(start, to), daemon=True).start()

    def _pass_on(self, start: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while data := start.recv(1 << 16):
                self._kept += data
                to.sendall(data)
        with suppress(OSError):
            to.shutdown(socket.SHUT_WR)


def free_port() -> int:
    """Return a port that nothing uses now."""
    with socket.create_server((HERE, 0)) as found:
        port: int = found.getsockname()[1]
        return port


def make_certificate(folder: Path) -> Path:
    """Make an authority and a certificate of ``localhost`` that it signed, good for two days.

    Return the certificate of the authority, which clients need. ``server.crt`` and ``server.key`` are next to
    it.

    Raises:
        NotFoundError: There is no program ``openssl``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = folder / "names"
    names.write_text(f"subjectAltName=DNS:localhost,IP:{HERE}")
    new_key = ["-newkey", "rsa:2048", "-nodes", "-keyout"]
    authority = [
        "-x509",
        *new_key,
        "ca.key",
        "-out",
        "ca.crt",
        "-days",
        "2",
        "-subj",
        "/CN=airport authority",
    ]
    _openssl(folder, "req", *authority)
    _openssl(folder, "req", *new_key, "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
    signed = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names", "-days", "2"]
    _openssl(folder, "x509", "-req", "-in", "server.csr", *signed, "-out", "server.crt")
    (folder / "server.key").chmod(0o600)
    return folder / "ca.crt"


def _openssl(folder: Path, *arguments: str) -> None:
    try:
        subprocess.run(["openssl", *arguments], cwd=folder, capture_output=True, timeout=60, check=True)
    except FileNotFoundError as missing:
        raise NotFoundError(
            "certificates are made by the program openssl, which is not installed"
        ) from missing


def plain_store(port: int) -> StoreProcess:
    """Start a store without TLS and users, whose segments are served at ``port``."""
    return StoreProcess(segment_store_port=port)


def secure_store(folder: Path, users: Mapping[tuple[str, str], str], port: int) -> StoreProcess:
    """Start a store with the certificate in ``folder``, whose segments are served at ``port``.

    Args:
        users: The permissions of each pair of user and password, as in docs/security.md.
    """
    lines = [
        password_line(*who, allowed, os.urandom(SALT_BYTES), ITERATIONS) for who, allowed in users.items()
    ]
    file = folder / "users"
    file.touch(0o600)
    file.write_text("\n".join(lines) + "\n")
    certificate = ["--tls-cert", str(folder / "server.crt"), "--tls-key", str(folder / "server.key")]
    return StoreProcess(segment_store_port=port, options=[*certificate, "--password-file", str(file)])
