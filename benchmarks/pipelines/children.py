"""Start the ends of a pipeline as child processes, let them begin together, and collect their figures."""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.pipelines.child import Figures, Task

ROOT = Path(__file__).resolve().parents[2]
READY_S_MAX = 90.0
BEGIN_AFTER_S = 0.05
SLACK_S = 120.0
"""What a child may take longer than its schedule, on a machine that others use too."""


class ChildError(RuntimeError):
    """Raised when a child process fails or takes too long. The message ends with its last words."""


class Child:
    """One role in a process of its own; see `child`."""

    def __init__(self, role: str, task: Task) -> None:
        self._what = f"{role} of {task.kind}"
        self._limit_s = SLACK_S + task.n_events / task.rate
        command = [sys.executable, "-m", "benchmarks.pipelines.child", role, json.dumps(task)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=1
        )

    def wait_until_ready(self) -> None:
        """Wait until the child is connected and warm. Raises ChildError."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(READY_S_MAX):
                raise ChildError(f"{self._what}: not ready within {READY_S_MAX:g} s")
        if self._process.stdout.readline().strip() != "ready":
            raise ChildError(f"{self._what} failed: {self._last_words()}")

    def begin(self, begin_ns: int) -> None:
        """Let the child begin, with the schedule that begins at this time of the monotonic clock."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{begin_ns}\n")
        self._process.stdin.flush()

    def figures(self) -> Figures:
        """Wait for the child to end, and return what it measured. Raises ChildError."""
        try:
            out, err = self._process.communicate(timeout=self._limit_s)
        except subprocess.TimeoutExpired:
            raise ChildError(f"{self._what}: not finished within {self._limit_s:g} s") from None
        if self._process.returncode:
            raise ChildError(f"{self._what} failed: {err[-2000:]}")
        found: Figures = json.loads(out)
        return found

    def stop(self) -> None:
        """End the child if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()

    def _last_words(self) -> str:
        self._process.kill()
        return self._process.communicate()[1][-2000:]


@contextmanager
def started(*roles: tuple[str, Task]) -> Iterator[list[Child]]:
    """Start children in this order, wait until all are ready, and stop them at the end."""
    with ExitStack() as stack:
        children = []
        for role, task in roles:
            child = Child(role, task)
            stack.callback(child.stop)
            children.append(child)
        for child in children:
            child.wait_until_ready()
        yield children


def figures_of(role: str, task: Task) -> Figures:
    """Run one role and return its figures. Raises ChildError."""
    with started((role, task)) as [child]:
        child.begin(begin_ns())
        return child.figures()


def producer_to_tail_reader(task: Task) -> Figures:
    """Return the latencies of events until another process has read them. Raises ChildError."""
    with started(("follow", task), ("write_on_schedule", task)) as [reader, writer]:
        reader.begin(0)
        writer.begin(begin_ns())
        writer.figures()
        return reader.figures()


def begin_ns() -> int:
    """Return a time shortly after now, when all children have got the word."""
    return time.monotonic_ns() + int(BEGIN_AFTER_S * 1e9)
