"""When a view may send its next update. This module decides and never waits: it receives the time.

A front end that is slow must not be fed faster than it draws, or the reader watches the past. At most five
updates are therefore unanswered: a page answers four times a second. But a kernel that runs a blocking cell
cannot receive the answers, so an answer that is missing for a second counts as given, and the view continues,
slower.

Time is divided into periods, and each view sends at most once in a period. All views of a process have the
same periods: their updates reach a page together, so that it draws and answers once for all of them.
"""

from __future__ import annotations

PERIOD_MS = 100
UNANSWERED_MAX = 5
ANSWER_MS = 1_000  # an answer that is missing for longer counts as given
QUIET_MS = 5_000  # after this silence an update every other second is enough
SLOW_PERIOD_MS = 2_000  # for silent pages, and for pages on which nobody sees the view
SILENT_MS = 10_000  # a page that is silent for longer, while others answer, is gone
GONE_MS = 600_000  # after this silence none at all, until a page says hello


class Pace:
    """Applies these rules to one view."""

    def __init__(self) -> None:
        self._sent_ms: dict[int, int] = {}  # sequence number -> time of each unanswered update
        self._last_ms = -SLOW_PERIOD_MS
        self._heard_ms = 0
        self._left_ms = 0
        self._pages: dict[str, tuple[int, bool]] = {}  # page -> time of its last message, whether it is seen

    def heard(self, page: str, *, now_ms: int, seen: bool = True) -> None:
        """Note that a page shows the view, and whether the view is in sight there."""
        self._pages[page], self._heard_ms = (now_ms, seen), now_ms
        self._forget(now_ms)

    def left(self, page: str, *, now_ms: int) -> None:
        """Note that a page no longer shows the view."""
        self._pages.pop(page, None)
        self._left_ms = now_ms
        self._forget(now_ms)

    def _forget(self, now_ms: int) -> None:
        """Forget silent pages while others answer: one that is reloaded cannot always report that it left."""
        self._pages = {p: told for p, told in self._pages.items() if now_ms - told[0] < SILENT_MS}

    def sent(self, seq: int, *, now_ms: int) -> None:
        """Note that update ``seq`` was sent."""
        self._sent_ms[seq] = now_ms
        self._last_ms = now_ms

    def answered(self, seq: int, *, now_ms: int) -> None:
        """Note that the page has update ``seq`` and all before it."""
        self._sent_ms = {s: t for s, t in self._sent_ms.items() if s > seq}
        self._heard_ms = now_ms

    @property
    def unanswered(self) -> int:
        """The number of updates without an answer."""
        return len(self._sent_ms)

    @property
    def is_seen(self) -> bool:
        """Return whether the view is in sight on any page."""
        return any(seen for _, seen in self._pages.values())

    def wanted(self, *, now_ms: int) -> bool:
        """Return whether there is a page to send to: one that spoke after the last that left, or may yet."""
        awaited = now_ms - self._left_ms < SILENT_MS
        is_shown = any(told_ms >= self._left_ms or awaited for told_ms, _ in self._pages.values())
        return is_shown and now_ms - self._heard_ms < GONE_MS

    def may_send(self, *, now_ms: int) -> bool:
        """Return whether the next update may be sent now."""
        if not self.wanted(now_ms=now_ms):
            return False
        is_slow = now_ms - self._heard_ms >= QUIET_MS or not self.is_seen
        period_ms = SLOW_PERIOD_MS if is_slow else PERIOD_MS
        if now_ms // period_ms == self._last_ms // period_ms:
            return False
        self._sent_ms = {s: t for s, t in self._sent_ms.items() if now_ms - t < ANSWER_MS}
        return len(self._sent_ms) < UNANSWERED_MAX
