"""`killed_at`: each step is the one that it says, and each way to commit shows what it is worth there."""

from __future__ import annotations

from typing import Any

import pytest

from pravega_lab.connector.flow import PravegaWriter
from pravega_lab.errors import PravegaError
from pravega_lab.testing.commit_kills import DirectWriter, Step, killed_at

AFTER_COMPLETION = (Step.COMPLETE, Step.COMMITTING, Step.COMMITTED)


class CommitsAtTheBarrier(PravegaWriter):
    async def pre_commit(self, transaction: Any) -> None:
        await super().pre_commit(transaction)
        await super().commit(transaction)

    async def commit(self, transaction: Any) -> None:
        return


class ForgetsWhatItPreCommitted(PravegaWriter):
    async def recover_and_commit(self, transaction: Any) -> None:
        await self.abort(transaction)


class FailsToFlush(PravegaWriter):
    async def pre_commit(self, transaction: Any) -> None:
        raise PravegaError("the flush failed")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("step", Step)
def test_two_phases_are_exact_at_every_step(step: Step, seed: int) -> None:
    run = killed_at(step, PravegaWriter, seed=seed)
    run.verdict.assert_exact()
    assert run.restored_from.endswith("chk-2" if step in AFTER_COMPLETION else "chk-1")
    assert not run.failure
    assert run.in_the_end["COMMITTED"] == (4 if step in AFTER_COMPLETION else 2)


@pytest.mark.parametrize(
    ("step", "is_open", "committed"),
    [
        (Step.WRITING, 2, 2),
        (Step.FLUSHED, 2, 2),
        (Step.ACKNOWLEDGED, 3, 2),
        (Step.COMPLETE, 4, 2),
        (Step.COMMITTING, 3, 3),
        (Step.COMMITTED, 2, 4),
    ],
)
def test_what_the_dead_process_leaves(step: Step, is_open: int, committed: int) -> None:
    run = killed_at(step, PravegaWriter)
    assert (run.at_kill["OPEN"], run.at_kill["COMMITTED"]) == (is_open, committed)
    left = 1 if step is Step.ACKNOWLEDGED else 0  # begun after the barrier, and in no checkpoint
    assert run.in_the_end["OPEN"] == left


def test_equal_seeds_are_equal_runs() -> None:
    one, other = (killed_at(Step.COMMITTING, PravegaWriter, seed=5) for _ in range(2))
    assert one.observer.journal.since() == other.observer.journal.since()
    assert one.row == other.row


def test_without_transactions_rows_come_twice_until_the_checkpoint_is_complete() -> None:
    doubled = {step: killed_at(step, DirectWriter).verdict.doubled for step in Step}
    assert [step for step, n in doubled.items() if not n] == list(AFTER_COMPLETION)


def test_committing_at_the_barrier_doubles_between_flush_and_completion() -> None:
    doubled = {step: killed_at(step, CommitsAtTheBarrier).verdict.doubled for step in Step}
    assert [step for step, n in doubled.items() if n] == [Step.FLUSHED, Step.ACKNOWLEDGED]


def test_forgetting_loses_between_completion_and_commit() -> None:
    lost = {step: killed_at(step, ForgetsWhatItPreCommitted).verdict.lost for step in Step}
    assert [step for step, n in lost.items() if n] == [Step.COMPLETE, Step.COMMITTING]


def test_a_lease_that_ran_out_is_told_and_nothing_is_called_lost_yet() -> None:
    run = killed_at(Step.COMPLETE, PravegaWriter, lease_ms=10_000, down_s=60)
    assert "Its data is lost: the lease (10000 ms)" in run.failure
    assert run.verdict.sentence.endswith("not yet known")
    assert run.verdict.lost == 0


def test_a_job_may_go_on_without_what_was_lost_or_from_an_older_checkpoint() -> None:
    short = {"lease_ms": 10_000, "down_s": 60.0}
    without = killed_at(Step.COMPLETE, PravegaWriter, ignores_lost_leases=True, **short)  # type: ignore[arg-type]
    assert without.verdict.lost == 28
    assert len(without.logged) == 2
    older = {s: killed_at(s, PravegaWriter, checkpoints_back=1, **short) for s in AFTER_COMPLETION}  # type: ignore[arg-type]
    assert [run.verdict.sentence for run in older.values()] == ["exact", "23 doubled", "28 doubled"]


def test_a_step_that_is_never_reached_is_said() -> None:
    with pytest.raises(PravegaError, match="never came to the step 'flushed, not acknowledged'"):
        killed_at(Step.FLUSHED, FailsToFlush)
