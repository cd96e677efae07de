"""Timers of keys, in event time and in processing time.

Timers are part of keyed state, so they survive failures. A key has a timer for a (time, namespace) at most
once. Timers fire in order of time, and in order of registration where times are equal.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..elements import MIN_TIMESTAMP_MS
from ..errors import RestoreError
from ..state.keys import Key
from ..state.state import KeyedState, StateKind


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer asks for a call of its operator at a time, for a key.

    ``namespace`` is the bounds of a window, or None.
    """

    at_ms: int
    key: Key
    namespace: Any
    is_event_time: bool


HEAP_MIN = 64  # entries: a smaller heap is left as it is


class _Queue:
    """The timers of one kind: a heap over the timers in keyed state.

    A deleted timer stays in the heap until its time, or until more than half of the heap are such timers.
    """

    def __init__(self, state: KeyedState, name: str, is_event_time: bool) -> None:
        state.declare(name, StateKind.TIMERS)
        self._state, self._name, self._is_event_time = state, name, is_event_time
        self._heap: list[tuple[int, int, int, Key, Any]] = []
        self._count = 0
        self._live = 0  # timers in keyed state

    def restore(self, of_windows: bool) -> None:
        found = [
            (at_ms, group, key, namespace)
            for group, table in self._state.tables(self._name)
            for key, timers in table.items()
            for at_ms, namespace in timers
        ]
        for at_ms, group, key, namespace in sorted(found, key=lambda timer: timer[:2]):
            if of_windows != (namespace is not None):
                theirs, ours = ("no windows", "windows") if of_windows else ("windows", "no windows")
                raise RestoreError(
                    f"its state has timers of an operator with {theirs}, and this one has {ours}: give each "
                    "operator the uid that it had"
                )
            self._push(at_ms, group, key, namespace)

    def _push(self, at_ms: int, group: int, key: Key, namespace: Any) -> None:
        self._count += 1
        self._live += 1
        heapq.heappush(self._heap, (at_ms, self._count, group, key, namespace))

    def register(self, at_ms: int, namespace: Any) -> None:
        key = self._state.key
        timers = self._state.table(self._name).get(key, {})
        if (at_ms, namespace) not in timers:
            self._state.changing(self._name).setdefault(key, {})[(at_ms, namespace)] = None
            self._push(at_ms, self._state.current_group, key, namespace)

    def delete(self, at_ms: int, namespace: Any) -> None:
        if (at_ms, namespace) in self._state.table(self._name).get(self._state.key, {}):
            self._remove(self._state.current_group, self._state.key, at_ms, namespace)
            if len(self._heap) > max(HEAP_MIN, 2 * self._live):
                self._tidy()

    def _tidy(self) -> None:
        """Drop the entries of deleted timers. Of a timer that was set again, the first entry stays."""
        kept: dict[tuple[int, int, Key, Any], tuple[int, int, int, Key, Any]] = {}
        for entry in sorted(self._heap):
            at_ms, _, group, key, namespace = entry
            if (at_ms, namespace) in self._state.table(self._name, group).get(key, {}):
                kept.setdefault((at_ms, group, key, namespace), entry)
        self._heap = list(kept.values())  # sorted, and so a heap

    def _remove(self, group: int, key: Key, at_ms: int, namespace: Any) -> None:
        table = self._state.changing(self._name, group)
        del table[key][(at_ms, namespace)]
        if not table[key]:
            del table[key]
        self._live -= 1

    def due(self, until_ms: int) -> Iterator[Timer]:
        """Yield each timer up to and including ``until_ms``, its key set, also timers set during the call."""
        while self._heap and self._heap[0][0] <= until_ms:
            at_ms, _, group, key, namespace = heapq.heappop(self._heap)
            if (at_ms, namespace) in self._state.table(self._name, group).get(key, {}):
                self._remove(group, key, at_ms, namespace)
                self._state.set_key(key)
                yield Timer(at_ms, key, namespace, self._is_event_time)

    def next_ms(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def clear(self) -> None:
        self._heap.clear()
        self._live = 0


class TimerService:
    """Keep the timers of one operator, for the current key of its keyed state."""

    def __init__(self, state: KeyedState) -> None:
        self.event = _Queue(state, "_event_timers", True)
        self.processing = _Queue(state, "_processing_timers", False)
        self.watermark_ms = MIN_TIMESTAMP_MS
        self.is_quiesced = False

    def restore(self, *, of_windows: bool) -> None:
        """Rebuild the queues of timers from restored keyed state.

        Raises:
            RestoreError: the timers belong to windows and the operator's do not, or the reverse.
        """
        for queue in (self.event, self.processing):
            queue.restore(of_windows)

    def register_event_timer(self, at_ms: int, namespace: Any = None) -> None:
        """Register a timer that fires when the watermark passes ``at_ms``."""
        self.event.register(at_ms, namespace)

    def register_processing_timer(self, at_ms: int, namespace: Any = None) -> None:
        """Register a timer that fires at ``at_ms`` of the clock.

        While the service is quiesced (from ``finish`` on), no such timer fires, but it is still part of the
        state.
        """
        self.processing.register(at_ms, namespace)

    def delete_event_timer(self, at_ms: int, namespace: Any = None) -> None:
        """Delete an event-time timer of the current key if it is registered."""
        self.event.delete(at_ms, namespace)

    def delete_processing_timer(self, at_ms: int, namespace: Any = None) -> None:
        """Delete a processing-time timer of the current key if it is registered."""
        self.processing.delete(at_ms, namespace)

    def next_processing_ms(self) -> int | None:
        """Return the time of the next processing-time timer that may fire, or None."""
        return None if self.is_quiesced else self.processing.next_ms()
