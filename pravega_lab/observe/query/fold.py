"""`BatchHistory`: micro-batches over time, a pure fold of a journal.

A row is one *attempt* of a batch. A batch that was planned, cut off by a kill, and done by the next run of
the query has two rows, the second of them replayed. What no observation says stays ``None``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from pravega_lab.observe.journal.observations import (
    BatchDone,
    BatchPhase,
    BatchPlanned,
    Observation,
    QueryEnded,
    QueryStarted,
)

# The names of phases, in the order in which a batch goes through them.
PHASES = ("plan", "offsets", "read", "process", "work", "prepare", "decision", "commit", "log")


@dataclass(frozen=True, slots=True)
class Phase:
    """Describes a phase of an attempt, from ``start_ms`` on."""

    name: str
    start_ms: int
    end_ms: int
    how: str


@dataclass(slots=True)
class BatchRow:
    """An attempt of a micro-batch. ``end_ms`` is ``None`` while it runs; ``outcome`` says how it ended."""

    index: int
    query: str
    batch_id: int
    attempt: int
    run: int
    start_ms: int
    end_ms: int | None = None
    outcome: str = "running"  # running, done, failed, killed, gone
    replayed: bool | None = None
    phases: list[Phase] = field(default_factory=list)
    done: BatchDone | None = None

    @property
    def duration_ms(self) -> int | None:
        """Return how long it took, None while it runs."""
        return None if self.end_ms is None else self.end_ms - self.start_ms


class BatchHistory:
    """All attempts of all batches, in order of their start, with the runs of the query."""

    def __init__(self) -> None:
        self.rows: list[BatchRow] = []
        self.starts: list[QueryStarted] = []
        self.ends: list[QueryEnded] = []
        self.start_ms: int | None = None
        self.now_ms: int | None = None
        self.changed: dict[int, None] = {}
        self._last: dict[tuple[str, int], BatchRow] = {}

    def apply(self, observation: Observation) -> None:
        """Take the next observation. Kinds that do not concern batches only move ``now_ms``."""
        handler = _HANDLERS.get(type(observation))
        if handler is not None:
            start = self._started(observation)
            self.start_ms = start if self.start_ms is None else min(self.start_ms, start)
        if self.start_ms is not None:
            self.now_ms = max(self.now_ms or 0, observation.time_ms)
        if handler is not None:
            handler(self, observation)

    def _started(self, o: Observation) -> int:
        return o.time_ms - (o.duration_ms or 0) if isinstance(o, BatchDone) else o.time_ms

    @property
    def replays(self) -> list[BatchRow]:
        """Return the attempts that repeated a batch."""
        return [r for r in self.rows if r.replayed]

    def _row(self, query: str, batch_id: int, run: int, start_ms: int) -> BatchRow:
        """Return the row of this attempt: a new row if this run of the query has none for the batch yet."""
        last = self._last.get((query, batch_id))
        if last is None or last.run != run:
            attempt = 1 if last is None else last.attempt + 1
            row = BatchRow(len(self.rows), query, batch_id, attempt, run, start_ms)
            row.replayed = True if attempt > 1 else None
            self.rows.append(row)
            self._last[(query, batch_id)] = last = row
        last.start_ms = min(last.start_ms, start_ms)
        self.changed[last.index] = None
        return last

    def _planned(self, o: BatchPlanned) -> None:
        row = self._row(o.query, o.batch_id, o.run, o.time_ms)
        for end in self.ends[-4:]:  # reported only after its run had ended
            if (end.query, end.run) == (o.query, o.run) and row.end_ms is None:
                row.end_ms, row.outcome = max(end.time_ms, o.time_ms), end.outcome

    def _phase(self, o: BatchPhase) -> None:
        row = self._row(o.query, o.batch_id, o.run, o.time_ms)
        row.phases.append(Phase(o.phase, o.time_ms, o.time_ms + o.duration_ms, o.how))

    def _done(self, o: BatchDone) -> None:
        row = self._row(o.query, o.batch_id, o.run, self._started(o))
        row.end_ms, row.outcome, row.done = o.time_ms, "done", o
        if row.replayed is None:
            row.replayed = o.replayed

    def _query_started(self, o: QueryStarted) -> None:
        self._cut_off(o.query, o.time_ms, "gone", before_run=o.run)
        self.starts.append(o)

    def _query_ended(self, o: QueryEnded) -> None:
        self._cut_off(o.query, o.time_ms, o.outcome, before_run=o.run + 1)
        self.ends.append(o)

    def _cut_off(self, query: str, time_ms: int, outcome: str, *, before_run: int) -> None:
        """Mark batches of earlier runs that never ended: they were cut off when their run ended."""
        for row in reversed(self.rows[-64:]):
            if row.query == query and row.end_ms is None and row.run < before_run:
                row.end_ms, row.outcome = time_ms, outcome
                self.changed[row.index] = None


_HANDLERS: dict[type[Observation], Callable[[Any, Any], None]] = {
    BatchPlanned: BatchHistory._planned,
    BatchPhase: BatchHistory._phase,
    BatchDone: BatchHistory._done,
    QueryStarted: BatchHistory._query_started,
    QueryEnded: BatchHistory._query_ended,
}


def fold_batches(observations: Iterable[Observation]) -> BatchHistory:
    """Return the history of all micro-batches in the observations."""
    history = BatchHistory()
    for observation in observations:
        history.apply(observation)
    return history
