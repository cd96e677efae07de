"""The same program in streaming and in batch execution."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from pravega_lab.engine.flow.batch import Batch, Row, RowKind
from pravega_lab.engine.flow.errors import JobFailedError
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.batch_mode import BatchRunner, resolve_mode, run_batch
from pravega_lab.engine.flow.operators.functions import AggregateFunction, count, total
from pravega_lab.engine.flow.operators.operator import Operator, RuntimeMode
from pravega_lab.engine.flow.operators.windows import TumblingWindows
from pravega_lab.engine.flow.sink.file_sink import TwoPhaseFileSink
from pravega_lab.engine.flow.sink.sinks import CommitRequest, Committer, Sink, SinkContext, SinkWriter
from pravega_lab.engine.flow.source.collections import RowsEnumerator, RowsReader, RowsSource
from pravega_lab.engine.flow.source.sources import Boundedness, ReaderContext
from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy
from pravega_lab.errors import BadInputError
from tests.engine.flow.jobs import Virtual, collect


def figure_1(into: list[Any]) -> StreamEnvironment:
    """State a=5, b=4 and the input a, b, a."""
    env = StreamEnvironment("figure 1")
    stream = env.from_rows([{"word": w} for w in "aba"], batch_rows=1).key_by("word")
    collect(stream.aggregate(count(), initial={"a": 5, "b": 4}), into)
    return env


def test_streaming_tells_every_change_and_batch_the_last_value_of_each_key() -> None:
    streamed: list[Any] = []
    Virtual().finish(figure_1(streamed))
    assert [(r["word"], r["value"]) for r, _ in streamed] == [("a", 6), ("b", 5), ("a", 7)]
    batched: list[Any] = []
    run_batch(figure_1(batched).job_graph())
    assert [(r["word"], r["value"]) for r, _ in batched] == [("a", 7), ("b", 5)]


def test_windows_of_batch_are_those_of_streaming() -> None:
    rows = [{"k": "ab"[n % 2], "t": (n * 37) % 200} for n in range(50)]
    results = []
    for mode in ("streaming", "batch"):
        got: list[Any] = []
        env = StreamEnvironment(parallelism=2)
        strategy = WatermarkStrategy("t", out_of_orderness_ms=1000)
        stream = env.from_rows(rows, strategy, splits=3, batch_rows=7).key_by("k")
        collect(stream.window(TumblingWindows(50)).aggregate(count(), column="n"), got)
        if mode == "batch":
            run_batch(env.job_graph())
        else:
            Virtual().finish(env)
        results.append(sorted((r["k"], r["window_start"], r["n"]) for r, _ in got))
    assert results[0] == results[1]
    assert sum(n for *_, n in results[0]) == 50


def test_automatic_is_batch_if_every_source_ends() -> None:
    got: list[Any] = []
    assert resolve_mode(figure_1(got).job_graph(), RuntimeMode.AUTOMATIC) is RuntimeMode.BATCH
    env = StreamEnvironment()
    source = RowsSource([{"n": 1}], boundedness=Boundedness.CONTINUOUS_UNBOUNDED)
    collect(env.from_source(source, name="forever"), got)
    assert resolve_mode(env.job_graph(), RuntimeMode.AUTOMATIC) is RuntimeMode.STREAMING
    with pytest.raises(BadInputError, match="'forever' never ends"):
        run_batch(env.job_graph())


def test_a_sink_that_commits_with_checkpoints_is_refused() -> None:
    env = StreamEnvironment()
    env.from_rows([{"n": 1}]).sink_to(TwoPhaseFileSink("out"))
    with pytest.raises(BadInputError, match="batch execution has none"):
        run_batch(env.job_graph())


class _Retracting(Operator):
    def process_batch(self, batch: Batch, input: int) -> None:
        kinds = [RowKind.INSERT, *[RowKind.DELETE] * (batch.num_rows - 1)]
        self.context.output.emit(Batch.of_rows(list(batch.rows), None, kinds))


def test_what_retracts_needs_the_order_that_batch_has_lost() -> None:
    env = StreamEnvironment()
    stream = env.from_rows([{"w": "a"}] * 2).transform("retracting", _Retracting)
    collect(stream.key_by("w").aggregate(count()), [])
    with pytest.raises(JobFailedError, match="run the program in streaming mode"):
        run_batch(env.job_graph())


class ListSink(Sink):
    """Sink V2 into a list; the first commit of each committable is to be retried."""

    def __init__(self) -> None:
        self.committed: list[int] = []
        self.tries = 0

    def create_writer(self, context: SinkContext, restored: Sequence[Any]) -> SinkWriter:
        return _ListWriter()

    def create_committer(self, context: SinkContext) -> Committer:
        return _ListCommitter(self)


class _ListWriter(SinkWriter):
    def __init__(self) -> None:
        self._rows: list[int] = []

    def write(self, batch: Batch) -> None:
        self._rows += [row["n"] for row in batch.rows]

    def prepare_commit(self) -> list[Any]:
        rows, self._rows = self._rows, []
        return [rows] if rows else []


class _ListCommitter(Committer):
    def __init__(self, sink: ListSink) -> None:
        self._sink = sink

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            self._sink.tries += 1
            if request.retries == 0:
                request.retry_later()
            else:
                self._sink.committed += request.committable


def test_the_unified_sink_commits_at_the_end_of_a_batch_and_with_checkpoints() -> None:
    for mode in ("streaming", "batch"):
        env, sink, virtual = StreamEnvironment(), ListSink(), Virtual()
        env.from_rows([{"n": n} for n in range(20)], batch_rows=3).sink_to(sink)
        if mode == "batch":
            graph = env.job_graph()
            virtual.run(lambda graph=graph: BatchRunner(graph).run())
        else:
            virtual.finish(env)
        assert sorted(sink.committed) == list(range(20)), mode
        assert sink.tries >= 2


def test_a_failed_stage_runs_again_from_what_lies_before_it() -> None:
    got: list[Any] = []
    failures = [2]
    reads = []

    def breaks(row: dict[str, Any]) -> dict[str, Any]:
        if row["n"] == 3 and failures[0]:
            failures[0] -= 1
            raise ValueError("again")
        return row

    env = StreamEnvironment(chaining=False)
    stream = env.from_rows([{"n": n} for n in range(5)]).map(lambda row: reads.append(row) or row)
    collect(stream.map(breaks, name="breaks").key_by("n").aggregate(total("n")), got)
    asyncio.run(BatchRunner(env.job_graph(), attempts=3).run())
    assert [r["value"] for r, _ in got] == [0, 1, 2, 3, 4]
    assert len(reads) == 5


def test_a_failed_stage_runs_again_on_rows_as_they_were_before_a_function_changed_them() -> None:
    got: list[Any] = []
    failures = [1]

    def changes(row: dict[str, Any]) -> dict[str, Any]:
        row["n"] += 100
        if row["n"] == 103 and failures:
            failures.pop()
            raise ValueError("again")
        return row

    env = StreamEnvironment(chaining=False)
    stream = env.from_rows([{"n": n} for n in range(5)], batch_rows=2)
    collect(stream.map(changes), got)
    asyncio.run(BatchRunner(env.job_graph(), attempts=2).run())
    assert [row["n"] for row, _ in got] == [100, 101, 102, 103, 104]


def test_keys_of_several_columns_may_have_nulls_in_either_execution() -> None:
    keys = [("x", None), ("x", "y"), (None, "y"), (1, None), (1, 2.5)]
    for execute in (lambda env: Virtual().finish(env), lambda env: run_batch(env.job_graph())):
        got: list[Any] = []
        env = StreamEnvironment(parallelism=2)
        rows = env.from_rows([{"n": n} for n in range(5)])
        collect(rows.key_by(lambda row: keys[row["n"]]).aggregate(total("n")).map(only_value), got)
        execute(env)
        assert sorted(row["value"] for row, _ in got) == [0, 1, 2, 3, 4]


def only_value(row: Row) -> Row:
    return {"value": row["value"]}


class Handed(RowsSource):
    """Calls ``add_splits`` instead of that of its reader."""

    def __init__(self, rows: list[Row], add_splits: Callable[[Any, Sequence[Any]], Any]) -> None:
        super().__init__(rows)
        self._add_splits = add_splits

    def create_reader(self, context: ReaderContext) -> RowsReader:
        reader = super().create_reader(context)
        setattr(reader, "add_splits", partial(self._add_splits, reader.add_splits))  # noqa: B010
        return reader


class AtOnce(Handed):
    """Assigns every split and signals their end in one call."""

    def create_enumerator(self, context: Any) -> RowsEnumerator:
        enumerator = super().create_enumerator(context)

        def handle_split_request(subtask: int) -> None:
            context.assign_splits({subtask: self._all_splits()})
            context.signal_no_more_splits(subtask)

        setattr(enumerator, "handle_split_request", handle_split_request)  # noqa: B010
        return enumerator


def test_a_reader_that_refuses_its_splits_fails_the_stage() -> None:
    def refuse(_: Any, splits: Sequence[Any]) -> None:
        raise ValueError(f"boom {len(splits)}")

    env = StreamEnvironment()
    collect(env.from_source(Handed([{"n": 1}], refuse)), [])

    async def story() -> None:
        async with asyncio.timeout(10):
            await BatchRunner(env.job_graph()).run()

    with pytest.raises(JobFailedError, match="source, subtask 1/1: ValueError: boom 1"):
        Virtual().run(story)


def test_a_reader_that_takes_its_splits_slowly_is_notified_of_their_end_afterwards() -> None:
    async def slowly(add_splits: Any, splits: Sequence[Any]) -> None:
        await asyncio.sleep(1)
        add_splits(splits)

    env, got = StreamEnvironment(), []
    collect(env.from_source(AtOnce([{"n": 1}], slowly)), got)
    Virtual().run(lambda: BatchRunner(env.job_graph()).run())
    assert [row for row, _ in got] == [{"n": 1}]


def test_a_window_whose_result_fails_is_named() -> None:
    def fails(_: Any) -> Any:
        raise SystemExit("boom")

    env = StreamEnvironment()
    rows = env.from_rows([{"n": 1, "at": 1}], WatermarkStrategy("at")).key_by("n")
    function = AggregateFunction(lambda: 0, lambda value, row: value, fails)
    collect(rows.window(TumblingWindows(10)).aggregate(function), [])
    with pytest.raises(JobFailedError, match="window, subtask 1/1: SystemExit: boom"):
        run_batch(env.job_graph())
