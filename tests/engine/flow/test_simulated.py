"""Random jobs in simulated worlds: seeds pass, equal seeds are equal runs, deliberate bugs are found.

More of them: ``pravega-lab simulate --scenario flow --seeds A..B``.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from pravega_lab.engine.flow.checkpoint.history import Triggering
from pravega_lab.engine.simulation.flow.bugs import FLOW_BUGS
from pravega_lab.engine.simulation.flow.feed import Feed
from pravega_lab.engine.simulation.flow.race import find
from pravega_lab.engine.simulation.flow.scenario import FlowWorld, run_flow
from pravega_lab.engine.simulation.kernel.traffic import CALLS, CREDITS, ELEMENTS, Size
from pravega_lab.errors import PravegaError
from tests.engine.flow.checkpoint import test_coordinator, test_option_1
from tests.engine.flow.master import test_effects, test_regions
from tests.engine.flow.source import test_files_then_stream, test_sources
from tests.engine.simulation.planted_page import seeds_and_rules

SMALL = Size(messages=1_000, failures=1)

# A seed that shows the bug, the cheapest known. Whoever changes what a run draws looks for new ones with
# ``pravega-lab simulate --scenario flow --bug NAME``.
SEEDS = {
    "barrier-overtakes": 0,
    "no-alignment": 8,
    "first-barrier-is-enough": 0,
    "ack-before-snapshot": 0,
    "changes-not-noticed": 10,
    "shared-file-deleted": 2,
    "list-state-cut": 10,
    "rows-that-do-not-fit": 0,
    "tasks-before-hooks": 0,
    "notify-before-metadata": 0,
    "aborted-trigger-left-pending": 4,
    "timers-forgotten": 10,
    "finished-not-counted": 10,
    "oldest-restored": 8,
    "coordinators-not-restored": 2,
    "split-assigned-twice": 5,
    "splits-not-given-back": 0,
    "reader-state-not-kept": 0,
    "reader-does-not-wait": 10,
    "commit-on-abort": 0,
    "no-final-checkpoint": 0,
    "earlier-checkpoint-is-final": 10,
    "drain-flag-lost": 10,
    "suspend-drains": 10,
    "barrier-before-end-of-data": 0,
    "fastest-watermark": 10,
    "finished-runs-again": 4,
    "pending-not-in-state": 13,
    "pending-aborted-at-restore": 13,
    "recovery-outlives-cancel": 20,
    "checkpoint-before-restart": 700066,
    "consumer-closes-first": 14,
    "region-of-one-subtask": 0,
}

# Seeds that show this are rare or long: a job that is made for it does.
CAUGHT_BY: dict[str, Callable[[], None]] = {
    "region-of-whole-vertices": test_regions.test_two_lines_fail_apart,
    "savepoint-is-final-for-all": test_option_1.test_option_1_cannot_drain_with_its_savepoint,
    "hooks-not-reset": test_sources.test_a_failure_before_the_first_checkpoint_resets_the_hook,
    "gate-closes-after-abort": (
        test_effects.test_a_part_that_is_taken_after_its_checkpoint_was_aborted_holds_no_split_back
    ),
    "only-os-errors-reported": test_effects.goes_on,
    "older-request-gives-way": test_coordinator.test_of_two_periodic_requests_the_newer_gives_way,
    "calls-before-start-kept": test_effects.refuses_before_start,
    "gateway-ahead-of-the-lane": (
        test_effects.test_a_request_that_waits_in_the_lane_gets_its_splits_to_no_later_attempt
    ),
    "last-commit-too-early": (
        test_effects.test_a_checkpoint_from_before_the_end_of_the_input_does_not_cover_what_came_after
    ),
    # jobs that read files and then a stream, which the seeds of `run_flow` do not draw
    "hand-over-to-the-first": (
        test_files_then_stream.test_no_row_of_the_stream_is_read_before_the_last_of_the_files
    ),
    "waiting-splits-not-kept": test_files_then_stream.test_a_reader_that_waits_keeps_its_restored_splits,
    "hand-over-forgotten": test_files_then_stream.test_files_then_stream,
    "returned-files-forgotten": test_files_then_stream.test_files_then_stream,
    "rows-of-group-again": test_files_then_stream.test_files_then_stream,
}


@pytest.mark.parametrize("seed", [5, 7])
def test_seeds(seed: int) -> None:
    result = run_flow(seed)
    assert result.problems == []
    assert result.traffic.messages >= 5_000
    assert result.traffic.failures is not None
    assert result.traffic.failures >= 2
    [messages] = result.journal.of("messages")
    assert messages.about == result.traffic.carried
    assert min(messages.about[kind] for kind in (ELEMENTS, CREDITS, CALLS)) > 50


# Seeds that failed once. A stop whose savepoint was taken during the restart delay never ended. The last
# rows were committed with a checkpoint from before them. A savepoint had finished subtasks after running
# ones. A region failed while another was being stopped, and the checker wanted both to be restored
# together. A checkpoint wanted a shared file that was deleted when one that had begun before it completed.
@pytest.mark.slow
@pytest.mark.parametrize("seed", [700042, 700066, 700078, 700015, 700040, 14, 6030027, 6042661])
def test_seeds_that_failed_once(seed: int) -> None:
    assert run_flow(seed).problems == []


def test_a_job_that_is_cancelled_at_odd_moments_goes_on_elsewhere() -> None:
    result = run_flow(13)
    assert result.problems == []
    assert result.faults["cancelled in recovery"] == result.faults["cancelled after a checkpoint"] == 1


def test_a_run_that_sees_too_little_has_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule is checked, not only aimed at: here nothing extends the run."""
    monkeypatch.setattr(FlowWorld, "_is_too_small", lambda self: False)
    result = run_flow(0, size=Size(messages=100_000, failures=50))
    assert [problem.split(":")[0] for problem in result.problems] == ["size of the run"] * 2


def test_a_feed_gives_the_same_rows_again_and_withholds_new_ones() -> None:
    wants = [True]
    feed = Feed(3, (2, None), Random(1), lambda: wants[0])
    first = feed.take(1, 0, 4)
    assert [row["v"] for row in first] == [310_000, 310_001, 310_002, 310_003]
    wants[0] = False
    assert feed.take(1, 4, 4) == []
    assert feed.take(1, 1, 2) == first[1:3]
    assert not feed.is_over(1, 4)
    assert [row["v"] for row in feed.take(0, 0, 9)] == [300_000, 300_001]
    feed.close()
    assert feed.is_over(0, 2)
    assert feed.is_over(1, 4)
    assert feed.take(1, 2, 9) == first[2:]
    assert feed.all_rows() == feed.take(0, 0, 2) + first


def test_equal_seeds_are_equal_runs() -> None:
    first, second = (run_flow(1, size=SMALL).journal.to_bytes() for _ in range(2))
    assert first == second


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEDS)
def test_a_planted_bug_is_found_as_the_page_says(name: str) -> None:
    seed, rule = seeds_and_rules()[name]
    assert seed == SEEDS[name]
    problems = run_flow(seed, bug=name).problems
    assert any(rule in problem for problem in problems), problems[:3]


@pytest.mark.parametrize("name", CAUGHT_BY)
def test_a_rarer_bug_is_caught_by_a_job_made_for_it(name: str) -> None:
    with FLOW_BUGS[name].planted(), pytest.raises((AssertionError, PravegaError, pytest.fail.Exception)):
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
    assert ["FINALIZE_CHECKPOINT_FAILURE"] in [line.split()[1:] for line in lines[-2:]]


@pytest.mark.parametrize("triggering", [Triggering.LOCK, Triggering.FIXED])
def test_neither_the_lock_nor_the_fixed_coordinator_has_it(triggering: Triggering) -> None:
    assert find(triggering, range(12, 18)) is None
