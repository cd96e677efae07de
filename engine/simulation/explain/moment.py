"""`KnownMoment`: the step of a failing run after which nothing more has to go wrong.

Who planted a bug can also withdraw it. The run is repeated with its seed up to a step. After this step the
right code is in place, and no fault happens. If the run still fails, the wrong decision had taken effect by
then. The search bisects for the first such step.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from ..kernel.faults import Plan
from ..kernel.run import Result
from .rules import rules_of
from .shrink import STEPS_MORE

CHECKS = 4  # steps on either side that have to agree


class KnownMoment:
    """The search for the first step that decides a failing run of a planted bug.

    ``step`` is None if there is no such step: the run fails without the bug, or a later step does not fail.

    Args:
        result: The run that failed.
        rule: The rule that it violated; see `rules.rule_of`.
    """

    def __init__(self, result: Result, rule: str) -> None:
        self.result, self.rule = result, rule
        self.step: int | None = None
        self._plan = replace(result.plan, steps_max=2 * result.steps + STEPS_MORE)

    def proposals(self) -> Generator[Sequence[Plan], Sequence[Result | None], None]:
        """Propose plans and take their results, until the step is found."""
        low, high = 0, self.result.steps
        if (yield from self._fails(low)):
            return
        if not (yield from self._fails(high)):
            return
        while high - low > 1:
            middle = (low + high) // 2
            if (yield from self._fails(middle)):
                high = middle
            else:
                low = middle
        for part in range(1, CHECKS + 1):
            if (yield from self._fails(low * part // (CHECKS + 1))):
                return
            if not (yield from self._fails(high + (self.result.steps - high) * part // (CHECKS + 1))):
                return
        self.step = high

    def _fails(self, step: int) -> Generator[Sequence[Plan], Sequence[Result | None], bool]:
        [result] = yield [replace(self._plan, until=step)]
        return result is not None and self.rule in rules_of(result)
