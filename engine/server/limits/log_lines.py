"""At most some lines of one kind are logged in a time: no client can fill the disk with the store's log."""

from __future__ import annotations

import logging
from collections.abc import Callable

PERIOD_S = 10.0
KINDS_MAX = 1000


class LogLines(logging.Filter):
    """Drops lines above a number for each kind and period, and says how many when the next one passes.

    Lines are of one kind if they come from the same place in the code.

    Args:
        lines_max: Lines of one kind that pass in a period of ten seconds.
        now_s: Return the time in seconds, from any starting point.
    """

    def __init__(self, lines_max: int, now_s: Callable[[], float]) -> None:
        super().__init__()
        self._lines_max = lines_max
        self._now_s = now_s
        self._passed: dict[tuple[str, int], int] = {}
        self._dropped: dict[tuple[str, int], int] = {}
        self._period = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the line passes (called by logging)."""
        period = int(self._now_s() / PERIOD_S)
        if period != self._period or len(self._passed) > KINDS_MAX:
            self._period = period
            self._passed.clear()
        kind = (record.pathname, record.lineno)
        passed = self._passed[kind] = self._passed.get(kind, 0) + 1
        if passed > self._lines_max:
            self._dropped[kind] = self._dropped.get(kind, 0) + 1
            return False
        if dropped := self._dropped.pop(kind, 0):
            record.msg = f"{record.getMessage()} ({dropped} more lines like this one were not logged)"
            record.args = ()
        return True
