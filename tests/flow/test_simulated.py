"""Random jobs in simulated worlds: seeds pass, equal seeds are equal runs, deliberate bugs are found.

More of them: ``pravega-lab simulate --scenario flow --seeds A..B``.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pravega_lab.engine.flow.history import Triggering
from pravega_lab.engine.simulation.flow_bugs import FLOW_BUGS
from pravega_lab.engine.simulation.flow_race import find
from pravega_lab.engine.simulation.flow_scenario import run_flow
from pravega_lab.errors import PravegaError
from tests.flow import test_finishing, test_jobs, test_sources, test_two_phase

# A seed that shows the bug, the cheapest known. Whoever changes what a run draws looks for new ones with
# ``pravega-lab simulate --scenario flow --bug NAME``.
SEEDS = {
    "barrier-overtakes": 6,
    "no-alignment": 6,
    "first-barrier-is-enough": 1,
    "ack-before-snapshot": 8,
    "changes-not-noticed": 15,
    "shared-file-deleted": 6,
    "list-state-cut": 4,
    "rows-that-do-not-fit": 6,
    "tasks-before-hooks": 1,
    "notify-before-metadata": 1,
    "aborted-trigger-left-pending": 9,
    "timers-forgotten": 29,
    "finished-not-counted": 12,
    "oldest-restored": 4,
    "coordinators-not-restored": 7,
    "split-assigned-twice": 7,
    "splits-not-given-back": 8,
    "reader-state-not-kept": 4,
    "reader-does-not-wait": 0,
    "commit-on-abort": 8,
    "pending-not-in-state": 20,
    "no-final-checkpoint": 1,
    "earlier-checkpoint-is-final": 6,
    "drain-flag-lost": 8,
    "barrier-before-end-of-data": 7,
    "finished-runs-again": 7,
}

# Seeds that show these are rare: a job that is made for it does.
CAUGHT_BY: dict[str, Callable[[], None]] = {
    "hooks-not-reset": test_sources.test_a_failure_before_the_first_checkpoint_resets_the_hook,
    "pending-aborted-at-restore": test_two_phase.test_a_restore_commits_what_was_pre_committed,
    "suspend-drains": test_finishing.test_with_drain_operators_finish_before_the_savepoint,
    "fastest-watermark": test_jobs.test_the_slowest_input_sets_the_watermark,
}


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


@pytest.mark.parametrize("name", CAUGHT_BY)
def test_a_rarer_bug_is_caught_by_a_job_made_for_it(name: str) -> None:
    with FLOW_BUGS[name].planted(), pytest.raises((AssertionError, PravegaError)):
        CAUGHT_BY[name]()


def test_there_are_enough_of_them() -> None:
    assert {*SEEDS, *CAUGHT_BY} == set(FLOW_BUGS)
    assert len(FLOW_BUGS) >= 30
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
