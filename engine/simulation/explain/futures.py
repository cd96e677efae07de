"""Futures of a run: the run is repeated up to a step, and then continues with other seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..kernel.faults import Plan
from ..kernel.loop import START_US
from ..kernel.run import Result
from .rules import rules_of
from .shrink import STEPS_MORE


@dataclass(frozen=True, slots=True)
class Share:
    """How many of the futures after a step fail. ``time_us`` is when the step begins, since the start."""

    step: int
    failed: int
    futures: int
    time_us: int

    @property
    def value(self) -> float:
        """Return the share, from 0 to 1."""
        return self.failed / self.futures if self.futures else 0.0

    def __add__(self, other: Share) -> Share:
        """Return the share of the futures of both, which begin after the same step."""
        time_us = self.time_us or other.time_us
        return Share(self.step, self.failed + other.failed, self.futures + other.futures, time_us)


def futures_of(result: Result, step: int, word: str, numbers: range) -> list[Plan]:
    """Return the plans of futures of a run that begin after a step. Each word gives other seeds."""
    plan = replace(result.plan, steps_max=2 * result.steps + STEPS_MORE)
    return [replace(plan, reseed=(step, f"{result.seed}/{word} {k}")) for k in numbers]


def share_of(step: int, rule: str, results: Sequence[Result | None]) -> Share:
    """Return how many futures violate a rule. Those that were not run have no part in it."""
    found = [result for result in results if result is not None]
    failed = sum(rule in rules_of(result) for result in found)
    times = [result.reseeded_us - START_US for result in found if result.reseeded_us is not None]
    return Share(step, failed, len(found), times[0] if times else 0)
