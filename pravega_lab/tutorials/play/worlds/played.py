"""`Played`: what a run of the page has when it is over. The worlds derive from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pravega_lab.observe.explain import explain
from pravega_lab.observe.journal.gap import Gap
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import Observation
from pravega_lab.observe.ledger.fold import sentence
from pravega_lab.observe.ledger.observations import Acted, LedgerCounted

if TYPE_CHECKING:
    from pravega_lab.tutorials.play.spec import Act
    from pravega_lab.widgets.drawings.drawing import Drawing
    from pravega_lab.widgets.live.view import View

EXACT, WRONG, OPEN = "exact", "wrong", "open"
CLOCK = "page"
NOT_DONE = "not done: "
NOT_AT_END = "not at its end"


@dataclass
class Played:
    """The result of a run.

    Args:
        journals: What was observed, for views and sentences.
        verdict: The ledger's sentence at the end.
        first: The first offending event, in words, or "".
        problems: What kept the run from its end, or what a checker complained of.
        zero_ms: The time in the journals that is second 0 of the acts.
        targets: What acts may name, by the name in `Verb.targets`.
        steps: The number of steps of the event loop.
        virtual_s: The length of the run in virtual seconds.
        too_late: The acts that came after its end.
    """

    journals: list[Journal] = field(default_factory=list)
    verdict: str = ""
    first: str = ""
    problems: list[str] = field(default_factory=list)
    zero_ms: int = 0
    targets: dict[str, list[str]] = field(default_factory=dict)
    steps: int = 0
    virtual_s: float = 0.0
    too_late: list[Act] = field(default_factory=list)

    @property
    def standing(self) -> str:
        """Return ``exact``, ``wrong``, or ``open`` where not all is known."""
        return EXACT if self.verdict == "exact" and not self.problems else self._standing_of(self.verdict)

    @property
    def said(self) -> str:
        """Return the verdict in words, which calls no run exact that has problems."""
        return NOT_AT_END if self.verdict == EXACT and self.problems else self.verdict

    def _standing_of(self, said: str) -> str:
        known_wrong = any(word in said for word in ("lost", "doubled", "out of order", "never written"))
        return WRONG if known_wrong or self.problems else OPEN

    def not_done(self) -> list[str]:
        """Return why acts of the run were not done, a line for each."""
        noted = [o for journal in self.journals for o in journal.since() if isinstance(o, Acted)]
        over = f"the run ended at second {self.virtual_s:.1f}"
        return [
            *(o.text for o in noted if o.text.startswith(NOT_DONE)),
            *(f"{NOT_DONE}{act.text} at second {act.at_s:g}: {over}" for act in self.too_late),
        ]

    def views(self) -> list[View]:
        """Return the views of the run, on the clock of the page."""
        return []

    def drawings(self) -> list[Drawing]:
        """Return the pictures of a run that has no views."""
        return []

    def at(self, at_ms: float) -> tuple[str, list[str]]:
        """Return the verdict and the sentences of `explain` as of a moment of the journals."""
        said: list[str] = []
        for journal in self.journals:
            said += [line for line in explain(_Until(journal, at_ms)) if line not in said]
        return self._verdict_at(at_ms), [line for line in said if line != "Nothing was observed yet."]

    def _verdict_at(self, at_ms: float) -> str:
        counted = [o for journal in self.journals for o in journal.since() if isinstance(o, LedgerCounted)]
        until = [o for o in counted if o.time_ms <= at_ms]
        return sentence(until[-1]) if until else ""

    def journal_lines(self) -> str:
        """Return the journals as JSON lines, one after another; each is what `Journal.load` opens."""
        return "".join(_lines_of(journal) for journal in self.journals)


def _lines_of(journal: Journal) -> str:
    with TemporaryDirectory() as folder:
        return journal.save(Path(folder) / "run.jsonl").read_text(encoding="utf-8")


class _Until:
    """A journal up to a moment, for `explain`."""

    def __init__(self, journal: Journal, until_ms: float) -> None:
        self._journal = journal
        self.until_ms: int | None = int(until_ms)

    @property
    def gap(self) -> Gap:
        return self._journal.gap

    def outline(self) -> Iterator[Observation]:
        until_ms = self.until_ms or 0
        return (o for o in self._journal.outline(until_ms) if o.time_ms <= until_ms)


def numbered_views(views: Sequence[View]) -> list[View]:
    """Return views that share the clock of the page. The first of each journal sends its moments."""
    numbers: dict[int, int] = {}
    for view in views:
        view.tells_steps = id(view.journal) not in numbers
        number = numbers.setdefault(id(view.journal), len(numbers))
        view._settings = {**view._settings, "clock": CLOCK, "journal": number}
    return list(views)
