"""`Mark`: a step that is known to decide a failing run, by a measurement of its own.

Something that happened may have decided the run: a fault, the wrong code (`moment.KnownMoment`), or what an
application asked or received, which is a line of the journal. Each has a step. A step decides if most futures
fail that begin right after it, and if the share of failing futures has risen by a half or more within five
steps: a share that only grows cannot rise more anywhere else. The futures have seeds of their own, so the
mark owes nothing to the search that it judges (`turning.TurningPoint`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence

from ..kernel.faults import Plan
from ..kernel.run import Result
from .futures import Share, futures_of, share_of

FUTURES = 40
AT_ONCE = 8
STEPS = 5
AFTER = 0.75
RISE = 0.5


class Mark:
    """The search for a step that decides a run. ``step`` is None as long as none is known to.

    Args:
        result: The run that failed.
        rule: The rule that it violated; see `rules.rule_of`.
    """

    def __init__(self, result: Result, rule: str) -> None:
        self.result, self.rule = result, rule
        self.step: int | None = None
        self.shares: dict[int, Share] = {}

    @property
    def was_likely(self) -> bool:
        """Whether so many futures fail from the start that no step can be known to decide."""
        return 0 in self.shares and self.shares[0].value > 1 - RISE

    def before(self, step: int) -> int:
        """Return the step before a candidate from which the rise is measured."""
        return max(0, step - STEPS)

    def proposals(
        self, candidates: Iterable[int]
    ) -> Generator[Sequence[Plan], Sequence[Result | None], None]:
        """Propose plans and take their results, until one of some steps is known to decide."""
        yield from self._measure(0, 0.0, 1 - RISE)
        if self.was_likely:
            return
        for step in sorted({*candidates} - {0}):
            before = yield from self._measure(self.before(step), 0.0, 1 - RISE)
            if before.value > 1 - RISE:
                continue
            least = max(AFTER, before.value + RISE)
            after = yield from self._measure(step, least, 1.0)
            if after.value >= least:
                self.step = step
                return

    def halved(self, candidates: Iterable[int]) -> Generator[Sequence[Plan], Sequence[Result | None], None]:
        """Propose plans as `proposals`, for the first of many steps after which most futures fail."""
        steps = sorted({*candidates} - {0})
        low, high = -1, len(steps)
        while high - low > 1:
            middle = (low + high) // 2
            after = yield from self._measure(steps[middle], AFTER, 1.0)
            low, high = (low, middle) if after.value >= AFTER else (middle, high)
        yield from self.proposals(steps[high : high + 1])

    def _measure(
        self, step: int, low: float, high: float
    ) -> Generator[Sequence[Plan], Sequence[Result | None], Share]:
        """Return the share of a step. Stop early if it can no longer be between ``low`` and ``high``."""
        share = self.shares.get(step, Share(step, 0, 0, 0))
        for first in range(share.futures, FUTURES, AT_ONCE):
            kept = share.futures - share.failed
            if share.failed > high * FUTURES or kept > (1 - low) * FUTURES:
                break
            plans = futures_of(self.result, step, "mark", range(first, min(first + AT_ONCE, FUTURES)))
            share += share_of(step, self.rule, (yield plans))
        self.shares[step] = share
        return share
