"""Which of the drawn faults of a run happen: all of them, or only those of a `Plan`.

A seed draws faults at many places. Each place asks `Faults.happens` before it acts, so a drawn fault has an
identity: its part, its kind, and its number among the drawn faults of this kind. A `Plan` names the faults
that happen. The others are still drawn, so that the generators stay aligned, but they have no effect. Without
a plan all happen, and the run is the same as if this module did not exist.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pravega_lab.errors import BadInputError

_FAULT = re.compile(r"(.+)/(.+)/(\d+)")
_WORD = re.compile(r"(rounds|messages|variant|without)=(.+)")


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """The ``number``-th drawn fault of its kind in its part, counted from 1."""

    part: str
    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.part}/{self.kind}/{self.number}"


@dataclass(frozen=True, slots=True)
class Happened:
    """A fault that happened, and when. ``about`` names what it struck, if the place knows it."""

    fault: Fault
    time_us: int
    step: int
    about: str = ""


@dataclass(frozen=True)
class Plan:
    """What happens of that which a seed draws. The default is everything.

    Args:
        faults: The only faults that happen, or None for all.
        without: Names of applications that do not take part.
        rounds_max: The most rounds of work of each application.
        messages: The minimum size of a run of a job, in place of the usual one.
        variant: If not None, times and order are drawn from another seed, which it numbers. The applications
            and the chances of faults are those of the seed.
        reseed: A step and a word: from this step on, all generators are those of another seed.
        steps_max: The most steps. A longer run raises `StepLimitError`, because a smaller run may never end.
        until: The last step that is like the run without this limit. After it nothing goes wrong any more: no
            fault happens, and planted bugs are withdrawn. Times and order stay those of the seed.
    """

    faults: frozenset[Fault] | None = None
    without: frozenset[str] = frozenset()
    rounds_max: int | None = None
    messages: int | None = None
    variant: int | None = None
    reseed: tuple[int, str] | None = None
    steps_max: int | None = None
    until: int | None = None

    def reseeds(self, seed: int | str) -> list[tuple[int, str]]:
        """Return at which steps the generators change, and the seed from which they draw from there on."""
        varied = [] if self.variant is None else [(0, f"{seed}/variant {self.variant}")]
        return varied + ([] if self.reseed is None else [self.reseed])

    def rounds(self, drawn: int) -> int:
        """Return how many rounds an application works that has drawn so many."""
        return drawn if self.rounds_max is None else min(drawn, self.rounds_max)

    def to_text(self) -> str:
        """Return the plan as a word of a command line. `plan_of` reads it."""
        words = [] if self.faults is None else [str(fault) for fault in sorted(self.faults)] or ["none"]
        words += [f"without={name}" for name in sorted(self.without)]
        words += [] if self.rounds_max is None else [f"rounds={self.rounds_max}"]
        words += [] if self.messages is None else [f"messages={self.messages}"]
        words += [] if self.variant is None else [f"variant={self.variant}"]
        return ", ".join(words)


EVERYTHING = Plan()


def plan_of(text: str) -> Plan:
    """Return the plan that `Plan.to_text` wrote.

    Raises:
        BadInputError: A word is neither a fault nor a limit.
    """
    faults: list[Fault] = []
    limits: dict[str, list[str]] = {"without": [], "rounds": [], "messages": [], "variant": []}
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if found := _FAULT.fullmatch(word):
            faults.append(Fault(found[1], found[2], int(found[3])))
        elif (found := _WORD.fullmatch(word)) and (found[1] == "without" or found[2].isdigit()):
            limits[found[1]].append(found[2])
        elif word != "none":
            raise BadInputError(
                f"{word!r} is no part of a plan: write faults as 'network/cut/3', 'none', 'rounds=2', "
                "'messages=500' or 'without=writer1', with commas between them"
            )

    def limit(name: str) -> int | None:
        return int(limits[name][-1]) if limits[name] else None

    return Plan(
        frozenset(faults) if faults or "none" in words else None,
        frozenset(limits["without"]),
        limit("rounds"),
        limit("messages"),
        limit("variant"),
    )


def _nowhere() -> tuple[int, int]:
    return 0, 0


class Faults:
    """Decides whether a drawn fault happens, and records those that do.

    Args:
        plan: What happens.
        where: Returns the virtual time in microseconds and the number of the step.
    """

    def __init__(self, plan: Plan = EVERYTHING, where: Callable[[], tuple[int, int]] = _nowhere) -> None:
        self.plan = plan
        self.happened: list[Happened] = []
        self.reseeded_us: int | None = None  # when the generators changed, if the plan says so
        self.cast: list[str] = []  # the names of the applications that take part
        self._drawn: Counter[tuple[str, str]] = Counter()
        self._where = where

    def happens(self, part: str, kind: str, about: str = "") -> bool:
        """Count a fault that was drawn, and return whether it happens."""
        self._drawn[part, kind] += 1
        fault = Fault(part, kind, self._drawn[part, kind])
        if self.plan.faults is not None and fault not in self.plan.faults:
            return False
        time_us, step = self._where()
        if self.plan.until is not None and step > self.plan.until:
            return False
        self.happened.append(Happened(fault, time_us, step, about))
        return True


def identities(happened: Iterable[Happened]) -> tuple[Fault, ...]:
    """Return the faults in the order in which they happened."""
    return tuple(one.fault for one in happened)
