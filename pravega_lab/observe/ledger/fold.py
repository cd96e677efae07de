"""`LedgerHistory`: what a ledger's view shows: counts over time, faults with their effects, the first
offending events.

It is a pure fold of a journal. Faults are those that a control of ours caused, and also failures that other
observers saw.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from pravega_lab.observe.group.observations import ReaderLeft
from pravega_lab.observe.journal.observations import Observation, QueryEnded
from pravega_lab.observe.ledger.observations import Acted, LedgerCounted, LedgerOffended

COUNTS_MAX = 20_000
WRONGS = (
    ("lost", "lost"),
    ("doubled", "doubled"),
    ("out_of_order", "out of order"),
    ("strange", "never written"),
)
DIED = ("killed", "failed", "gone")
_TIME = attrgetter("time_ms")


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: when, what, and how that is known; the counts before it, and which count they are."""

    time_ms: int
    text: str
    kind: str
    before: LedgerCounted | None = None
    row: int = -1


class LedgerHistory:
    """The counts of one ledger: of the first one in the journal, unless a name is given."""

    def __init__(self) -> None:
        self.ledger: str | None = None
        self.counts: list[LedgerCounted] = []
        self.counts_dropped = 0
        self.faults: list[Fault] = []
        self.offences: list[LedgerOffended] = []
        self.start_ms: int | None = None
        self.now_ms: int | None = None
        self.changed: dict[int, None] = {}

    def apply(self, observation: Observation) -> None:
        """Take the next observation. Kinds that do not concern a ledger only move ``now_ms``."""
        handler = _HANDLERS.get(type(observation))
        if self.start_ms is None and handler is not None:
            self.start_ms = observation.time_ms
        if self.start_ms is not None:
            self.start_ms = min(self.start_ms, observation.time_ms) if handler else self.start_ms
            self.now_ms = max(self.now_ms or 0, observation.time_ms)
        if handler is not None:
            handler(self, observation)

    def at(self, time_ms: int) -> LedgerCounted | None:
        """Return the newest counts at a moment."""
        place = bisect_right(self.counts, time_ms, key=_TIME)
        return self.counts[place - 1] if place else None

    @property
    def now(self) -> LedgerCounted | None:
        """Return the newest counts."""
        return self.counts[-1] if self.counts else None

    @property
    def before_the_fault(self) -> LedgerCounted | None:
        """Return the counts at the last fault."""
        return self.faults[-1].before if self.faults else None

    def effect(self, place: int) -> str:
        """Return what went wrong from a fault to the next one, or to now."""
        later = self.faults[place + 1].before if place + 1 < len(self.faults) else self.now
        return effect(self.faults[place].before, later)

    def _broke(self, o: Observation, text: str, kind: str) -> None:
        row = self.counts_dropped + len(self.counts) - 1
        self.faults.append(Fault(o.time_ms, text, kind, self.now, row))

    def _counted(self, o: LedgerCounted) -> None:
        self.ledger = self.ledger or o.ledger
        if o.ledger != self.ledger:
            return
        if len(self.counts) >= COUNTS_MAX:
            del self.counts[: COUNTS_MAX // 4]
            self.counts_dropped += COUNTS_MAX // 4
        self.counts.append(o)

    def _offended(self, o: LedgerOffended) -> None:
        if self.ledger in (None, o.ledger):
            self.offences.append(o)

    def _acted(self, o: Acted) -> None:
        if o.is_fault:
            self._broke(o, o.text, o.cause_kind)

    def _query_ended(self, o: QueryEnded) -> None:
        if o.outcome in DIED:
            self._broke(o, f"query {o.query} {o.outcome}", o.cause_kind)

    def _reader_left(self, o: ReaderLeft) -> None:
        text = f"reader {o.reader} killed"
        if o.was_killed and not any(fault.text == text for fault in self.faults):
            self._broke(o, text, o.cause_kind)


_HANDLERS: dict[type[Observation], Callable[[Any, Any], None]] = {
    LedgerCounted: LedgerHistory._counted,
    LedgerOffended: LedgerHistory._offended,
    Acted: LedgerHistory._acted,
    QueryEnded: LedgerHistory._query_ended,
    ReaderLeft: LedgerHistory._reader_left,
}


def sentence(counted: LedgerCounted | None) -> str:
    """Return the verdict in words. It says ``exact`` only if everything is known and nothing is wrong."""
    if counted is None or not any((counted.written, counted.read, counted.committed)):
        return "nothing counted yet"
    parts = [f"{n:,} {word}" for name, word in WRONGS if (n := getattr(counted, name))]
    if counted.late:
        parts.append(f"{counted.late:,} late")
    if counted.lost is None and counted.judged:
        parts.append("what was lost is not known: nobody witnessed what was written")
    elif counted.unknown:
        parts.append(f"{counted.unknown:,} not yet known")
    return ", ".join(parts) or ("exact" if counted.judged else "nothing written yet")


def effect(before: LedgerCounted | None, after: LedgerCounted | None) -> str:
    """Return what went wrong between two counts: ``37 doubled``, or ``nothing yet``."""
    if after is None:
        return "nothing counted yet"
    parts = []
    for name, word in WRONGS:
        more = (getattr(after, name) or 0) - (getattr(before, name, None) or 0)
        if more > 0:
            parts.append(f"{more:,} {word}")
    if after.unknown and not parts:
        return f"none so far; {after.unknown:,} not yet known"
    return ", ".join(parts) or "none"


def fold_ledger(observations: Any, ledger: str | None = None) -> LedgerHistory:
    """Return the history of a ledger."""
    history = LedgerHistory()
    history.ledger = ledger
    for observation in observations:
        history.apply(observation)
    return history
