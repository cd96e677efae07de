"""`killed_at`: a job that copies a stream is killed at one step of its sink's commit, and started again.

The job of the engine, the client and the store are the real code, in a simulated world with virtual time.
The process of the job dies at the step, between two lines: no ``finally`` runs, and its connections break.
Later another process resumes from the last completed checkpoint. Any `TwoPhaseCommitSink` can be tried::

    run = killed_at(Step.COMPLETE, PravegaWriter)
    run.verdict.assert_exact()
"""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.stream import AsyncStream
from pravega_lab.client.values import HEAD, LEASE_MS_MAX, ScalingPolicy
from pravega_lab.client.writing.writer import AsyncEventWriter
from pravega_lab.connector.flow import EventRows, PravegaConfig, PravegaSegmentSource, RowEvents
from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.calling import value_of
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.checkpoint.storage import METADATA
from pravega_lab.engine.flow.errors import JobFailedError
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.graph.graph import JobGraph
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import Job
from pravega_lab.engine.flow.master.restart import FixedDelay
from pravega_lab.engine.flow.observer import Acknowledged, CheckpointCompleted, Observation
from pravega_lab.engine.flow.sink import two_phase
from pravega_lab.engine.flow.sink.sinks import SinkContext, TwoPhaseCommitSink
from pravega_lab.engine.simulation.flow.steps import apart
from pravega_lab.errors import PravegaError
from pravega_lab.observe.job.observer import JobObserver
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.ledger.ledger import Ledger, Verdict
from pravega_lab.portable.waiting import FIRST_COMPLETED, wait, wait_for
from pravega_lab.testing.simulated import SimulatedPravega

if TYPE_CHECKING:
    from pravega_lab.client.values import Bound

IN, OUT = "kills/in", "kills/out"
ROWS, KEYS, BURST = 120, 6, 4
WRITE_EVERY_S = 0.04
INTERVAL_MS = 300
KILLED_IN_CHECKPOINT = 2  # the first one must exist, or everything would start again
SINKS = 2  # subtasks
LOOK_S = 0.2  # after the kill: by then the store has done what it was asked for
REACHED_WITHIN_S = 60.0
COMPLETED_AFTER_ALL = 3  # checkpoints after the last row was written, and the run is over

MakeSink = Callable[..., TwoPhaseCommitSink]


class Step(Enum):
    """The steps at which the process can die, in the order of a checkpoint."""

    WRITING = "while it writes"
    AT_BARRIER = "at the barrier, before the flush"
    FLUSHED = "flushed, not acknowledged"
    ACKNOWLEDGED = "acknowledged by one of two"
    COMPLETE = "checkpoint complete, nothing committed"
    COMMITTING = "one of two has committed"
    COMMITTED = "both have committed, no checkpoint knows"


class DirectWriter(TwoPhaseCommitSink):
    """A sink without transactions in the form of a two-phase sink: it writes at once, at least once."""

    def __init__(self, config: PravegaConfig, stream: str, *, events: RowEvents, **others: Any) -> None:
        self._config, self._stream, self._events = config, stream, events
        self._client: AsyncClient
        self._writer: AsyncEventWriter

    def __deepcopy__(self, memo: dict[int, Any]) -> DirectWriter:
        return copy.copy(self)

    def open(self, context: SinkContext) -> None:
        self._client = self._config.client(f"{context.task_name} sink")
        self._writer = self._client.stream(self._stream).writer()

    def begin(self) -> None:
        return None

    async def write(self, transaction: Any, batch: Batch) -> None:
        events, keys = self._events.of(batch)
        await self._writer.write(list(events), None if keys is None else list(keys))
        await self._writer.flush()

    def pre_commit(self, transaction: Any) -> None:
        return None

    def commit(self, transaction: Any) -> None:
        return None

    def abort(self, transaction: Any) -> None:
        return None

    async def close(self) -> None:
        if hasattr(self, "_writer"):
            await self._writer.close()
            await self._client.close()


@dataclass
class KilledRun:
    """What a run showed.

    ``visible_at_kill`` counts rows in the output at the kill. ``at_kill`` and ``in_the_end`` count the dead
    process's transactions by state. ``failure`` says why the job could not continue. ``logged`` is what the
    sink's operator logged of transactions that it gave up. ``restored_from`` is the folder of a checkpoint.
    While the job cannot continue, nothing is called lost: what is missing is not known yet.

    ``first_life`` is a journal that ends with the kill; ``observer`` and ``ledger`` know the whole run.
    """

    step: Step
    sink: str
    seed: int
    ledger: Ledger
    observer: JobObserver
    first_life: JobObserver
    visible_at_kill: int = 0
    at_kill: Counter[str] = field(default_factory=Counter)
    in_the_end: Counter[str] = field(default_factory=Counter)
    restored_from: str = ""
    failure: str = ""
    logged: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """Return what was lost, doubled and out of order."""
        return self.ledger.verdict()

    @property
    def row(self) -> dict[str, Any]:
        """Return a table row: what was there at the kill, and what became of it."""
        return {
            "open": self.at_kill["OPEN"],
            "committed": self.at_kill["COMMITTED"],
            "rows to be seen": self.visible_at_kill,
            "lost": self.verdict.lost,
            "doubled": self.verdict.doubled,
        }


def killed_at(
    step: Step,
    sink: MakeSink,
    *,
    seed: int = 0,
    lease_ms: int = LEASE_MS_MAX,
    down_s: float = 1.0,
    checkpoints_back: int = 0,
    ignores_lost_leases: bool = False,
) -> KilledRun:
    """Copy 120 rows with two subtasks of ``sink``, die at ``step`` of the second checkpoint, and resume.

    Args:
        sink: Called as ``sink(config, stream, events=..., lease_ms=...)``: `PravegaWriter`, `DirectWriter`,
            or your own class.
        lease_ms: The lease of a transaction.
        down_s: Virtual seconds from the kill to the restart.
        checkpoints_back: Resume from so many checkpoints before the last completed one.
        ignores_lost_leases: `TwoPhaseCommitSink.ignore_failures_after_timeout`.

    Raises:
        PravegaError: The step was never reached.
    """
    world = SimulatedPravega(seed)
    story = _Story(world, step, sink, lease_ms, ignores_lost_leases)
    with _errors_of_commits(story.run.logged):
        return apart(lambda: world.run(story.tell(down_s, checkpoints_back)))


@contextmanager
def _errors_of_commits(logged: list[str]) -> Iterator[None]:
    """Keep what the operator logs of transactions that it gives up: here that is a result and no fault."""

    def keep(record: logging.LogRecord) -> bool:
        if record.levelno >= logging.ERROR:
            logged.append(record.getMessage())
        return record.levelno < logging.ERROR

    logger = logging.getLogger(two_phase.__name__)
    logger.addFilter(keep)
    try:
        yield
    finally:
        logger.removeFilter(keep)


class _Trap:
    """Kills the job's process at a step of a checkpoint, and holds other subtasks back until then."""

    def __init__(self, step: Step | None) -> None:
        self._step = step
        self.kill: Callable[[], None] = lambda: None
        self.sprung = asyncio.Event()
        self._committed = 0

    async def reached(self, step: Step, subtask: int, number: int) -> None:
        """Note that a sink's subtask is at this step with its transaction of this number."""
        if number != KILLED_IN_CHECKPOINT or self._step is None:
            return
        is_first = subtask == 0
        if step is Step.AT_BARRIER and self._step is Step.ACKNOWLEDGED and not is_first:
            await _for_ever()
        if step is Step.COMMITTING:
            if self._step is Step.COMMITTING and not is_first:
                await _for_ever()
            return
        if step is Step.COMMITTED:
            self._committed += 1
            enough = {Step.COMMITTING: 1, Step.COMMITTED: SINKS}.get(self._step)
            if self._committed == enough:
                await self._spring()
        elif step is self._step and is_first:
            await self._spring()

    async def _spring(self) -> None:
        self.spring()
        await _for_ever()

    def spring(self) -> None:
        self.kill()
        self.sprung.set()

    def observe(self, observation: Observation) -> None:
        """Take what only the coordinator knows. If it kills here, its process takes no further turn."""
        is_it = getattr(observation, "checkpoint_id", None) == KILLED_IN_CHECKPOINT
        if not is_it or self.sprung.is_set():
            return
        if isinstance(observation, Acknowledged) and self._step is Step.ACKNOWLEDGED:
            if observation.subtask.vertex == "sink":
                self.spring()
        elif isinstance(observation, CheckpointCompleted) and self._step is Step.COMPLETE:
            self.spring()


async def _for_ever() -> None:
    await asyncio.get_running_loop().create_future()


class _TrappedSink(TwoPhaseCommitSink):
    """Reports each step to the trap. Its handles: number of the transaction in its life, handle within it."""

    def __init__(self, inner: TwoPhaseCommitSink, trap: _Trap, begun: list[str]) -> None:
        self._inner, self._trap, self._begun = inner, trap, begun
        self.transaction_timeout_ms = inner.transaction_timeout_ms
        self.ignore_failures_after_timeout = inner.ignore_failures_after_timeout
        self._number = self._subtask = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> _TrappedSink:
        return _TrappedSink(copy.deepcopy(self._inner), self._trap, self._begun)

    async def open(self, context: SinkContext) -> None:
        self._subtask = context.subtask_index
        await value_of(self._inner.open(context))

    async def begin(self) -> Any:
        handle = await value_of(self._inner.begin())
        self._number += 1
        if isinstance(handle, list):
            self._begun.append(handle[0])
        return [self._number, handle]

    async def write(self, transaction: Any, batch: Batch) -> None:
        await value_of(self._inner.write(transaction[1], batch))
        await self._trap.reached(Step.WRITING, self._subtask, transaction[0])

    async def pre_commit(self, transaction: Any) -> None:
        await self._trap.reached(Step.AT_BARRIER, self._subtask, transaction[0])
        await value_of(self._inner.pre_commit(transaction[1]))
        await self._trap.reached(Step.FLUSHED, self._subtask, transaction[0])

    async def commit(self, transaction: Any) -> None:
        await self._trap.reached(Step.COMMITTING, self._subtask, transaction[0])
        await value_of(self._inner.commit(transaction[1]))
        await self._trap.reached(Step.COMMITTED, self._subtask, transaction[0])

    async def abort(self, transaction: Any) -> None:
        await value_of(self._inner.abort(transaction[1]))

    async def recover_and_commit(self, transaction: Any) -> None:
        await value_of(self._inner.recover_and_commit(transaction[1]))

    async def recover_and_abort(self, transaction: Any) -> None:
        await value_of(self._inner.recover_and_abort(transaction[1]))

    async def close(self) -> None:
        await value_of(self._inner.close())


class _Watch:
    """The observer of one life: for the journals, for the trap, and for the end."""

    def __init__(self, trap: _Trap, *observers: JobObserver) -> None:
        self._trap, self._observers = trap, observers
        self.completed = 0

    def observe(self, observation: Observation) -> None:
        if self._trap.sprung.is_set():
            return  # Python collects the coroutines of the killed process, which may not report any more
        for observer in self._observers:
            observer.observe(observation)
        self.completed += isinstance(observation, CheckpointCompleted)
        self._trap.observe(observation)


class _Story:
    """One run."""

    def __init__(
        self, world: SimulatedPravega, step: Step, sink: MakeSink, lease_ms: int, ignores: bool
    ) -> None:
        self._world, self._sink, self._lease_ms, self._ignores = world, sink, lease_ms, ignores
        self._clients, self._names = count(), count()
        self._config = PravegaConfig(world.uri, connect=self._connect, clock_ms=self._now_ms)
        self._files = MemoryFiles()
        self._begun: list[str] = []
        self._stop = asyncio.Event()
        self._seen: Bound = HEAD
        graph = self._graph(_Trap(None))
        name = getattr(sink, "__name__", type(sink).__name__)
        ledger = Ledger(Journal(name), name=f"killed: {step.value}", now_ms=self._now_ms)
        whole, first_life = (JobObserver(graph, seed=world.seed) for _ in range(2))
        self.run = KilledRun(step, name, world.seed, ledger, whole, first_life)

    def _now_ms(self) -> int:
        return int(self._world.now_s * 1000)

    def _connect(self, who: str) -> AsyncClient:
        # Clients with equal names would draw equal ids.
        return self._world.client(f"{who} {next(self._clients)}")

    async def tell(self, down_s: float, checkpoints_back: int) -> KilledRun:
        run = self.run
        async with self._connect("outside") as client:
            into = await client.create_stream(IN, scaling=ScalingPolicy.fixed(2))
            out = await client.create_stream(OUT)
            writing = asyncio.create_task(self._write(into))
            await self._first_life()
            run.first_life.close()
            await asyncio.sleep(LOOK_S)
            run.visible_at_kill, of_the_dead = await self._read(out), list(self._begun)
            run.at_kill = await _states(out, of_the_dead)
            run.ledger.fault(f"kill -9, {run.step.value}")
            await asyncio.sleep(down_s)
            run.restored_from = self._checkpoint(checkpoints_back)
            await self._second_life(writing)
            await self._read(out)
            run.in_the_end = await _states(out, of_the_dead)
        if not run.failure:
            run.ledger.settled("committed")
        run.observer.close()
        run.ledger.journal.live = False
        return run

    # The job.

    async def _first_life(self) -> None:
        trap = _Trap(self.run.step)
        watch = _Watch(trap, self.run.observer, self.run.first_life)
        program = self._world.start("job", self._live(1, trap, watch))
        trap.kill = program.kill
        try:
            await wait_for(trap.sprung.wait(), REACHED_WITHIN_S)
        except TimeoutError:
            raise PravegaError(
                f"{self.run.sink} never came to the step {self.run.step.value!r} of checkpoint "
                f"{KILLED_IN_CHECKPOINT}: does it have transactions?"
            ) from None

    async def _second_life(self, writing: asyncio.Task[None]) -> None:
        trap = _Trap(None)
        watch = _Watch(trap, self.run.observer)
        program = self._world.start("job again", self._live(2, trap, watch))
        await writing
        enough = watch.completed + COMPLETED_AFTER_ALL
        while watch.completed < enough and not program.is_done:
            await asyncio.sleep(0.1)
        await asyncio.sleep(LOOK_S)
        self._stop.set()
        await program.ends(REACHED_WITHIN_S)

    async def _live(self, life: int, trap: _Trap, watch: _Watch) -> None:
        graph = self._graph(trap)
        self.run.observer.begin(graph)
        job = Job(
            graph,
            JobConfig(
                CheckpointConfig(interval_ms=INTERVAL_MS, retain=3, tolerable_failures=1_000),
                restart=FixedDelay(attempts=2, wait_ms=100),
                folder="checkpoints",
                claim=True,
                sample_interval_ms=50,
            ),
            restore_from=self.run.restored_from or None,
            files=self._files,
            observer=watch,
            now_ms=self._now_ms,
            unique_id=lambda: f"{next(self._names):08x}",
            job_id=f"life-{life}",
        )
        await job.start()
        ended = asyncio.ensure_future(job.wait())
        stopped = asyncio.ensure_future(self._stop.wait())
        await wait([ended, stopped], return_when=FIRST_COMPLETED)
        if not ended.done():
            await job.cancel()
        try:
            await ended
        except JobFailedError as error:
            self.run.failure = str(error.__cause__ or error)
        except PravegaError:
            return  # it was cancelled
        finally:
            stopped.cancel()

    def _graph(self, trap: _Trap) -> JobGraph:
        events = RowEvents(lambda row: json.dumps(row).encode(), "k")
        inner = self._sink(self._config, OUT, events=events, lease_ms=self._lease_ms)
        inner.ignore_failures_after_timeout = self._ignores
        env = StreamEnvironment("copy", parallelism=SINKS)
        source = PravegaSegmentSource(self._config, IN, rows=EventRows(json.loads))
        rows = env.from_source(source, uid="source").key_by("k")
        rows.sink_to(_TrappedSink(inner, trap, self._begun), uid="sink", parallelism=SINKS)
        return env.job_graph()

    def _checkpoint(self, back: int) -> str:
        """Return the folder of the last completed checkpoint, or of one before it; "" if there is none."""
        done = [path.removesuffix(f"/{METADATA}") for path in self._files.data if path.endswith(METADATA)]
        done.sort(key=lambda path: int(path.rpartition("-")[2]))
        return done[-1 - back] if len(done) > back else ""

    # Around the job.

    async def _write(self, into: AsyncStream) -> None:
        for first in range(0, ROWS, BURST):
            rows = [{"k": f"k{n % KEYS}", "n": n} for n in range(first, first + BURST)]
            ids, keys = [row["n"] for row in rows], [str(row["k"]) for row in rows]
            self.run.ledger.written(ids, keys)
            await into.write([json.dumps(row).encode() for row in rows], keys)
            self.run.ledger.acknowledged(ids)
            await asyncio.sleep(WRITE_EVERY_S)

    async def _read(self, out: AsyncStream) -> int:
        """Report to the ledger the rows since the last call, and return how many there were."""
        end, seen = await out.tail(), 0
        async with out.read(self._seen, end) as batches:
            async for batch in batches:
                ids = [json.loads(event)["n"] for event in batch.column("event").to_pylist()]
                places = {"segments": batch.column("segment_id"), "offsets": batch.column("offset")}
                self.run.ledger.committed(ids, where=OUT, witness="a batch read between two cuts", **places)
                seen += len(ids)
        self._seen = end
        return seen


async def _states(out: AsyncStream, transactions: list[str]) -> Counter[str]:
    return Counter([(await out.transaction(UUID(one)).state()).name for one in transactions])
