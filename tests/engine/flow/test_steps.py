"""A job step by step: what a person does to it, and that a fork is the same run up to where it parts."""

from __future__ import annotations

import asyncio

import pytest

from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.errors import BadInputError
from pravega_lab.observe import JobObserver, fold_jobs
from tests.observe.job.examples import stepped, words_job


def to_end(run: object) -> None:
    while run.step():  # type: ignore[attr-defined]
        pass


def test_every_step_tells_something_and_has_a_millisecond_of_its_own() -> None:
    observer, run = stepped()
    seen, times = len(observer.journal), [run.now_ms]
    for _ in range(60):
        assert run.step()
        assert len(observer.journal) > seen
        seen = len(observer.journal)
        times.append(run.now_ms)
    assert times == sorted(set(times))


def test_a_fork_is_the_same_run_up_to_its_step() -> None:
    observer, run = stepped()
    while run.steps < 120:
        run.step()
        if run.steps == 50:
            run.act("delay", "lines[0]>aggregate[1]:1" if "lines[0]>aggregate[1]:1" in run.channels() else
                    next(iter(run.channels())), 40)  # fmt: skip
    for steps in (40, 90, None):
        other = JobObserver(words_job(MemoryFiles()), seed=3, simulated=True)
        fork = run.forked(other, steps)
        assert other.since() == observer.since()[: len(other.journal)]
        assert fork.steps == (steps or 120)
        fork.close()


def test_a_dropped_barrier_lets_the_checkpoint_expire() -> None:
    observer, run = stepped()
    while True:
        run.step()
        barriers = [m for m in run.messages() if m.mark is not None and m.mark.what == "barrier"]
        if barriers:
            break
    assert "dropped barrier 1" in run.act("drop", barriers[0].lane, "barrier")
    to_end(run)
    first = fold_jobs(observer.since()).checkpoints[0]
    assert (first.state, first.reason) == ("failed", "CHECKPOINT_EXPIRED")
    with pytest.raises(BadInputError, match="the job is finished"):
        run.act("checkpoint")


def test_dropped_records_are_lost_and_the_job_goes_on() -> None:
    observer, run = stepped()
    while True:
        run.step()
        found = [m for m in run.messages() if m.mark is not None and m.mark.what == "records"]
        if found:
            break
    mark = found[0].mark
    assert mark is not None
    run.act("drop", found[0].lane, "records")
    to_end(run)
    history = fold_jobs(observer.since())
    given = sum(t.records_out or 0 for t in history.tasks if t.vertex.name in ("lines", "once"))
    taken = sum(t.records_in or 0 for t in history.tasks if t.vertex.name == "aggregate")
    assert given - taken == mark.value
    assert history.state == "finished"


def test_a_delayed_channel_holds_the_alignment_up() -> None:
    ends = []
    for by_ms in (0, 150):
        observer, run = stepped()
        while run.step():
            first = fold_jobs(observer.since()).checkpoints
            if by_ms and first and run.script == []:
                assert "delayed" in run.act("delay", "once[0]>aggregate[0]:2", by_ms)
            if first and first[0].state != "running":
                break
        ends.append(fold_jobs(observer.since()).checkpoints[0])
    plain, delayed = ends
    assert (delayed.end_ms or 0) >= (plain.end_ms or 0) + 100
    assert max(delayed.parts["aggregate[0]"].barriers, key=lambda pair: pair[1])[0] == 2


@pytest.mark.parametrize("how", ["fail", "kill"])
def test_a_task_that_fails_is_restarted(how: str) -> None:
    observer, run = stepped()
    while run.steps < 100:
        run.step()
    run.act(how, "sink[0]")
    to_end(run)
    history = fold_jobs(observer.since())
    assert history.state == "finished"
    assert history.restores[-1].tasks
    assert {task.attempt for task in history.tasks} == {1}


def test_stop_with_savepoint() -> None:
    observer, run = stepped()
    while run.steps < 100:
        run.step()
    assert "drained" in run.act("stop", True)
    to_end(run)
    history = fold_jobs(observer.since())
    assert history.state == "finished"
    assert history.checkpoints[-1].kind == "savepoint, terminate"


def test_it_runs_inside_an_event_loop_as_a_notebook_has() -> None:
    async def cell() -> int:
        _, run = stepped()
        for _ in range(5):
            run.step()
        return run.steps

    assert asyncio.run(cell()) == 5


def test_what_cannot_be_done_says_why() -> None:
    _, run = stepped()
    run.step()
    with pytest.raises(BadInputError, match="there is no action 'burn'"):
        run.act("burn")
    with pytest.raises(BadInputError, match="no barrier is on its way on 'x>y:0'"):
        run.act("drop", "x>y:0", "barrier")
    with pytest.raises(BadInputError, match="there is no subtask 'sink'; there are"):
        run.act("fail", "sink")
    with pytest.raises(BadInputError, match="there is no channel"):
        run.act("delay", "x>y:0", 10)
