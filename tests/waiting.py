"""Wait for what a server, a process or a thread does in its own time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], what: str = "", limit_s: float = 60.0) -> T:
    """Ask again and again until the condition is true, and return its value. ``what`` is for the error."""
    deadline = time.monotonic() + limit_s
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {limit_s} s: {what or condition}"
        time.sleep(0.02)
    return value
