"""The step that decides a run of a planted bug is found by withdrawing the bug."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pravega_lab.connector.simulation.explaining import known_moment
from pravega_lab.connector.simulation.families import run_any
from pravega_lab.engine.simulation.explain.moment import KnownMoment
from pravega_lab.engine.simulation.explain.rules import rules_of
from pravega_lab.engine.simulation.explain.shrink import run_proposals
from pravega_lab.engine.simulation.kernel.faults import Plan, plan_of
from pravega_lab.engine.simulation.kernel.run import Result

CASE = 6, "clocks", "clock-believed"
PLAN = plan_of("clock/clock jump/1, without=writer, rounds=1")


def test_after_the_known_step_the_bug_is_not_needed() -> None:
    whole = run_any(*CASE, PLAN)
    [rule] = rules_of(whole)
    known = known_moment(whole, rule, CASE)
    assert known.step is not None
    fails = [rule in rules_of(run_any(*CASE, replace(PLAN, until=known.step + more))) for more in (-1, 0)]
    assert fails == [False, True]
    # The right code is back afterwards, and the part before the step is that of the whole run.
    assert not run_any(CASE[0], CASE[1], None, PLAN).problems
    before = run_any(*CASE, replace(PLAN, until=known.step - 1))
    [jump] = [one for one in whole.happened if one.fault.kind == "clock jump"]
    assert jump.step <= known.step
    ends = [[e.to_line() for e in run.journal.entries if e.time_us < jump.time_us] for run in (whole, before)]
    assert ends[0] == ends[1] != []


@pytest.mark.parametrize(
    ("fails", "step"),
    [
        (lambda until: until >= 137, 137),
        (lambda until: True, None),  # not the bug's doing
        (lambda until: 137 <= until < 500 or until == 1_000, None),  # another decision undoes it
    ],
)
def test_only_a_step_that_decides_is_known(fails, step) -> None:  # type: ignore[no-untyped-def]
    def run(plan: Plan) -> Result:
        return Result(0, "x", problems=["kept: no"] if fails(plan.until) else [], steps=1_000)

    known = KnownMoment(Result(0, "x", problems=["kept: no"], steps=1_000), "kept")
    run_proposals(known.proposals(), lambda plans: [run(plan) for plan in plans], lambda: False)
    assert known.step == step
