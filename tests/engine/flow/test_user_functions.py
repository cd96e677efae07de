"""What the functions of users do with rows, and what they return by mistake."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.errors import JobFailedError
from pravega_lab.engine.flow.graph.stream import DataStream, StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.operators.functions import AggregateFunction, KeyedContext, KeyedProcessFunction
from pravega_lab.engine.flow.operators.windows import TumblingWindows
from pravega_lab.engine.flow.sink.file_sink import TwoPhaseFileSink, committed_rows
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy
from tests.engine.flow.jobs import Virtual, collect


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
    ],
)
def test_a_function_that_has_not_run_or_returns_what_nobody_reads_is_refused(
    program: Callable[[DataStream], DataStream], message: str
) -> None:
    """Its rows would be missing, or all would pass, and nothing would say so."""
    virtual, env = Virtual(), StreamEnvironment()
    collect(program(env.from_rows([{"n": 1}])), [])
    with pytest.raises(JobFailedError, match=message):
        virtual.finish(env, JobConfig(None))
