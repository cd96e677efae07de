"""The clock of a page, from Python: pause, seek, step, play, jump. It moves all views that share it.

What a person does on the page comes back here: ``clock.at_s`` is what they see, when a page shows it.
"""

from __future__ import annotations

import time
import weakref
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pravega_lab.errors import BadInputError
from pravega_lab.observe.moments import KINDS, Moment, is_of, moments

if TYPE_CHECKING:
    import pandas as pd

    from pravega_lab.observe.journal import Journal
    from pravega_lab.widgets.view import View

SAME_MS = 2_000  # the same words of two journals within this time are about the same; as in common.js
SPEEDS = (0.25, 1, 4, 16, 64)
_clocks: weakref.WeakValueDictionary[str, Clock] = weakref.WeakValueDictionary()


class Clock:
    """Time of one or several views. Seconds count from the start of what they show.

    A live view whose clock is not paused follows the newest, and so does every recording at first.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.speed = 1.0
        self.pinned: dict[str, Any] | None = None  # the mark that is pinned on the page
        self._views: weakref.WeakSet[View] = weakref.WeakSet()
        self._at_ms: float | None = None
        self._playing_since: float | None = None  # our clock when the page last told, while it plays
        self._commanded: dict[str, Any] | None = None
        self._listeners: list[Callable[[], None]] = []

    # Where it is.

    @property
    def at_s(self) -> float | None:
        """Seconds since the start; None while it follows the newest."""
        at_ms, start_ms = self._at_ms, self.start_ms
        if at_ms is None or start_ms is None:
            return None
        if self._playing_since is not None:
            at_ms += 1000 * self.speed * (time.monotonic() - self._playing_since)
            at_ms = min(at_ms, self._newest_ms())
        return (at_ms - start_ms) / 1000

    @property
    def now_s(self) -> float:
        """Seconds since the start of what is shown: `at_s`, or the newest."""
        at_s = self.at_s
        return self.end_s if at_s is None else at_s

    @property
    def end_s(self) -> float:
        """The newest, in seconds since the start."""
        return (self._newest_ms() - (self.start_ms or 0)) / 1000

    @property
    def start_ms(self) -> int | None:
        """When second 0 was, in ms; None while nothing is shown."""
        return min((span[0] for span in self._spans()), default=None)

    @property
    def playing(self) -> bool:
        return self._playing_since is not None

    @property
    def live(self) -> bool:
        """Can there be more?"""
        return any(journal.live for journal in self.journals)

    @property
    def journals(self) -> list[Journal]:
        """Of all views on this clock."""
        return list(dict.fromkeys(view.journal for view in self._views))

    def moments(self) -> pd.DataFrame:
        """What one can jump to: t_s, kind (split, merge, checkpoint, failure, done here), text, has_cut."""
        import pandas as pd

        start_ms = self.start_ms or 0
        rows = [((m.time_ms - start_ms) / 1000, m.kind, m.text, m.has_cut) for m in self._moments()]
        return pd.DataFrame(rows, columns=["t_s", "kind", "text", "has_cut"])

    # Moving it.

    def seek(self, t_s: float) -> None:
        """Go to a moment and stay there. Before the start or behind the newest: to these."""
        self._seek_ms(self._start() + 1000 * float(t_s))

    def pause(self) -> None:
        """Stay where it is, also when more comes."""
        self._seek_ms(self._start() + 1000 * self.now_s)

    def follow(self) -> None:
        """Show the newest, and what comes."""
        self._at_ms = self._playing_since = None
        self._command({"at_ms": None})

    def play(self, speed: float = 1.0) -> None:
        """Replay from where it is (from the start when it is at the end), so many times as fast.

        Raises:
            BadInputError: A speed that is not above 0.
        """
        if not speed > 0:
            raise BadInputError(f"play(speed={speed!r}): give a number above 0, such as one of {SPEEDS}")
        at_ms = self._start() + 1000 * self.now_s
        self._at_ms = float(self._start()) if at_ms >= self._newest_ms() else at_ms
        self.speed, self._playing_since = float(speed), time.monotonic()
        self._command({"at_ms": self._at_ms, "playing": True, "speed": self.speed})

    def step(self, n: int = 1) -> None:
        """To the next observation, or ``n`` on, or back when it is negative."""
        at_ms = self._start() + 1000 * self.now_s
        times = sorted({o.time_ms for journal in self.journals for o in journal.since()})
        place = bisect_right(times, at_ms) + n - 1 if n > 0 else bisect_left(times, at_ms) + n
        if n and times:
            self._seek_ms(times[max(0, min(place, len(times) - 1))])

    def next(self, kind: str | None = None) -> Moment | None:
        """To the next moment, of a kind if one is given; returns it, or None where there is none.

        Args:
            kind: ``split`` (merges too), ``checkpoint``, ``failure`` or ``done here``.
        """
        return self._jump(kind, forward=True)

    def previous(self, kind: str | None = None) -> Moment | None:
        """To the moment before; see `next`."""
        return self._jump(kind, forward=False)

    def _jump(self, kind: str | None, *, forward: bool) -> Moment | None:
        if kind is not None and kind not in KINDS:
            raise BadInputError(f"there are no moments of kind {kind!r}; there are {', '.join(KINDS)}")
        at_ms = self._start() + 1000 * self.now_s
        wanted = [m for m in self._moments() if is_of(m, kind)]
        found = [m for m in wanted if (m.time_ms > at_ms + 0.5 if forward else m.time_ms < at_ms - 0.5)]
        if not found:
            return None
        moment = found[0] if forward else found[-1]
        self._seek_ms(moment.time_ms)
        return moment

    # With the page.

    def join(self, view: View) -> None:
        """This view follows the clock."""
        self._views.add(view)

    def leave(self, view: View) -> None:
        """It follows another one."""
        self._views.discard(view)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call this, in whatever thread, when the time or what is pinned has changed."""
        self._listeners.append(listener)

    def said(self, content: dict[str, Any]) -> None:
        """A page told where its clock is now."""
        self._at_ms = content.get("at_ms")
        self.speed = float(content.get("speed", self.speed))
        self._playing_since = time.monotonic() if content.get("playing") else None
        self.pinned = content.get("pin")
        self._commanded = None
        self._changed()

    def greet(self, view: View) -> None:
        """A page has just opened: it is told what Python asked for, or where the page before it was."""
        where = self._commanded
        if where is None and self._at_ms is not None:
            where = {"at_ms": self._at_ms, "playing": self.playing, "speed": self.speed}
        if where is not None:
            view.send({"kind": "clock", **where})

    def _command(self, content: dict[str, Any]) -> None:
        self._commanded = {"playing": False, "speed": self.speed, **content}
        for view in sorted(self._views, key=lambda v: v._settings["me"])[:1]:
            view.send({"kind": "clock", **self._commanded})
        self._changed()

    def _changed(self) -> None:
        for listener in self._listeners:
            listener()

    def _seek_ms(self, at_ms: float) -> None:
        self._at_ms = max(float(self._start()), min(at_ms, float(self._newest_ms())))
        self._playing_since = None
        self._command({"at_ms": self._at_ms})

    def _start(self) -> int:
        start_ms = self.start_ms
        if start_ms is None:
            raise BadInputError("there is nothing to move in yet: the journal is empty")
        return start_ms

    def _spans(self) -> list[tuple[int, int]]:
        return [span for span in (view.span_ms for view in self._views) if span is not None]

    def _newest_ms(self) -> int:
        return max((span[1] for span in self._spans()), default=0)

    def _moments(self) -> list[Moment]:
        found = [m for journal in self.journals for m in moments(journal.since())]
        told: dict[tuple[str, str], int] = {}
        kept = []
        for m in sorted(found, key=lambda m: (m.time_ms, m.seq)):  # two journals may tell of the same
            if m.time_ms - told.get((m.kind, m.text), -SAME_MS) >= SAME_MS:
                kept.append(m)
            told[m.kind, m.text] = m.time_ms
        return kept

    def __repr__(self) -> str:
        at_s = self.at_s
        where = "following" if at_s is None else f"{at_s:.2f} s"
        return f"Clock({where} of {self.end_s:.2f} s)"


def clock_named(name: str) -> Clock:
    """The clock of this name, of all views that share it."""
    clock = _clocks.get(name)
    if clock is None:
        clock = _clocks[name] = Clock(name)
    return clock
