"""The exactly-once ledger: a sentence, what was written, read and committed, and the effects of faults."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, ClassVar

from pravega_lab.observe.journal.observations import Observation
from pravega_lab.observe.ledger.fold import LedgerHistory, sentence
from pravega_lab.observe.ledger.observations import COLUMNS, LedgerCounted, LedgerOffended

from ..live.payload import pack
from ..live.view import View

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

# model.ts declares the same format.
COUNT = Struct("<f11I")  # t_s, then NUMBERS
NUMBERS = (*COLUMNS, "lost", "doubled", "out_of_order", "strange", "unknown", "in_flight", "late")
NOT_KNOWN = 0xFFFFFFFF
ROWS = (*COLUMNS, "lost", "doubled", "out_of_order", "strange", "late", "in_flight", "unknown")
WORDS = {
    "out_of_order": "out of order",
    "strange": "never written",
    "in_flight": "in flight",
    "unknown": "not yet known",
}


class LedgerView(View):
    """Shows what a `Ledger` counted: a sentence, a table, a row per fault, the first offending events.

    Args:
        journal: A `Ledger`, a `Journal`, or an observer.
        ledger: Which ledger of the journal; by default the first in it.
        title, scale, clock: As for every `View`.

    ``.frame``: a row per count (written, acknowledged, read, committed, lost, doubled, out_of_order, strange,
    late, in_flight, unknown) with columns before_the_fault, now, difference (numbers of distinct events; null
    is *not known*, and without a fault nothing was before it) and witness. ``.faults``: t_s, fault, effect.
    """

    script = "ledger"
    history: ClassVar[Any] = LedgerHistory

    def __init__(self, journal: Any, *, ledger: str | None = None, **more: Any) -> None:
        ours = getattr(journal, "shows", ()) == ("ledgers",)
        self.ledger: str | None = ledger or (journal.name if ours else None)
        self._sent_counts = self._sent_faults = self._sent_offences = self._first_row = 0
        super().__init__(journal, **more)

    def _wants(self, observation: Observation) -> bool:
        if isinstance(observation, LedgerCounted | LedgerOffended):
            self.ledger = self.ledger or observation.ledger
            return observation.ledger == self.ledger
        return True

    # Rows for the page.

    def _pack(self, *, everything: bool) -> tuple[dict[str, bytes], dict[str, list[Any]]]:
        history: LedgerHistory = self._history
        if everything:
            self._sent_counts = self._sent_faults = self._sent_offences = 0
            self._first_row = history.counts_dropped
        start_ms = history.start_ms or 0
        counts = history.counts[max(0, self._sent_counts - history.counts_dropped) :]
        faults, offences = history.faults[self._sent_faults :], history.offences[self._sent_offences :]
        self._sent_counts = history.counts_dropped + len(history.counts)
        self._sent_faults, self._sent_offences = len(history.faults), len(history.offences)
        return {"counts": pack(COUNT, (_count_row(c, start_ms) for c in counts))}, {
            "faults": [
                [(f.time_ms - start_ms) / 1000, f.text, f.kind, f.row - self._first_row] for f in faults
            ],
            "offences": [_offence(o, start_ms) for o in offences],
        }

    def _facts(self) -> dict[str, Any]:
        history: LedgerHistory = self._history
        now = history.now
        return {
            "ledger": self.ledger or "",
            "title": self.title
            or (": ".join(filter(None, (self.ledger, self._observed))) if self.ledger else "no ledger yet"),
            "witnesses": list(now.witnesses) if now else [""] * len(COLUMNS),
            "judged": now.judged if now else "",
            "empty": ["Nothing counted yet: give the ledger what you write and what you read.", _EMPTY_CODE],
        }

    # Table, words and pictures.

    def _frame_of(self, history: LedgerHistory) -> pd.DataFrame:
        from pravega_lab.portable.frames import pd

        before, now = history.before_the_fault, history.now
        rows = []
        for name in ROWS:
            was, is_ = getattr(before, name, None), getattr(now, name, None)
            more = None if was is None or is_ is None else is_ - was
            witness = now.witnesses[COLUMNS.index(name)] or "nobody" if now and name in COLUMNS else ""
            rows.append((WORDS.get(name, name), was, is_, more, witness))
        frame = pd.DataFrame(rows, columns=["count", "before_the_fault", "now", "difference", "witness"])
        return frame.astype(dict.fromkeys(("before_the_fault", "now", "difference"), "Int64")).set_index(
            "count"
        )

    @property
    def faults(self) -> pd.DataFrame:
        """Return a row per fault: t_s, fault, effect."""
        from pravega_lab.portable.frames import pd

        with self._lock:
            history: LedgerHistory = self._catch_up()
            start_ms = history.start_ms or 0
            rows = [
                ((f.time_ms - start_ms) / 1000, f.text, history.effect(k))
                for k, f in enumerate(history.faults)
            ]
            return pd.DataFrame(rows, columns=["t_s", "fault", "effect"])

    def _summary(self) -> str:
        return f"{self.ledger!r}, {sentence(self._history.now)}, recording"

    def _rectangles(self) -> int:
        return 0

    def _svg(self) -> str:
        from .picture import ledger_svg

        return ledger_svg(self._history, self._facts(), str(self.journal.gap), self._span_ms)

    def figure(self) -> Figure:
        """Return the counts over time as a plotly figure, with faults as lines."""
        from .picture import ledger_figure

        with self._lock:
            return ledger_figure(self._catch_up(), self._facts())


_EMPTY_CODE = """ledger = lab.ledger(stream)
ledger.written([1, 2, 3], keys=["a", "b", "a"])"""


def _count_row(counted: LedgerCounted, start_ms: int) -> tuple[float, ...]:
    values = (getattr(counted, name) for name in NUMBERS)
    return (counted.time_ms - start_ms) / 1000, *(
        NOT_KNOWN if v is None else min(v, NOT_KNOWN - 1) for v in values
    )


def _offence(o: LedgerOffended, start_ms: int) -> list[Any]:
    """[t_s told, what, column, event, key], then t_s and place of writing, reading, first reading."""

    def seconds(time_ms: int | None) -> float | None:
        return None if time_ms is None else (time_ms - start_ms) / 1000

    written, read = (seconds(o.written_ms), o.written_where), (seconds(o.read_ms), o.read_where)
    first = (seconds(o.first_ms), o.first_where)
    return [(o.time_ms - start_ms) / 1000, o.what, o.column, o.event, o.key, *written, *read, *first]
