"""An open-loop generator: events are due at fixed times, and a latency counts from the time that was due.

A generator that waits for the system before it sends the next event hides the delays that it should
measure: a pause of a second then delays one event, where users would have sent thousands. Here every event
has its time, and an event that could not be sent in time has waited since that time.
"""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

EVENT_BYTES, KEYS = 100, 1_000
WARM_UP = 0
"""The due time of an event that only warms up."""
_DUE = struct.Struct(">Q")
_PADDING = b"x" * (EVENT_BYTES - _DUE.size)

Write = Callable[[bytes, str], object]


def event_due_at(due_ns: int) -> bytes:
    """Return an event of 100 bytes that carries the time at which it is due, in ns of the monotonic clock."""
    return _DUE.pack(due_ns) + _PADDING


def due_ns_of(event: bytes) -> int:
    """Return the time that `event_due_at` put into an event."""
    due_ns: int = _DUE.unpack_from(event)[0]
    return due_ns


@dataclass(frozen=True)
class Schedule:
    """``count`` events, one every 1/``rate`` seconds. With an infinite rate all are due at once."""

    rate: float
    count: int

    def due_ns(self, begin_ns: int, index: int) -> int:
        """Return when an event is due."""
        return begin_ns + math.ceil(index * 1e9 / self.rate)

    def n_due(self, begin_ns: int, now_ns: int) -> int:
        """Return how many events are due."""
        elapsed_ns, interval_ns = now_ns - begin_ns, 1e9 / self.rate
        if elapsed_ns < 0:
            return 0
        is_over = elapsed_ns >= self.count * interval_ns
        return self.count if is_over else int(elapsed_ns / interval_ns) + 1


KEYS_BY_INDEX = [f"key-{index}" for index in range(KEYS)]


def send_on_schedule(
    write: Write,
    schedule: Schedule,
    begin_ns: int,
    clock_ns: Callable[[], int] = time.monotonic_ns,
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Write each event when it is due, and all that are overdue without a pause."""
    sent = 0
    while sent < schedule.count:
        for index in range(sent, n_due := schedule.n_due(begin_ns, clock_ns())):
            write(event_due_at(schedule.due_ns(begin_ns, index)), KEYS_BY_INDEX[index % KEYS])
        sent = max(sent, n_due)
        if sent < schedule.count:
            sleep(max(0.0, (schedule.due_ns(begin_ns, sent) - clock_ns()) / 1e9))


class Latencies(NamedTuple):
    """Milliseconds from due to done, and events per second from the first due time to the last done."""

    p50_ms: float
    p99_ms: float
    p999_ms: float
    max_ms: float
    rate: float


def latencies(due_ns: Sequence[int], done_ns: Sequence[int]) -> Latencies:
    """Return the figures of events that were due and done at these times."""
    due, done = np.asarray(due_ns, np.int64), np.asarray(done_ns, np.int64)
    waited_ms = (done - due) / 1e6
    p50_ms, p99_ms, p999_ms = (float(np.percentile(waited_ms, q)) for q in (50, 99, 99.9))
    seconds = max(int(done.max() - due.min()), 1) / 1e9
    return Latencies(p50_ms, p99_ms, p999_ms, float(waited_ms.max()), len(due) / seconds)
