"""The wire of tutorial 15: it passes on what it is given, and keeps a copy."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from pravega_lab.errors import NotFoundError
from pravega_lab.tutorials.stranger import HERE, Wire, make_certificate


def test_a_wire_passes_on_every_byte_in_both_directions_and_keeps_it() -> None:
    with socket.create_server((HERE, 0)) as server:

        def echo() -> None:
            client, _ = server.accept()
            with client:
                while data := client.recv(100):
                    client.sendall(data.upper())

        threading.Thread(target=echo, daemon=True).start()
        wire = Wire(server.getsockname()[1])
        [(_, to), _] = wire.rewrite.items()
        with socket.create_connection((HERE, int(to.rpartition(":")[2]))) as own:
            own.sendall(b"gate")
            assert own.recv(100) == b"GATE"
            own.shutdown(socket.SHUT_WR)
            assert own.recv(100) == b""
        assert wire.seen == b"gateGATE"
        wire.close()


def test_a_machine_without_openssl_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotFoundError, match="openssl, which is not installed"):
        make_certificate(tmp_path)
