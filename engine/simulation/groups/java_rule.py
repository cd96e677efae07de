"""`JavaRuleReader`: a reader that acquires and releases segments by the rule of Java's client.

Groups may mix Java's readers and ours, so the simulation mixes readers of both rules. The weights are those
of Java's readers that have read an event: nearly the same for all. Java's readers that have read nothing
have no weight and never release a segment, which no other member can correct.

Source: reader-groups.md B3.
"""

from __future__ import annotations

from math import floor

from pravega_lab.client.reader_group.core import assignment
from pravega_lab.client.reader_group.core.assignment import TIME_UNIT_MS
from pravega_lab.client.reader_group.core.reader import Decision, ReaderCore, Write
from pravega_lab.client.reader_group.core.state import LAG_MS_MIN, GroupState
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.protocol.metadata.reader_group import Update


def relative_sizes(state: GroupState) -> dict[str, float]:
    """Return the load of each reader: its number of segments, weighted by its lag; 0.0 without segments."""
    lags = {r: max(LAG_MS_MIN, state.distance_to_tail_ms[r]) for r in state.distance_to_tail_ms}
    longest = max((lags[r] for r, held in state.assigned.items() if held and r in lags), default=1)
    return {
        r: len(held) * (lags.get(r, LAG_MS_MIN) / longest) if held else 0.0
        for r, held in state.assigned.items()
    }


def ranking(state: GroupState, reader: str) -> int:
    """Return a reader's place by load: 0 for the most loaded reader."""
    sizes = relative_sizes(state)
    return sorted(sizes, key=lambda r: -sizes[r]).index(reader)


def n_to_acquire(state: GroupState, reader: str) -> int:
    """Return how many unassigned segments to acquire at once: at least one if any is unassigned."""
    free, n_readers = len(state.unassigned), len(state.assigned)
    fair = floor(state.n_segments / n_readers + 0.5) - len(state.assigned[reader])
    return max(free // n_readers, min(free, fair), 1)


def owns_too_much(state: GroupState, reader: str) -> bool:
    """Return whether another reader has so much less that ``reader`` should release a segment."""
    if len(state.assigned.get(reader, ())) <= 1:
        return False
    sizes = relative_sizes(state)
    return sizes[reader] > min(sizes.values()) + max(1, len(state.unassigned))


class JavaRuleReader(ReaderCore):
    """Decides as Java's ``ReaderGroupStateManager`` does. Timers alone decide which reader is first."""

    _release_ms = 0

    def _release(self) -> Decision[None]:
        if self._now_ms < self._release_ms or self._is_held_up(self._state):
            return

        def decide(state: GroupState) -> list[Update]:
            if self._is_held_up(state) or not owns_too_much(state, self.reader):
                return []
            segment = assignment.in_order_of_release(self.reader, self.held)[0]
            return [rg.ReleaseSegment(self.reader, segment, self.held[segment]), self._distance()]

        if (yield from self._ask(Write(decide))):
            self._restart_timers()

    def _acquire(self) -> Decision[None]:
        if self._now_ms < self.timers.acquire_ms or self._is_held_up(self._state):
            return
        if not self._state.unassigned:
            self.timers.acquire_ms = self._now_ms + self._acquire_wait_ms()
            return

        def decide(state: GroupState) -> list[Update]:
            if self._is_held_up(state) or not state.unassigned:
                return []
            segments = list(state.unassigned)[: n_to_acquire(state, self.reader)]
            return [*(rg.AcquireSegment(self.reader, segment) for segment in segments), self._distance()]

        yield from self._ask(Write(decide))
        self._restart_timers()

    def _complete(self, segment: str) -> Decision[None]:
        yield from super()._complete(segment)
        self.timers.acquire_ms = self._now_ms

    def _see_unassigned(self) -> None:
        """Leave nothing to others: only the timer counts."""

    def _refresh_ms(self) -> int:
        return self._state.config.group_refresh_time_ms

    def _acquire_wait_ms(self) -> int:
        return TIME_UNIT_MS * max(1, len(self._state.assigned) - ranking(self._state, self.reader))

    def _restart_timers(self) -> None:
        self.timers.acquire_ms = self._now_ms + self._acquire_wait_ms()
        self._release_ms = self._now_ms + TIME_UNIT_MS * (1 + ranking(self._state, self.reader))
        self._reset_lag_timer()
