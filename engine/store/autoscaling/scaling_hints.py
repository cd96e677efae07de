"""What each segment asks of the controller: to be split, or to be merged because it is cold.

This is the segment store's part of auto-scaling (pravega.md A6). It is called for appends and merges when
they are synced. The cost per append is constant: a look-up, a count, and at the end of a report interval one
comparison with the target. Nothing is scaled here. Hints are kept until ``pop`` takes them, because a hook
of the storage must not submit to it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from .rates import BYTES_PER_KB, Clock, Rates

KBYTES_PER_S = 1
EVENTS_PER_S = 2
"""The scale types of CreateSegment. 0 is fixed."""

UNITS = {KBYTES_PER_S: " kB/s", EVENTS_PER_S: "/s"}


@dataclass(frozen=True, slots=True)
class Hint:
    """A request of a segment.

    ``splits`` > 0 asks for a split, 0 reports that it is cold (``silent``: for ever).
    """

    segment: str
    splits: int
    silent: bool
    reason: str


@dataclass(slots=True)
class _Watched:
    scale_type: int
    target: int
    started_ms: int
    last_traffic_ms: int
    reported_ms: int
    rates: Rates
    up_muted_until_ms: int = 0
    down_muted_until_ms: int = 0


class Hints:
    """Watches the segments with an auto-scaling policy."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._watched: dict[str, _Watched] = {}
        self._idle: list[tuple[int, str]] = []  # (when to look whether it is idle, segment), once each
        self._in_idle: set[str] = set()
        self._hints: list[Hint] = []

    def track(self, segment: str, scale_type: int, target: int, now_ms: int) -> None:
        """Watch a segment from now on, or under another policy. A fixed policy (0) ends the watch."""
        if not scale_type or target <= 0:
            self.forget(segment)
            return
        found = self._watched.get(segment)
        if found is None or found.scale_type != scale_type:
            rates = Rates(self._clock, now_ms)
            found = _Watched(scale_type, target, now_ms, now_ms, now_ms, rates)
            self._watched[segment] = found
            if segment not in self._in_idle:  # an earlier check comes too early, and is then repeated
                self._check_idle(segment, now_ms + self._clock.idle_ms)
        found.target = target

    def forget(self, segment: str) -> None:
        """Stop watching a segment that is sealed or deleted."""
        self._watched.pop(segment, None)

    def on_append(self, segment: str, n_bytes: int, n_events: int, now_ms: int) -> None:
        """Count an append (hook of the storage)."""
        watched = self._watched.get(segment)
        if watched is not None:
            watched.rates.add(_count(watched, n_bytes, n_events), now_ms)
            self._seen(segment, watched, now_ms)

    def on_merge(self, segment: str, n_bytes: int, n_events: int, age_ms: int, now_ms: int) -> None:
        """Count a merged transaction, spread over the time that it was open (hook of the storage)."""
        watched = self._watched.get(segment)
        if watched is not None:
            watched.rates.add_transaction(_count(watched, n_bytes, n_events), age_ms, now_ms)
            self._seen(segment, watched, now_ms)

    def tick(self, now_ms: int) -> None:
        """Find the segments that have been idle for long."""
        while self._idle and self._idle[0][0] <= now_ms:
            _, segment = heapq.heappop(self._idle)
            self._in_idle.discard(segment)
            watched = self._watched.get(segment)
            if watched is None:
                continue
            due_ms = watched.last_traffic_ms + self._clock.idle_ms
            if due_ms <= now_ms:
                self._hints.append(Hint(segment, 0, True, f"idle for {self._clock.idle_ms // 1000} s"))
                due_ms = now_ms + self._clock.idle_ms
            self._check_idle(segment, due_ms)

    def _check_idle(self, segment: str, due_ms: int) -> None:
        self._in_idle.add(segment)
        heapq.heappush(self._idle, (due_ms, segment))

    def pop(self) -> list[Hint]:
        """Return the hints since the last call, oldest first."""
        hints, self._hints = self._hints, []
        return hints

    def next_deadline_ms(self) -> int | None:
        """Return when ``tick`` is to be called next, 0 if there are hints, None if nothing is watched."""
        if self._hints:
            return 0
        return self._idle[0][0] if self._idle else None

    def _seen(self, segment: str, watched: _Watched, now_ms: int) -> None:
        watched.last_traffic_ms = now_ms
        if now_ms - watched.reported_ms >= self._clock.report_ms:
            watched.reported_ms = now_ms
            self._report(segment, watched, now_ms)

    def _report(self, segment: str, watched: _Watched, now_ms: int) -> None:
        """Decide from the four averages, by the table of pravega.md A6."""
        age_ms = now_ms - watched.started_ms
        if age_ms <= self._clock.cooldown_ms:
            return
        watched.rates.advance(now_ms)
        hot = _hot(watched, self._clock, age_ms)
        if hot is not None:
            self._ask_up(segment, watched, hot, now_ms)
        elif _is_cold(watched, self._clock, age_ms):
            self._say_cold(segment, watched, now_ms)

    def _ask_up(self, segment: str, watched: _Watched, hot: tuple[float, int], now_ms: int) -> None:
        if now_ms < watched.up_muted_until_ms:
            return
        rate, times = hot
        watched.up_muted_until_ms = watched.down_muted_until_ms = now_ms + self._clock.mute_ms
        splits = max(2, int(max(watched.rates.values[:3]) / watched.target))
        unit = UNITS[watched.scale_type]
        self._hints.append(
            Hint(segment, splits, False, f"{rate:.0f}{unit} > {times} x {watched.target}{unit}")
        )

    def _say_cold(self, segment: str, watched: _Watched, now_ms: int) -> None:
        if now_ms < watched.down_muted_until_ms:
            return
        watched.down_muted_until_ms = now_ms + self._clock.mute_ms
        unit = UNITS[watched.scale_type]
        reason = f"{watched.rates.values[3]:.0f}{unit} < {watched.target}{unit} / 2"
        self._hints.append(Hint(segment, 0, False, reason))


def _count(watched: _Watched, n_bytes: int, n_events: int) -> float:
    return n_bytes / BYTES_PER_KB if watched.scale_type == KBYTES_PER_S else n_events


def _hot(watched: _Watched, clock: Clock, age_ms: int) -> tuple[float, int] | None:
    """Return the rate that is too high and by how many times the target, None if none is."""
    for rate, times, window_ms in zip(watched.rates.values, (5, 2, 1), clock.windows_ms, strict=False):
        if rate > times * watched.target and age_ms >= window_ms:
            return rate, times
    return None


def _is_cold(watched: _Watched, clock: Clock, age_ms: int) -> bool:
    below = all(rate < watched.target for rate in watched.rates.values[:3])
    return below and watched.rates.values[3] < watched.target / 2 and age_ms > clock.windows_ms[3]
