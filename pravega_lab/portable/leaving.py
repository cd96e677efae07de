"""`at_exit`: like ``atexit.register``, for this process alone. `on_sigterm`: another end on SIGTERM."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, ParamSpec

P = ParamSpec("P")


def at_exit(call: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
    """Call ``call`` when this process ends. A forked child does not: it would undo what its parent made."""
    atexit.register(_in_process, os.getpid(), call, args, kwargs)


def _in_process(
    process_id: int, call: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    if os.getpid() == process_id:
        call(*args, **kwargs)


@contextmanager
def on_sigterm(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Let ``handler`` handle SIGTERM while the block runs. Outside of the main thread, do nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
