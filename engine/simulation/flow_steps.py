"""A job under a person's hand: step by step, messages that can be dropped or delayed, tasks that fail.

Every message arrives in a millisecond of its own, so a step is a millisecond in which something happened.
What was done is a script by number of step; with seed and program it *is* the run, so a fork runs the same
again up to a step and goes on differently. Time inside is virtual; see `loop`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, TypeVar

from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.channels import Channel, mark_of
from pravega_lab.engine.flow.config import JobConfig
from pravega_lab.engine.flow.coordinator import CheckpointConfig
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.files import Files
from pravega_lab.engine.flow.graph import JobGraph
from pravega_lab.engine.flow.job import Job
from pravega_lab.engine.flow.observer import ChannelContents, Mark, Observation, Observer, Throughput
from pravega_lab.engine.flow.task_input import GateInput
from pravega_lab.engine.simulation.flow_world import FlowConditions, FlowFiles, FlowHost
from pravega_lab.engine.simulation.loop import SimulationLoop
from pravega_lab.errors import BadInputError, PravegaError

T = TypeVar("T")
Make = Callable[[Files], JobGraph]
OVER = ("finished", "failed", "cancelled")
NOTICED_MS = 20  # after a kill, somebody notices that nothing comes any more
KEPT_STEPS = 5_000  # of which it is known what was on its way
QUIET_MS = 600_000  # virtual; a job in which nothing happens for so long waits for ever
STEPPED = JobConfig(checkpoints=CheckpointConfig(interval_ms=200, timeout_ms=2_000), channel_capacity=8)


class ByHandError(PravegaError):
    """What a failure that a person asked for raises in the task."""


@dataclass(frozen=True, slots=True)
class ElementArrived:
    """Something came out at the end of a channel's wire. Observers of the engine do not know this kind."""

    at_ms: int
    producer: SubtaskId
    consumer: SubtaskId
    channel: int
    mark: Mark


@dataclass(slots=True)
class Message:
    """On its way until ``due_ms``. ``mark`` and ``channel``: of an element; None for a message of the master
    or back along a channel."""

    number: int
    lane: str
    sent_ms: int
    due_ms: int
    what: str
    channel: Channel | None
    mark: Mark | None
    deliver: Callable[..., None] = field(repr=False)
    args: tuple[object, ...] = field(repr=False)

    @property
    def sort(self) -> str:
        """``records``, ``barrier``…; of another message what it asks for."""
        return self.what if self.mark is None else self.mark.what


@dataclass(frozen=True, slots=True)
class ByHand:
    """A person did something: a method's name, and its arguments. Not a kind of the engine's."""

    at_ms: int
    text: str
    name: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """What a person did before the step after ``step``: the name of a method and its arguments."""

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
    """A `channels.Wire` whose messages can be seen, dropped and delayed while they are on their way."""

    def __init__(self, loop: SimulationLoop, chance: Random, delay_ms_max: int) -> None:
        self._loop, self._chance, self._delay_ms_max = loop, chance, delay_ms_max
        self.on_way: dict[int, Message] = {}
        self.arrived: list[ElementArrived] = []
        self._lanes: dict[str, int] = {}
        self._taken: dict[int, None] = {}  # milliseconds in which something arrives
        self._sent = 0

    @property
    def _now_ms(self) -> int:
        return self._loop.now_us // 1000

    def data(self, lane: str, deliver: Callable[..., None], *args: object) -> None:
        channel: Channel = deliver.__self__  # type: ignore[attr-defined]
        mark = mark_of(args[0])  # type: ignore[arg-type]
        self._send(lane, deliver, args, f"{mark.what} {mark.value}", channel, mark)

    def call(self, lane: str, deliver: Callable[..., None], *args: object, may_be_lost: bool = False) -> None:
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
        message = Message(self._sent, lane, self._now_ms, 0, what, channel, mark, deliver, args)
        self.on_way[message.number] = message
        self._schedule(message, due_ms)

    def _schedule(self, message: Message, due_ms: int) -> None:
        """At this millisecond or the next free one, behind what is before it in its lane."""
        due_ms = max(due_ms, self._lanes.get(message.lane, 0) + 1)
        if not message.lane.endswith("<"):  # room that comes back along a channel is nothing to see
            while due_ms in self._taken:
                due_ms += 1
            self._taken = {ms: None for ms in self._taken if ms >= self._now_ms}
            self._taken[due_ms] = None
        self._lanes[message.lane] = message.due_ms = due_ms
        self._loop.call_at_us(due_ms * 1000, self._arrive, message.number, due_ms, context=Context())

    def _arrive(self, number: int, due_ms: int) -> None:
        message = self.on_way.get(number)
        if message is None or message.due_ms != due_ms:
            return  # dropped, or put off
        del self.on_way[number]
        channel = message.channel
        if channel is not None and message.mark is not None and not channel.is_closed:
            who = (channel.producer, channel.consumer, channel.index)
            self.arrived.append(ElementArrived(self._now_ms, *who, message.mark))
        message.deliver(*message.args)

    def drop(self, number: int) -> Message:
        """It never arrives. Records that are dropped give their room back: nothing else notices."""
        message = self.on_way.pop(number)
        channel = message.channel
        if channel is not None and message.args and isinstance(message.args[0], Batch):
            channel._held -= message.args[0].num_rows
            channel.on_room()
        return message

    def delay(self, lane: str, by_ms: int) -> int:
        """What is on its way in a lane comes so much later, in its order; returns how many messages."""
        mine = [message for message in self.on_way.values() if message.lane == lane]
        self._lanes.pop(lane, None)
        for message in sorted(mine, key=lambda message: message.number):
            self._schedule(message, message.due_ms + by_ms)
        if not mine:  # what is sent from now on
            self._lanes[lane] = self._now_ms + by_ms
        return len(mine)


class SteppedJob:
    """One run. Goes forward only; `forked` gives another that has come as far, or less far, by itself.

    Args:
        make: Gives the program's graph, a new one each time; ``files`` is where its sinks write.
        config: By default a checkpoint every 200 ms, channels of 8 records.
        seed: Of delays and of the order of things.
        observer: An `observer.Observer`.
        delay_ms_max: A message is under way for 1 to so many virtual ms.
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
        self.on_way: dict[int, tuple[OnWay, ...]] = {}  # by step, as it was left; the next to arrive first
        self.loop = SimulationLoop(f"{seed}/steps")  # type: ignore[abstract]  # no outside in here
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
        """Virtual time."""
        return self.loop.now_us // 1000

    @property
    def is_over(self) -> bool:
        """The job has ended; no step will come."""
        return hasattr(self.job, "master") and self.job.state in OVER

    @property
    def errors(self) -> list[str]:
        """What nobody handled: a run with one has failed."""
        return self.loop.errors

    def messages(self) -> list[Message]:
        """What is on its way, the next to arrive first."""
        return sorted(self.wire.on_way.values(), key=lambda message: message.due_ms)

    def channels(self) -> dict[str, Channel]:
        """By the name of their lane, ``map[0]>count[1]:0``."""
        found = {}
        for execution in self.job.master.executions.values() if hasattr(self.job, "master") else ():
            subtask = execution.subtask
            if subtask is not None and isinstance(subtask.input, GateInput):
                found.update({channel.lane: channel for channel in subtask.input._channels})
        return found

    # -- forward -------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """To the end of the next millisecond in which something is told; False when nothing will be.

        Raises:
            PravegaError: nothing happens any more, and the job is not over.
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
        """The job's observer: keeps what is told until the step is over."""
        self._told.append(observation)

    def _tell(self) -> bool:
        """Hand on what was told in this step, and how the channels are now; was it anything?"""
        told: list[Any] = [*self.wire.arrived, *self._told]
        self.wire.arrived, self._told = [], []
        told += self._sample() if hasattr(self.job, "master") else []
        for observation in told:
            self._to.observe(observation)
        return bool(told)

    def _sample(self) -> list[Observation]:
        """Channels that are not as they were, with what is on its way, and totals that have grown."""
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
        """Do one of `ACTIONS` now and write it into the script; returns what was done, in words.

        Raises:
            BadInputError: there is no such action, or nothing it can be done to.
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
            raise BadInputError(f"delay by {by_ms} ms: at least 1")
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
        """Start it; how it ends is told by observations."""
        task = self.loop.create_task(coro, context=Context())
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _do(self, act: Callable[[], object], said: str = "", name: str = "", *args: Any) -> None:
        """Between two steps, as nobody's; what follows at once is told at once."""

        def run() -> None:
            if name:
                self._told.append(ByHand(self.now_ms, said, name, args))  # type: ignore[arg-type]
            self.loop.call_soon(act, context=Context())
            self.loop.run_ready()
            self._tell()

        apart(run)

    # -- another one ---------------------------------------------------------------------------------------

    def forked(self, observer: Observer, steps: int | None = None) -> SteppedJob:
        """A run of its own that has done the same for so many steps (by default as many as this one)."""
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
        """End what is left of it."""
        apart(self.loop.dispose)


ACTIONS = ("drop", "delay", "fail", "kill", "checkpoint", "stop")


def apart(run: Callable[[], T]) -> T:
    """In this thread, or in another one while this one's event loop runs, as a notebook's does."""
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
