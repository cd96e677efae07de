"""A checker finds each planted bug within a bounded number of seeds."""

from __future__ import annotations

import pytest

from pravega_lab.engine.simulation.store.bugs import BUGS
from pravega_lab.engine.simulation.store.scenarios import run_seed

SEEDS_MAX = 100


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found_and_its_seed_passes_without_it(name: str) -> None:
    bug = BUGS[name]
    for seed in range(SEEDS_MAX):
        found = run_seed(seed, bug=name)
        if any(problem.startswith(bug.checker) for problem in found.problems):
            break
    else:
        pytest.fail(f"{name} ({bug.what}) passed {SEEDS_MAX} seeds of {bug.scenario}")
    assert found.command == f"pravega-lab simulate --seeds {seed} --scenario {bug.scenario} --bug {name}"
    assert run_seed(seed, bug.scenario).problems == []


def test_there_are_enough_of_them() -> None:
    assert len(BUGS) >= 72  # as docs/simulation.md says
    assert all(bug.what.endswith(".") for bug in BUGS.values())
