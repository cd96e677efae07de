"""The store's time: it follows a monotonic clock, and takes jumps of the wall clock for what they are."""

from __future__ import annotations

from collections.abc import Callable

JUMP_MS_MAX = 60_000
"""The most that one jump of the wall clock counts. A larger jump is announced."""

TOLERANCE_MS = 1_000
"""A smaller difference between the two clocks is no jump, but rounding, or a clock that is being adjusted."""


class StoreClock:
    """Gives the store's time, in ms since 1970, from readings of a wall clock and a monotonic clock.

    The time never goes back. When the wall clock jumps forward, at most a minute of the jump counts. When it
    jumps back, the time continues at the rate of the monotonic clock, and a later jump forward counts only as
    far as it leads beyond that.

    Args:
        last_ms: The latest time in the log. The time continues from there if the wall clock is before it.
        on_jump: Called with the ms of each jump of more than a minute.
    """

    def __init__(self, last_ms: int, on_jump: Callable[[int], None]) -> None:
        self._last_ms = last_ms
        self._on_jump = on_jump
        self._difference_ms: int | None = None  # wall clock minus monotonic clock
        self._ahead_ms = 0  # the store's time minus the wall clock

    def now_ms(self, wall_ms: int, monotonic_ms: int) -> int:
        """Return the time for a reading of both clocks."""
        difference_ms = wall_ms - monotonic_ms
        if self._difference_ms is None:
            self._difference_ms = difference_ms
            self._ahead_ms = max(0, self._last_ms - wall_ms)
            if self._ahead_ms > JUMP_MS_MAX:
                self._on_jump(-self._ahead_ms)
        elif not -TOLERANCE_MS < difference_ms - self._difference_ms < TOLERANCE_MS:
            self._jump(difference_ms - self._difference_ms)
            self._difference_ms = difference_ms
        now_ms = wall_ms + self._ahead_ms
        if now_ms > self._last_ms:
            self._last_ms = now_ms
        return self._last_ms

    def _jump(self, jump_ms: int) -> None:
        if abs(jump_ms) > JUMP_MS_MAX:
            self._on_jump(jump_ms)
        if jump_ms < 0:
            self._ahead_ms -= jump_ms
            return
        caught_up_ms = min(jump_ms, max(0, self._ahead_ms))
        counted_ms = min(jump_ms - caught_up_ms, JUMP_MS_MAX)
        self._ahead_ms -= jump_ms - counted_ms
