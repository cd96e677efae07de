"""What the scrubber needs of a journal, whatever view shows it: times of observations, and moments.

The first view of each journal on a page sends it; the clock of the page keeps it for all views.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.landmarks import Moment, moment_of

STEP = Struct(
    "<fI"
)  # t_s, seq of the last observation of that millisecond; the same format in the page's clock.ts
STEPS_MAX = 50_000
MOMENTS_MAX = 10_000  # sent to a new page, which sorts and paints them


class ScrubberFacts:
    """Follows a journal and returns what is new since the last question."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._read_to = 0
        self._steps: dict[int, int] = {}  # time_ms -> seq
        self._moments: list[Moment] = []
        self._new_steps: dict[int, int] = {}
        self._sent_moments = 0

    def _catch_up(self) -> None:
        for observation in self._journal.since(self._read_to, all_samples=False):
            self._read_to = observation.seq + 1
            self._steps[observation.time_ms] = self._new_steps[observation.time_ms] = observation.seq
            moment = moment_of(observation)
            if moment is not None:
                self._moments.append(moment)
        if len(self._steps) > STEPS_MAX * 5 // 4:
            self._steps = dict(list(self._steps.items())[-STEPS_MAX:])

    def tell(self, start_ms: int, *, everything: bool) -> tuple[bytes, list[list[Any]]]:
        """Return rows of `STEP`, and moments as [t_s, kind, text, 1 if a fork can begin there]."""
        self._catch_up()
        steps = self._steps if everything else self._new_steps
        first = max(0 if everything else self._sent_moments, len(self._moments) - MOMENTS_MAX)
        rows = b"".join(STEP.pack((t - start_ms) / 1000, seq) for t, seq in steps.items())
        told = [
            [(m.time_ms - start_ms) / 1000, m.kind, m.text, int(m.has_cut)] for m in self._moments[first:]
        ]
        self._new_steps, self._sent_moments = {}, len(self._moments)
        return rows, told

    @property
    def last_seq(self) -> int:
        """The sequence number of the last observation that was returned; -1 before the first."""
        return self._read_to - 1
