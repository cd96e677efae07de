"""The store's time under a wall clock that jumps."""

from __future__ import annotations

from pravega_lab.engine.store.clock import JUMP_MS_MAX, StoreClock
from pravega_lab.engine.store.transactions.leases import Leases

YEAR_MS = 365 * 24 * 3_600_000
START_MS = 1_700_000_000_000
KEY = ("scope", "stream", 1)


class Clocks:
    """A machine whose monotonic clock runs, and whose wall clock someone sets."""

    def __init__(self, last_ms: int = 0) -> None:
        self.monotonic_ms, self.set_ms = 5_000, START_MS
        self.jumps: list[int] = []
        self.clock = StoreClock(last_ms, self.jumps.append)
        self.now_ms = self.after(0)

    def after(self, ms: int) -> int:
        self.monotonic_ms += ms
        self.now_ms = self.clock.now_ms(self.set_ms + self.monotonic_ms, self.monotonic_ms)
        return self.now_ms


def test_a_lease_ends_in_time_although_the_clock_jumps_a_year_ahead_and_back() -> None:
    clocks, leases = Clocks(), Leases()
    before_ms = clocks.now_ms
    clocks.set_ms += YEAR_MS
    assert clocks.after(10) == before_ms + 10 + JUMP_MS_MAX
    leases.renew(KEY, 10_000, now_ms=clocks.now_ms)
    clocks.set_ms -= YEAR_MS
    assert leases.pop_expired(now_ms=clocks.after(9_000)) == []
    assert leases.pop_expired(now_ms=clocks.after(1_000)) == [KEY]
    assert clocks.jumps == [YEAR_MS, -YEAR_MS]


def test_a_lease_ends_in_time_after_a_restart_with_an_earlier_clock() -> None:
    last_ms = START_MS + YEAR_MS
    clocks, leases = Clocks(last_ms), Leases()
    assert clocks.now_ms == last_ms
    leases.renew(KEY, 10_000, now_ms=clocks.now_ms)
    assert leases.pop_expired(now_ms=clocks.after(10_000)) == [KEY]
    assert len(clocks.jumps) == 1


def test_each_jump_ahead_counts_at_most_a_minute_and_one_back_nothing() -> None:
    clocks = Clocks()
    first_ms = clocks.now_ms
    for _ in range(5):
        clocks.set_ms += YEAR_MS
        clocks.after(1)
        clocks.set_ms -= YEAR_MS
        clocks.after(1)
    assert clocks.now_ms == first_ms + 10 + 5 * JUMP_MS_MAX
    assert len(clocks.jumps) == 10


def test_a_small_step_back_does_not_hold_time_up_and_is_not_announced() -> None:
    clocks = Clocks()
    first_ms = clocks.now_ms
    for _ in range(10):
        clocks.set_ms -= 50_000
        clocks.after(1_000)
    assert clocks.now_ms == first_ms + 10_000
    clocks.set_ms += 500_000
    assert clocks.after(0) == first_ms + 10_000
    assert clocks.jumps == [500_000]


def test_a_clock_that_is_right_is_followed() -> None:
    clocks = Clocks()
    for _ in range(5):
        clocks.after(1_000)
        assert clocks.now_ms == START_MS + clocks.monotonic_ms
    clocks.set_ms += 999
    assert clocks.after(1) == START_MS + clocks.monotonic_ms + 999
