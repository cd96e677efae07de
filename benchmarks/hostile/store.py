"""The store under attack: a process with a folder, its memory, and what it writes to standard error."""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

POLL_S = 0.02
MIB = 1 << 20


class Store:
    """A ``pravega-lab standalone``, with ``descriptors`` file descriptors at most."""

    def __init__(self, folder: Path, descriptors: int | None, options: list[str]) -> None:
        self.log_path = folder / "log"
        command = [sys.executable, "-m", "pravega_lab.cli", "standalone", "--with-parent"]
        command += ["--data", str(folder / "store"), "--controller-port", "0", "--segment-store-port", "0"]

        def limit() -> None:
            if descriptors is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        self.process = subprocess.Popen(
            [*command, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log_path.open("wb"),
            preexec_fn=limit,
        )
        assert self.process.stdout is not None
        self.uri = self.process.stdout.readline().decode().split()[1]
        self.peak_mib = 0.0
        self._is_open = True
        self._poll = threading.Thread(target=self._follow_memory, daemon=True)
        self._poll.start()

    def _follow_memory(self) -> None:
        while self._is_open:
            self.peak_mib = max(self.peak_mib, self.resident_mib())
            time.sleep(POLL_S)

    def resident_mib(self) -> float:
        """Return the resident memory of the process."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize() / MIB

    def settled_mib(self, wanted_mib: float, patience_s: float) -> float:
        """Return the resident memory once it is at most ``wanted_mib``, or when the time is over."""
        deadline = time.monotonic() + patience_s
        while (found := self.resident_mib()) > wanted_mib and time.monotonic() < deadline:
            time.sleep(POLL_S)
        return found

    def log(self) -> str:
        """Return what the process has written to standard error."""
        return self.log_path.read_text(errors="replace")

    def close(self) -> int:
        """Stop the process, and return its exit code."""
        self._is_open = False
        self._poll.join()
        self.process.terminate()
        return self.process.wait(60)
