"""Event-time windows of keys, their aggregates, and the treatment of late records.

A window fires when the watermark passes its end. Until ``allowed_lateness_ms`` later, it fires again for each
late record. Records that come even later go to a side output, or are dropped and counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pravega_lab.errors import BadInputError

from ..batch import Batch, Row, copied_value
from ..state.keys import Key, KeySelector
from ..time.timers import Timer
from ..time.watermarks import check_ms
from .functions import AggregateFunction
from .operator import Operator

Window = tuple[int, int]  # [start, end) in ms


@dataclass(frozen=True)
class TumblingWindows:
    """Assign each record to one of the adjacent windows of one size (ms), which is at least 1."""

    size_ms: int
    offset_ms: int = 0

    def __post_init__(self) -> None:
        check_ms("size_ms", self.size_ms, 1)

    def of(self, timestamp_ms: int) -> list[Window]:
        """Return the windows of a record with this timestamp (ms)."""
        start = timestamp_ms - (timestamp_ms - self.offset_ms) % self.size_ms
        return [(start, start + self.size_ms)]


@dataclass(frozen=True)
class SlidingWindows:
    """Assign each record to all windows of ``size_ms`` that contain it.

    A window begins every ``slide_ms``. Both are at least 1.
    """

    size_ms: int
    slide_ms: int

    def __post_init__(self) -> None:
        check_ms("size_ms", self.size_ms, 1)
        check_ms("slide_ms", self.slide_ms, 1)

    def of(self, timestamp_ms: int) -> list[Window]:
        """Return the windows of a record with this timestamp (ms)."""
        last = timestamp_ms - timestamp_ms % self.slide_ms
        starts = range(last, timestamp_ms - self.size_ms, -self.slide_ms)
        return [(start, start + self.size_ms) for start in starts]


@dataclass(frozen=True)
class SessionWindows:
    """Assign records to windows that end when no record came for ``gap_ms``, which is at least 1."""

    gap_ms: int

    def __post_init__(self) -> None:
        check_ms("gap_ms", self.gap_ms, 1)

    def of(self, timestamp_ms: int) -> list[Window]:
        """Return the window of a record that is alone. The operator merges overlapping windows."""
        return [(timestamp_ms, timestamp_ms + self.gap_ms)]


WindowAssigner = TumblingWindows | SlidingWindows | SessionWindows


class WindowOperator(Operator):
    """Aggregate windows.

    It emits ``make_row(key, window, result)`` with the time of the window's end - 1 ms.
    """

    has_windows = True

    def __init__(
        self,
        assigner: WindowAssigner,
        function: AggregateFunction,
        key: KeySelector,
        make_row: Callable[[Key, Window, Any], Row],
        *,
        allowed_lateness_ms: int = 0,
        late_tag: str | None = None,
    ) -> None:
        if isinstance(assigner, SessionWindows) and function.merge is None:
            raise BadInputError("session windows merge: their aggregate needs merge=")
        self._assigner, self._function, self._key = assigner, function, key
        self._make_row, self._lateness_ms, self._late_tag = make_row, allowed_lateness_ms, late_tag

    def process_batch(self, batch: Batch, input: int) -> None:
        """Add the records to their windows.

        Raises:
            BadInputError: a record has no event time.
        """
        for row, timestamp_ms, _ in batch.records():
            if timestamp_ms is None:
                raise BadInputError(
                    f"{self.context.name}: a record without event time ({row!r}); windows need a watermark "
                    "strategy with timestamps at the source"
                )
            self.context.keyed.set_key(self._key.key(row))
            try:
                self._add(row, timestamp_ms)
            except Exception as error:
                raise self.context.user_error(error, row) from error

    def _is_late(self, window: Window) -> bool:
        return window[1] - 1 + self._lateness_ms <= self.context.timers.watermark_ms

    def _add(self, row: Row, timestamp_ms: int) -> None:
        windows = self._assigner.of(timestamp_ms)
        if isinstance(self._assigner, SessionWindows):
            windows = [self._merged(windows[0])]
        in_time = [window for window in windows if not self._is_late(window)]
        if not in_time:
            if windows:  # otherwise the record is between two windows, and late for none
                self._take_late(row, timestamp_ms)
            return
        table, key, timers = (
            self.context.keyed.changing("windows"),
            self.context.keyed.key,
            self.context.timers,
        )
        accumulators = table.setdefault(key, {})
        for window in in_time:
            accumulator = accumulators[window] if window in accumulators else self._function.create()
            accumulators[window] = self._function.add(accumulator, row)
            timers.register_event_timer(window[1] - 1 + self._lateness_ms, window)
            if window[1] - 1 <= timers.watermark_ms:
                self._fire(window)  # late, within what is allowed
            else:
                timers.register_event_timer(window[1] - 1, window)

    def _merged(self, window: Window) -> Window:
        """Return the session that ``window`` belongs to, merged from those that it touches."""
        assert self._function.merge is not None
        accumulators = self.context.keyed.table("windows").get(self.context.keyed.key, {})
        touching = [w for w in accumulators if w[0] <= window[1] and window[0] <= w[1]]
        if not touching:
            return window
        merged = (min(w[0] for w in [*touching, window]), max(w[1] for w in [*touching, window]))
        if touching == [merged] or self._is_late(merged):
            return merged
        self.context.keyed.changing("windows")
        total = accumulators.pop(touching[0])
        for other in touching[1:]:
            total = self._function.merge(total, accumulators.pop(other))
        for old in touching:
            self._forget_timers(old)
        accumulators[merged] = total
        return merged

    def _forget_timers(self, window: Window) -> None:
        for at_ms in (window[1] - 1, window[1] - 1 + self._lateness_ms):
            self.context.timers.delete_event_timer(at_ms, window)

    def _take_late(self, row: Row, timestamp_ms: int) -> None:
        if self._late_tag is not None:
            self.context.output.row(row, timestamp_ms, tag=self._late_tag)
        else:
            self.context.late_dropped += 1

    def on_timer(self, timer: Timer) -> None:
        """Fire a window at its end, or delete it when no late record is allowed any more."""
        window: Window = timer.namespace
        if timer.at_ms == window[1] - 1:
            self._fire(window)
        if timer.at_ms == window[1] - 1 + self._lateness_ms:
            table, key = self.context.keyed.changing("windows"), self.context.keyed.key
            windows = table.get(key, {})
            windows.pop(window, None)
            if not windows:
                table.pop(key, None)

    def _fire(self, window: Window) -> None:
        key = self.context.keyed.key
        accumulators = self.context.keyed.table("windows").get(key, {})
        if window in accumulators:
            row = self._make_row(key, window, copied_value(self._function.result(accumulators[window])))
            self.context.output.row(row, window[1] - 1)
