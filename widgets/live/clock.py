"""The clock of a page, from Python: pause, seek, step, play, jump. It moves all views that share it.

What a person does on the page arrives here too: ``clock.at_s`` is the moment that the page shows.
"""

from __future__ import annotations

import time
import weakref
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, Protocol

from pravega_lab.errors import BadInputError
from pravega_lab.observe.landmarks import KINDS, Moment, is_of, moments

if TYPE_CHECKING:
    import pandas as pd

    from pravega_lab.observe.journal.journal import Journal

SAME_MS = 2_000  # equal texts of two journals within this time mean one event; as in the page's moments.ts
SPEEDS = (0.25, 1, 4, 16, 64)
_clocks: weakref.WeakValueDictionary[str, Clock] = weakref.WeakValueDictionary()


class Follower(Protocol):
    """A view, as far as its clock knows it."""

    journal: Journal

    @property
    def page_id(self) -> str:
        """The name of the view on the page. The first in order receives the commands of the clock."""

    @property
    def span_ms(self) -> tuple[int, int] | None:
        """First and last moment that the view shows; None while it is empty."""

    def send(self, content: dict[str, Any]) -> None:
        """Send a message to the page."""


class Clock:
    """Holds the time of one or several views. Seconds count from the start of what the views show.

    A live view follows the newest observation until its clock is paused. A recording does so until it is
    moved.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.speed = 1.0
        self.pinned: dict[str, Any] | None = None  # the mark that is pinned on the page
        self._views: weakref.WeakSet[Follower] = weakref.WeakSet()
        self._at_ms: float | None = None
        self._playing_since: float | None = (
            None  # this process's clock at the last report of a page that plays
        )
        self._commanded: dict[str, Any] | None = None

    # What is shown.

    @property
    def at_s(self) -> float | None:
        """Seconds since the start; None while the clock follows the newest observation."""
        at_ms, start_ms = self._at_ms, self.start_ms
        if at_ms is None or start_ms is None:
            return None
        if self._playing_since is not None:
            at_ms += 1000 * self.speed * (time.monotonic() - self._playing_since)
            at_ms = min(at_ms, self._newest_ms())
        return (at_ms - start_ms) / 1000

    @property
    def now_s(self) -> float:
        """Seconds since the start of the moment that is shown: `at_s`, or the newest observation."""
        at_s = self.at_s
        return self.end_s if at_s is None else at_s

    @property
    def end_s(self) -> float:
        """Seconds from the start to the newest observation."""
        return (self._newest_ms() - (self.start_ms or 0)) / 1000

    @property
    def start_ms(self) -> int | None:
        """The wall-clock time of second 0, in milliseconds; None while nothing is shown."""
        return min((span[0] for span in self._spans()), default=None)

    @property
    def playing(self) -> bool:
        """Whether the clock replays."""
        return self._playing_since is not None

    @property
    def live(self) -> bool:
        """Whether more observations can come."""
        return any(journal.live for journal in self.journals)

    @property
    def journals(self) -> list[Journal]:
        """The journals of all views on this clock, each once."""
        return list(dict.fromkeys(view.journal for view in self._views))

    def moments(self) -> pd.DataFrame:
        """Return the moments that one can jump to, in columns t_s, kind, text and has_cut.

        Kinds are split, merge, checkpoint, failure and done here.
        """
        from pravega_lab.portable.frames import pd

        start_ms = self.start_ms or 0
        rows = [((m.time_ms - start_ms) / 1000, m.kind, m.text, m.has_cut) for m in self._moments()]
        return pd.DataFrame(rows, columns=["t_s", "kind", "text", "has_cut"])

    # Moving it.

    def seek(self, t_s: float) -> None:
        """Go to a moment and stay there. A moment outside of what is shown means its start or its end."""
        self._seek_ms(self._start() + 1000 * float(t_s))

    def pause(self) -> None:
        """Stay at the moment that is shown, also when more observations come."""
        self._seek_ms(self._start() + 1000 * self.now_s)

    def follow(self) -> None:
        """Show the newest observation, and each new one as it comes."""
        self._at_ms = self._playing_since = None
        self._command({"at_ms": None})

    def play(self, speed: float = 1.0) -> None:
        """Replay from the moment that is shown, ``speed`` times as fast; from the start when it is the end.

        Raises:
            BadInputError: The speed is not above 0.
        """
        if not speed > 0:
            raise BadInputError(f"play(speed={speed!r}): give a number above 0, such as one of {SPEEDS}")
        at_ms = self._start() + 1000 * self.now_s
        self._at_ms = float(self._start()) if at_ms >= self._newest_ms() else at_ms
        self.speed, self._playing_since = float(speed), time.monotonic()
        self._command({"at_ms": self._at_ms, "playing": True, "speed": self.speed})

    def step(self, n: int = 1) -> None:
        """Go to the next observation, ``n`` observations forward, or back when ``n`` is negative."""
        at_ms = self._start() + 1000 * self.now_s
        times = sorted({o.time_ms for journal in self.journals for o in journal.since()})
        place = bisect_right(times, at_ms) + n - 1 if n > 0 else bisect_left(times, at_ms) + n
        if n and times:
            self._seek_ms(times[max(0, min(place, len(times) - 1))])

    def next(self, kind: str | None = None) -> Moment | None:
        """Go to the next moment, of one kind if given, and return it; return None where there is none.

        Args:
            kind: ``split`` (which includes merges), ``checkpoint``, ``failure`` or ``done here``.
        """
        return self._jump(kind, forward=True)

    def previous(self, kind: str | None = None) -> Moment | None:
        """Go to the moment before and return it; see `next`."""
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

    # Exchange with the page.

    def join(self, view: Follower) -> None:
        """Let a view follow this clock."""
        self._views.add(view)

    def leave(self, view: Follower) -> None:
        """Let a view no longer follow this clock."""
        self._views.discard(view)

    def said(self, content: dict[str, Any]) -> None:
        """Take over what a page reports about its clock."""
        self._at_ms = content.get("at_ms")
        self.speed = float(content.get("speed", self.speed))
        self._playing_since = time.monotonic() if content.get("playing") else None
        self.pinned = content.get("pin")
        self._commanded = None

    def greet(self, view: Follower) -> None:
        """Send a new page the last command, or else the moment that the page before it showed."""
        where = self._commanded
        if where is None and self._at_ms is not None:
            where = {"at_ms": self._at_ms, "playing": self.playing, "speed": self.speed}
        if where is not None:
            view.send({"kind": "clock", **where})

    def _command(self, content: dict[str, Any]) -> None:
        self._commanded = {"playing": False, "speed": self.speed, **content}
        for view in sorted(self._views, key=lambda view: view.page_id)[:1]:
            view.send({"kind": "clock", **self._commanded})

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
        found = [m for journal in self.journals for m in moments(journal.since(all_samples=False))]
        told: dict[tuple[str, str], int] = {}
        kept = []
        for m in sorted(found, key=lambda m: (m.time_ms, m.seq)):  # two journals may contain the same event
            if m.time_ms - told.get((m.kind, m.text), -SAME_MS) >= SAME_MS:
                kept.append(m)
            told[m.kind, m.text] = m.time_ms
        return kept

    def __repr__(self) -> str:
        at_s = self.at_s
        where = "following" if at_s is None else f"{at_s:.2f} s"
        return f"Clock({where} of {self.end_s:.2f} s)"


def clock_named(name: str) -> Clock:
    """Return the clock of this name, which all views that name it share."""
    clock = _clocks.get(name)
    if clock is None:
        clock = _clocks[name] = Clock(name)
    return clock
