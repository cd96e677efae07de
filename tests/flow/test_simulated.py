"""Random jobs in simulated worlds: seeds pass, equal seeds are equal runs, deliberate bugs are found.

More of them: ``pravega-lab simulate --scenario flow --seeds A..B``.
"""

from __future__ import annotations

import pytest

from pravega_lab.engine.flow.history import Triggering
from pravega_lab.engine.simulation.flow_bugs import FLOW_BUGS
from pravega_lab.engine.simulation.flow_race import find
from pravega_lab.engine.simulation.flow_scenario import run_flow

# A seed that shows the bug, the cheapest known. Whoever changes what a run draws looks for new ones with
# ``pravega-lab simulate --scenario flow --bug NAME``.
SEEDS: dict[str, int] = {}


@pytest.mark.parametrize("seed", [5, 7])
def test_seeds(seed: int) -> None:
    result = run_flow(seed)
    assert result.problems == []
    [messages] = result.journal.of("messages")
    assert messages.about["delivered"] > 3_000


def test_equal_seeds_are_equal_runs() -> None:
    assert run_flow(1).journal.to_bytes() == run_flow(1).journal.to_bytes()


@pytest.mark.parametrize("name", SEEDS)
def test_a_planted_bug_is_found(name: str) -> None:
    assert run_flow(SEEDS[name], bug=name).problems


def test_there_are_enough_of_them() -> None:
    assert len(SEEDS) >= 25
    assert all(bug.what.endswith(".") for bug in FLOW_BUGS.values())


def test_the_simulation_finds_flink_18641_by_itself() -> None:
    race = find(Triggering.MAILBOX_1_11_0, range(40))
    assert race is not None
    assert "has not been fully acknowledged yet: it waits for hook external-log" in str(race.failure)
    assert len(race.steps) <= 9
    lines = race.lines()
    assert lines[-1].split()[1:] == ["fails:", "FINALIZE_CHECKPOINT_FAILURE"]


@pytest.mark.parametrize("triggering", [Triggering.LOCK, Triggering.MENDED])
def test_neither_the_lock_nor_the_mended_coordinator_has_it(triggering: Triggering) -> None:
    assert find(triggering, range(12, 18)) is None
