"""Jobs of the engine under virtual time, and what their observers wrote down. Equal on every machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import cache

from pravega_lab.engine.flow.batch import Batch, Row
from pravega_lab.engine.flow.files import Files, MemoryFiles
from pravega_lab.engine.flow.graph.graph import JobGraph
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.operators.functions import count
from pravega_lab.engine.flow.sink.file_sink import TwoPhaseFileSink
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.engine.flow.source.sources import (
    InputStatus,
    ReaderContext,
    ReaderOutput,
    SourceReader,
    SplitEnumeratorContext,
)
from pravega_lab.engine.simulation.flow.external import (
    ExternalLog,
    InducedEnumerator,
    InducedSource,
    Positions,
    ReaderSlot,
)
from pravega_lab.engine.simulation.flow.steps import SteppedJob
from pravega_lab.observe import JobObserver, Journal
from pravega_lab.observe.group.observations import (
    GroupCheckpointAsked,
    GroupCheckpointDone,
    GroupCheckpointPassed,
    GroupObservation,
    GroupSeen,
    ReaderJoined,
)
from pravega_lab.protocol.names import segment_name

LINE = "to be or not to be that is the question whether tis nobler in the mind to suffer"
WORDS = LINE.split(" ")


FAILS_AT = 250  # steps: between checkpoint 1 and 2


def words_job(files: Files, *, parallelism: int = 2, rounds: int = 8) -> JobGraph:
    """Words of two splits, one longer than the other, counted by word into a two-phase file sink."""
    env = StreamEnvironment("words", parallelism=parallelism)
    rows = [{"word": word} for word in WORDS * rounds]
    short = [{"word": word} for word in WORDS]
    pause = {"batch_rows": 2, "pause_ms": lambda: 12}
    source = env.from_source(RowsSource(rows, splits=2, **pause), name="lines").set_parallelism(2)
    once = env.from_source(RowsSource(short, splits=1, **pause), name="once").set_parallelism(1)
    counted = source.union(once).key_by("word").aggregate(count())
    counted.rebalance().sink_to(TwoPhaseFileSink("out", files)).set_parallelism(2)
    return env.job_graph()


def stepped(seed: int = 3) -> tuple[JobObserver, SteppedJob]:
    """A run of it that waits for its first step."""
    observer = JobObserver(words_job(MemoryFiles()), seed=seed, simulated=True)
    return observer, SteppedJob(words_job, seed=seed, observer=observer)


@cache
def whole_run() -> Journal:
    """From start to end, with a task that fails and comes back from checkpoint 1."""
    observer, run = stepped()
    while run.step():
        if run.steps == FAILS_AT:
            run.act("fail", "aggregate[1]")
    observer.close()
    assert run.errors == []
    return observer.journal


@cache
def half_run(until_ms: int = 214) -> Journal:
    """As it stands in the middle: checkpoint 1 is on its way."""
    observer, run = stepped()
    while run.now_ms < 1_000_000 + until_ms:
        run.step()
    observer.close()
    return observer.journal


GROUP = "demo/readers"


class WatchedLog(ExternalLog):
    """A system with checkpoints of its own that writes down what an observer of a reader group would."""

    def __init__(self, journal: Journal, now_ms: Callable[[], int]) -> None:
        super().__init__([{"k": n % 7} for n in range(400)], 4)
        self.journal, self.now_ms = journal, now_ms
        self.waiting: dict[int, list[str]] = {}

    def _tell(self, kind: type[GroupObservation], **about: object) -> None:
        self.journal.append(kind(time_ms=self.now_ms(), group=GROUP, **about))  # type: ignore[arg-type]

    def begin(self) -> None:
        self._tell(GroupSeen, streams=("demo/flights",))
        for reader in ("r0", "r1"):
            self._tell(ReaderJoined, reader=reader)

    def checkpoint(self, number: int) -> asyncio.Future[Positions]:
        self.waiting[number] = ["r0", "r1"]
        self._tell(GroupCheckpointAsked, checkpoint=f"PVG-CHK-{number}", readers=("r0", "r1"))
        return super().checkpoint(number)

    def read(self, reader: int, generation: int, rows_max: int) -> tuple[list[Row], int | None]:
        rows, marker = super().read(reader, generation, rows_max)
        if marker is not None:
            waiting, name = self.waiting[marker], f"PVG-CHK-{marker}"
            waiting.remove(f"r{reader}")
            mine = tuple(
                (segment_name("demo", "flights", p), self.positions[p]) for p in self._readers[reader]
            )
            about = {"checkpoint": name, "positions": mine}
            self._tell(GroupCheckpointPassed, reader=f"r{reader}", waiting=tuple(waiting), **about)
            if not waiting:
                whole = tuple((segment_name("demo", "flights", p), at) for p, at in self.positions.items())
                self._tell(GroupCheckpointDone, checkpoint=name, positions=whole)
        return rows, marker


class ReadingOn(SourceReader[ReaderSlot]):
    """Passes the other system's checkpoint and reads on: nobody told it that the barrier belongs there."""

    def __init__(self, log: ExternalLog, context: ReaderContext, rows_max: int, pause_s: float) -> None:
        self._log, self._context = log, context
        self._rows_max, self._pause_s = rows_max, pause_s
        self._generation: int | None = None

    def add_splits(self, splits: Sequence[ReaderSlot]) -> None:
        self._generation = self._log.generation

    def poll_next(self, output: ReaderOutput) -> InputStatus:
        if self._generation is not None:
            index = self._context.subtask_index
            rows, marker = self._log.read(index, self._generation, self._rows_max)
            if marker is not None:
                self._context.cut_passed(marker)
            elif rows:
                output.emit(Batch.of_rows(rows))
        return InputStatus.NOTHING_AVAILABLE

    async def available(self) -> None:
        await asyncio.sleep(self._pause_s)


class ReadsOn(InducedSource):
    """The enumerator takes the external checkpoint; the readers are plain ones."""

    def create_reader(self, context: ReaderContext) -> ReadingOn:  # type: ignore[override]
        return ReadingOn(self._log, context, self._rows_max, self._pause_s)


class AnsweringEnumerator(InducedEnumerator):
    """Gives its state before the other system has even begun its checkpoint."""

    async def snapshot_state(self, checkpoint_id: int) -> Positions:
        self._begun = asyncio.get_running_loop().create_task(self._begin(checkpoint_id))
        return {}

    async def _begin(self, checkpoint_id: int) -> None:
        await asyncio.sleep(0.03)
        await self._log.checkpoint(checkpoint_id)


class AnswersFirst(ReadsOn):
    """So barriers come before the cut that the state stands for."""

    def create_enumerator(self, context: SplitEnumeratorContext[ReaderSlot]) -> InducedEnumerator:
        return AnsweringEnumerator(self._log, context, None)


@cache
def both_systems(source: type[ReadsOn] = ReadsOn) -> tuple[Journal, Journal]:
    """The journal of a job whose checkpoints a reader group places, and the group's.

    As in document 1's second attempt: the readers read on when they have passed the group's checkpoint, and
    the barrier comes when the trigger does.
    """
    group = Journal("demo/readers", live=False)
    runs: list[SteppedJob] = []
    log = WatchedLog(group, lambda: runs[0].now_ms if runs else 1_000_000)

    def make(files: Files) -> JobGraph:
        env = StreamEnvironment("from a group", parallelism=2)
        env.from_source(source(log, 2, 0.001), name="flights").key_by("k").aggregate(count()).sink_to(
            TwoPhaseFileSink("out", files)
        )
        return env.job_graph()

    observer = JobObserver(make(MemoryFiles()), seed=5, simulated=True)
    run = SteppedJob(make, seed=5, observer=observer)
    runs.append(run)
    log.begin()
    while run.steps < 420:
        run.step()
    observer.close()
    return observer.journal, group
