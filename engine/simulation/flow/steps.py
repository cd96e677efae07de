"""`SteppedJob`: a job that a person steps through, dropping or delaying messages and failing tasks.

Each message arrives in a separate millisecond, so a step is a millisecond in which something happened. A
script records the person's actions by number of step. Together with seed and program the script determines
the run. A fork therefore repeats the run up to a step and then continues differently. Time is virtual; see
`kernel.loop`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, TypeVar

from pravega_lab.errors import BadInputError, PravegaError
from pravega_lab.portable.alone import IS_BROWSER, without_loop

from ...flow.batch import Batch
from ...flow.checkpoint.coordinator import CheckpointConfig
from ...flow.elements import SubtaskId
from ...flow.files import Files
from ...flow.graph.graph import JobGraph
from ...flow.master.config import JobConfig
from ...flow.master.job import Job
from ...flow.observer import ChannelContents, Mark, Observation, Observer, Throughput
from ...flow.task.channels import Channel, mark_of
from ...flow.task.task_input import GateInput
from ..kernel.loop import SimulationLoop
from .world import FlowConditions, FlowFiles, FlowHost

T = TypeVar("T")
Make = Callable[[Files], JobGraph]
OVER = ("finished", "failed", "cancelled")
NOTICED_MS = 20  # time after a kill until the job master notices it
KEPT_STEPS = 5_000  # number of last steps whose messages in transit are kept
QUIET_MS = 600_000  # virtual; a job in which nothing happens for this long is stuck
STEPPED = JobConfig(checkpoints=CheckpointConfig(interval_ms=200, timeout_ms=2_000), channel_capacity=8)


class ByHandError(PravegaError):
    """Raised in a task that a person fails or kills."""


@dataclass(frozen=True, slots=True)
class ElementArrived:
    """An element arrived at the end of a channel's wire. The engine itself does not emit this observation."""

    at_ms: int
    producer: SubtaskId
    consumer: SubtaskId
    channel: int
    mark: Mark


@dataclass(slots=True)
class Message:
    """A message in transit until ``due_ms``.

    ``mark`` and ``channel`` describe an element of a channel. They are None for messages of the job master
    and for credits.
    """

    number: int
    lane: str
    due_ms: int
    what: str
    channel: Channel | None
    mark: Mark | None
    deliver: Callable[..., None] = field(repr=False)
    args: tuple[object, ...] = field(repr=False)

    @property
    def sort(self) -> str:
        """The kind of message: ``records``, ``barrier`` and so on for elements, else what it asks for."""
        return self.what if self.mark is None else self.mark.what


@dataclass(frozen=True, slots=True)
class ByHand:
    """A person acted: the name and arguments of a method. The engine itself does not emit this
    observation.
    """

    at_ms: int
    text: str
    name: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """An action of a person after ``step`` and before the next: the name of a method and its arguments."""

    step: int
    name: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class OnWay:
    """A `Message` as it was at a step."""

    lane: str
    what: str
    sort: str
    due_ms: int
    is_element: bool


class StepWire:
    """A `channels.Wire` whose messages can be seen, dropped and delayed while they are in transit."""

    def __init__(self, loop: SimulationLoop, chance: Random, delay_ms_max: int) -> None:
        self._loop, self._chance, self._delay_ms_max = loop, chance, delay_ms_max
        self.on_way: dict[int, Message] = {}
        self.arrived: list[ElementArrived] = []
        self._lanes: dict[str, int] = {}
        self._taken: dict[int, None] = {}  # milliseconds in which a message arrives
        self._sent = 0

    @property
    def _now_ms(self) -> int:
        return self._loop.now_us // 1000

    def data(self, lane: str, deliver: Callable[..., None], *args: object) -> None:
        """Send an element along a channel."""
        channel: Channel = deliver.__self__  # type: ignore[attr-defined]
        mark = mark_of(args[0])  # type: ignore[arg-type]
        self._send(lane, deliver, args, f"{mark.what} {mark.value}", channel, mark)

    def call(self, lane: str, deliver: Callable[..., None], *args: object, may_be_lost: bool = False) -> None:
        """Send a message of the job master, or a credit."""
        self._send(lane, deliver, args, deliver.__name__.strip("_").replace("_", " "), None, None)

    def _send(
        self,
        lane: str,
        deliver: Callable[..., None],
        args: tuple[object, ...],
        what: str,
        channel: Channel | None,
        mark: Mark | None,
    ) -> None:
        self._sent += 1
        due_ms = self._now_ms + self._chance.randint(1, self._delay_ms_max)
        message = Message(self._sent, lane, 0, what, channel, mark, deliver, args)
        self.on_way[message.number] = message
        self._schedule(message, due_ms)

    def _schedule(self, message: Message, due_ms: int) -> None:
        """Schedule at this millisecond or the next free one, after earlier messages of the lane."""
        due_ms = max(due_ms, self._lanes.get(message.lane, 0) + 1)
        if not message.lane.endswith("<"):  # credits along a channel are not shown
            while due_ms in self._taken:
                due_ms += 1
            self._taken = {ms: None for ms in self._taken if ms >= self._now_ms}
            self._taken[due_ms] = None
        self._lanes[message.lane] = message.due_ms = due_ms
        self._loop.call_at_us(due_ms * 1000, self._arrive, message.number, due_ms, context=Context())

    def _arrive(self, number: int, due_ms: int) -> None:
        message = self.on_way.get(number)
        if message is None or message.due_ms != due_ms:
            return  # the message was dropped or delayed
        del self.on_way[number]
        channel = message.channel
        if channel is not None and message.mark is not None and not channel.is_closed:
            who = (channel.producer, channel.consumer, channel.index)
            self.arrived.append(ElementArrived(self._now_ms, *who, message.mark))
        message.deliver(*message.args)

    def drop(self, number: int) -> Message:
        """Drop a message. The room of dropped records is released here, because the receiver
        never sees them.
        """
        message = self.on_way.pop(number)
        channel = message.channel
        if channel is not None and message.args and isinstance(message.args[0], Batch):
            channel._held -= message.args[0].num_rows
            channel.on_room()
        return message

    def delay(self, lane: str, by_ms: int) -> int:
        """Delay the messages in transit in a lane, in their order, and return how many they are.

        If there are none, the next messages of the lane are delayed.
        """
        mine = [message for message in self.on_way.values() if message.lane == lane]
        self._lanes.pop(lane, None)
        for message in sorted(mine, key=lambda message: message.number):
            self._schedule(message, message.due_ms + by_ms)
        if not mine:  # delay what is sent from now on
            self._lanes[lane] = self._now_ms + by_ms
        return len(mine)


class SteppedJob:
    """One run, which only goes forward. `forked` returns another run that repeats this one up to a step.

    Args:
        make: Returns a new graph of the program on each call. Its sinks write to ``files``.
        config: The default has a checkpoint every 200 ms and channels of 8 records.
        seed: Determines delays and the order of steps.
        observer: An `observer.Observer`.
        delay_ms_max: Each message travels 1 to this many virtual ms.
    """

    def __init__(
        self,
        make: Make,
        config: JobConfig | None = None,
        *,
        seed: int = 0,
        observer: Observer,
        delay_ms_max: int = 8,
    ) -> None:
        self.make, self.config, self.seed = make, config or STEPPED, seed
        self.delay_ms_max = delay_ms_max
        self.steps = 0
        self.script: list[Action] = []
        # messages in transit after each step, the next to arrive first
        self.on_way: dict[int, tuple[OnWay, ...]] = {}
        self.loop = SimulationLoop(f"{seed}/steps")  # type: ignore[abstract]  # as in `run_story`
        self.wire = StepWire(self.loop, Random(f"{seed}/wire"), delay_ms_max)
        self.files = FlowFiles(Random(f"{seed}/files"), FlowConditions())
        self.host = FlowHost(self.loop)
        self._names = Random(f"{seed}/names")
        self._told: list[Observation] = []
        self._to = observer
        self._contents: dict[str, ChannelContents] = {}
        self._totals: dict[SubtaskId, Throughput] = {}
        self.graph = make(self.files)
        self.job = Job(
            self.graph,
            self.config,
            files=self.files,
            observer=self,
            wire=self.wire,
            host=self.host,
            now_ms=lambda: self.now_ms,
            unique_id=lambda: f"{self._names.getrandbits(128):032x}",
            job_id="stepped",
        )
        self._do(lambda: self._begin(self.job.start()))
        self._note()

    # -- where it is ---------------------------------------------------------------------------------------

    @property
    def now_ms(self) -> int:
        """Return the virtual time in ms."""
        return self.loop.now_us // 1000

    @property
    def is_over(self) -> bool:
        """Whether the job has ended, so that no step follows."""
        return self.job.state in OVER

    @property
    def errors(self) -> list[str]:
        """Errors that no code handled. A run with an error has failed."""
        return self.loop.errors

    def messages(self) -> list[Message]:
        """Return the messages in transit, the next to arrive first."""
        return sorted(self.wire.on_way.values(), key=lambda message: message.due_ms)

    def channels(self) -> dict[str, Channel]:
        """Return the channels by the name of their lane, for example ``map[0]>count[1]:0``."""
        found = {}
        for execution in self.job.master.executions.values() if self.job.has_master else ():
            subtask = execution.subtask
            if subtask is not None and isinstance(subtask.input, GateInput):
                found.update({channel.lane: channel for channel in subtask.input._channels})
        return found

    # -- forward -------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """Run to the end of the next millisecond with an observation; return False if the job is over.

        Raises:
            PravegaError: Nothing happens any more, and the job is not over.
        """
        if self.is_over:
            return False
        has_stepped = apart(self._step)
        self._note()
        return has_stepped

    def _note(self) -> None:
        mine = (m for m in self.messages() if not m.lane.endswith("<"))
        self.on_way[self.steps] = tuple(
            OnWay(m.lane, m.what, m.sort, m.due_ms, m.mark is not None) for m in mine
        )
        if len(self.on_way) > KEPT_STEPS:
            del self.on_way[next(iter(self.on_way))]

    def _step(self) -> bool:
        until_ms = self.now_ms + QUIET_MS
        while not self.is_over:
            at_us = self.loop.next_us
            if at_us is None or at_us > until_ms * 1000:
                raise PravegaError(f"nothing happens any more, and these wait:\n{self.loop.waiting()}")
            self.loop.run_instant()
            at_ms = self.now_ms
            while (next_us := self.loop.next_us) is not None and next_us // 1000 == at_ms:
                self.loop.run_instant()
            if self._tell():
                self.steps += 1
                return True
        return False

    def observe(self, observation: Observation) -> None:
        """Keep an observation of the job until the end of the step."""
        self._told.append(observation)

    def _tell(self) -> bool:
        """Pass the observations of this step to the observer, with changed channels; return whether there
        were any.
        """
        told: list[Any] = [*self.wire.arrived, *self._told]
        self.wire.arrived, self._told = [], []
        told += self._sample() if self.job.has_master else []
        for observation in told:
            self._to.observe(observation)
        return bool(told)

    def _sample(self) -> list[Observation]:
        """Return the channels that changed, with their messages in transit, and the totals that grew."""
        now = {lane: self._contents_of(channel) for lane, channel in self.channels().items()}
        told: list[Observation] = []
        for lane, contents in now.items():
            before = self._contents.get(lane)
            if before is None or replace(before, at_ms=contents.at_ms) != contents:
                told.append(contents)
        self._contents = now
        for id, execution in self.job.master.executions.items():
            if execution.subtask is None:
                continue
            total = execution.subtask.throughput()
            before_it = self._totals.get(id)
            if before_it is None or replace(before_it, at_ms=total.at_ms) != total:
                self._totals[id] = total
                told.append(total)
        return told

    def _contents_of(self, channel: Channel) -> ChannelContents:
        execution = self.job.master.executions[channel.consumer]
        gate = None if execution.subtask is None else execution.subtask.input
        blocked = isinstance(gate, GateInput) and gate.barriers.is_blocked(channel.index)
        contents = channel.contents(self.now_ms, blocked)
        if channel.is_closed:
            return replace(contents, marks=(), records=0, blocked=False)
        marks = list(contents.marks)
        mine = (m for m in self.wire.on_way.values() if m.channel is channel and m.mark is not None)
        for message in sorted(mine, key=lambda message: message.number):
            mark = message.mark
            assert mark is not None
            if marks and mark.what == "records" == marks[-1].what:
                mark = Mark("records", marks.pop().value + mark.value)
            marks.append(mark)
        return replace(contents, marks=tuple(marks))

    # -- acting --------------------------------------------------------------------------------------------

    def act(self, name: str, *args: Any) -> str:
        """Do one of `ACTIONS` now, record it in the script, and return a description of it.

        Raises:
            BadInputError: There is no such action, or nothing that it can be done to.
        """
        if name not in ACTIONS:
            raise BadInputError(f"there is no action {name!r}; there are {', '.join(ACTIONS)}")
        if self.is_over:
            raise BadInputError(f"the job is {self.job.state}: nothing can be done to it any more")
        said: str = getattr(self, f"_{name}")(*args)
        self.script.append(Action(self.steps, name, args))
        self._note()
        return said

    def _drop(self, lane: str, what: str = "") -> str:
        mine = [m for m in self.messages() if m.lane == lane and what in ("", m.sort)]
        if not mine:
            ways = ", ".join(dict.fromkeys(m.lane for m in self.messages())) or "nothing"
            raise BadInputError(f"no {what or 'message'} is on its way on {lane!r}; on their way: {ways}")
        message = mine[0]
        said = f"dropped {message.what} on {message.lane}"
        self._do(lambda: self.wire.drop(message.number), said, "drop", lane, *([what] if what else []))
        return said

    def _delay(self, lane: str, by_ms: int) -> str:
        if by_ms < 1:
            raise BadInputError(f"the delay is {by_ms} ms, and must be at least 1")
        if lane not in self.channels() and not any(m.lane == lane for m in self.wire.on_way.values()):
            raise BadInputError(f"there is no channel {lane!r}; there are {', '.join(self.channels())}")
        said = f"delayed {lane} by {by_ms} ms"
        self._do(lambda: self.wire.delay(lane, by_ms), said, "delay", lane, by_ms)
        return said

    def _fail(self, task: str) -> str:
        id = self._running(task)
        said = f"{task} raises at its next turn"
        error = ByHandError(f"{task} failed here, by hand")
        self._do(lambda: self.job.fail_subtask(id, error), said, "fail", task)
        return said

    def _kill(self, task: str) -> str:
        id = self._running(task)
        execution = self.job.master.executions[id]
        attempt, running = execution.attempt, execution.running
        gone = ByHandError(f"the process of {task} is gone, by hand")

        def kill() -> None:
            running.process.kill()  # type: ignore[union-attr]
            later_us = self.loop.now_us + NOTICED_MS * 1000
            self.loop.call_at_us(later_us, self.job.subtask_lost, id, attempt, gone, context=Context())

        said = f"killed the process of {task}; it is noticed {NOTICED_MS} ms later"
        self._do(kill, said, "kill", task)
        return said

    def _running(self, task: str) -> SubtaskId:
        known = {str(id): id for id in self.graph.subtasks()}
        if task not in known:
            raise BadInputError(f"there is no subtask {task!r}; there are {', '.join(known)}")
        execution = self.job.master.executions[known[task]]
        if execution.subtask is None or execution.running is None or execution.state.is_terminal:
            raise BadInputError(f"{task} does not run: it is {execution.state.value}")
        return known[task]

    def _checkpoint(self) -> str:
        said = "asked for a checkpoint"
        self._do(lambda: self._begin(self.job.trigger_checkpoint()), said, "checkpoint")
        return said

    def _stop(self, drain: bool = False) -> str:
        folder = f"savepoints/{len(self.script)}"
        said = f"asked to stop with a savepoint{', drained' if drain else ''}, in {folder}"
        self._do(lambda: self._begin(self.job.stop_with_savepoint(folder, drain=drain)), said, "stop", drain)
        return said

    def _begin(self, coro: Any) -> None:
        """Start a coroutine. Observations report its outcome."""
        task = self.loop.create_task(coro, context=Context())
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _do(self, act: Callable[[], object], said: str = "", name: str = "", *args: Any) -> None:
        """Act between two steps, outside of all processes, and report at once what follows."""

        def run() -> None:
            if name:
                self._told.append(ByHand(self.now_ms, said, name, args))  # type: ignore[arg-type]
            self.loop.call_soon(act, context=Context())
            self.loop.run_ready()
            self._tell()

        apart(run)

    # -- another one ---------------------------------------------------------------------------------------

    def forked(self, observer: Observer, steps: int | None = None) -> SteppedJob:
        """Return an independent run that has done the same for so many steps (by default, all of
        this run).
        """
        until = self.steps if steps is None else steps
        made = SteppedJob(
            self.make, self.config, seed=self.seed, observer=observer, delay_ms_max=self.delay_ms_max
        )
        for action in [*self.script, Action(until, "", ())]:
            while made.steps < min(action.step, until) and made.step():
                pass
            if action.step <= until and action.name:
                made.act(action.name, *action.args)
        return made

    def close(self) -> None:
        """End the remaining tasks of the run."""
        apart(self.loop.dispose)


ACTIONS = ("drop", "delay", "fail", "kill", "checkpoint", "stop")


def apart(run: Callable[[], T]) -> T:
    """Run in this thread, or in another thread if an event loop runs here, as in a notebook.

    A browser has no threads: the loop that runs there is taken away for the time of the run.
    """
    if IS_BROWSER:
        with without_loop():
            return run()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    ended: list[T] = []
    failed: list[BaseException] = []

    def body() -> None:
        try:
            ended.append(run())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=body, name="stepped job")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return ended[0]
