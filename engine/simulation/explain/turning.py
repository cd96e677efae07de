"""`TurningPoint`: when the failure of a run became inevitable.

The run is repeated up to a step, and then continues with other seeds: another order of steps, other times.
Each continuation is a future. The share of futures that violate the same rule is low while the run can
still go well, and 1 afterwards. The search looks at a few steps of the whole run first. It then halves the
interval in which the share rises most, until one step is left. Twelve futures are few, so this step and the
one before it get more, and the search continues if another interval rises more after all.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import pairwise

from ..kernel.faults import Plan
from ..kernel.run import Result
from .futures import Share, futures_of, share_of

FUTURES = 12  # of each step
SURE = 36  # of the steps on both sides of the turning point
GRID = 8  # intervals into which the run is divided at first
LIKELY = 0.75


class TurningPoint:
    """The search for the step after which most futures of a failing run fail.

    Args:
        result: The run that failed.
        rule: The rule that it violated; see `rules.rule_of`.
    """

    def __init__(self, result: Result, rule: str) -> None:
        self.result, self.rule = result, rule
        self.shares: dict[int, Share] = {}
        self.step: int | None = None

    def proposals(self) -> Generator[Sequence[Plan], Sequence[Result | None], None]:
        """Propose plans and take their results, until the steepest step is found."""
        end = self.result.steps
        self.shares[end] = Share(end, SURE, SURE, int(self.result.virtual_s * 1e6))  # it has failed
        for step in dict.fromkeys(end * k // GRID for k in range(GRID)):
            yield from self._measure(step, FUTURES)
        while True:
            pairs = pairwise(sorted(self.shares))
            low, high = max(pairs, key=lambda pair: (self._rise(*pair), pair[0] - pair[1]))
            if self._rise(low, high) <= 0:
                self.step = None
                return
            few = [step for step in (low, high) if self.shares[step].futures < SURE]
            if high - low > 1:
                yield from self._measure((low + high) // 2, FUTURES)
                continue
            self.step = high
            if not few:
                return
            for step in few:
                yield from self._measure(step, SURE)

    @property
    def curve(self) -> list[Share]:
        """The shares that were measured, in the order of their steps."""
        return [self.shares[step] for step in sorted(self.shares)]

    def sentence(self) -> str:
        """Return what was found, in a sentence or two."""
        curve = self.curve
        if len(curve) < 2:
            return "No other futures were tried, so it is unknown when the failure became inevitable."
        if curve[0].value >= LIKELY:
            return f"The failure was likely from the start: {_said(curve[0])} fail from the first step on."
        if self.step is None:
            return "The search ended before it found when the failure became inevitable."
        after = self.shares[self.step]
        before = max((share for share in curve if share.step < self.step), key=lambda share: share.step)
        return (
            f"The turning point is step {self.step:,} of {self.result.steps:,}, "
            f"at {after.time_us / 1000:,.1f} ms: {_said(before)} fail that begin before it, "
            f"and {_said(after)} that begin after it."
        )

    def _rise(self, low: int, high: int) -> float:
        return self.shares[high].value - self.shares[low].value

    def _measure(self, step: int, n: int) -> Generator[Sequence[Plan], Sequence[Result | None], None]:
        """Run futures of a step until it has ``n``."""
        known = self.shares.get(step, Share(step, 0, 0, 0))
        plans = futures_of(self.result, step, "future", range(known.futures, n))
        self.shares[step] = known + share_of(step, self.rule, (yield plans))


def _said(share: Share) -> str:
    return f"{share.failed} of {share.futures} futures"
