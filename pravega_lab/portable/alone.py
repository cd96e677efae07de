"""Take away the event loop that always runs in a browser, for code that has a loop of its own."""

from __future__ import annotations

import asyncio
import sys
from asyncio import events, tasks
from collections.abc import Iterator
from contextlib import contextmanager

IS_BROWSER = sys.platform == "emscripten"
"""Whether this is Pyodide, which has no threads, and in which a loop runs whenever Python does."""


@contextmanager
def without_loop() -> Iterator[None]:
    """Hide the running loop and its current task in a browser; elsewhere do nothing.

    Elsewhere a thread is the right place for a second loop. Nothing may be awaited in the block.
    """
    loop = events._get_running_loop() if IS_BROWSER else None
    if loop is None:
        yield
        return
    task = asyncio.current_task(loop)
    if task is not None:
        tasks._leave_task(loop, task)
    events._set_running_loop(None)
    try:
        yield
    finally:
        events._set_running_loop(loop)
        if task is not None:
            tasks._enter_task(loop, task)
