"""A step is known to decide a run if most futures after it fail, and many fewer of those before it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from pravega_lab.connector.simulation.explaining import mark_of
from pravega_lab.connector.simulation.families import run_any
from pravega_lab.engine.simulation.explain.mark import FUTURES, Mark
from pravega_lab.engine.simulation.explain.rules import rules_of
from pravega_lab.engine.simulation.explain.shrink import run_proposals
from pravega_lab.engine.simulation.explain.turning import TurningPoint
from pravega_lab.engine.simulation.kernel.faults import Plan, plan_of
from pravega_lab.engine.simulation.kernel.run import Result

FAILED = Result(0, "x", problems=["kept: no"], steps=1_000)


def imagined(moment: int, before: float, after: float, seeds: set[str]) -> Callable[[Plan], Result]:
    """Return runs that fail with a chance that changes at a step. They write down which seeds they had."""

    def run(plan: Plan) -> Result:
        assert plan.reseed is not None
        step, word = plan.reseed
        seeds.add(word)
        fails = Random(f"{step} {word}").random() < (after if step >= moment else before)
        return Result(0, "x", problems=["kept: no"] if fails else [], steps=1_000)

    return run


@pytest.mark.parametrize(
    ("candidates", "before", "after", "step"),
    [
        ([50, 137, 700], 0.2, 1.0, 137),
        ([140], 0.2, 1.0, 140),  # the share has risen within five steps before it
        ([143], 0.2, 1.0, None),  # and here before that
        ([136], 0.2, 1.0, None),  # too early
        ([137], 0.8, 1.0, None),  # the run was likely to fail already
        ([137], 0.0, 0.6, None),  # and here it may still go well
        ([0], 0.0, 1.0, None),
    ],
)
def test_a_step_that_decides_is_known(
    candidates: list[int], before: float, after: float, step: int | None
) -> None:
    seeds: set[str] = set()
    run = imagined(137, before, after, seeds)
    mark = Mark(FAILED, "kept")
    run_proposals(mark.proposals(candidates), lambda plans: [run(plan) for plan in plans], lambda: False)
    assert mark.step == step
    assert mark.was_likely == (before > 0.5)
    assert len(seeds) <= FUTURES
    if step is not None:
        assert {mark.shares[one].futures for one in (mark.before(step), step)} == {FUTURES}
        others: set[str] = set()
        run = imagined(137, before, after, others)
        turning = TurningPoint(FAILED, "kept")
        run_proposals(turning.proposals(), lambda plans: [run(plan) for plan in plans], lambda: False)
        assert not seeds & others  # the search that is judged has other futures


def test_a_crash_decides_the_run_of_a_planted_bug() -> None:
    case = 12, "log", "torn-tail-accepted"
    run = run_any(*case, plan_of("disk/torn/1, world/store crash/1"))
    mark = mark_of(run, rules_of(run)[0], case)
    assert mark.step in {one.step for one in run.happened}
    assert mark.shares[mark.before(mark.step)].value < 0.25
