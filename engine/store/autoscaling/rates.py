"""The rates of one segment: moving averages over 2, 5, 10 and 20 minutes (pravega.md A6).

Counts are collected per tick (5 s). At the end of a tick every average moves towards the rate of the tick.
Several ticks without traffic are one step of the same formula, so the cost of a count does not depend on the
silence before it.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

BYTES_PER_KB = 1024


@dataclass(frozen=True, slots=True)
class Clock:
    """The time constants of pravega.md A6 in ms, divided by ``divisor`` (``--scaling-clock``)."""

    divisor: int = 1

    def _scaled(self, ms: int) -> int:
        return max(1, ms // self.divisor)

    @property
    def tick_ms(self) -> int:
        """Return the length of a tick."""
        return self._scaled(5_000)

    @property
    def windows_ms(self) -> tuple[int, int, int, int]:
        """Return the windows of the averages.

        The first three are also the ages from which each average counts.
        """
        two, five, ten, twenty = (self._scaled(minutes * 60_000) for minutes in (2, 5, 10, 20))
        return two, five, ten, twenty

    @property
    def cooldown_ms(self) -> int:
        """Return the age before which a segment asks for nothing."""
        return self._scaled(600_000)

    @property
    def mute_ms(self) -> int:
        """Return the silence after a request, which is also how long a cold segment counts as cold."""
        return self._scaled(600_000)

    @property
    def report_ms(self) -> int:
        """Return the time between two comparisons of a segment with its target."""
        return self._scaled(120_000)

    @property
    def idle_ms(self) -> int:
        """Return the time without traffic after which a segment is cold for ever."""
        return self._scaled(1_200_000)


class Rates:
    """The averages of one segment, per second: events, or kB, depending on what is counted.

    They begin with the first rate that is not zero, which sets all four. Times are arguments and never go
    back.
    """

    __slots__ = (
        "_alphas",
        "_amortised",
        "_amortised_sum",
        "_clock",
        "_count",
        "_origin_ms",
        "_started",
        "_tick",
        "values",
    )

    def __init__(self, clock: Clock, now_ms: int) -> None:
        self._clock = clock
        self._alphas = tuple(1 - math.exp(-clock.tick_ms / window) for window in clock.windows_ms)
        self._origin_ms = now_ms
        self._tick = 0  # ticks that are over
        self._count = 0.0
        self._amortised: list[tuple[int, float]] = []  # (first tick without it, count per tick)
        self._amortised_sum = 0.0
        self._started = False
        self.values = (0.0, 0.0, 0.0, 0.0)

    def add(self, count: float, now_ms: int) -> None:
        """Count what was written just now."""
        self.advance(now_ms)
        self._count += count

    def add_transaction(self, count: float, lifetime_ms: int, now_ms: int) -> None:
        """Count what a transaction wrote: an equal share for each tick of its life, beginning now."""
        ticks = lifetime_ms // self._clock.tick_ms
        if ticks < 1:
            self.add(count, now_ms)
            return
        self.advance(now_ms)
        share = count * self._clock.tick_ms / lifetime_ms
        heapq.heappush(self._amortised, (self._tick + ticks, share))
        self._amortised_sum += share

    def advance(self, now_ms: int) -> None:
        """Close the ticks that are over by ``now_ms``."""
        now = (now_ms - self._origin_ms) // self._clock.tick_ms
        if now <= self._tick:
            return
        self._close(1, self._count + self._amortised_sum)
        self._count = 0.0
        while self._tick < now:
            ends = self._drop_amortised()
            self._close(min(now, ends or now) - self._tick, self._amortised_sum)
        self._drop_amortised()

    def _drop_amortised(self) -> int | None:
        """Forget the shares that have ended, and return the tick at which the next one ends."""
        while self._amortised and self._amortised[0][0] <= self._tick:
            self._amortised_sum -= heapq.heappop(self._amortised)[1]
        if not self._amortised:
            self._amortised_sum = 0.0  # exactly, whatever rounding left
        return self._amortised[0][0] if self._amortised else None

    def _close(self, ticks: int, count: float) -> None:
        """Close ``ticks`` ticks in a row, with ``count`` in each."""
        self._tick += ticks
        rate = count * 1000 / self._clock.tick_ms
        if self._started:
            kept = (((1 - alpha) ** ticks, old) for alpha, old in zip(self._alphas, self.values, strict=True))
            two, five, ten, twenty = (rate + (old - rate) * keep for keep, old in kept)
            self.values = (two, five, ten, twenty)
        elif rate > 0:
            self._started = True
            self.values = (rate, rate, rate, rate)
