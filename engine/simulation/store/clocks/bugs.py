"""Planted bugs of the store's time, which the checkers must find. Never reached by production code."""

from __future__ import annotations

from typing import Any

from ....store import clock
from ....store.clock import StoreClock
from ....store.transactions.leases import Leases
from ..planting import Replacement, bug

IN_TIME, KEPT = "leases end in time", "leases are kept"


@bug("clock-believed", "clocks", KEPT)
def _clock_believed() -> list[Replacement]:
    """The store's time is the wall clock, as far as that does not go back."""
    return [(StoreClock, "now_ms", lambda self, wall_ms, monotonic_ms: wall_ms)]


@bug("jumps-uncapped", "clocks", KEPT)
def _jumps_uncapped() -> list[Replacement]:
    """A jump forward counts whole."""
    return [(clock, "JUMP_MS_MAX", 1 << 60)]


@bug("time-stands-still", "clocks", IN_TIME)
def _time_stands_still() -> list[Replacement]:
    """After a jump back, time stands still until the wall clock is there again."""
    right = StoreClock._jump

    def forward_only(self: Any, jump_ms: int) -> None:
        if jump_ms > 0:
            right(self, jump_ms)

    return [(StoreClock, "_jump", forward_only)]


@bug("jump-counted-again", "clocks", IN_TIME)
def _jump_counted_again() -> list[Replacement]:
    """Every reading after a jump forward counts it once more."""
    right = StoreClock.now_ms

    def again(self: Any, wall_ms: int, monotonic_ms: int) -> int:
        before = self._difference_ms
        now_ms = right(self, wall_ms, monotonic_ms)
        if before is not None and self._difference_ms > before:
            self._difference_ms = before
        return now_ms

    return [(StoreClock, "now_ms", again)]


@bug("restart-forgets-time", "clocks", IN_TIME)
def _restart_forgets_time() -> list[Replacement]:
    """A store that starts before the latest time of its log waits until the wall clock is there."""
    right = StoreClock.__init__

    def forgetful(self: Any, last_ms: int, on_jump: Any) -> None:
        right(self, 0, on_jump)

    return [(StoreClock, "__init__", forgetful)]


@bug("leases-renewed-unasked", "clocks", IN_TIME)
def _leases_renewed() -> list[Replacement]:
    """A lease that expires is renewed once more."""
    right = Leases.pop_expired

    def renewing(self: Any, *, now_ms: int, most: int = 100) -> Any:
        expired = right(self, now_ms=now_ms, most=most)
        again = [key for key in expired if key not in _RENEWED]
        for key in again:
            _RENEWED[key] = None
            self.renew(key, 30_000, now_ms=now_ms)
        return [key for key in expired if key not in again]

    _RENEWED.clear()
    return [(Leases, "pop_expired", renewing)]


_RENEWED: dict[Any, None] = {}
