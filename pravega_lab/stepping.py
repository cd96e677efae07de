"""A simulated job step by step, from a notebook: forward, back, with faults at a chosen point, and forks.

::

    run = StepByStep(make, seed=3)       # make(files) gives the job's graph
    board = run.show()                   # JobGraph and CheckpointTimeline, live
    run.controls()                       # buttons; each shows the call that it makes
    run.step()                           # one sentence: what happened
    run.fail("count[1]")
    fork = run.fork()                    # the same up to here, and its own way from here on

What happened stays: to change the past, go back and fork there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.simulation.flow_steps import SteppedJob
from pravega_lab.errors import BadInputError
from pravega_lab.observe.job import JobObserver
from pravega_lab.observe.job_explain import explain_job
from pravega_lab.observe.job_fold import JobHistory, fold_jobs
from pravega_lab.observe.job_words import words_of
from pravega_lab.observe.ledger_observations import Acted
from pravega_lab.observe.moments import is_of, moment_of

if TYPE_CHECKING:
    from pravega_lab.engine.flow.config import JobConfig
    from pravega_lab.engine.flow.files import Files
    from pravega_lab.engine.flow.graph import JobGraph
    from pravega_lab.observe.journal import Journal
    from pravega_lab.observe.observations import Observation
    from pravega_lab.widgets.board import Board
    from pravega_lab.widgets.controls import Act, Controls

UNTIL = ("checkpoint", "failure", "end")
STEPS_MAX = 100_000


class Told(list[str]):
    """Sentences, a line each."""

    def __repr__(self) -> str:
        return "\n".join(self)


class StepByStep:
    """A job under virtual time, under your hand.

    Args:
        make: Gives the graph of the program, a fresh one at each call; the argument is where sinks write.
        config: By default a checkpoint every 200 virtual ms, and channels of 8 records.
        seed: Of delays and of the order of things: equal seeds and equal calls are equal runs.
        name: The variable that holds it, for the calls that controls show.

    ``position`` is the step that is shown, ``steps`` how many there have been.
    """

    def __init__(
        self,
        make: Callable[[Files], JobGraph],
        config: JobConfig | None = None,
        *,
        seed: int = 0,
        name: str = "run",
    ) -> None:
        graph = make(MemoryFiles())
        observer = JobObserver(graph, seed=seed, simulated=True)
        self._take(SteppedJob(make, config, seed=seed, observer=observer), observer, name)

    def _take(self, job: SteppedJob, observer: JobObserver, name: str) -> None:
        self._job, self._observer, self.name = job, observer, name
        self.position = job.steps
        self.forks: list[StepByStep] = []
        self.board: Board | None = None
        self._history = JobHistory()
        self._read_to = 0
        self._ends = _ends_of(observer.journal, job.steps, job.now_ms)  # of each step, ms
        self._catch_up()

    @property
    def journal(self) -> Journal:
        """All that happened; `Journal.save` keeps it."""
        return self._observer.journal

    @property
    def steps(self) -> int:
        return self._job.steps

    @property
    def now_ms(self) -> int:
        """Virtual time of the last step, since the start."""
        return self._job.now_ms - (self.journal.start_ms or self._job.now_ms)

    @property
    def files(self) -> MemoryFiles:
        """What sinks and checkpoints have written up to the last step; ``files.data`` by path."""
        return self._job.files

    @property
    def is_over(self) -> bool:
        """The job has ended, and the last step is shown."""
        return self._job.is_over and self.position == self.steps

    # Moving.

    def step(self, n: int = 1) -> Told:
        """So many steps on; says what happened, a sentence for each thing.

        Raises:
            BadInputError: ``n`` is below 1; `back` goes back.
        """
        if n < 1:
            raise BadInputError(f"step({n}): give a number of at least 1; back() goes back")
        told = Told()
        for _ in range(n):
            if self.position < self.steps:
                self.position += 1
                told += self._words_of_step(self.position)
            elif self._job.step():
                told += self._stepped()
            else:
                break
        self._show_position()
        return told or Told([f"the job is {self._job.job.state}: nothing more will happen"])

    def back(self, n: int = 1) -> Told:
        """So many steps back: nothing is undone, the views show how it was."""
        self.position = max(0, self.position - n)
        self._show_position()
        return Told([f"step {self.position} of {self.steps}", *self._words_of_step(self.position)[:1]])

    def until(self, what: str = "checkpoint") -> Told:
        """On until a checkpoint is complete, something fails, or the end of the job.

        Raises:
            BadInputError: it is none of these.
        """
        if what not in UNTIL:
            raise BadInputError(f"until({what!r}): it is one of {', '.join(map(repr, UNTIL))}")
        told = Told()
        for _ in range(STEPS_MAX):
            seen = self.journal.next_seq
            is_new = self.position == self.steps
            said = self._forward()
            if said is None:
                break
            told = said
            news = self.journal.since(seen) if is_new else self._of_step(self.position)
            found = [moment for o in news if (moment := moment_of(o)) is not None]
            if what != "end" and any(is_of(moment, what) for moment in found):
                break
        self._show_position()
        return told or Told([f"the job is {self._job.job.state}: nothing more will happen"])

    def _forward(self) -> Told | None:
        if self.position < self.steps:
            self.position += 1
            return self._words_of_step(self.position)
        return self._stepped() if self._job.step() else None

    def _stepped(self) -> Told:
        self.position = self.steps
        self._ends.append(self._job.now_ms)
        return self._words(self._catch_up())

    # Acting.

    def drop(self, lane: str, what: str = "") -> str:
        """The next message that is on its way there never arrives. ``what``: ``barrier``, ``records``…"""
        return self._act("drop", lane, *([what] if what else []))

    def delay(self, lane: str, by_ms: int) -> str:
        """What is on its way in a channel comes so much later (or, if nothing is, what is sent next)."""
        return self._act("delay", lane, by_ms)

    def fail(self, task: str) -> str:
        """A subtask, ``count[1]``, raises."""
        return self._act("fail", task)

    def kill(self, task: str) -> str:
        """The process of a subtask dies and says nothing; it is noticed a little later."""
        return self._act("kill", task)

    def checkpoint(self) -> str:
        """Ask for one now."""
        return self._act("checkpoint")

    def stop(self, *, drain: bool = False) -> str:
        """Stop with a savepoint."""
        return self._act("stop", drain)

    def _act(self, name: str, *args: Any) -> str:
        reason = self._why_not()
        if reason:
            raise BadInputError(reason)
        said = self._job.act(name, *args)
        self._catch_up()
        self._show_position()
        return said

    def _why_not(self) -> str:
        """Why nothing can be done here; "" where it can."""
        if self.position < self.steps:
            place = f"this is step {self.position} of {self.steps}"
            return f"{place}: what happened stays; {self.name}.fork() goes another way from here"
        return (
            f"the job is {self._job.job.state}: nothing can be done to it any more"
            if self._job.is_over
            else ""
        )

    def fork(self) -> StepByStep:
        """Another run that has come as far as `position`, and goes on by itself from there."""
        observer = JobObserver(self._job.make(MemoryFiles()), seed=self._job.seed, simulated=True)
        made = StepByStep.__new__(StepByStep)
        made._take(
            self._job.forked(observer, self.position), observer, f"{self.name}.forks[{len(self.forks)}]"
        )
        self.forks.append(made)
        return made

    # What there is.

    @property
    def tasks(self) -> list[str]:
        """The subtasks that run: `fail` and `kill` take them."""
        return [f"{t.vertex.name}[{t.subtask}]" for t in self._history.tasks if t.engine_state == "running"]

    @property
    def channels(self) -> list[str]:
        """The channels: `delay` and `drop` take them."""
        return list(self._job.channels())

    @property
    def messages(self) -> list[tuple[str, str, int]]:
        """What is on its way: (channel or lane, what, virtual ms until it arrives), the next first."""
        now_ms = self._job.now_ms
        return [(m.lane, m.what, m.due_ms - now_ms) for m in self._job.messages() if not m.lane.endswith("<")]

    def explain(self) -> Told:
        """In sentences, as it is at `position`: who works, whom each checkpoint waits for, who is held up."""
        until_ms = self._end_of(self.position)
        return Told(explain_job(fold_jobs(self.journal.since(), until_ms=until_ms), until_ms))

    def show(self, scale: float = 1.0) -> Board:
        """The views, live; they follow `step` and `back`."""
        from pravega_lab.widgets import JobGraph, show

        self.board = show(self._observer, scale=scale)
        for view in self.board.views:
            if isinstance(view, JobGraph):
                view.control = self.name
        return self.board

    def controls(self) -> Controls:
        """Buttons for all of it; what is pinned in the views chooses."""
        from pravega_lab.widgets.controls import Controls

        board = self.board or self.show()
        return Controls(_acts(self), board.clock)

    def close(self) -> None:
        """End it; the journal stays, as a recording."""
        self._job.close()
        self._observer.close()

    def __repr__(self) -> str:
        job = self._job
        where = f"step {self.position} of {job.steps}, {job.job.state}"
        return f"StepByStep({job.graph.name!r}, seed {job.seed}, {where})"

    # Words of steps.

    def _catch_up(self) -> list[Observation]:
        news = self.journal.since(self._read_to)
        for o in news:
            self._read_to = o.seq + 1
            self._history.apply(o)
        return news

    def _words(self, observations: Iterable[Observation]) -> Told:
        said = (o.text if isinstance(o, Acted) else words_of(o, self._history) for o in observations)
        return Told(dict.fromkeys(text for text in said if text))

    def _end_of(self, step: int) -> int:
        return self._ends[step] if step < len(self._ends) else self._job.now_ms

    def _of_step(self, step: int) -> list[Observation]:
        first = self._end_of(step - 1) if step else -1
        return [o for o in self.journal.since() if first < o.time_ms <= self._end_of(step)]

    def _words_of_step(self, step: int) -> Told:
        return self._words(self._of_step(step))

    def _show_position(self) -> None:
        if self.board is None:
            return
        clock = self.board.clock
        if self.position == self.steps:
            clock.follow()
        else:
            clock.seek((self._end_of(self.position) - (clock.start_ms or 0)) / 1000)


def _ends_of(journal: Journal, steps: int, now_ms: int) -> list[int]:
    """When each step of a run that is made anew ended: every millisecond in which something was told."""
    times = sorted({o.time_ms for o in journal.since() if not isinstance(o, Acted)})
    return [*times, *[now_ms] * (steps + 1 - len(times))][: steps + 1] or [now_ms]


def _acts(run: StepByStep) -> list[Act]:
    """What the controls do: each is one public call, and its text is that call."""
    from pravega_lab.widgets.controls import Act

    def call(name: str) -> Callable[[str, float], str]:
        return lambda target, value: f"{run.name}.{name}({target!r})" if target else f"{run.name}.{name}()"

    def counted(name: str) -> Callable[[str, float], str]:
        return lambda target, value: f"{run.name}.{name}({value:.0f})"

    def no(target: str) -> str:
        return run._why_not()

    def over(target: str) -> str:
        return f"the job is {run._job.job.state}" if run.is_over else ""

    def first(target: str) -> str:
        return "" if run.position else "this is the beginning"

    return [
        Act("step", counted("step"), lambda t, v: "; ".join(run.step(int(v))[-3:]), over, value=1,
            unit="steps"),
        Act("back", counted("back"), lambda t, v: run.back(int(v))[0], first, value=1, unit="steps"),
        Act("to the next checkpoint", lambda t, v: f'{run.name}.until("checkpoint")',
            lambda t, v: "; ".join(run.until("checkpoint")[-1:]), over),
        Act("fail this task", call("fail"), lambda t, v: run.fail(t), no, lambda: run.tasks, _task_of),
        Act("kill its process", call("kill"), lambda t, v: run.kill(t), no, lambda: run.tasks, _task_of),
        Act("drop the next message", lambda t, v: f"{run.name}.drop({', '.join(map(repr, t.split(' · ')))})",
            lambda t, v: run.drop(*t.split(" · ")), no, lambda: _droppable(run), _message_of),
        Act("delay this channel", lambda t, v: f"{run.name}.delay({t!r}, {v:.0f})",
            lambda t, v: run.delay(t, int(v)), no, lambda: run.channels, lambda mark: mark.get("lane"),
            50, "ms"),
        Act("take a checkpoint", call("checkpoint"), lambda t, v: run.checkpoint(), no),
        Act("fork here", lambda t, v: f"fork = {run.name}.fork()", lambda t, v: _forked(run)),
    ]  # fmt: skip


def _forked(run: StepByStep) -> str:
    fork = run.fork()
    return f"{fork.name}.show() shows it"


def _droppable(run: StepByStep) -> list[str]:
    """``map[0]>count[1]:0 · barrier``: the next of each sort in each channel."""
    ways = (f"{m.lane} · {m.sort}" for m in run._job.messages() if m.mark is not None)
    return list(dict.fromkeys(ways))


def _task_of(mark: dict[str, Any]) -> str | None:
    return mark.get("id") if mark.get("kind") == "task" else None


def _message_of(mark: dict[str, Any]) -> str | None:
    return f"{mark['lane']} · {mark['what']}" if mark.get("kind") == "mark" else None
