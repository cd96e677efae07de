"""What the functions of users do with rows, and what they return by mistake."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pravega_lab.engine.flow.batch import Batch, Row, RowKind
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.errors import JobFailedError
from pravega_lab.engine.flow.graph.stream import DataStream, StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.restart import FixedDelay, NoRestart
from pravega_lab.engine.flow.operators.functions import (
    AggregateFunction,
    FunctionContext,
    KeyedContext,
    KeyedProcessFunction,
    ProcessFunction,
    total,
)
from pravega_lab.engine.flow.operators.operator import Operator
from pravega_lab.engine.flow.operators.windows import TumblingWindows
from pravega_lab.engine.flow.sink.file_sink import TwoPhaseFileSink, committed_rows
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.engine.flow.source.sources import ReaderContext, SourceReader
from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy
from tests.engine.flow.jobs import Virtual, collect

Program = Callable[[StreamEnvironment, type[BaseException]], DataStream]


def results(program: Callable[[DataStream], DataStream], rows: list[Row]) -> list[Row]:
    """Return the rows that a program makes of ``rows``, in one task."""
    virtual, env, got = Virtual(), StreamEnvironment(), []
    collect(program(env.from_rows(rows)), got)
    virtual.finish(env)
    return [row for row, _ in got]


def number_in_place(row: Row) -> Iterator[Row]:
    for n in range(3):
        row["n"] = n
        yield row


class Reusing(KeyedProcessFunction):
    """Emits one dict, which it fills again for each record."""

    def open(self, context: KeyedContext) -> None:
        self.row: Row = {}

    def process(self, row: Row, context: KeyedContext) -> None:
        self.row["n"] = row["n"]
        context.emit(self.row)


def filled_again(stream: DataStream) -> DataStream:
    kept: Row = {}

    def fill(row: Row) -> Row:
        kept["n"] = row["n"]
        return kept

    return stream.map(fill)


@pytest.mark.parametrize(
    "program",
    [
        lambda stream: stream.filter(lambda row: row["n"] == 0).flat_map(number_in_place),
        lambda stream: stream.key_by("n").process(Reusing()),
        filled_again,
    ],
    ids=["flat_map", "process", "map"],
)
def test_a_dict_that_is_emitted_several_times_is_a_row_each_time(
    program: Callable[[DataStream], DataStream],
) -> None:
    assert results(program, [{"n": n} for n in range(3)]) == [{"n": n} for n in range(3)]


class First(KeyedProcessFunction):
    """Keeps the first row of each key, and emits it again and again."""

    def open(self, context: KeyedContext) -> None:
        self.first = context.value_state("first")

    def process(self, row: Row, context: KeyedContext) -> None:
        if self.first.get() is None:
            self.first.update(row)
        context.emit(self.first.get())


def test_a_row_in_state_does_not_change_when_a_later_function_changes_it_in_place() -> None:
    rows = [{"key": "a", "n": n} for n in range(3)]
    assert (
        results(lambda stream: stream.key_by("key").process(First()).map(add_in_place), rows)
        == [{"key": "a", "n": 100}] * 3
    )


def add_in_place(row: Row) -> Row:
    row["n"] += 100
    return row


@pytest.mark.parametrize("batch_rows", [1, 20])
def test_rows_that_are_changed_in_place_are_read_again_as_they_were(batch_rows: int) -> None:
    """The rows of the collection, and the lists in them, are those of the user, also after a recovery."""

    def change(row: Row) -> Row:
        row["n"] += 1000
        row["tags"].append("seen")
        return row

    virtual, env = Virtual(), StreamEnvironment()
    given = [{"n": n, "tags": ["new"]} for n in range(20)]
    source = RowsSource(given, batch_rows=batch_rows, pause_ms=lambda: 20)
    env.from_source(source).map(change).sink_to(TwoPhaseFileSink("out", virtual.files))

    async def story() -> list[Row]:
        job = virtual.job(env)
        await job.start()
        await asyncio.sleep(0.01 if batch_rows > 1 else 0.15)
        job.fail_subtask(job.graph.subtasks()[0], RuntimeError("dies"))
        await job.wait()
        return await committed_rows("out", virtual.files)

    rows = virtual.run(story)
    assert [row["n"] for row in rows] == [1000 + n for n in range(20)]
    assert {tuple(row["tags"]) for row in rows} == {("new", "seen")}
    assert given == [{"n": n, "tags": ["new"]} for n in range(20)]


def appended(values: list[int], row: Row) -> list[int]:
    values.append(row["n"])
    return values


LISTED = AggregateFunction(
    list, appended, lambda values: values, retract=lambda values, row: values.remove(row["n"]) or values
)


def test_an_accumulator_may_be_a_list_that_is_changed_in_place() -> None:
    rows = [{"key": "a", "n": n} for n in range(3)]
    grown = [[0], [0, 1], [0, 1, 2]]
    assert [row["value"] for row in results(lambda s: s.key_by("key").aggregate(LISTED), rows)] == grown
    virtual, env, got = Virtual(), StreamEnvironment(), []
    lists = env.from_rows(rows).key_by("key").aggregate(LISTED, changelog=True)
    collect(lists, got)
    virtual.finish(env)
    kept = [(row["value"], kind) for row, kind in got]
    assert kept == [
        (grown[0], "+I"),
        (grown[0], "-U"),
        (grown[1], "+U"),
        (grown[1], "-U"),
        (grown[2], "+U"),
    ]


def test_the_first_accumulators_of_keys_stay_as_they_were_given() -> None:
    initial = {"a": [7]}
    for _ in range(2):
        lists = results(
            lambda stream: stream.key_by("key").aggregate(LISTED, initial=initial), [{"key": "a", "n": 1}]
        )
        assert [row["value"] for row in lists] == [[7, 1]]
    assert initial == {"a": [7]}


def test_the_first_accumulator_of_a_key_does_not_come_back_when_its_rows_are_taken_back() -> None:
    changes = [(10, RowKind.DELETE), (5, RowKind.INSERT), (1, RowKind.INSERT)]

    class Change(ProcessFunction):
        def process(self, row: Row, context: FunctionContext) -> None:
            n, kind = changes[row["n"]]
            context.emit({"key": "a", "n": n}, kind=kind)

    virtual, env, got = Virtual(), StreamEnvironment(), []
    changed = env.from_rows([{"n": n} for n in range(3)]).process(Change()).key_by("key")
    collect(changed.aggregate(total("n"), changelog=True, initial={"a": 10}), got)
    virtual.finish(env, JobConfig(None))
    assert [(row["value"], kind) for row, kind in got] == [(10, "-D"), (5, "+I"), (5, "-U"), (6, "+U")]


def test_a_window_that_fires_again_emits_its_result_of_each_time() -> None:
    rows = [{"key": "a", "n": n, "at": at} for n, at in enumerate((1, 50, 2, 3))]
    virtual, env, got = Virtual(), StreamEnvironment(), []
    source = RowsSource(rows, batch_rows=2)
    keyed = env.from_source(source, WatermarkStrategy("at")).key_by("key")
    collect(keyed.window(TumblingWindows(10), allowed_lateness_ms=1000).aggregate(LISTED), got)
    virtual.finish(env)
    assert [row["value"] for row, _ in got if row["window_start"] == 0] == [[0], [0, 2], [0, 2, 3]]


class Async(KeyedProcessFunction):
    async def process(self, row: Row, context: KeyedContext) -> None:  # type: ignore[override]
        context.emit(row)


class Generating(KeyedProcessFunction):
    def process(self, row: Row, context: KeyedContext) -> Iterator[Row]:  # type: ignore[override]
        yield row


class Returning(KeyedProcessFunction):
    def process(self, row: Row, context: KeyedContext) -> Row:  # type: ignore[override]
        return row


class AsyncTimer(KeyedProcessFunction):
    def process(self, row: Row, context: KeyedContext) -> None:
        context.register_event_timer(1)

    async def on_timer(self, at_ms: int, context: KeyedContext) -> None:  # type: ignore[override]
        context.emit({"at": at_ms})


class AsyncOpen(KeyedProcessFunction):
    async def open(self, context: KeyedContext) -> None:  # type: ignore[override]
        self.n = 0

    def process(self, row: Row, context: KeyedContext) -> None:
        context.emit(row)


async def passes(row: Row) -> bool:
    return False


@pytest.mark.filterwarnings("error")  # of a coroutine that nobody awaits
@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            lambda stream: stream.key_by("n").process(Async()),
            "process returned a coroutine, and it must return nothing: functions of a job are plain ones",
        ),
        (lambda stream: stream.key_by("n").process(Generating()), "returned a generator.* without async and"),
        (lambda stream: stream.key_by("n").process(Returning()), "returned a dict.* with context.emit"),
        (lambda stream: stream.key_by("n").process(AsyncTimer()), "on_timer returned a coroutine"),
        (lambda stream: stream.key_by("n").process(AsyncOpen()), "open returned a coroutine"),
        (lambda stream: stream.filter(passes), "filter.* a coroutine, which is always true"),
        (lambda stream: stream.filter(number_in_place), "filter.* a generator, which is always true"),
        (lambda stream: stream.map(lambda row: None), "a function gave None; is a return missing"),
        (
            lambda stream: stream.flat_map(lambda row: "ab"),
            "is a dict of its columns, but a function gave 'a'",
        ),
        (
            lambda stream: stream.map_batches(lambda batch: None),
            "map_batches returned a NoneType; return a py",
        ),
    ],
)
def test_a_function_that_has_not_run_or_returns_no_rows_is_refused(
    program: Callable[[DataStream], DataStream], message: str
) -> None:
    """Its rows would be missing, or all would pass, and nothing would say so."""
    virtual, env = Virtual(), StreamEnvironment()
    collect(program(env.from_rows([{"n": 1}])), [])
    with pytest.raises(JobFailedError, match=message):
        virtual.finish(env, JobConfig(None))


class Panic(BaseException):
    """As an extension in Rust raises it."""


ENDING = [GeneratorExit, SystemExit, asyncio.CancelledError, Panic]


def raising(error: type[BaseException]) -> Callable[..., Row]:
    def fails(*_: object) -> Row:
        raise error("boom")

    return fails


class Failing(Operator):
    """Raises in the method ``where``, after a pause."""

    def __init__(self, where: str, error: type[BaseException]) -> None:
        self._where, self._error = where, error

    async def _at(self, where: str) -> None:
        await asyncio.sleep(0)
        if where == self._where:
            raise self._error("boom")

    async def open(self) -> None:
        await self._at("open")

    async def process_batch(self, batch: Batch, input: int) -> None:
        await self._at("process_batch")

    async def snapshot_state(self, checkpoint_id: int) -> None:
        await self._at("snapshot_state")

    async def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        await self._at("notify_checkpoint_complete")

    async def close(self) -> None:
        await self._at("close")


class FailingTimer(KeyedProcessFunction):
    def __init__(self, error: type[BaseException], is_event_time: bool) -> None:
        self._error, self._is_event_time = error, is_event_time

    def process(self, row: Row, context: KeyedContext) -> None:
        if self._is_event_time:
            context.register_event_timer(1)
        else:
            context.register_processing_timer(context.now_ms())

    def on_timer(self, at_ms: int, context: KeyedContext) -> None:
        raise self._error("boom")


def window(stream: DataStream, error: type[BaseException]) -> DataStream:
    result = AggregateFunction(list, appended, raising(error))
    return stream.key_by("n").window(TumblingWindows(10)).aggregate(result)


class FailingReader(RowsSource):
    """Fails where its reader is polled, or waits."""

    def __init__(self, where: str, error: type[BaseException]) -> None:
        super().__init__([{"n": 1, "at": 1}])
        self._where, self._error = where, error

    def create_reader(self, context: ReaderContext) -> SourceReader[Any]:
        reader = super().create_reader(context)
        setattr(reader, self._where, raising(self._error))
        return reader


def of_rows(program: Callable[[DataStream, type[BaseException]], DataStream]) -> Program:
    rows = RowsSource([{"n": 1, "at": 1}])
    return lambda env, error: program(env.from_source(rows, WatermarkStrategy("at")), error)


def failing(where: str) -> Program:
    return of_rows(lambda stream, error: stream.transform("op", lambda: Failing(where, error)))


PROGRAMS: dict[str, tuple[str, Program]] = {
    "map": ("map", of_rows(lambda stream, error: stream.map(raising(error)))),
    "key": ("key_by.fails.", of_rows(lambda s, error: s.key_by(raising(error)).process(Reusing()))),
    "event timer": (
        "process",
        of_rows(lambda s, error: s.key_by("n").process(FailingTimer(error, is_event_time=True))),
    ),
    "timer": (
        "process",
        of_rows(lambda s, error: s.key_by("n").process(FailingTimer(error, is_event_time=False))),
    ),
    "window": ("window", of_rows(window)),
    "poll": ("source", lambda env, error: env.from_source(FailingReader("poll_next", error))),
    "open": ("op", failing("open")),
    "async process": ("op", failing("process_batch")),
    "snapshot": ("op", failing("snapshot_state")),
    "notify": ("op", failing("notify_checkpoint_complete")),
    "close": ("op", failing("close")),
}


@pytest.mark.parametrize("error", [ValueError, *ENDING])
@pytest.mark.parametrize("program", PROGRAMS)
def test_whatever_a_function_raises_fails_its_job_and_the_message_names_it(
    program: str, error: type[BaseException]
) -> None:
    """Also ``sys.exit()``, which would end the program, and errors that asyncio keeps for itself."""
    name, make = PROGRAMS[program]
    virtual, env = Virtual(), StreamEnvironment(parallelism=2)
    collect(make(env, error), [])

    async def story() -> None:
        job = virtual.job(env, JobConfig(CheckpointConfig(interval_ms=100), restart=NoRestart()))
        await job.start()
        async with asyncio.timeout(10):
            await job.wait()

    with pytest.raises(JobFailedError, match=rf"{name}.*{error.__name__}: boom"):
        virtual.run(story)


def test_a_job_restarts_after_an_exit_of_a_function() -> None:
    virtual, env, got = Virtual(), StreamEnvironment(), []
    calls = iter([SystemExit, GeneratorExit])

    def exits_twice(row: Row) -> Row:
        for error in calls:
            raise error("boom")
        return row

    collect(env.from_rows([{"n": 1}]).map(exits_twice), got)
    virtual.finish(env, JobConfig(CheckpointConfig(interval_ms=100), restart=FixedDelay(2, 10)))
    assert [row for row, _ in got] == [{"n": 1}]


@pytest.mark.parametrize(
    ("number", "handler", "ended"),
    [
        (signal.SIGINT, signal.default_int_handler, KeyboardInterrupt),
        (signal.SIGTERM, lambda *_: sys.exit(3), SystemExit),
    ],
)
def test_a_signal_ends_the_program_also_while_a_function_runs(
    number: signal.Signals, handler: Any, ended: type[BaseException]
) -> None:
    """Ctrl-C, and the handler of a program for the end of its container."""
    virtual, env = Virtual(), StreamEnvironment()

    def is_interrupted(row: Row) -> Row:
        signal.raise_signal(number)
        return row

    collect(env.from_rows([{"n": 1}]).map(is_interrupted), [])
    before = signal.signal(number, handler)
    try:
        with pytest.raises(ended):
            virtual.finish(env)
    finally:
        signal.signal(number, before)
