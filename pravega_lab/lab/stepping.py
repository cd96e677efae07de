"""`StepByStep`: a simulated job that a notebook steps forward and back, with faults and forks at any step.

::

    run = StepByStep(make, seed=3)       # make(files) returns the job's graph
    board = run.show()                   # JobGraph and CheckpointTimeline, live
    run.controls()                       # buttons; each shows the call that it makes
    run.step()                           # one sentence: what happened
    run.fail("count[1]")
    fork = run.fork()                    # the same up to here, and independent from here on
    board.go(fork)                       # the views show the fork; board.go(run) shows the run again

The past cannot be changed: go back and fork there instead. The page's own buttons do the same.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.simulation.flow.steps import OnWay, SteppedJob
from pravega_lab.errors import BadInputError
from pravega_lab.observe.job.explain import explain_job
from pravega_lab.observe.job.fold import JobHistory, fold_jobs
from pravega_lab.observe.job.observer import JobObserver
from pravega_lab.observe.job.words import words_of
from pravega_lab.observe.landmarks import is_of, moment_of
from pravega_lab.observe.ledger.observations import Acted

if TYPE_CHECKING:
    from pravega_lab.engine.flow.files import Files
    from pravega_lab.engine.flow.graph.graph import JobGraph
    from pravega_lab.engine.flow.master.config import JobConfig
    from pravega_lab.observe.journal.journal import Journal
    from pravega_lab.observe.journal.observations import Observation
    from pravega_lab.widgets.boards.run_board import RunBoard
    from pravega_lab.widgets.live.clock import Clock
    from pravega_lab.widgets.live.controls import Controls
    from pravega_lab.widgets.live.view import View

__all__ = ["StepByStep", "Told"]

UNTIL = ("checkpoint", "failure", "end")
ASKED = ("fork", "drop", "delay", "fail", "kill")  # what a page may ask for
STEPS_MAX = 100_000
SAME_S = 0.0005  # a time of a page and a time of ours that are closer than this are equal


class Told(list[str]):
    """Sentences that print as lines."""

    def __repr__(self) -> str:
        return "\n".join(self)


class StepByStep:
    """A job under virtual time that advances only when a person steps it.

    Args:
        make: Returns the job's graph, a fresh one at each call. Its argument is where sinks write.
        config: By default a checkpoint every 200 virtual ms, and channels of 8 records.
        seed: Decides delays and the order of events. Equal seeds and equal calls give equal runs.
        name: The variable that holds the run, for the calls that controls show.

    ``steps`` is the number of steps so far. ``position`` is the step that is shown, also when a person
    moved the page there. ``story`` says in a line where a fork comes from. Any thread may call the
    methods.
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
        self._shown_s: float | None = None  # the time of the views' clock when it was last read
        self._past: tuple[int, JobHistory] | None = None
        self._acting = threading.RLock()  # the page's buttons act in threads of their own
        self._history = JobHistory()
        self._read_to = 0
        self._ends = _ends_of(observer.journal, job.steps, job.now_ms)  # of each step, ms
        self._catch_up()

    @property
    def journal(self) -> Journal:
        """Return the journal of all that happened; `Journal.save` writes it to a file."""
        return self._observer.journal

    @property
    def steps(self) -> int:
        """Return the number of steps so far."""
        return self._job.steps

    @property
    def position(self) -> int:
        """Return the step that is shown."""
        self._look()
        return self._position

    @property
    def now_ms(self) -> int:
        """Return the virtual time of the last step, in ms since the start."""
        return self._job.now_ms - (self.journal.start_ms or self._job.now_ms)

    @property
    def files(self) -> MemoryFiles:
        """Return the files of sinks and checkpoints as of the last step; ``files.data`` has them by path."""
        return self._job.files

    @property
    def is_over(self) -> bool:
        """Return whether the job has ended and the last step is shown."""
        return self._job.is_over and self.position == self.steps

    # Moving.

    def step(self, n: int = 1) -> Told:
        """Go ``n`` steps forward and return what happened, a sentence for each event.

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
        """Show the state ``n`` steps earlier. Nothing is undone."""
        with self._acting:
            self._position = max(0, self.position - n)
            self._show_position()
            return Told([f"step {self._position} of {self.steps}", *self._words_of_step(self._position)[:1]])

    def until(self, what: str = "checkpoint") -> Told:
        """Step until a checkpoint is complete, something fails, or the job ends.

        Args:
            what: ``checkpoint``, ``failure`` or ``end``. The end of the job stops the run in any case.

        Returns:
            What happened in the last step.

        Raises:
            BadInputError: ``what`` is none of these.
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
        """Lose the next message that is on its way in a channel.

        Args:
            lane: One of `channels`.
            what: Lose the next message of this sort: ``barrier``, ``records``, …
        """
        return self._act("drop", lane, *([what] if what else []))

    def delay(self, lane: str, by_ms: int) -> str:
        """Delay what is on its way in a channel, or, if nothing is, what is sent next."""
        return self._act("delay", lane, by_ms)

    def fail(self, task: str) -> str:
        """Let a subtask, ``count[1]``, raise an error."""
        return self._act("fail", task)

    def kill(self, task: str) -> str:
        """Kill the process of a subtask. The job notices that a little later."""
        return self._act("kill", task)

    def checkpoint(self) -> str:
        """Request a checkpoint now."""
        return self._act("checkpoint")

    def stop(self, *, drain: bool = False) -> str:
        """Stop the job with a savepoint. ``drain``: emit everything that the job still holds first."""
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
        """Return why nothing can be done to the job at this step, "" if something can."""
        if self.position < self.steps:
            place = f"this is step {self.position} of {self.steps}"
            return f"{place}: what happened stays; {self.name}.fork() goes another way from here"
        is_over = self._job.is_over
        return f"the job is {self.state}: nothing can be done to it any more" if is_over else ""

    def fork(self) -> StepByStep:
        """Return another run that has come as far as `position`, and is independent from there on."""
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
        """Do what a page asks for, at the moment that the page shows. Returns at once; a thread does it.

        If that moment is in the past, the run is forked there first, and the board shows the fork.
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
        except Exception as error:  # no caller could catch it in this thread: the view shows it
            said = f"not done: {error}"
        if self.board is not None and run is not self:
            self.board.go(run)
        run.views[0].answer = said

    # State.

    @property
    def tasks(self) -> list[str]:
        """Return the subtasks that run at `position`. They are arguments of `fail` and `kill`."""
        return [f"{t.vertex.name}[{t.subtask}]" for t in self._shown().tasks if t.engine_state == "running"]

    @property
    def channels(self) -> list[str]:
        """Return the channels. They are arguments of `delay` and `drop`."""
        return list(self._job.channels())

    @property
    def on_way(self) -> tuple[OnWay, ...]:
        """Return what is on its way at `position`, in order of arrival, for the newest 5,000 steps."""
        return self._job.on_way.get(self.position, ())

    @property
    def messages(self) -> list[tuple[str, str, int]]:
        """Return what is on its way at `position`, in order of arrival: channel, what, ms until then."""
        now_ms = self._end_of(self.position)
        return [(m.lane, m.what, m.due_ms - now_ms) for m in self.on_way]

    @property
    def state(self) -> str:
        """Return the state of the job at its last step: ``running``, ``finished``, …"""
        return str(self._job.job.state)

    def _shown(self) -> JobHistory:
        """Return the job's history up to `position`."""
        at = self.position
        if at == self.steps:
            return self._history
        if self._past is None or self._past[0] != at:
            self._past = at, fold_jobs(self.journal.since(), until_ms=self._end_of(at))
        return self._past[1]

    def explain(self) -> Told:
        """Return the state at `position` in sentences: which subtasks run, which are held up, and what each
        checkpoint waits for.
        """
        until_ms = self._end_of(self.position)
        return Told(explain_job(fold_jobs(self.journal.since(), until_ms=until_ms), until_ms))

    @property
    def views(self) -> list[View]:
        """Return a JobGraph and a CheckpointTimeline, live. They follow `step` and `back`."""
        if not self._views:
            from pravega_lab.widgets import show

            self._views = show(self._observer, scale=self._scale).views
            for view in self._views:
                view.control, view.on_request = self.name, self.asked
            self._show_position()
        return self._views

    def show(self, scale: float = 1.0, where: str | None = None) -> RunBoard:
        """Return a board with the live views. `RunBoard.go` shows another fork in it.

        ``where="right"`` shows it in a panel on the right of JupyterLab, "inline" below its cell.
        """
        from pravega_lab.widgets.boards.run_board import RunBoard
        from pravega_lab.widgets.live.side import refuse_place

        self._scale, self._views = scale, []
        refuse_place(where)
        self.board = RunBoard(self)
        self.board.where = where
        for fork in self._family():
            fork.board, fork._scale = self.board, scale
            self.board.add(fork)
        return self.board

    def _family(self) -> list[StepByStep]:
        """Return all forks, and their forks."""
        return [one for fork in self.forks for one in (fork, *fork._family())]

    def controls(self) -> Controls:
        """Return buttons for all of this, on the run that the board shows.

        A mark that is pinned in the views chooses what they act on.
        """
        from pravega_lab.lab.stepping_controls import acts

        board = self.board or self.show()
        return board.controls(acts(board))

    def close(self) -> None:
        """End the job. The journal stays, as a recording."""
        self._job.close()
        self._observer.close()

    def __repr__(self) -> str:
        job = self._job
        where = f"step {self.position} of {job.steps}, {job.job.state}"
        return f"StepByStep({job.graph.name!r}, seed {job.seed}, {where})"

    # Steps in words.

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

    # The position, here and in the views.

    @property
    def _clock(self) -> Clock | None:
        return self._views[0].clock if self._views else None

    def _look(self) -> None:
        """Take over the position to which a person has moved the views."""
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
        """Return the last step that had ended by then."""
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
    """Return when each step of a repeated run ended: every millisecond in which something was observed."""
    times = sorted({o.time_ms for o in journal.since() if not isinstance(o, Acted)})
    return [*times, *[now_ms] * (steps + 1 - len(times))][: steps + 1] or [now_ms]
