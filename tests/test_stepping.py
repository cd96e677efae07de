"""A simulated job from a notebook: forward, back, faults at a point, forks, controls that say their call."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.stepping import StepByStep
from tests.observe.job_examples import words_job


@pytest.fixture
def run() -> Iterator[StepByStep]:
    made = StepByStep(words_job, seed=3)
    yield made
    made.close()


def until_barrier(run: StepByStep) -> str:
    """The lane of the first barrier that is on its way."""
    while True:
        run.step()
        found = [lane for lane, what, _ in run.messages if what == "barrier 1"]
        if found:
            return found[0]


def test_a_step_says_what_happened(run: StepByStep) -> None:
    until_barrier(run)
    said = [line for _ in range(30) for line in run.step()]
    assert "aggregate 1/2 took barrier 1 on channel 2, waits for channel 0" in said
    assert repr(run) == f"StepByStep('words', seed 3, step {run.steps} of {run.steps}, running)"


def test_back_and_forth_is_the_same(run: StepByStep) -> None:
    said = [list(run.step()) for _ in range(40)]
    assert run.back(10)[0] == "step 30 of 40"
    seq = run.journal.next_seq
    assert [list(run.step()) for _ in range(10)] == said[30:]
    assert run.journal.next_seq == seq
    assert run.position == run.steps == 40


def test_until_a_checkpoint_and_the_end(run: StepByStep) -> None:
    assert "checkpoint 1 is complete" in "\n".join(run.until("checkpoint"))
    position = run.position
    run.back(20)
    assert "checkpoint 1 is complete" in "\n".join(run.until("checkpoint"))
    assert run.position == position
    run.until("end")
    assert run.is_over
    assert run.step() == ["the job is finished: nothing more will happen"]


def test_what_happened_stays_and_a_fork_goes_another_way(run: StepByStep) -> None:
    lane = until_barrier(run)
    here = run.position
    run.until("checkpoint")
    run.back(run.steps - here)
    with pytest.raises(BadInputError, match=r"what happened stays; run\.fork\(\)"):
        run.drop(lane, "barrier")
    fork = run.fork()
    assert (fork.position, fork.steps) == (here, here)
    assert fork.journal.since() == run.journal.since()[: len(fork.journal)]
    assert fork.drop(lane, "barrier") == f"dropped barrier 1 on {lane}"
    assert "Checkpoint expired" in "\n".join(fork.until("failure"))
    assert run.fork().name == "run.forks[1]"
    assert run.explain()[0].startswith("Job words has been running for")


def test_what_was_done_stands_in_the_journal(run: StepByStep) -> None:
    run.step(60)
    run.fail("aggregate[1]")
    run.checkpoint()
    acted = run.journal.to_pandas("acted")
    assert list(acted["call"]) == ["run.fail('aggregate[1]')", "run.checkpoint()"]
    assert list(acted["is_fault"]) == [True, False]
    assert run.fork().journal.to_pandas("acted")["call"].tolist() == acted["call"].tolist()


def test_controls_show_their_calls_and_follow_pins(run: StepByStep) -> None:
    run.step(60)
    board = run.show()
    controls = run.controls()
    assert controls.do("step", value=2) != ""
    assert run.position == 62
    board.clock.said({"at_ms": None, "pin": {"kind": "task", "id": "sink[1]"}})
    controls.refresh()
    row = controls.rows["fail this task"]
    assert row.target == "sink[1]"
    assert "run.fail(&#x27;sink[1]&#x27;)" in row.words.value
    lane = run.channels[0]
    board.clock.said({"at_ms": None, "pin": {"kind": "channel", "lane": lane}})
    assert controls.do("delay this channel", value=30) == f"delayed {lane} by 30 ms"
    assert "shows it" in controls.do("fork here")
    run.back(3)
    assert "what happened stays" in controls.do("fail this task", "sink[1]")
    assert board.clock.at_s is not None
    run.step(3)
    assert board.clock.at_s is None
    assert board.views[0].snapshot().facts["control"] == "run"
    controls.close()
    board.close()


def test_misuse_says_what_to_do(run: StepByStep) -> None:
    with pytest.raises(BadInputError, match=r"back\(\) goes back"):
        run.step(0)
    with pytest.raises(BadInputError, match="'checkpoint', 'failure', 'end'"):
        run.until("tomorrow")
