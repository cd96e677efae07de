"""`pravega-lab standalone` as a process of the tests: started on free ports, ended with the test."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START_TIMEOUT_S = 30
STOP_TIMEOUT_S = 30


class StandaloneFailedError(Exception):
    """The process ended before it was ready; the message holds what it said."""


class Standalone:
    """One store process. ``with Standalone("--memory") as uri:``, or ``start``, ``stop``, ``kill``."""

    command: tuple[str, ...] = (sys.executable, "-m", "pravega_lab.cli")

    def __init__(self, *arguments: str, controller_port: int = 0, segment_store_port: int = 0) -> None:
        self._arguments = arguments
        self._ports = (
            "--controller-port",
            str(controller_port),
            "--segment-store-port",
            str(segment_store_port),
        )
        self.uri = ""

    def start(self) -> str:
        command = [*self.command, "standalone", "--with-parent", *self._ports]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [*command, *self._arguments], cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
        self._errors: list[str] = []
        self._reader = threading.Thread(target=self._follow_errors, daemon=True)
        self._reader.start()
        watchdog = threading.Timer(START_TIMEOUT_S, self.process.kill)
        watchdog.start()
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        watchdog.cancel()
        if not line.startswith(("ready tcp://", "ready tls://")):
            code = self.process.wait(STOP_TIMEOUT_S)
            raise StandaloneFailedError(f"exit code {code}, said {line!r}:\n{self.errors()}")
        self.uri = line.split()[1]
        return self.uri

    def _follow_errors(self) -> None:
        for line in self.process.stderr:  # type: ignore[union-attr]
            self._errors.append(line)

    def errors(self) -> str:
        """What the process has written to standard error so far (all of it, once it has ended)."""
        if self.process.poll() is not None:
            self._reader.join(STOP_TIMEOUT_S)
        return "".join(self._errors)

    @property
    def controller_port(self) -> int:
        return int(self.uri.rsplit(":", 1)[1])

    def stop(self, with_signal: int = signal.SIGTERM) -> int:
        """Ask it to end; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
        return self.wait()

    def wait(self) -> int:
        try:
            return self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait(STOP_TIMEOUT_S)

    def close_input(self) -> int:
        """End as a parent does that vanishes; the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.wait()

    def __enter__(self) -> str:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def logged_url(store: Standalone, event: str) -> str:
    """The url in the line of a store's log about ``event``, ``registry_open`` for example."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while (found := re.search(rf"\b{event} url=(\S+)", store.errors())) is None:
        assert time.monotonic() < deadline, store.errors()
        time.sleep(0.01)
    return found[1]
