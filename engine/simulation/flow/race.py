"""FLINK-18641: a race that the simulation finds by itself, with three historical versions of the coordinator.

The job has two sources, whose checkpoints are placed by the system that they read, and one master hook. The
order in which the acknowledgements and the hook's reply arrive is drawn. `find` runs seeds until one fails,
and `Race.lines` shows who did what, in lanes. For the command line: ``python -m
pravega_lab.engine.simulation.flow.race [lock | mailbox | fixed]``.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ...flow import observer
from ...flow.checkpoint.coordinator import CheckpointConfig
from ...flow.checkpoint.history import History, Triggering
from ...flow.elements import SubtaskId
from ...flow.graph.graph import JobGraph
from ...flow.graph.stream import StreamEnvironment
from ...flow.master.config import JobConfig
from ...flow.master.job import Job
from ...flow.master.restart import NoRestart
from ...flow.sink.file_sink import TwoPhaseFileSink
from ..kernel.journal import Journal
from ..kernel.loop import START_US, SimulationLoop
from ..kernel.run import Result
from ..kernel.traffic import Traffic
from .external import ExternalLog, HookSource, LogHook, Positions
from .steps import apart
from .world import FlowConditions, FlowFiles, FlowWire

LANES = ("timer", "task a", "task b", "ack thread", "hook")
WORDS = {"lock": Triggering.LOCK, "mailbox": Triggering.MAILBOX_1_11_0, "fixed": Triggering.FIXED}
ANSWER_US_MAX = 6_000


@dataclass(frozen=True)
class Step:
    """One step in its lane. ``by`` is the lane that caused it, if it is another one."""

    time_us: int
    lane: str
    what: str
    by: str | None = None
    fails: bool = False


@dataclass
class Race:
    """The run of one seed.

    ``failure`` is the message of the failed checkpoint, if one failed. ``steps`` are those of that
    checkpoint, or else of the last one. ``checkpoints`` has the steps of each checkpoint.
    """

    seed: int
    triggering: Triggering
    completed: list[int] = field(default_factory=list)
    failure: str | None = None
    steps: list[Step] = field(default_factory=list)
    checkpoints: dict[int, list[Step]] = field(default_factory=dict)
    journal: Journal = field(default_factory=Journal)
    loop_steps: int = 0
    virtual_s: float = 0.0
    traffic: Traffic = field(default_factory=Traffic)

    def lines(self) -> list[str]:
        """Return the steps as text with one column per lane."""
        width = max([len(step.what) for step in self.steps] + [12]) + 2
        head = "     us  " + "".join(lane.ljust(width) for lane in LANES)
        begin = self.steps[0].time_us if self.steps else 0
        rows = [
            f"{step.time_us - begin:7d}  " + " " * (width * LANES.index(step.lane)) + step.what
            for step in self.steps
        ]
        end = self.failure or f"checkpoints {self.completed} completed"
        return [f"seed {self.seed}, {self.triggering.value}: {end}", head, *rows]


class _SlowHook(LogHook):
    """A hook whose reply takes a drawn time."""

    def __init__(self, log: ExternalLog, chance: Random, lanes: _Lanes) -> None:
        super().__init__(log, 2)
        self._chance, self._lanes = chance, lanes

    def trigger_checkpoint(self, checkpoint_id: int, timestamp_ms: int) -> Awaitable[Positions]:  # type: ignore[override]
        asked = self._log.checkpoint(checkpoint_id)

        async def answer() -> Positions:
            positions = await asked
            await asyncio.sleep(self._chance.randint(0, ANSWER_US_MAX) / 1e6)
            self._lanes.hook_answers(checkpoint_id)
            return positions

        return answer()


class _Source(HookSource):
    def __init__(self, log: ExternalLog, chance: Random, lanes: _Lanes) -> None:
        super().__init__(log, 2, 1, 0.003)
        self._chance, self._lanes = chance, lanes

    def __deepcopy__(self, memo: dict[int, Any]) -> _Source:
        return _Source(self._log, self._chance, self._lanes)

    def create_master_hook(self) -> LogHook:
        return _SlowHook(self._log, self._chance, self._lanes)


class _Lanes:
    """An observer that records the steps of each checkpoint. Another one may watch, too."""

    def __init__(self, loop: SimulationLoop) -> None:
        self._loop = loop
        self.watch: observer.Observer | None = None
        self.journal = Journal(lambda: loop.now_us)
        self.steps: dict[int, list[Step]] = {}
        self.completed: list[int] = []
        self.failed: tuple[int, str] | None = None

    def observe(self, observation: observer.Observation) -> None:
        if self.watch is not None:
            self.watch.observe(observation)
        match observation:
            case observer.CheckpointPending(checkpoint_id=n):
                self._add(n, "timer", f"pending {n}")
            case observer.CheckpointStep(checkpoint_id=n, step="hook-asked"):
                self._add(n, "hook", "is asked", by="timer")
            case observer.CheckpointStep(checkpoint_id=n, step="task-triggered", who=who):
                if who.endswith("[0]"):
                    self._add(n, "timer", "triggers tasks")
            case observer.Aligned(subtask=subtask, checkpoint_id=n):
                self._add(n, _task(subtask), f"reads event {n}", by="hook")
            case observer.Acknowledged(subtask=subtask, checkpoint_id=n):
                self._add(n, "ack thread", f"ack {n} of {_task(subtask)[-1]}", by=_task(subtask))
            case observer.CheckpointCompleted(checkpoint_id=n):
                self.completed.append(n)
                self._add(n, "timer", f"{n} is complete")
            case observer.CheckpointFailed(checkpoint_id=n, reason=reason, message=message) if n is not None:
                if self.failed is None:
                    self.failed = (n, message)
                    self._add(n, "ack thread", reason, fails=True)

    def hook_answers(self, checkpoint_id: int) -> None:
        """Record that the hook's state is on its way to the coordinator's timer thread."""
        is_late = self.failed is not None and self.failed[0] == checkpoint_id
        self._add(checkpoint_id, "timer", "its state, too late" if is_late else "its state", by="hook")

    def _add(
        self, checkpoint_id: int, lane: str, what: str, *, by: str | None = None, fails: bool = False
    ) -> None:
        step = Step(self._loop.now_us, lane, what, by, fails)
        self.steps.setdefault(checkpoint_id, []).append(step)
        self.journal.add(lane, what, checkpoint_id=checkpoint_id, **({"by": by} if by else {}))


def _task(subtask: SubtaskId) -> str:
    return "task a" if subtask.index == 0 else "task b"


def run_race(
    seed: int,
    triggering: Triggering,
    watched_by: Callable[[JobGraph], observer.Observer] | None = None,
    forks: Iterable[tuple[int, str]] = (),
) -> Race:
    """Run three checkpoints of a job with two subtasks and a hook, with this version of the coordinator.

    Args:
        watched_by: Returns another observer of the job, which is described by its graph.
        forks: At which virtual time since the start, in µs, order and delays are drawn from which other seed.
    """
    return apart(lambda: _run_race(seed, triggering, watched_by, forks))


def _run_race(
    seed: int,
    triggering: Triggering,
    watched_by: Callable[[JobGraph], observer.Observer] | None,
    forks: Iterable[tuple[int, str]],
) -> Race:
    loop = SimulationLoop(f"{seed}/race")  # type: ignore[abstract]
    chance, conditions = loop.random("chance"), FlowConditions(delay_us_max=8_000)
    lanes, files = _Lanes(loop), FlowFiles(loop.random("files"), FlowConditions())
    delays = loop.random("wire")
    wire = FlowWire(loop, delays, conditions)

    def fork(other: str) -> None:
        loop.reseed(other)
        for name, generator in (("chance", chance), ("wire", delays)):
            generator.seed(f"{other}/{name}")

    async def story() -> None:
        log = ExternalLog([{"k": n} for n in range(200)], 2)
        env = StreamEnvironment("FLINK-18641", parallelism=2)
        env.add_source(_Source(log, chance, lanes)).sink_to(TwoPhaseFileSink("out", files))
        config = JobConfig(
            checkpoints=CheckpointConfig(interval_ms=60),
            restart=NoRestart(),
            history=History(triggering=triggering),
        )
        names, graph = iter(range(1_000_000)), env.job_graph()
        lanes.watch = None if watched_by is None else watched_by(graph)
        for at_us, other in forks:
            loop.call_at_us(START_US + at_us, fork, other)
        job = Job(
            graph,
            config,
            files=files,
            observer=lanes,
            wire=wire,
            now_ms=lambda: loop.now_us // 1000,
            unique_id=lambda: f"{next(names):012d}",
        )
        await job.start()
        while len(lanes.completed) < 3 and lanes.failed is None:
            await asyncio.sleep(0.01)
        await asyncio.sleep(ANSWER_US_MAX / 1e6)  # wait for late replies, so that they are recorded
        await job.cancel()

    try:
        loop.run_until_complete(story())
    finally:
        loop.dispose()
    number = lanes.failed[0] if lanes.failed else lanes.completed[-1]
    failure = None if lanes.failed is None else lanes.failed[1]
    return Race(
        seed,
        triggering,
        lanes.completed,
        failure,
        lanes.steps[number],
        lanes.steps,
        lanes.journal,
        loop.steps,
        (loop.now_us - START_US) / 1e6,
        loop.network.traffic,
    )


def find(triggering: Triggering, seeds: Iterable[int] = range(200)) -> Race | None:
    """Return the run of the first seed in which a checkpoint fails, or None if all succeed."""
    for seed in seeds:
        race = run_race(seed, triggering)
        if race.failure is not None:
            return race
    return None


SCENARIO = "race"
RACE_BUGS = {"mailbox-1.11.0": "A checkpoint is complete when all tasks have acknowledged it (FLINK-18641)."}


def run_race_seed(seed: int, bug: str | None = None) -> Result:
    """Run a seed for ``pravega-lab simulate --scenario race``.

    It runs the fixed coordinator, or with ``bug`` the one of Flink 1.11.0.
    """
    began_s = time.process_time()
    race = run_race(seed, Triggering.MAILBOX_1_11_0 if bug else Triggering.FIXED)
    problems = [] if race.failure is None else [f"complete: {race.failure}"]
    return Result(
        seed,
        SCENARIO,
        bug,
        problems,
        journal=race.journal,
        steps=race.loop_steps,
        virtual_s=race.virtual_s,
        traffic=race.traffic,
        cpu_s=time.process_time() - began_s,
    )


def main(words: list[str]) -> int:
    """Search for the race with each version of the coordinator, and print the results."""
    for word in words or list(WORDS):
        race = find(WORDS[word], range(50))
        print("\n".join(race.lines() if race else [f"{WORDS[word].value}: 50 seeds, none fails"]), "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
