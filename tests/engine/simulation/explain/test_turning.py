"""The moment after which most futures of a failing run fail is found."""

from __future__ import annotations

from random import Random
from xml.etree import ElementTree

import pytest

from pravega_lab.connector.simulation.explaining import turning_point
from pravega_lab.connector.simulation.families import run_any
from pravega_lab.engine.simulation.explain.picture import share_svg
from pravega_lab.engine.simulation.explain.shrink import Shrinker, run_proposals
from pravega_lab.engine.simulation.explain.turning import LIKELY, TurningPoint
from pravega_lab.engine.simulation.kernel.faults import Plan
from pravega_lab.engine.simulation.kernel.run import Result


@pytest.mark.parametrize(("moment", "before"), [(137, 0.0), (700, 0.2), (3, 0.3), (999, 0.0)])
def test_the_steepest_step_is_found(moment: int, before: float) -> None:
    """Of imagined runs: a future fails after ``moment``, and before it with some chance."""

    def run(plan: Plan) -> Result:
        assert plan.reseed is not None
        step, word = plan.reseed
        fails = step >= moment or Random(f"{step} {word}").random() < before
        return Result(0, "x", problems=["kept: no"] if fails else [], steps=1_000)

    turning = TurningPoint(Result(0, "x", problems=["kept: no"], steps=1_000), "kept")
    run_proposals(turning.proposals(), lambda plans: [run(plan) for plan in plans], lambda: False)
    assert turning.step == moment
    assert f"step {moment:,} of 1,000" in turning.sentence()
    assert len(turning.shares) < 25
    picture = ElementTree.fromstring(share_svg(turning))
    assert len(picture.find("{*}polyline").get("points").split()) == len(turning.curve)  # type: ignore


def test_a_future_is_the_same_run_up_to_its_step() -> None:
    free = run_any(5, "writers", None)
    middle = free.steps // 2
    futures = [run_any(5, "writers", None, Plan(reseed=(middle, f"future {k}"))) for k in (1, 1, 2)]
    texts = [future.journal.to_bytes() for future in futures]
    assert texts[0] == texts[1] != texts[2]
    reseeded_us = futures[0].reseeded_us
    assert reseeded_us is not None
    lines = [
        [e.to_line() for e in run.journal.entries if e.time_us < reseeded_us] for run in (free, *futures)
    ]
    assert lines[0]
    assert lines[0] == lines[1] == lines[3]


def test_a_bug_that_every_run_shows_was_likely_from_the_start() -> None:
    case = 0, "table", "versions-unchecked"
    first = run_any(*case, Plan(frozenset(), rounds_max=1))
    turning = turning_point(Shrinker(first, "table is linearizable"), case, 1, 60)
    assert turning.curve[0].value >= LIKELY
    assert "from the start" in turning.sentence()
