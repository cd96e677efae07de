"""`Explaining`: why a run of the page went wrong: which acts are enough, and when that became inevitable.

First, acts are left out by delta debugging, as long as the run still goes wrong in the same way. The smallest
run is then repeated up to a moment, and continues with other chances and without further acts. Such a run is
a future. The share of futures that go wrong rises at the moment that decides.

The search runs one run at a time, so that a page can show how far it is, and can stop it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise

from pravega_lab.engine.simulation.explain.page import STYLE
from pravega_lab.engine.simulation.explain.rules import rule_of
from pravega_lab.observe.ledger.observations import LedgerOffended
from pravega_lab.tutorials.play.catalogue import FORK, scenario_of
from pravega_lab.tutorials.play.commands import command_of
from pravega_lab.tutorials.play.player import play
from pravega_lab.tutorials.play.spec import Act, RunSpec
from pravega_lab.tutorials.play.steps import steps_of
from pravega_lab.tutorials.play.worlds.played import Played
from pravega_lab.widgets.drawings.drawing import Drawing
from pravega_lab.widgets.drawings.line_picture import Line, Mark, line_picture
from pravega_lab.widgets.drawings.sequence_picture import sequence_picture

WRONGS = ("lost", "doubled", "out of order", "never written")
FUTURES = 4  # of each moment
GRID = 6  # intervals into which the time up to the failure is divided at first
CLOSE_S, CLOSEST_S = 0.01, 0.002  # moments that are this close are not told apart; in a short run, closer
CLOSE_OF_RUN = 50
LIKELY = 0.75
LABEL_MAX = 44  # letters of a step in the picture
FORK_FROM = 101  # the page offers forks 1 to 9, and futures are none of them

Search = Generator[RunSpec, Played, None]


@dataclass(frozen=True, slots=True)
class Share:
    """How many of the futures that begin at a virtual second go wrong."""

    at_s: float
    failed: int
    futures: int

    @property
    def value(self) -> float:
        """The share, from 0 to 1."""
        return self.failed / self.futures

    def __str__(self) -> str:
        return f"{self.failed} of {self.futures} futures"


def failures_of(played: Played) -> list[str]:
    """Return in which ways a run went wrong, the most important first."""
    said = [word for word in WRONGS if word in played.verdict]
    return said + [rule_of(problem) for problem in played.problems]


class Explaining:
    """The search for the smallest run that goes wrong in the same way, and for the moment that decides.

    Args:
        spec: The run to explain.
        run: Runs a description. Tests pass another function.
    """

    def __init__(self, spec: RunSpec, run: Callable[[RunSpec], Played] = play) -> None:
        self.first = self.smallest = replace(spec, acts=_acts_of(spec), at_s=None)
        self.failure = ""
        self.runs = 0
        self.is_over = False
        self.at_s: float | None = None  # the moment that decides, once it is known
        self.shares: dict[float, Share] = {}
        self.played: Played | None = None  # the smallest run
        self._run = run
        self._left = 0
        self._close_s = CLOSE_S
        self._search = self._steps()
        self._next = next(self._search)

    def step(self) -> None:
        """Run one run of the search."""
        if self.is_over:
            return
        found = self._run(self._next)
        self.runs += 1
        try:
            self._next = self._search.send(found)
        except StopIteration:
            self.is_over = True

    @property
    def progress(self) -> float:
        """How far the search is, from 0 to 1."""
        return 1.0 if self.is_over else self.runs / (self.runs + max(1, self._left))

    def _steps(self) -> Search:
        self._left = 2 * len(self.first.acts or ()) + self._moments_left(GRID)
        found = yield self.first
        failures = failures_of(found)
        if not failures:
            return
        self.failure, self.played = failures[0], found
        yield from self._fewer_acts()
        if any(verb.name == FORK.name for verb in scenario_of(self.first).verbs):
            yield from self._moments()

    # -- fewer acts ----------------------------------------------------------------------------------------

    def _fewer_acts(self) -> Search:
        if (yield from self._still_fails(())):
            return
        n_chunks = 2
        while acts := self.smallest.acts or ():
            n_chunks = min(n_chunks, len(acts))
            bounds = [len(acts) * k // n_chunks for k in range(n_chunks + 1)]
            for low, high in pairwise(bounds):
                if (yield from self._still_fails((*acts[:low], *acts[high:]))):
                    n_chunks = max(2, n_chunks - 1)
                    break
            else:
                if n_chunks == len(acts):
                    return
                n_chunks *= 2

    def _still_fails(self, acts: tuple[Act, ...]) -> Generator[RunSpec, Played, bool]:
        if acts == self.smallest.acts:
            return False
        found = yield replace(self.first, acts=acts)
        if self.failure not in failures_of(found):
            return False
        self.smallest, self.played = replace(self.first, acts=acts), found
        return True

    # -- the moment that decides ---------------------------------------------------------------------------

    def _moments(self) -> Search:
        assert self.played is not None
        end_s = _failed_s(self.played)
        self._close_s = max(CLOSEST_S, min(CLOSE_S, end_s / CLOSE_OF_RUN))
        self.shares[end_s] = Share(end_s, FUTURES, FUTURES)  # it has failed
        for k in range(GRID):
            self._left = self._moments_left(GRID - k)
            yield from self._measure(round(end_s * k / GRID, 3))
            if self.shares[0.0].value >= LIKELY:
                return
        while True:
            low, high = self._steepest()
            if high - low <= self._close_s:
                self.at_s = high
                return
            self._left = FUTURES * math.ceil(math.log2((high - low) / self._close_s))
            yield from self._measure(round((low + high) / 2, 3))

    def _steepest(self) -> tuple[float, float]:
        """Return the neighbours between which the share rises most, the earliest if several do."""
        pairs = pairwise(sorted(self.shares))
        return max(
            pairs, key=lambda pair: (self.shares[pair[1]].value - self.shares[pair[0]].value, -pair[0])
        )

    def _measure(self, at_s: float) -> Search:
        failed = 0
        for number in range(FORK_FROM, FORK_FROM + FUTURES):
            before = tuple(act for act in self.smallest.acts or () if act.at_s <= at_s)
            found = yield replace(self.smallest, acts=(*before, Act(at_s, f"{FORK.name} {number}")))
            failed += self.failure in failures_of(found)
        self.shares[at_s] = Share(at_s, failed, FUTURES)

    @staticmethod
    def _moments_left(grid: int) -> int:
        return FUTURES * (grid + 9)

    # -- what was found ------------------------------------------------------------------------------------

    @property
    def found(self) -> RunSpec:
        """The smallest run. A story that is the scenario's is left out, as in a link."""
        is_whole = self.smallest.acts == scenario_of(self.smallest).acts
        return replace(self.smallest, acts=None) if is_whole else self.smallest

    def sentences(self) -> list[str]:
        """Return what was found, in sentences."""
        if not self.failure:
            return ["The run did not go wrong, so there is nothing to explain."]
        return [self._said_of_acts(), *self._said_of_moment()]

    def _said_of_acts(self) -> str:
        before, after = len(self.first.acts or ()), self.smallest.acts or ()
        if not before:
            return "The story has no acts: the order of steps and the delays alone make the run go wrong."
        way = f"The run goes wrong in the same way ({self.failure})"
        if not after:
            return f"{way} without any act."
        listed = ", ".join(f"{act.text} at second {act.at_s:g}" for act in after)
        if len(after) == before:
            return f"The run needs each of its {before} acts to go wrong: {listed}."
        return f"{way} with {len(after)} of its {before} acts: {listed}."

    def _said_of_moment(self) -> list[str]:
        curve = self.curve
        if len(curve) < 2:
            return []
        if curve[0].value >= LIKELY:
            return [f"The failure was likely from the start: {curve[0]} go wrong that begin at second 0."]
        if self.at_s is None:
            return ["The search was stopped before it found when the failure became inevitable."]
        before = max((share for share in curve if share.at_s < self.at_s), key=lambda share: share.at_s)
        return [
            f"The failure became inevitable at second {self.at_s:g}: {before} go wrong that begin right "
            f"before it, and {self.shares[self.at_s]} that begin there."
        ]

    @property
    def curve(self) -> list[Share]:
        """The shares that were measured, in order of time."""
        return [self.shares[at_s] for at_s in sorted(self.shares)]

    def drawings(self) -> list[Drawing]:
        """Return the smallest run as a sequence of steps, and the share of futures over time."""
        if self.played is None:
            return []
        return [*self._sequence(self.played), *self._curve_drawn()]

    def _sequence(self, played: Played) -> list[Drawing]:
        if drawings := played.drawings():  # the scenario has such a picture of its own
            return drawings
        steps = steps_of(played)
        if not steps:
            return []
        lanes = list(dict.fromkeys(lane for step in steps for lane in (step.lane, step.by) if lane))
        return [
            sequence_picture("The smallest run", lanes, steps, outcome=played.verdict, label_max=LABEL_MAX)
        ]

    def _curve_drawn(self) -> list[Drawing]:
        curve = self.curve
        if len(curve) < 2:
            return []
        marks = [] if self.at_s is None else [Mark(self.at_s, f"{self.at_s:g} s", fails=True)]
        points = [(share.at_s, 100 * share.value) for share in curve]
        drawn = line_picture(
            "When it became inevitable",
            [Line("go wrong", points, dots=True)],
            x="where the future begins, virtual s",
            y="futures that go wrong, %",
            words=[f"Second {share.at_s:g}: {share} go wrong." for share in curve],
            marks=marks,
        )
        return [drawn]

    def as_text(self) -> str:
        """Return what was found as lines of text, with the command that repeats the smallest run."""
        lines = self.sentences()
        if self.played is not None:
            told = [words for drawing in self._sequence(self.played) for words in drawing.words]
            lines += [f"{self.runs} runs were tried.", "", *told, "", f"repeat: {command_of(self.found)}"]
        return "\n".join(lines)

    def as_page(self) -> str:
        """Return what was found as a page of HTML that refers to nothing outside."""
        title = escape(f"Why seed {self.first.seed} of {self.first.scenario} goes wrong")
        told = "\n".join(f"<p>{escape(line)}</p>" for line in self.sentences())
        drawn = "\n".join(f"<figure>{drawing.svg}</figure>" for drawing in self.drawings())
        repeat = f"<pre>{escape(command_of(self.found))}</pre>"
        head = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
        return (
            f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body><main><h1>{title}</h1>\n{told}\n'
            f"<p>{self.runs} runs were tried.</p>\n{drawn}\n<h2>Repeat it</h2>\n{repeat}\n"
            "</main></body></html>\n"
        )


def _acts_of(spec: RunSpec) -> tuple[Act, ...]:
    return scenario_of(spec).acts if spec.acts is None else spec.acts


def _failed_s(played: Played) -> float:
    """Return the virtual second at which the failure was seen: the first offending event, or the end."""
    seen = [
        o.time_ms for journal in played.journals for o in journal.since() if isinstance(o, LedgerOffended)
    ]
    end_s = (min(seen) - played.zero_ms) / 1000 if seen else played.virtual_s
    return round(max(end_s, CLOSE_S), 3)
