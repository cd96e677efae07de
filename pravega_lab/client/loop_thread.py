"""The event loop behind the synchronous face: one daemon thread per process, made on first use.

A forked child inherits neither the thread nor its loop; `loop_thread()` there makes its own.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """An asyncio loop in a daemon thread; `run` is called from any other thread."""

    def __init__(self) -> None:
        self._loop = _new_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="pravega-client", daemon=True)
        self._thread.start()

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        """Run ``call`` to its end and give back its result; an interrupt here cancels it there."""
        if threading.current_thread() is self._thread:
            call.close()
            raise RuntimeError(
                "the synchronous face was called from its own loop; use the Async classes there"
            )
        future = asyncio.run_coroutine_threadsafe(call, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


def _new_loop() -> asyncio.AbstractEventLoop:
    """A turn of uvloop costs less, and it sends large blocks without copying them first."""
    if sys.platform == "win32":  # where there is none
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


_by_process: dict[int, LoopThread] = {}
_making = threading.Lock()


def loop_thread() -> LoopThread:
    """The loop thread of this process."""
    found = _by_process.get(os.getpid())
    if found is not None:
        return found
    with _making:
        if os.getpid() not in _by_process:  # nobody was faster
            _by_process[os.getpid()] = LoopThread()
        return _by_process[os.getpid()]


def _forget_parent() -> None:
    global _making
    _making = threading.Lock()
    _by_process.clear()


os.register_at_fork(after_in_child=_forget_parent)
