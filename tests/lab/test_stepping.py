"""A simulated job from a notebook: forward, back, faults at a point, forks, controls that say their call."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.lab.stepping import StepByStep
from pravega_lab.widgets import show
from tests.observe.job.examples import words_job


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
    run.back(3)
    assert "what happened stays" in controls.do("fail this task", "sink[1]")
    assert board.clock.at_s is not None
    run.step(3)
    assert board.clock.at_s is None
    assert board.views[0].snapshot().facts["control"] == "run"
    controls.close()
    board.close()


def test_what_the_page_shows_is_where_the_run_is(run: StepByStep) -> None:
    run.step(60)
    board = run.show()
    there = run.messages, run.tasks, run.explain()
    start_ms = board.clock.start_ms or 0
    ends = [run._end_of(step) for step in range(61)]
    board.clock.said({"at_ms": ends[40] + 0.2, "pin": None})  # a person moved the slider
    assert (run.position, run.steps) == (40, 60)
    assert "this is step 40 of 60" in run.why_not()
    assert run.messages != there[0]
    fork = run.fork()
    assert (fork.position, fork.messages, fork.tasks) == (40, run.messages, run.tasks)
    board.clock.said({"at_ms": None, "pin": None})
    assert run.position == 60
    assert (run.messages, run.tasks, run.explain()) == there
    assert board.clock.start_ms == start_ms
    board.close()


def test_a_fork_with_a_fault_is_shown_and_the_way_back_is_one_button(run: StepByStep) -> None:
    lane = until_barrier(run)
    here = run.position
    run.until("checkpoint")
    run.back(run.steps - here)
    board, last = run.show(), run.steps
    controls = run.controls()
    row = controls.rows["fork here"]
    assert row.target == "as it was"
    board.clock.said({"at_ms": board.clock._at_ms, "pin": {"kind": "mark", "lane": lane, "what": "barrier"}})
    controls.refresh()
    assert row.target == f"drop {lane} · barrier"
    assert f"fork = run.fork(); fork.drop(&#x27;{lane.replace('>', '&gt;')}&#x27;" in row.words.value
    said = controls.do("fork here")
    assert said.endswith(f"as far as step {here}, then its own way: dropped barrier 1 on {lane}")
    fork = run.forks[0]
    assert (board.run, board.views) == (fork, fork.views)
    assert board.views[0].snapshot().facts["control"] == "run.forks[0]"
    assert controls.do("to the next checkpoint") != ""
    assert fork.steps > here
    assert "Checkpoint expired" in "\n".join(
        [o.message for o in fork.journal.since() if o.kind == "checkpoint_failed"]
    )
    line = board.children[0]
    assert line.children[0].options == ("run", "run.forks[0]")
    line.children[0].value = "run"  # its button
    assert (board.run, board.views, run.steps, run.position) == (run, run.views, last, here)
    assert "this is step" in controls.do("fail this task")
    controls.close()
    board.close()


def test_a_page_asks(run: StepByStep) -> None:
    run.step(60)
    board = run.show()
    graph = board.views[0]
    run._do_asked({"name": "fail", "args": ["sink[1]"], "at_ms": None})
    assert graph.answer == "sink[1] raises at its next turn"
    assert run.forks == []
    at_ms = run._end_of(30)
    run._do_asked({"name": "delay", "args": [run.channels[0], 40], "at_ms": at_ms})
    assert [(fork.steps, fork.journal.to_pandas("acted")["call"].tolist()) for fork in run.forks] == [
        (30, [f"run.delay({run.channels[0]!r}, 40)"])
    ]
    assert board.run is run.forks[0]
    assert board.views[0].answer == f"delayed {run.channels[0]} by 40 ms"
    run._do_asked({"name": "close", "args": [], "at_ms": None})
    assert graph.answer.startswith("not done: a page asked for 'close'; it may ask for fork, drop")
    board.close()


def test_only_a_live_stepped_run_can_be_acted_on(run: StepByStep) -> None:
    run.step(60)
    board = run.show()
    recorded = show(run.journal).views
    for view, still in zip(board.views, recorded, strict=True):
        facts = view.snapshot().facts
        assert (facts["control"], facts["no_control"]) == ("run", "")
        facts = view.snapshot(live=False).facts  # the exported page
        assert (facts["control"], facts["no_control"]) == ("", "a recording: nothing can be done to it")
        facts = still.snapshot().facts
        assert facts["control"] == ""
        assert facts["no_control"].startswith("not a simulated run")
    board.close()


def test_misuse_says_what_to_do(run: StepByStep) -> None:
    with pytest.raises(BadInputError, match=r"back\(\) goes back"):
        run.step(0)
    with pytest.raises(BadInputError, match="'checkpoint', 'failure', 'end'"):
        run.until("tomorrow")
