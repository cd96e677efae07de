"""The clock of a job in real time."""

from __future__ import annotations

import time
from collections.abc import Callable


def steady_clock() -> Callable[[], int]:
    """Return a clock in ms since 1970. It has the time of the machine now, and follows a monotonic clock.

    The deadlines of a job must not move when the clock of the machine is set. Otherwise, a clock that is set
    back by an hour would delay the next checkpoint by an hour.
    """
    start_ns = time.time_ns() - time.monotonic_ns()
    return lambda: (start_ns + time.monotonic_ns()) // 1_000_000
