"""Certificates for tests: an authority, and a server's that it signed. Made by openssl, thrown away after."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path


class NoToolError(Exception):
    """A program is missing, or failed: the message says which, and how."""


def make_certificates(folder: Path, names: Sequence[str]) -> Path:
    """``ca.crt``, ``server.crt`` and ``server.key`` in a folder; returns the first.

    Args:
        names: What the server's names: ``DNS:host`` or ``IP:address``.
    """
    (folder / "names").write_text(f"subjectAltName={','.join(names)}")
    new_key = ("-newkey", "rsa:2048", "-nodes", "-keyout")
    ca, server = ("ca.key", "-out", "ca.crt"), ("server.key", "-out", "server.csr")
    run_tool(folder, "openssl", "req", "-x509", *new_key, *ca, "-days", "2", "-subj", "/CN=test authority")
    run_tool(folder, "openssl", "req", *new_key, *server, "-subj", "/CN=localhost")
    signed = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names", "-days", "2")
    run_tool(folder, "openssl", "x509", "-req", "-in", "server.csr", *signed, "-out", "server.crt")
    return folder / "ca.crt"


def run_tool(folder: Path, *command: str) -> None:
    """Run a program. Raises `NoToolError`."""
    if shutil.which(command[0]) is None:
        raise NoToolError(f"no {command[0]} on the PATH")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise NoToolError(f"{' '.join(command[:2])}: {(done.stdout + done.stderr)[-500:]}")
