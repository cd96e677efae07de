"""A real S3 server for the tests of tier 2: versitygw, built as a Go module into a cache folder."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CACHE = ROOT / ".cache" / "versitygw"
MODULE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
BUILD_S_MAX = 1200
START_S_MAX = 30
KEY, SECRET = "lab", "lab-secret"


class NoServerError(Exception):
    """The server cannot be built here; the message says why."""


def binary() -> Path:
    """Return the server's program, which is built once per checkout.

    Raises:
        NoServerError: There is no Go, or the build failed.
    """
    found = CACHE / "versitygw"
    if found.exists():
        return found
    go = shutil.which("go")
    if go is None:
        raise NoServerError("no Go on the PATH to build versitygw, the S3 server of this test")
    CACHE.mkdir(parents=True, exist_ok=True)
    part = CACHE / f"part-{os.getpid()}"
    # Without paths in what it builds, Go's own cache serves every checkout.
    flags = "-modcacherw -trimpath"
    environment = {**os.environ, "GOBIN": str(part), "GOPATH": str(CACHE / "go"), "GOFLAGS": flags}
    done = subprocess.run(
        [go, "install", MODULE], env=environment, capture_output=True, text=True, timeout=BUILD_S_MAX
    )
    if done.returncode:
        raise NoServerError(f"Go could not build versitygw: {done.stderr[-500:]}")
    (part / "versitygw").rename(found)
    shutil.rmtree(part)
    shutil.rmtree(CACHE / "go", ignore_errors=True)
    return found


class S3Server:
    """The server on a folder: ``start``, ``kill`` (as ``kill -9``), ``options`` for s3fs.

    A later start has the same port. ``secret`` is the key that it takes from its next start on.
    """

    def __init__(self, folder: Path) -> None:
        self._program = binary()
        self._folder = folder
        self.secret = SECRET
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]
        for name in ("data", "meta"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "data" / "bucket").mkdir(exist_ok=True)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def options(self) -> dict[str, object]:
        """Return the options of s3fs."""
        return {"key": KEY, "secret": self.secret, "endpoint_url": f"http://127.0.0.1:{self._port}"}

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        command = [self._program, "--port", f"127.0.0.1:{self._port}"]
        command += ["--access", KEY, "--secret", self.secret]
        command += ["posix", "--sidecar", str(self._folder / "meta"), str(self._folder / "data")]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + START_S_MAX
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1.0).close()
                return
            except OSError:
                assert self._process.poll() is None, "versitygw ended at its start"
                assert time.monotonic() < deadline, "versitygw does not listen"
                time.sleep(0.05)

    def kill(self) -> None:
        """Kill the server."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
