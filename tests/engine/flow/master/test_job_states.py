"""The states of a job and the moves between them."""

from __future__ import annotations

import asyncio

import pytest

from pravega_lab.engine.flow import observer as seen
from pravega_lab.engine.flow.errors import IllegalStateError
from pravega_lab.engine.flow.master.job_state import MOVES, JobState, check_move
from pravega_lab.engine.flow.master.lifecycle import JobLife
from tests.engine.flow.jobs import Told


def test_every_state_can_be_reached_and_every_job_can_end() -> None:
    assert set(MOVES) == set(JobState)
    reached = {JobState.CREATED}
    while more := {after for state in reached for after in MOVES[state]} - reached:
        reached |= more
    assert reached == set(JobState)
    ends = {state for state in JobState if state.is_terminal}
    assert ends == {JobState.FINISHED, JobState.FAILED, JobState.CANCELLED}
    while more := {state for state in JobState if set(MOVES[state]) & ends} - ends:
        ends |= more
    assert ends == set(JobState)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (JobState.CREATED, JobState.RESTARTING),
        (JobState.CREATED, JobState.CANCELLED),
        (JobState.FAILING, JobState.RUNNING),
        (JobState.CANCELLING, JobState.RESTARTING),
        (JobState.FINISHED, JobState.CANCELLING),
    ],
)
def test_a_move_that_is_not_in_the_table_is_refused(old: JobState, new: JobState) -> None:
    with pytest.raises(IllegalStateError, match=f"a job that is {old.value} cannot become {new.value}"):
        check_move(old, new)


def test_a_move_is_reported_and_a_refused_one_changes_nothing() -> None:
    async def story() -> None:
        told = Told()
        life = JobLife(told, lambda: 7)
        life.move(JobState.RUNNING)
        life.move(JobState.RESTARTING, "broken")
        with pytest.raises(IllegalStateError):
            life.move(JobState.CREATED)
        assert life.state is JobState.RESTARTING
        assert told.all == [
            seen.JobStateChanged(7, "running", ""),
            seen.JobStateChanged(7, "restarting", "broken"),
        ]

    asyncio.run(story())
