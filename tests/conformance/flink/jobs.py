"""The jobs of `java/Jobs.java` in our words, row by row the same, with operators that tell every call."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Self

from pravega_lab.engine.flow.batch import Batch, Row
from pravega_lab.engine.flow.elements import MAX_TIMESTAMP_MS, CheckpointOptions, Watermark, WatermarkStatus
from pravega_lab.engine.flow.graph.graph import JobGraph, OperatorNode
from pravega_lab.engine.flow.graph.stream import DataStream, StreamEnvironment
from pravega_lab.engine.flow.operators.functions import KeyedContext, KeyedProcessFunction, count
from pravega_lab.engine.flow.operators.operator import MaybeAwaitable, Operator
from pravega_lab.engine.flow.operators.windows import TumblingWindows
from pravega_lab.engine.flow.sink.sinks import CommitRequest, Committer, Sink, SinkContext, TwoPhaseCommitSink
from pravega_lab.engine.flow.source.collections import RowsEnumerator, RowsSource, RowsSplit
from pravega_lab.engine.flow.source.sources import (
    Boundedness,
    InputStatus,
    ReaderContext,
    ReaderOutput,
    SourceReader,
    SplitEnumeratorContext,
)
from pravega_lab.engine.flow.state.handles import ListMode
from pravega_lab.engine.flow.state.state import BroadcastState
from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy

FAR_MS = 1_000_000
ONE_INPUT = "-of-one-input"
CLOCKS = {
    "clocks": ("a3 |2 ~ |3 a4 |5 a9 |6 ~ |8 a10", "b5 |1 b7 |4 ~ |7 b8 ~"),
    "last-idle": ("a9 |1 ~ |3 a12", "b5 |2 ~ |4 b20"),
    "late-idle": ("a3 |1 ~ |3 a4 |6 ~ |7 a20", "b5 |2 b7 |4 b10 |5 ~ |8 b30"),
}


class PlantedError(Exception):
    """What the script asked for."""


class Happenings:
    """What operators tell, what the script holds back, and the outside system of the sinks. Never copied."""

    def __init__(self, journal: list[tuple[str, str]]) -> None:
        self.journal = journal
        self.gates: dict[int, asyncio.Event] = {}
        self.transactions: dict[str, list[str]] = {}
        self.may_fail = True
        self.to_fail: list[re.Pattern[str]] = []

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def tell(self, task: str, context: Any, what: str) -> None:
        attempt = int(context.task_name.rpartition("#")[2])
        where = f"{task}[{context.subtask_index}]" + (f"#{attempt}" if attempt else "")
        self.journal.append((where, what))
        self.check(where, what)

    def check(self, where: str, what: str) -> None:
        """Fails if the script asked for it: once."""
        for pattern in [pattern for pattern in self.to_fail if pattern.search(f"{where} {what}")]:
            self.to_fail.remove(pattern)
            raise PlantedError("planted")

    def gate(self, number: int) -> asyncio.Event:
        return self.gates.setdefault(number, asyncio.Event())


def row_of(text: str) -> Row:
    return {"row": text}


def text_of(row: Row) -> str:
    return str(row["row"])


def first_letter(row: Row) -> str:
    return text_of(row)[0]


def time_of(row: Row) -> int:
    return int(re.sub(r"\D", "0", text_of(row)))


# -- the source ---------------------------------------------------------------------------------------------


class Pieces(RowsSource):
    """Piece n for subtask n. A row ``|n`` is a gate that the script opens; with ``~`` the reader says that
    it is idle."""

    def __init__(self, seen: Happenings, task: str, *pieces: str, ends: bool) -> None:
        self.seen, self.task = seen, task
        self.pieces = [piece.split() for piece in pieces]
        self.boundedness = Boundedness.BOUNDED if ends else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, context: SplitEnumeratorContext[RowsSplit]) -> PiecesEnumerator:
        splits = [RowsSplit(str(n), 0, len(rows)) for n, rows in enumerate(self.pieces)]
        return PiecesEnumerator(self, context, splits)

    def restore_enumerator(
        self, context: SplitEnumeratorContext[RowsSplit], checkpoint: list[RowsSplit]
    ) -> PiecesEnumerator:
        return PiecesEnumerator(self, context, checkpoint)

    def create_reader(self, context: ReaderContext) -> Any:
        return PiecesReader(self, context)


class PiecesEnumerator(RowsEnumerator):
    def __init__(
        self, source: Pieces, context: SplitEnumeratorContext[RowsSplit], splits: Sequence[RowsSplit]
    ) -> None:
        super().__init__(context, splits)
        self._source = source

    def snapshot_state(self, checkpoint_id: int) -> list[RowsSplit]:
        self._source.seen.check(self._source.task, f"enumerator.snapshot {checkpoint_id}")
        return super().snapshot_state(checkpoint_id)

    def add_reader(self, subtask: int) -> None:
        for split in [split for split in self._splits if int(split.split_id) == subtask]:
            self._splits.remove(split)
            self._context.assign_splits({subtask: [split]})
        self._context.signal_no_more_splits(subtask)


class PiecesReader(SourceReader[RowsSplit]):
    def __init__(self, source: Pieces, context: ReaderContext) -> None:
        self._source, self._context = source, context
        self._splits: list[RowsSplit] = []
        self._no_more = False
        self._news = asyncio.Event()

    def _tell(self, what: str) -> None:
        self._source.seen.tell(self._source.task, self._context, f"source.{what}")

    def _next(self) -> str | None:
        """The row that comes next, or a gate."""
        while self._splits:
            split = self._splits[0]
            if split.position < split.stop:
                return self._source.pieces[int(split.split_id)][split.position]
            if self._source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED:
                return None
            del self._splits[0]
        return None

    def _shut_gate(self) -> asyncio.Event | None:
        row = self._next()
        gate = self._source.seen.gate(int(row[1:])) if row is not None and row.startswith("|") else None
        return None if gate is None or gate.is_set() else gate

    def start(self) -> None:
        self._tell("start")

    def poll_next(self, output: ReaderOutput) -> InputStatus:
        while self._shut_gate() is None and (row := self._next()) is not None:
            split = self._splits[0]
            self._splits[0] = RowsSplit(split.split_id, split.position + 1, split.stop)
            if row == "~":
                self._tell("idle")
                output.mark_idle()
            elif not row.startswith("|"):
                self._tell(f"element {row}")
                output.emit(Batch.of_rows([row_of(row)]))
                return InputStatus.MORE_AVAILABLE
        ends = self._source.boundedness is Boundedness.BOUNDED and self._no_more and not self._splits
        return InputStatus.END_OF_INPUT if ends else InputStatus.NOTHING_AVAILABLE

    async def available(self) -> None:
        gate = self._shut_gate()
        if gate is not None:
            await gate.wait()
        elif self._next() is None:
            self._news.clear()
            await self._news.wait()

    def snapshot_state(self, checkpoint_id: int) -> Sequence[RowsSplit]:
        self._tell(f"snapshot {checkpoint_id}")
        return list(self._splits)

    def add_splits(self, splits: Sequence[RowsSplit]) -> None:
        self._tell("splits [" + ", ".join(f"{s.split_id}@{s.position}" for s in splits) + "]")
        self._splits.extend(splits)
        self._news.set()

    def notify_no_more_splits(self) -> None:
        self._no_more = True
        self._news.set()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._tell(f"complete {checkpoint_id}")

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._tell(f"aborted {checkpoint_id}")

    def close(self) -> None:
        self._tell("close")


# -- operators ----------------------------------------------------------------------------------------------


class Kept(Enum):
    """In which kind of operator state an operator keeps what it got."""

    SPLIT = "split"
    UNION = "union"
    BROADCAST = "broadcast"
    LATE_UNION = "split, and beside it a union list, which is there from the row b2 on"


class Traced(Operator):
    """Keeps what it got in operator state; adds a row at the end of its input and when it finishes."""

    def __init__(self, seen: Happenings, task: str, name: str, kept: Kept = Kept.SPLIT) -> None:
        self._seen, self._task, self._name, self._kept = seen, task, name, kept
        self._inputs = 1

    def _tell(self, what: str) -> None:
        self._seen.tell(self._task, self.context, f"{self._name}.{what}")

    def _add(self, text: str) -> None:
        self.context.output.row(row_of(f"{text}-of-{self._name}"))

    def initialize_state(self) -> None:
        lists = self.context.lists
        if self._kept is Kept.BROADCAST:
            copies = BroadcastState(lists, "seen")
            rows = sorted(key for key, _ in copies.items())
            self._keep: Callable[[str], None] = lambda text: copies.put(text, text)
        else:
            rows = lists.of("seen", ListMode.UNION if self._kept is Kept.UNION else ListMode.SPLIT)
            self._keep = rows.append
        restored = "restored [" + ", ".join(rows) + "]"
        self._tell(restored if self.context.has_restored_state else "initialize")

    def open(self) -> None:
        self._tell("open")

    def process_batch(self, batch: Batch, input: int) -> None:
        for row, timestamp_ms, _ in batch.records():
            self._tell(f"element {text_of(row)}")
            if text_of(row) == "boom" and self._seen.may_fail:
                self._seen.may_fail = False
                raise ValueError("boom")
            self._keep(text_of(row))
            if self._kept is Kept.LATE_UNION and text_of(row) == "b2":
                self.context.lists.of("late", ListMode.UNION).append("late")
            self.context.output.row(row, timestamp_ms)

    def process_watermark(self, watermark: Watermark) -> MaybeAwaitable:
        if watermark.timestamp_ms == MAX_TIMESTAMP_MS:
            self._tell("watermark max")
        return super().process_watermark(watermark)

    def end_input(self, input: int) -> None:
        number = f"{input}" if self._inputs > 1 else ""
        self._tell(f"end-input {number}".rstrip())
        self._add(f"end{number}")

    def finish(self) -> None:
        self._tell("finish")
        self._add("finish")

    def prepare_snapshot(self, checkpoint_id: int, options: CheckpointOptions) -> None:
        self._tell(f"prepare {checkpoint_id}")

    def snapshot_state(self, checkpoint_id: int) -> None:
        self._tell(f"snapshot {checkpoint_id}")

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._tell(f"complete {checkpoint_id}")

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._tell(f"aborted {checkpoint_id}")

    def close(self) -> None:
        self._tell("close")


class Clock(Traced):
    """Tells of every watermark, and of idleness."""

    def process_watermark(self, watermark: Watermark) -> MaybeAwaitable:
        if watermark.timestamp_ms != MAX_TIMESTAMP_MS:
            self._tell(f"watermark {watermark.timestamp_ms}")
        return super().process_watermark(watermark)

    def process_status(self, status: WatermarkStatus) -> MaybeAwaitable:
        self._tell("idle" if status.is_idle else "active")
        return super().process_status(status)


class TracedTwo(Traced):
    def __init__(self, seen: Happenings, task: str, name: str) -> None:
        super().__init__(seen, task, name)
        self._inputs = 2


class Timers(KeyedProcessFunction):
    def process(self, row: Row, context: KeyedContext) -> None:
        assert context.timestamp_ms is not None
        context.register_event_timer(context.timestamp_ms + FAR_MS)
        context.register_processing_timer(2**62)

    def on_timer(self, at_ms: int, context: KeyedContext) -> None:
        context.emit(row_of(f"timer-{context.key}-{at_ms}"))


class Counts(KeyedProcessFunction):
    def process(self, row: Row, context: KeyedContext) -> None:
        state = context.value_state("count", 0)
        state.update(state.get() + 1)
        context.emit(row_of(f"{context.key}={state.get()}"))


# -- sinks --------------------------------------------------------------------------------------------------


class TwoPhase(TwoPhaseCommitSink):
    """Tells every call, with the rows of the transaction that it is about."""

    def __init__(self, seen: Happenings, task: str) -> None:
        self._seen, self._task = seen, task

    def open(self, context: SinkContext) -> None:
        self._context = context

    def _tell(self, what: str, transaction: str | None = None) -> None:
        rows = "" if transaction is None else f" [{', '.join(sorted(self._seen.transactions[transaction]))}]"
        self._seen.tell(self._task, self._context, f"sink.{what}{rows}")

    def begin(self) -> str:
        self._tell("begin")
        name = self._context.unique_id()
        self._seen.transactions[name] = []
        return name

    def write(self, transaction: str, batch: Batch) -> None:
        for row in batch.rows:
            self._tell(f"element {text_of(row)}")
            self._seen.transactions[transaction].append(text_of(row))

    def finish_processing(self, transaction: str) -> None:
        self._tell("finish")

    def pre_commit(self, transaction: str) -> None:
        self._tell("pre-commit", transaction)

    def commit(self, transaction: str) -> None:
        self._tell("commit", transaction)

    def abort(self, transaction: str) -> None:
        self._tell("abort", transaction)

    def recover_and_commit(self, transaction: str) -> None:
        self._tell("recover-and-commit", transaction)

    def recover_and_abort(self, transaction: str) -> None:
        self._tell("recover-and-abort", transaction)

    def close(self) -> None:
        self._tell("close")


class Committing(Sink):
    """A sink of writer and committer that tells every call."""

    def __init__(self, seen: Happenings, task: str) -> None:
        self._seen, self._task = seen, task

    def create_writer(self, context: SinkContext, restored: Sequence[Any]) -> Any:
        return CommittingWriter(lambda what: self._seen.tell(self._task, context, what))

    def create_committer(self, context: SinkContext) -> Committer:
        return TracedCommitter(lambda what: self._seen.tell(self._task, context, what))


class CommittingWriter:
    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._rows: list[str] = []

    def write(self, batch: Batch) -> None:
        for row in batch.rows:
            self._tell(f"writer.element {text_of(row)}")
            self._rows.append(text_of(row))

    def write_watermark(self, watermark: Watermark) -> None:
        return

    def flush(self, end_of_input: bool) -> None:
        self._tell("writer.flush" + (" at end" if end_of_input else ""))

    def prepare_commit(self) -> list[str]:
        self._tell(f"writer.prepare-commit [{', '.join(self._rows)}]")
        prepared = ["+".join(self._rows)] if self._rows else []
        self._rows.clear()
        return prepared

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        return []

    def close(self) -> None:
        self._tell("writer.close")


class TracedCommitter(Committer):
    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        self._tell(f"committer.commit [{', '.join(sorted(r.committable for r in requests))}]")

    def close(self) -> None:
        self._tell("committer.close")


# -- jobs ---------------------------------------------------------------------------------------------------


class Jobs:
    """Builds one job for a run."""

    def __init__(self, seen: Happenings, parallelism: int) -> None:
        self._seen, self._parallelism = seen, parallelism
        self._env = StreamEnvironment("job", parallelism=1, max_parallelism=128)

    def graph(self, job: str) -> JobGraph:
        builders: dict[str, Callable[[], object]] = {
            "chain": lambda: self._chain("a1 b1 |1 c1", ends=True),
            "endless": lambda: self._chain("a1 b1 |1 c1", ends=False),
            "failing": lambda: self._chain("a1 |1 b1 |2 boom c1", ends=False),
            "lines": self._lines,
            "tasks": lambda: self._tasks(ends=True),
            "endless-tasks": lambda: self._tasks(ends=False),
            "mixed": lambda: self._mixed(Kept.SPLIT),
            "mixed-union": lambda: self._mixed(Kept.UNION),
            "mixed-late-union": lambda: self._mixed(Kept.LATE_UNION),
            "mixed-broadcast": lambda: self._mixed(Kept.BROADCAST),
            "mixed-chained": lambda: self._grown(job),
            "mixed-in-front": lambda: self._grown(job),
            "mixed-behind": lambda: self._grown(job),
            "inputs": self._inputs,
            "windows": self._windows,
            "spread": self._spread,
            "copies": self._copies,
            **{name: lambda: self._clocks(job) for name in CLOCKS},
            **{name + ONE_INPUT: lambda: self._clocks(job) for name in CLOCKS},
            "some-split": lambda: self._some(Kept.SPLIT, "a3 |2 b3"),
            "some-broadcast": lambda: self._some(Kept.BROADCAST, "a3 |2 b3"),
            "some-equal": lambda: self._some(Kept.BROADCAST, "a2 |2 b2"),
            "committing": lambda: self._committing(ends=True),
            "endless-committing": lambda: self._committing(ends=False),
        }
        builders[job]()
        return self._env.job_graph()

    @property
    def uids(self) -> list[str | None]:
        """Of the operators that have one."""
        return [node.uid for node in self._env.nodes if node.uid is not None]

    def _source(self, task: str, *pieces: str, ends: bool) -> DataStream:
        source = Pieces(self._seen, task, *pieces, ends=ends)
        times = WatermarkStrategy(time_of)
        stream = self._env.from_source(source, times, name=task, uid=f"{task}.source")
        return stream.set_parallelism(len(pieces))

    def _traced(
        self, stream: DataStream, task: str, name: str, *, parallelism: int = 1, kept: Kept = Kept.SPLIT
    ) -> DataStream:
        made = stream.transform(name, lambda: Traced(self._seen, task, name, kept))
        return made.uid(name).set_parallelism(parallelism)

    def _sink(self, stream: DataStream, task: str, parallelism: int = 1) -> None:
        stream.sink_to(TwoPhase(self._seen, task), uid="sink", parallelism=parallelism)

    def _chain(self, rows: str, *, ends: bool) -> None:
        source = self._source("chain", rows, ends=ends)
        self._sink(self._traced(self._traced(source, "chain", "a"), "chain", "b"), "chain")

    def _lines(self) -> None:
        source = self._source("lines", "a1 |1 b1", "a2 |2 boom b2", ends=False)
        self._sink(self._traced(source, "lines", "a", parallelism=2), "lines", 2)

    def _tasks(self, *, ends: bool) -> None:
        source = self._source("src", "a1 |1 b1", "a2 |1 b2", ends=ends)
        self._sink(self._traced(source, "map", "a", parallelism=2).disable_chaining().to_one(), "end")

    def _mixed(self, kept: Kept) -> None:
        some = self._source("some", "a1 |1 b1", "a2 |2 b2", ends=True)
        endless = self._source("endless", "x1 |3 y1", ends=False)
        mapped = self._traced(some, "some", "a", parallelism=2, kept=kept)
        self._sink(mapped.union(self._traced(endless, "endless", "b")).to_one(), "end")

    def _grown(self, job: str) -> None:
        some = self._source("some", "a1 |1 b1", "a2 |2 b2", ends=True)
        other = self._traced(self._source("endless", "x1 |3 y1", ends=False), "endless", "b")
        if job == "mixed-behind":
            mapped = self._traced(some, "some", "a", parallelism=2)
            mapped = self._traced(mapped, "new", "n", parallelism=2).disable_chaining()
        else:
            added = self._traced(some, "new", "n", parallelism=2)
            if job == "mixed-in-front":
                added.disable_chaining()
            mapped = self._traced(added, "some", "a", parallelism=2)
        self._sink(mapped.union(other).to_one(), "end")

    def _inputs(self) -> None:
        first = self._source("one", "a1 |1 b1", ends=True)
        second = self._source("two", "x1 |2 y1", ends=True)
        self._sink(self._connected(first, second), "co")

    def _connected(self, first: DataStream, second: DataStream) -> DataStream:
        inputs = [*first.forward()._into(0), *second.forward()._into(1)]
        node = OperatorNode("co", lambda: TracedTwo(self._seen, "co", "co"), 1, "co", inputs=inputs)
        return self._env._add(node)

    def _windows(self) -> None:
        source = self._source("src", "a1000 b2000 a3000 |1 a12000 b13000 |2 a14000", ends=False)
        keyed = source.key_by(first_letter)
        counts = keyed.window(TumblingWindows(10_000)).aggregate(count()).uid("window")
        told = counts.map(lambda r: row_of(f"window-{r['key']}-{r['window_start']}-{r['value']}"))
        timers = keyed.process(Timers()).uid("timers")
        self._sink(told.union(timers).to_one(), "end")

    def _spread(self) -> None:
        source = self._source("src", "a1 b1 c1 |1 a2", "a3 d1 |1 b2 d2", ends=False).rescale()
        width = self._parallelism
        split = self._traced(source, "map", "split", parallelism=width)
        union = self._traced(split, "map", "union", parallelism=width, kept=Kept.UNION)
        counts = union.key_by(first_letter).process(Counts()).uid("counts").set_parallelism(width)
        self._sink(counts.to_one(), "end")

    def _copies(self) -> None:
        source = self._source("src", "a1 b1 |1 a2", "a3 |1 b2", ends=False).rescale()
        width = self._parallelism
        copies = self._traced(source, "map", "copies", parallelism=width, kept=Kept.BROADCAST)
        self._sink(copies.to_one(), "end")

    def _some(self, kept: Kept, third: str) -> None:
        source = self._source("src", "a1 |1 b1", "a2 |2 b2", third, ends=True).rescale()
        kept_rows = self._traced(source, "map", "a", parallelism=self._parallelism, kept=kept)
        self._sink(kept_rows.to_one(), "end")

    def _clocks(self, job: str) -> None:
        first, second = CLOCKS[job.removesuffix(ONE_INPUT)]
        one, two = self._source("one", first, ends=False), self._source("two", second, ends=False)
        both = one.union(two) if job.endswith(ONE_INPUT) else self._connected(one, two)
        both.transform("clock", lambda: Clock(self._seen, "clock", "clock")).uid("clock")

    def _committing(self, *, ends: bool) -> None:
        source = self._source("chain", "a1 b1 |1 c1", ends=ends)
        source.sink_to(Committing(self._seen, "chain"), uid="sink")
