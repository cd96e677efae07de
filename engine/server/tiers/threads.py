"""Threads for calls that may hang: the end of the process does not wait for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

Result = TypeVar("Result")


class DaemonThreads:
    """Threads that make calls in the order in which they were submitted.

    A `ThreadPoolExecutor` does the same, but the interpreter joins its threads when it exits. A process whose
    file system hangs would then never end.

    Args:
        count: How many calls are made at the same time. The threads begin with the first call.
        name: The name of the threads.
    """

    def __init__(self, count: int, name: str) -> None:
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads = [Thread(target=self._run, name=name, daemon=True) for _ in range(count)]
        self._has_begun = self._is_closed = False

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """Return the future result of a call that a thread makes. Raises RuntimeError after `close`."""
        if self._is_closed:
            raise RuntimeError("the threads are closed")
        future: Future[Result] = Future()
        self._waiting.put((future, work))
        if not self._has_begun:
            self._has_begun = True
            for thread in self._threads:
                thread.start()
        return future

    def close(self, wait_s: float) -> bool:
        """Cancel the calls that have not begun, and wait for those that are under way.

        Return False if one of them has not ended after ``wait_s`` seconds.
        """
        self._is_closed = True
        while True:
            try:
                item = self._waiting.get_nowait()
            except Empty:
                break
            if item is not None:
                item[0].cancel()
        for _ in self._threads:
            self._waiting.put(None)
        end_s = time.monotonic() + wait_s
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, end_s - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        while (item := self._waiting.get()) is not None:
            future, work = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
            del item, future, work  # an idle thread keeps no chunk in memory
