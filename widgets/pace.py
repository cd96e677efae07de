"""When a view may send its next update. Decides; never waits: time is handed in.

A front end that is slow must not be fed faster than it draws, or the reader watches the past. So at most two
updates are unanswered. But a kernel that runs a blocking cell cannot hear the answers either, so an answer
that stays out for a second counts as given: the view then goes on, slower.
"""

from __future__ import annotations

PERIOD_MS = 100
UNANSWERED_MAX = 2
ANSWER_MS = 1_000  # an answer that is out for longer counts as given
QUIET_MS = 5_000  # no sign of life for so long: an update every other second is enough
QUIET_PERIOD_MS = 2_000
SILENT_MS = 10_000  # so long unheard, while others are heard, a page is gone
GONE_MS = 600_000  # and after this none at all, until a page says hello


class Pace:
    """The rules above, for one view."""

    def __init__(self) -> None:
        self._sent_ms: dict[int, int] = {}  # seq -> when, of unanswered updates
        self._last_ms = -PERIOD_MS
        self._heard_ms = 0
        self._pages: dict[str, int] = {}  # page -> when it was heard

    def heard(self, page: str, *, now_ms: int) -> None:
        """A page shows the view."""
        self._pages[page] = self._heard_ms = now_ms
        self._forget(now_ms)

    def left(self, page: str, *, now_ms: int) -> None:
        """A page shows it no more."""
        self._pages.pop(page, None)
        self._forget(now_ms)

    def _forget(self, now_ms: int) -> None:
        """A page that was reloaded never says that it left. While others are heard, silence means gone."""
        self._pages = {p: t for p, t in self._pages.items() if now_ms - t < SILENT_MS}

    def sent(self, seq: int, *, now_ms: int) -> None:
        self._sent_ms[seq] = now_ms
        self._last_ms = now_ms

    def answered(self, seq: int, *, now_ms: int) -> None:
        """The page has this update and all before it."""
        self._sent_ms = {s: t for s, t in self._sent_ms.items() if s > seq}
        self._heard_ms = now_ms

    @property
    def unanswered(self) -> int:
        return len(self._sent_ms)

    def wanted(self, *, now_ms: int) -> bool:
        """Is there a page to send to at all?"""
        return bool(self._pages) and now_ms - self._heard_ms < GONE_MS

    def may_send(self, *, now_ms: int) -> bool:
        if not self.wanted(now_ms=now_ms):
            return False
        quiet = now_ms - self._heard_ms >= QUIET_MS
        if now_ms - self._last_ms < (QUIET_PERIOD_MS if quiet else PERIOD_MS):
            return False
        self._sent_ms = {s: t for s, t in self._sent_ms.items() if now_ms - t < ANSWER_MS}
        return len(self._sent_ms) < UNANSWERED_MAX
