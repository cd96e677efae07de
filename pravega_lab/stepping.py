"""A simulated job step by step, from a notebook: forward, back, with faults at a chosen point, and forks.

::

    run = StepByStep(make, seed=3)       # make(files) gives the job's graph
    board = run.show()                   # JobGraph and CheckpointTimeline, live
    run.controls()                       # buttons; each shows the call that it makes
    run.step()                           # one sentence: what happened
    run.fail("count[1]")
    fork = run.fork()                    # the same up to here, and its own way from here on
    board.go(fork)                       # the views show the fork; board.go(run) goes back

What happened stays: to change the past, go back and fork there. The page's own buttons do the same.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.simulation.flow_steps import OnWay, SteppedJob
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
    from pravega_lab.widgets.clock import Clock
    from pravega_lab.widgets.controls import Controls
    from pravega_lab.widgets.run_board import RunBoard
    from pravega_lab.widgets.view import View

UNTIL = ("checkpoint", "failure", "end")
ASKED = ("fork", "drop", "delay", "fail", "kill")  # by a page
STEPS_MAX = 100_000
SAME_S = 0.0005  # times of a page and of here that are closer are the same


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

    ``steps`` is how many steps there have been, ``position`` the one that is shown, also when a person moved
    the page there; ``story`` says in a line where a fork comes from.
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
        self._position = job.steps
        self.story, self._forked_at = f"{name}, from its beginning", -1
        self.forks: list[StepByStep] = []
        self.board: RunBoard | None = None
        self._views: list[View] = []
        self._scale = 1.0
        self._shown_s: float | None = None  # where the clock of the views was when it was last looked at
        self._past: tuple[int, JobHistory] | None = None
        self._acting = threading.RLock()  # the page's buttons act in threads of their own
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
    def position(self) -> int:
        """The step that is shown."""
        self._look()
        return self._position

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
        with self._acting:
            self._look()
            for _ in range(n):
                said = self._forward()
                if said is None:
                    break
                told += said
            self._show_position()
        return told or Told([f"the job is {self._job.job.state}: nothing more will happen"])

    def back(self, n: int = 1) -> Told:
        """So many steps back: nothing is undone, the views show how it was."""
        with self._acting:
            self._position = max(0, self.position - n)
            self._show_position()
            return Told([f"step {self._position} of {self.steps}", *self._words_of_step(self._position)[:1]])

    def until(self, what: str = "checkpoint") -> Told:
        """On until a checkpoint is complete, something fails, or the end of the job.

        Raises:
            BadInputError: it is none of these.
        """
        if what not in UNTIL:
            raise BadInputError(f"until({what!r}): it is one of {', '.join(map(repr, UNTIL))}")
        told = Told()
        with self._acting:
            self._look()
            for _ in range(STEPS_MAX):
                seen = self.journal.next_seq
                is_new = self._position == self.steps
                said = self._forward()
                if said is None:
                    break
                told = said
                news = self.journal.since(seen) if is_new else self._of_step(self._position)
                found = [moment for o in news if (moment := moment_of(o)) is not None]
                if what != "end" and any(is_of(moment, what) for moment in found):
                    break
            self._show_position()
        return told or Told([f"the job is {self._job.job.state}: nothing more will happen"])

    def _forward(self) -> Told | None:
        if self._position < self.steps:
            self._position += 1
            return self._words_of_step(self._position)
        return self._stepped() if self._job.step() else None

    def _stepped(self) -> Told:
        self._position = self.steps
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
        with self._acting:
            reason = self.why_not()
            if reason:
                raise BadInputError(reason)
            said = self._job.act(name, *args)
            if self.steps == self._forked_at:
                self.story = f"{self.story}: {said}"
            self._catch_up()
            self._show_position()
            return said

    def why_not(self) -> str:
        """Why nothing can be done here; "" where it can."""
        if self.position < self.steps:
            place = f"this is step {self.position} of {self.steps}"
            return f"{place}: what happened stays; {self.name}.fork() goes another way from here"
        is_over = self._job.is_over
        return f"the job is {self.state}: nothing can be done to it any more" if is_over else ""

    def fork(self) -> StepByStep:
        """Another run that has come as far as `position`, and goes on by itself from there."""
        with self._acting:
            at = self.position
            observer = JobObserver(self._job.make(MemoryFiles()), seed=self._job.seed, simulated=True)
            made = StepByStep.__new__(StepByStep)
            name = f"{self.name}.forks[{len(self.forks)}]"
            made._take(self._job.forked(observer, at), observer, name)
            made.story, made._forked_at = f"{name}: {self.name} as far as step {at}, then its own way", at
            made.board, made._scale = self.board, self._scale
            self.forks.append(made)
        if self.board is not None:
            self.board.add(made)
        return made

    def asked(self, content: dict[str, Any]) -> None:
        """A page asks to do something at the moment that it shows; done in a thread of its own.

        What lies in the past is forked there first, and the board goes to the fork.
        """
        threading.Thread(target=self._do_asked, args=(content,), name="asked by a page", daemon=True).start()

    def _do_asked(self, content: dict[str, Any]) -> None:
        name, args, at_ms = str(content.get("name")), content.get("args") or [], content.get("at_ms")
        run = self
        try:
            if name not in ASKED:
                raise BadInputError(f"a page asked for {name!r}; it may ask for {', '.join(ASKED)}")
            with self._acting:
                self._position = self.steps if at_ms is None else self._step_at(float(at_ms))
                self._shown_s = None if self._clock is None else self._clock.at_s
                if name == "fork" or self._position < self.steps:
                    run = self.fork()
            said = run.story if name == "fork" else run._act(name, *args)
        except Exception as error:  # a thread has nobody to raise to: it is shown
            said = f"not done: {error}"
        if self.board is not None and run is not self:
            self.board.go(run)
        run.views[0].answer = said

    # What there is.

    @property
    def tasks(self) -> list[str]:
        """The subtasks that run at `position`: `fail` and `kill` take them."""
        return [f"{t.vertex.name}[{t.subtask}]" for t in self._shown().tasks if t.engine_state == "running"]

    @property
    def channels(self) -> list[str]:
        """The channels: `delay` and `drop` take them."""
        return list(self._job.channels())

    @property
    def on_way(self) -> tuple[OnWay, ...]:
        """What is on its way at `position`, the next to arrive first. Of the newest 5,000 steps."""
        return self._job.on_way.get(self.position, ())

    @property
    def messages(self) -> list[tuple[str, str, int]]:
        """What is on its way at `position`, the next to arrive first: (channel or lane, what, virtual ms
        until it arrives)."""
        now_ms = self._end_of(self.position)
        return [(m.lane, m.what, m.due_ms - now_ms) for m in self.on_way]

    @property
    def state(self) -> str:
        """Of the job, at its last step: ``running``, ``finished``…"""
        return str(self._job.job.state)

    def _shown(self) -> JobHistory:
        """The job as it was at `position`."""
        at = self.position
        if at == self.steps:
            return self._history
        if self._past is None or self._past[0] != at:
            self._past = at, fold_jobs(self.journal.since(), until_ms=self._end_of(at))
        return self._past[1]

    def explain(self) -> Told:
        """In sentences, as it is at `position`: who works, whom each checkpoint waits for, who is held up."""
        until_ms = self._end_of(self.position)
        return Told(explain_job(fold_jobs(self.journal.since(), until_ms=until_ms), until_ms))

    @property
    def views(self) -> list[View]:
        """JobGraph and CheckpointTimeline, live; they follow `step` and `back`."""
        if not self._views:
            from pravega_lab.widgets import show

            self._views = show(self._observer, scale=self._scale).views
            for view in self._views:
                view.control, view.hand = self.name, self.asked
            self._show_position()
        return self._views

    def show(self, scale: float = 1.0) -> RunBoard:
        """The views, live; with forks the board goes from one run to another (`RunBoard.go`)."""
        from pravega_lab.widgets.run_board import RunBoard

        self._scale, self._views = scale, []
        self.board = RunBoard(self)
        for fork in self._family():
            fork.board, fork._scale = self.board, scale
            self.board.add(fork)
        return self.board

    def _family(self) -> list[StepByStep]:
        """All forks, and theirs."""
        return [one for fork in self.forks for one in (fork, *fork._family())]

    def controls(self) -> Controls:
        """Buttons for all of it, on the run that the board shows; what is pinned in the views chooses."""
        from pravega_lab.stepping_acts import acts

        board = self.board or self.show()
        return board.controls(acts(board))

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

    # Where it is, here and in the views.

    @property
    def _clock(self) -> Clock | None:
        return self._views[0].clock if self._views else None

    def _look(self) -> None:
        """Where a person has moved the views to is where they are."""
        clock = self._clock
        if clock is None:
            return
        at_s, before_s = clock.at_s, self._shown_s
        self._shown_s = at_s
        if at_s is None:
            self._position = self._position if before_s is None else self.steps
        elif before_s is None or abs(at_s - before_s) > SAME_S:
            self._position = self._step_at(1000 * at_s + (clock.start_ms or 0))

    def _step_at(self, at_ms: float) -> int:
        """The last that had ended by then."""
        return max(0, min(self.steps, bisect_right(self._ends, at_ms + 1000 * SAME_S) - 1))

    def _show_position(self) -> None:
        clock = self._clock
        if clock is None:
            return
        if self._position == self.steps:
            clock.follow()
        else:
            clock.seek((self._end_of(self._position) - (clock.start_ms or 0)) / 1000)
        self._shown_s = clock.at_s


def _ends_of(journal: Journal, steps: int, now_ms: int) -> list[int]:
    """When each step of a run that is made anew ended: every millisecond in which something was told."""
    times = sorted({o.time_ms for o in journal.since() if not isinstance(o, Acted)})
    return [*times, *[now_ms] * (steps + 1 - len(times))][: steps + 1] or [now_ms]
