"""An embedded store as a child process: started, stopped, killed and restarted from Python.

The child is ``pravega-lab standalone --with-parent``. It ends when its standard input closes, so a killed
kernel or a crashed test leaves no process behind.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from pravega_lab.errors import StoreUnavailableError

from .limits.limits import Limits

START_S_MAX = 30.0
STOP_S_MAX = 15.0
LOG_PIECE_BYTES = 1 << 16
#: The line of the log with the address of the registry, which is written before the store is ready.
REGISTRY_LINE = re.compile(r"\bregistry_open url=(\S+)")


class StoreProcess:
    """An embedded store in its own process. The constructor starts it and waits until it serves.

    Args:
        data: Folder that keeps the store; None for a temporary store in memory.
        scaling_clock: Divides the time constants of auto-scaling and the period of retention (pravega.md A6,
            A7).
        options: Further options of ``pravega-lab standalone``, such as ``--tier2`` and its URL. A later
            start uses what the attribute ``options`` contains then.
        controller_port, segment_store_port: 0 takes a free port. A restart keeps the controller's port.
        registry_port: Serve a schema registry there, whose port a restart keeps; None for no registry.
        limits: What clients may take; None for the defaults.

    Raises:
        StoreUnavailableError: The process ended, or reported nothing in time. The message repeats its log.
    """

    def __init__(
        self,
        data: str | Path | None = None,
        *,
        scaling_clock: int = 1,
        controller_port: int = 0,
        segment_store_port: int = 0,
        limits: Limits | None = None,
        options: Sequence[str] = (),
        registry_port: int | None = None,
    ) -> None:
        self._where = ["--memory"] if data is None else ["--data", str(data)]
        self.options = list(options)
        self._scaling_clock = scaling_clock
        self._ports = [controller_port, segment_store_port]
        self._limits = limits or Limits()
        with tempfile.TemporaryFile() as log:
            self._log = os.dup(log.fileno())
        # Not in `close`, after which the log may be read, nor at exit, when the store may be closed later.
        weakref.finalize(self, os.close, self._log).atexit = False
        self._process: subprocess.Popen[bytes] | None = None
        self._registry_port = registry_port
        self.uri = self.registry_uri = ""
        self.start()

    @property
    def alive(self) -> bool:
        """Return whether the process is running."""
        return self._process is not None and self._process.poll() is None

    @property
    def is_kept(self) -> bool:
        """Return whether the store keeps its data in a folder."""
        return self._where[0] == "--data"

    @property
    def pid(self) -> int:
        """Return the process id of the running store. Raises StoreUnavailableError if it does not run."""
        if self._process is None:
            raise StoreUnavailableError("the embedded store is not running: call start()")
        return self._process.pid

    def start(self) -> None:
        """Start the process and wait until it serves. Do nothing if it runs."""
        if self.alive:
            return
        controller, segment_store = self._ports
        command = [sys.executable, "-m", "pravega_lab.cli", "standalone", "--with-parent", *self._where]
        command += ["--controller-port", str(controller), "--segment-store-port", str(segment_store)]
        command += ["--scaling-clock", str(self._scaling_clock), *self._limits.options(), *self.options]
        if self._registry_port is not None:
            command += ["--registry-port", str(self._registry_port)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, start_new_session=True
        )
        try:
            self.uri = self._wait_ready(self._process)
        except BaseException:  # also an interrupt: the process would keep its folder and its ports
            self.kill()
            raise
        self._ports[0] = int(self.uri.rsplit(":", 1)[1])
        if self._registry_port is not None:
            self.registry_uri = REGISTRY_LINE.findall(self.log())[-1]
            self._registry_port = int(self.registry_uri.rsplit(":", 1)[1])

    def stop(self) -> None:
        """Stop the process after it has finished the requests in flight. Kill it if that takes too long."""
        if self._process is None:
            return
        if self.alive:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_S_MAX)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._reap()

    def kill(self) -> None:
        """Stop the process as ``kill -9``. A store with a folder keeps what it acknowledged, one in memory
        is gone.
        """
        if self._process is not None:
            self._process.kill()
            self._reap()

    def close(self) -> None:
        """Stop the process for good."""
        self.stop()

    def restart(self) -> None:
        """Stop the process, and start it again on the same folder and the same controller port."""
        self.stop()
        self.start()

    def log(self) -> str:
        """Return what the process has written to standard error so far, over all its starts."""
        # The child writes through the same file offset, so seeking here would make it overwrite its log.
        pieces: list[bytes] = []
        offset = 0
        while piece := os.pread(self._log, LOG_PIECE_BYTES, offset):
            pieces.append(piece)
            offset += len(piece)
        return b"".join(pieces).decode(errors="replace")

    def _reap(self) -> None:
        assert self._process is not None
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None

    def _wait_ready(self, process: subprocess.Popen[bytes]) -> str:
        assert process.stdout is not None
        deadline = time.monotonic() + START_S_MAX
        line = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n") and selector.select(max(0.0, deadline - time.monotonic())):
                piece = os.read(process.stdout.fileno(), 4096)
                if not piece:
                    break
                line += piece
        words = line.decode(errors="replace").split()
        if len(words) == 2 and words[0] == "ready":
            return words[1]
        self.kill()
        said = self.log().strip() or "it wrote nothing to standard error"
        raise StoreUnavailableError(f"the embedded store did not start: {said}")

    def __enter__(self) -> StoreProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"StoreProcess({self.uri}, {'running' if self.alive else 'stopped'})"
