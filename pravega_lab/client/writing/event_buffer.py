"""Collect single events until the appends take them together.

A caller adds one event at a time, and the loop takes all of them at once, so that an event costs neither a
framing nor a wake-up of its own. The buffer says when the loop has to take its events: when the appenders
have nothing to send (`want`), or when enough events have come together. It waits for nothing and reports a
refusal instead. The caller then writes the event as a call of the loop, which waits for room or raises.
"""

from __future__ import annotations

import threading
from enum import IntEnum
from random import Random
from typing import Any, NamedTuple

from pravega_lab.client.values import EVENT_BYTES_MAX, KIB, MIB

ENOUGH_BYTES = 256 * KIB  # the loop takes this much although no appender waits for events
BUFFERED_BYTES_MAX = 4 * MIB
OVERHEAD_BYTES = (
    64  # of memory that an event takes in addition to its payload, so that empty events fill a buffer, too
)


class Added(IntEnum):
    """Says what became of an event that was added."""

    REFUSED = 0  # not taken: no single event with a key, no room, or the buffer is closed
    TAKEN = 1
    WANTED = 2  # taken, and the loop has to take the buffer's events


_REFUSED, _TAKEN, _WANTED = Added.REFUSED, Added.TAKEN, Added.WANTED


class Collected(NamedTuple):
    """Holds events in the order in which they were added, and the key or the position of each."""

    payloads: list[bytes]
    places: list[str | float]  # a position in the key space where the event has no key


class EventBuffer:
    """Holds the events that were added and not yet taken. Any thread may call it.

    It is closed at first, and a closed buffer refuses everything.
    """

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._lock = threading.Lock()
        self._items: list[Any]  # payload and place of one event after the other
        self._bytes: int
        self._enough_bytes: int  # the event that reaches this size is reported
        self._is_refusing: bool  # closed or full
        self._is_open = False
        self._forget()

    def __len__(self) -> int:
        return len(self._items) // 2

    @property
    def has_enough(self) -> bool:
        """Return whether so much has come together that the loop should take it."""
        return self._bytes >= ENOUGH_BYTES

    def add(self, event: object, key: object) -> Added:
        """Take one event, unless something has to be waited for or reported.

        Anything but one event (bytes or str) and one key (str or None) is refused, as is an event that is too
        large and text that cannot be encoded. Nothing has changed after a refusal.
        """
        if type(event) is not bytes:
            event = _encoded(event)
            if event is None:
                return _REFUSED
        if type(key) is str:
            if not key.isascii() and _encoded(key) is None:
                return _REFUSED
        elif key is not None:
            return _REFUSED
        n_bytes = len(event)
        if n_bytes > EVENT_BYTES_MAX:
            return _REFUSED
        with self._lock:
            if self._is_refusing:
                return _REFUSED
            # In one step, so that an interrupt of the program cannot separate an event from its key.
            self._items.extend((event, self._chance.random() if key is None else key))
            self._bytes = n_all = self._bytes + n_bytes + OVERHEAD_BYTES
            return _TAKEN if n_all < self._enough_bytes else self._reported(n_all)

    def _reported(self, n_bytes: int) -> Added:
        # Reported once: until the events are taken, more reports would only wake the loop again.
        self._enough_bytes = BUFFERED_BYTES_MAX
        self._is_refusing = n_bytes >= BUFFERED_BYTES_MAX
        return _WANTED

    def take(self) -> Collected:
        """Return all events that were added, and forget them."""
        with self._lock:
            items = self._items
            self._forget()
        if len(items) == 2:
            return Collected(items[:1], items[1:])
        return Collected(items[::2], items[1::2])

    def want(self) -> bool:
        """Have the next event reported as `Added.WANTED`, however few there are.

        Return False if an event was added since the last `take`: it was not reported, so take it now.
        """
        with self._lock:
            if self._items:
                return False
            self._enough_bytes = 0
            return True

    def open(self) -> None:
        """Accept events from now on."""
        with self._lock:
            self._is_open = True
            self._forget()

    def close(self) -> int:
        """Drop the events that were not taken, and refuse all others. Return how many were dropped."""
        with self._lock:
            n_dropped = len(self)
            self._is_open = False
            self._forget()
        return n_dropped

    def _forget(self) -> None:
        self._items, self._bytes = [], 0
        self._enough_bytes = ENOUGH_BYTES
        self._is_refusing = not self._is_open


def _encoded(text: object) -> bytes | None:
    if type(text) is not str:
        return None
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None
