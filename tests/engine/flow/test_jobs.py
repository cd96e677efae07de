"""Small jobs from end to end, under virtual time: operators, state, recovery, savepoints, rescaling."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from datetime import time as time_of_day
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pravega_lab.cli import main
from pravega_lab.engine.flow import observer as seen
from pravega_lab.engine.flow.batch import Batch, Row
from pravega_lab.engine.flow.checkpoint import metadata
from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointConfig
from pravega_lab.engine.flow.checkpoint.handles import CompletedCheckpoint
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.errors import (
    CheckpointFailedError,
    DamagedCheckpointError,
    IllegalStateError,
    InvalidJobGraphError,
    JobFailedError,
    RestoreError,
    SavepointError,
    UserFunctionError,
)
from pravega_lab.engine.flow.files import MemoryFiles
from pravega_lab.engine.flow.graph.graph import JobGraph, NodeEdge
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.batch_mode import run_batch
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.master.job import Job, run
from pravega_lab.engine.flow.master.restart import FixedDelay, NoRestart
from pravega_lab.engine.flow.operators.functions import (
    AggregateFunction,
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedContext,
    KeyedProcessFunction,
    count,
    total,
)
from pravega_lab.engine.flow.operators.operator import Operator
from pravega_lab.engine.flow.operators.windows import SessionWindows, SlidingWindows, TumblingWindows
from pravega_lab.engine.flow.sink.file_sink import TwoPhaseFileSink, committed_rows
from pravega_lab.engine.flow.sink.sinks import Sink, SinkContext, SinkWriter, TwoPhaseCommitSink
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.engine.flow.source.sources import Boundedness, SourceContext, SourceFunction
from pravega_lab.engine.flow.subtask_states import SubtaskState as Life
from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy
from pravega_lab.errors import BadInputError
from tests.engine.flow.jobs import CHECKPOINTED, Virtual, collect

WORDS = [{"word": "abc"[n % 3], "n": n} for n in range(30)]


def counts_of(rows: list[Any]) -> dict[str, int]:
    return {row["word"]: row["value"] for row, _ in rows}


def test_map_filter_flat_map_union_and_keyed_counts() -> None:
    virtual, env, got = Virtual(), StreamEnvironment(parallelism=2), []
    left = env.from_rows(WORDS, splits=3, batch_rows=4).filter(lambda row: row["word"] != "c")
    right = env.from_rows(WORDS[:3], name="other").flat_map(lambda row: [row, row])
    joined = left.union(right).map(lambda row: {"word": row["word"].upper()})
    collect(joined.key_by("word").aggregate(count()), got)
    virtual.finish(env)
    assert counts_of(sorted(got, key=lambda r: r[0]["value"])) == {"A": 12, "B": 12, "C": 2}
    assert len(got) == 26


def test_a_barrier_falls_between_two_records_wherever_it_must() -> None:
    """A channel of one record: each is a batch of its own, and the result is the same."""
    for capacity in (1, 3, 1000):
        virtual, env = Virtual(capacity), StreamEnvironment(parallelism=2)
        stream = env.from_rows(WORDS * 5, batch_rows=50).key_by("word").aggregate(total("n"))
        stream.sink_to(TwoPhaseFileSink("out", virtual.files))
        virtual.finish(env, replace(CHECKPOINTED, channel_capacity=capacity))
        files = virtual.files
        rows = virtual.run(lambda files=files: committed_rows("out", files))
        assert max(row["value"] for row in rows if row["word"] == "a") == 5 * sum(range(0, 30, 3))
        assert len(rows) == 150


class Timed(KeyedProcessFunction):
    """Emits its key's count when event time passes 50, and the name of the timer."""

    def open(self, context: KeyedContext) -> None:
        self._n = context.value_state("n", 0)

    def process(self, row: Row, context: KeyedContext) -> None:
        self._n.update(self._n.get() + 1)
        context.register_event_timer(50)

    def on_timer(self, at_ms: int, context: KeyedContext) -> None:
        context.emit({"key": context.key, "n": self._n.get(), "at": at_ms})


def test_event_timers_fire_when_the_watermark_passes_them() -> None:
    virtual, env, got = Virtual(), StreamEnvironment(), []
    rows = [{"k": "x", "t": t} for t in (10, 40, 70, 90)]
    stream = env.from_rows(rows, WatermarkStrategy("t"), batch_rows=1)
    collect(stream.key_by("k").process(Timed()), got)
    virtual.finish(env)
    # The record after it sets the timer again, which is overdue and fires with the next watermark.
    assert [(row["n"], row["at"]) for row, _ in got] == [(3, 50), (4, 50)]


@pytest.mark.parametrize(
    ("assigner", "expected"),
    [
        (TumblingWindows(50), [(0, 50, 2), (50, 100, 1), (100, 150, 1)]),
        (SlidingWindows(100, 50), [(-50, 50, 2), (0, 100, 3), (50, 150, 2), (100, 200, 1)]),
        (SessionWindows(35), [(10, 105, 3), (120, 155, 1)]),
    ],
)
def test_windows(assigner: Any, expected: list[tuple[int, int, int]]) -> None:
    virtual, env, got = Virtual(), StreamEnvironment(), []
    rows = [{"k": "x", "t": t} for t in (10, 40, 70, 120)]
    stream = env.from_rows(rows, WatermarkStrategy("t"), batch_rows=1)
    collect(stream.key_by("k").window(assigner).aggregate(count(), column="n"), got)
    virtual.finish(env)
    assert [(r["window_start"], r["window_end"], r["n"]) for r, _ in got] == expected


def test_late_records_go_aside_and_allowed_ones_fire_again() -> None:
    virtual, env, got, late = Virtual(), StreamEnvironment(), [], []
    rows = [{"k": "x", "t": t} for t in (10, 60, 20, 130, 30)]
    stream = env.from_rows(rows, WatermarkStrategy("t"), batch_rows=1)
    windowed = stream.key_by("k").window(TumblingWindows(50), allowed_lateness_ms=50, late_tag="late")
    result = windowed.aggregate(count(), column="n")
    collect(result, got)
    collect(result.side_output("late"), late)
    virtual.finish(env)
    assert [(r["window_start"], r["n"]) for r, _ in got] == [(0, 1), (0, 2), (50, 1), (100, 1)]
    assert [r["t"] for r, _ in late] == [30]


def test_the_slowest_input_sets_the_watermark() -> None:
    virtual, env, got = Virtual(), StreamEnvironment(), []
    rows = [{"k": "x", "t": t} for t in range(0, 100, 10)]
    slow = RowsSource(rows, batch_rows=1, pause_ms=lambda: 10)
    both = env.from_rows(rows, WatermarkStrategy("t")).union(
        env.from_source(slow, WatermarkStrategy("t"), name="slow")
    )
    collect(both.key_by("k").window(TumblingWindows(50)).aggregate(count(), column="n"), got)
    virtual.finish(env)
    assert [(r["window_start"], r["n"]) for r, _ in got] == [(0, 10), (50, 10)]


def test_idle_splits_do_not_hold_the_watermark_back() -> None:
    virtual, env, got = Virtual(), StreamEnvironment(), []
    moving = RowsSource([{"k": "x", "t": t} for t in range(0, 200, 10)], batch_rows=1, pause_ms=lambda: 10)
    silent = RowsSource([{"k": "x", "t": 0}], boundedness=Boundedness.CONTINUOUS_UNBOUNDED)
    strategy = WatermarkStrategy("t", idle_after_ms=30)
    stream = env.from_source(moving, strategy).union(env.from_source(silent, strategy, name="silent"))
    collect(stream.key_by("k").window(TumblingWindows(50)).aggregate(count(), column="n"), got)

    async def story() -> None:
        job = virtual.job(env)
        await job.start()
        await asyncio.sleep(5)
        assert [r["window_end"] for r, _ in got][:3] == [50, 100, 150]
        await job.cancel()

    virtual.run(story)


class WithoutRows:
    """A table with a silent segment."""

    def __init__(self, watermarks: WatermarkStrategy | None) -> None:
        self._watermarks = watermarks

    def source(self) -> RowsSource:
        return RowsSource([], boundedness=Boundedness.CONTINUOUS_UNBOUNDED)

    def sink(self) -> Sink:
        raise NotImplementedError

    def watermarks(self) -> WatermarkStrategy | None:
        return self._watermarks


def test_a_table_without_rows_holds_the_watermark_back_until_it_is_idle() -> None:
    moving = [{"k": "x", "t": t} for t in range(0, 200, 10)]

    def fired(idle_after_ms: int | None) -> list[Any]:
        virtual, env, got = Virtual(), StreamEnvironment(), []
        rows = env.from_source(RowsSource(moving, batch_rows=1, pause_ms=lambda: 10), WatermarkStrategy("t"))
        both = rows.union(env.from_table(WithoutRows(WatermarkStrategy("t")), idle_after_ms=idle_after_ms))
        collect(both.key_by("k").window(TumblingWindows(50)).aggregate(count(), column="n"), got)

        async def story() -> None:
            job = virtual.job(env)
            await job.start()
            await asyncio.sleep(5)
            await job.cancel()

        virtual.run(story)
        return [row["window_end"] for row, _ in got]

    assert fired(None) == []
    assert fired(30)[:3] == [50, 100, 150]
    with pytest.raises(BadInputError, match="the table has no watermark"):
        StreamEnvironment().from_table(WithoutRows(None), idle_after_ms=30)


class Both(CoProcessFunction):
    def open(self, context: KeyedContext) -> None:
        self._sum = context.value_state("sum", 0)

    def process_1(self, row: Row, context: KeyedContext) -> None:
        self._sum.update(self._sum.get() + row["n"])

    def process_2(self, row: Row, context: KeyedContext) -> None:
        self._sum.update(self._sum.get() - row["n"])

    def end_input_1(self, context: KeyedContext) -> None:
        context.emit({"ended": 1, "word": "-", "sum": 0})


def test_connected_inputs_share_state_and_hear_of_their_ends() -> None:
    virtual, env, got = Virtual(), StreamEnvironment(), []
    first, second = env.from_rows(WORDS), env.from_rows(WORDS, name="second")
    collect(first.key_by("word").connect(second.key_by("word")).process(Both()), got)
    virtual.finish(env)
    assert got == [({"ended": 1, "word": "-", "sum": 0}, "+I")]


class Rules(BroadcastProcessFunction):
    def open(self, context: KeyedContext) -> None:
        self._rules = context.broadcast_state("rules")

    def process(self, row: Row, context: KeyedContext) -> None:
        context.emit({**row, "rule": self._rules.get(row["word"], "none")})

    def process_broadcast(self, row: Row, context: KeyedContext) -> None:
        self._rules.put(row["word"], row["rule"])


def test_broadcast_state_is_everywhere() -> None:
    virtual, env, got = Virtual(), StreamEnvironment(parallelism=3), []
    slow = RowsSource(WORDS, splits=3, batch_rows=1, pause_ms=lambda: 20)
    rules = env.from_rows([{"word": "a", "rule": "double"}], name="rules", parallelism=1)
    collect(env.from_source(slow).connect(rules.broadcast()).process(Rules()), got)
    virtual.finish(env)
    last = [row for row, _ in got if row["n"] >= 21]
    assert {row["rule"] for row in last if row["word"] == "a"} == {"double"}
    assert {row["rule"] for row in last if row["word"] != "a"} == {"none"}


def test_retractions_run_through_aggregates() -> None:
    virtual, env, got = Virtual(), StreamEnvironment(), []
    changes = env.from_rows([{"word": w} for w in "aba"], batch_rows=1).key_by("word")
    counted = changes.aggregate(count(), column="n", changelog=True)
    how_many = counted.key_by("n").aggregate(count(), column="words", changelog=True, name="histogram")
    collect(how_many, got)
    virtual.finish(env)
    assert [(row["n"], row["words"], kind) for row, kind in got] == [
        (1, 1, "+I"),
        (1, 1, "-U"),
        (1, 2, "+U"),
        (1, 2, "-U"),
        (1, 1, "+U"),
        (2, 1, "+I"),
    ]


def test_an_aggregate_that_cannot_take_back_says_so() -> None:
    virtual, env = Virtual(), StreamEnvironment()
    once = AggregateFunction(lambda: 0, lambda n, row: n + 1, lambda n: n)
    changed = env.from_rows([{"word": "a"}] * 2).key_by("word").aggregate(count(), changelog=True)
    collect(changed.key_by("word").aggregate(once, name="once"), [])
    with pytest.raises(
        JobFailedError, match="once: -U arrived, but this aggregate cannot take anything back"
    ):
        virtual.finish(env, replace(CHECKPOINTED, restart=NoRestart()))


# -- failures, savepoints, rescaling -------------------------------------------------------------------------


def endless(rows: list[Row], pause_ms: int = 2, splits: int = 4) -> RowsSource:
    return RowsSource(
        rows,
        splits=splits,
        batch_rows=1,
        pause_ms=lambda: pause_ms,
        boundedness=Boundedness.CONTINUOUS_UNBOUNDED,
    )


def word_counts(virtual: Virtual, parallelism: int, source: RowsSource) -> StreamEnvironment:
    env = StreamEnvironment("words", parallelism=parallelism, max_parallelism=16)
    stream = env.from_source(source, uid="words").key_by("word").aggregate(total("n")).uid("sums")
    stream.sink_to(TwoPhaseFileSink("out", virtual.files), uid="files")
    return env


def test_stop_with_savepoint_and_go_on_with_other_parallelisms() -> None:
    rows = [{"word": "abcdefgh"[n % 8], "n": n} for n in range(400)]
    virtual = Virtual()

    async def story() -> None:
        restore = None
        for life, parallelism in enumerate((2, 5, 1, 3)):
            job = virtual.job(word_counts(virtual, parallelism, endless(rows)), restore_from=restore)
            await job.start()
            await asyncio.sleep(0.06)
            restore = await job.stop_with_savepoint(f"sp/{life}")
            assert job.state == "finished"
        job = virtual.job(word_counts(virtual, 4, endless(rows)), restore_from=restore)
        await job.start()
        await asyncio.sleep(5)
        await job.stop_with_savepoint("sp/last", drain=True)

    virtual.run(story)
    got = virtual.run(lambda: committed_rows("out", virtual.files))
    assert len(got) == 400
    for key in "abcdefgh":
        values = [row["value"] for row in got if row["word"] == key]
        assert max(values) == sum(row["n"] for row in rows if row["word"] == key)
        assert len(set(values)) == len(values)


def test_a_failed_subtask_goes_back_to_the_last_checkpoint() -> None:
    rows = [{"word": "abc"[n % 3], "n": n} for n in range(300)]
    virtual = Virtual()

    async def story() -> None:
        job = virtual.job(
            word_counts(virtual, 2, RowsSource(rows, splits=4, batch_rows=1, pause_ms=lambda: 3))
        )
        await job.start()
        for wait_s in (0.25, 0.2):
            await asyncio.sleep(wait_s)
            job.fail_subtask(job.graph.subtasks()[-1], ValueError("broken"))
        await job.wait()

    virtual.run(story)
    got = virtual.run(lambda: committed_rows("out", virtual.files))
    assert len(got) == 300
    restored = [o.checkpoint_id for o in virtual.told.of(seen.Restored)]
    assert restored[0] is None
    assert restored[-1] is not None


class SlowToClose(Operator):
    """Takes a while to close, as one that has to tell a store."""

    async def close(self) -> None:
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("is_global", [False, True])
@pytest.mark.parametrize("after_ms", range(0, 120, 10))
def test_nothing_of_a_cancelled_job_lives_on_also_if_it_was_recovering(
    is_global: bool, after_ms: int
) -> None:
    virtual, env = Virtual(), StreamEnvironment(parallelism=2)
    env.from_source(endless(WORDS), uid="words").rebalance().transform("slow", SlowToClose)

    async def story() -> None:
        job = virtual.job(env, replace(CHECKPOINTED, restart=FixedDelay(wait_ms=10)))
        await job.start()
        await asyncio.sleep(0.25)
        if is_global:
            job.master.fail_globally(ValueError("broken"))
        else:
            job.fail_subtask(job.graph.subtasks()[-1], ValueError("broken"))
        await asyncio.sleep(after_ms / 1000)
        await job.cancel()
        ended = len(virtual.told.all)
        await asyncio.sleep(10)
        assert virtual.told.all[ended:] == []
        assert {e.state for e in job.master.executions.values()} <= {Life.CANCELED, Life.FAILED}
        names = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert names == []

    virtual.run(story)


def test_only_the_region_that_failed_restarts() -> None:
    virtual, env, first, second = Virtual(), StreamEnvironment(), [], []
    slow = RowsSource(WORDS, batch_rows=1, pause_ms=lambda: 20)
    collect(env.from_source(slow, name="one"), first)
    collect(env.from_source(slow, name="two"), second)

    async def story() -> None:
        job = virtual.job(env)
        await job.start()
        await asyncio.sleep(0.2)
        job.fail_subtask(SubtaskId("one → collect", 0), ValueError("broken"))
        await job.wait()

    virtual.run(story)
    assert [o.is_global for o in virtual.told.of(seen.Restored)] == [True, False]
    assert len(second) == 30
    assert len(first) > 30


def test_a_user_function_that_raises_names_subtask_and_record_and_the_strategy_gives_up() -> None:
    virtual, env = Virtual(), StreamEnvironment()
    collect(env.from_rows(WORDS).map(lambda row: {"x": 1 // (row["n"] - 7)}, name="divide"), [])
    config = replace(CHECKPOINTED, restart=FixedDelay(attempts=2, wait_ms=10))
    with pytest.raises(JobFailedError) as failed:
        virtual.finish(env, config)
    cause = failed.value.__cause__
    assert isinstance(cause, UserFunctionError)
    assert "divide, subtask 1/1: ZeroDivisionError" in str(cause)
    assert "'n': 7" in str(cause)
    assert isinstance(cause.__cause__, ZeroDivisionError)
    assert len(virtual.told.of(seen.Restored)) == 3


def test_a_job_is_started_once() -> None:
    virtual, env, got = Virtual(), StreamEnvironment(), []
    collect(env.from_rows(WORDS), got)

    async def story() -> None:
        job = virtual.job(env)
        await job.start()
        with pytest.raises(IllegalStateError, match="was started before: make another one"):
            await job.start()
        await job.wait()

    virtual.run(story)
    assert len(got) == len(WORDS)


def test_a_start_that_could_not_read_its_savepoint_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    virtual = Virtual()

    async def away(*_: Any) -> Any:
        raise OSError("the bucket does not answer")

    async def story() -> None:
        job = virtual.job(word_counts(virtual, 2, endless(WORDS)))
        await job.start()
        await asyncio.sleep(0.3)
        job = virtual.job(
            word_counts(virtual, 2, endless(WORDS)), restore_from=await job.stop_with_savepoint("sp/1")
        )
        with monkeypatch.context() as patch:
            patch.setattr(metadata, "load", away)
            with pytest.raises(OSError, match="does not answer"):
                await job.start()
        await job.start()
        with pytest.raises(IllegalStateError, match="was started before"):
            await job.start()
        await job.cancel()

    virtual.run(story)
    assert len(virtual.told.of(seen.Restored)) == 2


def test_a_job_that_was_not_started_says_so() -> None:
    virtual, env = Virtual(), StreamEnvironment()
    collect(env.from_rows(WORDS), [])

    async def story() -> None:
        job = virtual.job(env)
        assert job.state == "created"
        savepoint, stop = partial(job.trigger_savepoint, "sp/1"), partial(job.stop_with_savepoint, "sp/1")
        for call in (job.cancel, job.wait, job.trigger_checkpoint, savepoint, stop):
            with pytest.raises(IllegalStateError, match=r"was not started: call start\(\) first"):
                await call()
        with pytest.raises(IllegalStateError, match="was not started"):
            job.explain()
        assert virtual.files.data == {}  # no folder of a savepoint

    virtual.run(story)


def test_state_of_an_unknown_operator_is_refused_or_dropped() -> None:
    virtual = Virtual()

    async def story() -> None:
        job = virtual.job(word_counts(virtual, 2, endless(WORDS)))
        await job.start()
        await asyncio.sleep(0.2)
        folder = await job.stop_with_savepoint("sp/1")
        env = StreamEnvironment("words")
        collect(env.from_source(endless(WORDS), uid="words"), [])
        with pytest.raises(RestoreError, match=r"'sums'.*allow_non_restored_state"):
            await virtual.job(env, restore_from=folder).start()
        job = virtual.job(env, replace(CHECKPOINTED, allow_non_restored_state=True), folder)
        await job.start()
        assert re.fullmatch(r"A failure would go back to checkpoint \d at sp/1\.", job.explain()[-1])
        await job.cancel()

    virtual.run(story)


class Words(SourceFunction):
    """A legacy source that knows how far it has read."""

    def __init__(self) -> None:
        self._read, self._ends = 0, asyncio.Event()

    async def run(self, context: SourceContext) -> None:
        await context.collect(Batch.of_rows(WORDS[self._read :]))
        self._read = len(WORDS)
        await self._ends.wait()

    def cancel(self) -> None:
        self._ends.set()

    def snapshot_state(self, checkpoint_id: int) -> list[int]:
        return [self._read]

    def restore_state(self, state: list[int]) -> None:
        [self._read] = state


class Forgetful(Sink):
    """A sink of FLIP-191 without a committer."""

    def create_writer(self, context: SinkContext, restored: Sequence[Any]) -> SinkWriter:
        return ForgetfulWriter()


class ForgetfulWriter(SinkWriter):
    def write(self, batch: Batch) -> None:
        pass


@pytest.mark.parametrize(
    ("changed", "words"),
    [("source", "'SourceFunctionState' of operator 'words'"), ("sink", "'two-phase' of operator 'files'")],
)
def test_state_of_another_kind_of_source_or_sink_is_refused_or_dropped(changed: str, words: str) -> None:
    """The new source began again, and the pre-committed transactions of the old sink were lost."""
    virtual = Virtual()

    def program(is_changed: bool) -> StreamEnvironment:
        env = StreamEnvironment("kinds")
        if is_changed and changed == "source":
            rows = env.from_source(endless(WORDS), uid="words")
        else:
            rows = env.add_source(Words(), uid="words")
        other: Sink | TwoPhaseCommitSink = Forgetful() if is_changed and changed == "sink" else files
        rows.sink_to(other, uid="files")
        return env

    async def story() -> None:
        job = virtual.job(program(is_changed=False))
        await job.start()
        await asyncio.sleep(0.2)
        folder = await job.stop_with_savepoint("sp/1")
        with pytest.raises(RestoreError, match=words):
            await virtual.job(program(is_changed=True), restore_from=folder).start()
        dropping = replace(CHECKPOINTED, allow_non_restored_state=True)
        job = virtual.job(program(is_changed=True), dropping, folder)
        await job.start()
        await asyncio.sleep(0.2)
        job = virtual.job(program(is_changed=True), restore_from=await job.stop_with_savepoint("sp/2"))
        await job.start()  # the state is gone
        await job.cancel()

    files = TwoPhaseFileSink("out", virtual.files)
    virtual.run(story)


def test_a_savepoint_wants_an_empty_folder_and_a_job_with_checkpoints() -> None:
    virtual = Virtual()

    async def story() -> None:
        job = virtual.job(word_counts(virtual, 1, endless(WORDS)))
        await job.start()
        await asyncio.sleep(0.1)
        folder = await job.trigger_savepoint("sp/1")
        with pytest.raises(SavepointError, match="not empty"):
            await job.trigger_savepoint(folder)
        with pytest.raises(IllegalStateError, match="no savepoint folder"):
            await job.stop_with_savepoint()
        assert any("Checkpoint" in s or "checkpoint" in s for s in job.explain())
        await job.cancel()
        bare = virtual.job(word_counts(virtual, 1, endless(WORDS)), JobConfig(checkpoints=None))
        await bare.start()
        with pytest.raises(IllegalStateError, match="not enabled"):
            await bare.stop_with_savepoint("sp/2")
        await bare.cancel()

    virtual.run(story)


def test_a_job_that_has_ended_refuses_savepoints_and_leaves_no_folder() -> None:
    virtual = Virtual()

    async def story() -> None:
        job = virtual.job(word_counts(virtual, 1, endless(WORDS)))
        await job.start()
        await job.cancel()
        for call in (job.trigger_savepoint, job.stop_with_savepoint):
            with pytest.raises(CheckpointFailedError, match=r"'words' is cancelled.*wait\(\) says why"):
                await call("sp/1")
        assert await virtual.files.names("sp/1") == []

    virtual.run(story)


def test_a_subtask_that_the_job_does_not_have_cannot_fail() -> None:
    virtual = Virtual()
    job = virtual.job(word_counts(virtual, 1, endless(WORDS)))

    async def story() -> None:
        await job.start()
        with pytest.raises(BadInputError, match=r"no subtask nobody\[7\]; its subtasks are .*\[0\]"):
            job.fail_subtask(SubtaskId("nobody", 7), ValueError("broken"))
        await job.cancel()

    virtual.run(story)


def test_the_folder_of_a_refused_savepoint_can_be_used_again() -> None:
    virtual = Virtual()

    async def story() -> None:
        config = replace(CHECKPOINTED, restart=FixedDelay(wait_ms=500))
        job = virtual.job(word_counts(virtual, 1, endless(WORDS)), config)
        await job.start()
        await asyncio.sleep(0.25)
        job.fail_subtask(job.graph.subtasks()[-1], ValueError("broken"))
        await asyncio.sleep(0.1)
        assert job.state == "restarting"
        for call in (job.trigger_savepoint, job.stop_with_savepoint):
            with pytest.raises(CheckpointFailedError):
                await call("sp/1")
        while job.state == "restarting":
            await asyncio.sleep(0.1)
        assert await job.stop_with_savepoint("sp/1") == "sp/1"

    virtual.run(story)


def test_without_checkpoints_a_bounded_job_ends_by_the_end_of_partitions() -> None:
    virtual, env, got = Virtual(), StreamEnvironment(parallelism=2), []
    collect(env.from_rows(WORDS, splits=2).key_by("word").aggregate(count()), got)
    virtual.finish(env, JobConfig(checkpoints=None))
    assert len(got) == 30
    assert virtual.told.calls(env.job_graph().vertices[-1].operators[-1].operator_id)[-2:] == [
        "finish",
        "close",
    ]


def test_incremental_checkpoints_write_only_what_changed() -> None:
    virtual = Virtual()
    rows = [{"word": f"w{n}", "n": 1} for n in range(50)] + [{"word": "w0", "n": 1}] * 60

    async def story() -> None:
        source = RowsSource(rows, batch_rows=1, pause_ms=lambda: 4)
        config = JobConfig(checkpoints=CheckpointConfig(interval_ms=50, retain=3))
        job = virtual.job(word_counts(virtual, 1, source), config)
        await job.start()
        await job.wait()
        newest = job.master.coordinator.store.checkpoints[-1]
        sums = newest.operators["sums"].subtasks[0].keyed
        assert len({blob.path for blob in sums.values()}) > 2  # files of several checkpoints
        assert all(blob.path in virtual.files.data for blob in newest.blobs())

    virtual.run(story)


# -- folders -------------------------------------------------------------------------------------------------


def test_a_savepoint_on_disk_can_be_read_moved_inspected_and_is_refused_when_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def story() -> None:
        from pravega_lab.engine.flow.master.job import Job

        env = StreamEnvironment("on disk", parallelism=2)
        stream = env.from_source(endless(WORDS, pause_ms=0), uid="words").key_by("word").aggregate(count())
        collect(stream.uid("counts"), [])
        job = Job(env.job_graph(), JobConfig(folder=str(tmp_path / "chk")))
        await job.start()
        await asyncio.sleep(0.3)
        await job.stop_with_savepoint(str(tmp_path / "sp"))

    asyncio.run(story())
    moved = (tmp_path / "sp").rename(tmp_path / "moved")
    assert main(["savepoint", "inspect", str(moved)]) == 0
    out = capsys.readouterr().out
    assert "savepoint, suspend 1 of job 'on disk'" in out
    assert "(counts)" in out
    assert "whole:" in out
    state = max((p for p in moved.iterdir() if p.name != "_metadata"), key=lambda p: p.stat().st_size)
    state.write_bytes(state.read_bytes()[:-1] + b"?")
    assert main(["savepoint", "inspect", str(moved)]) == 1
    assert "is damaged" in capsys.readouterr().err
    text = (moved / "_metadata").read_text()
    (moved / "_metadata").write_text(text.replace("on disk", "on disc"))
    assert main(["savepoint", "inspect", str(moved)]) == 1
    assert "checksum" in capsys.readouterr().err
    (moved / "_metadata").write_text("something else")
    assert main(["savepoint", "inspect", str(moved)]) == 1
    assert "not the metadata of a checkpoint of this engine" in capsys.readouterr().err
    assert main(["savepoint", "inspect", str(tmp_path)]) == 1
    assert "has no _metadata" in capsys.readouterr().err


def test_a_relative_folder_is_returned_as_an_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``sp`` was returned, which named another folder once the program had changed its working folder."""
    begun, elsewhere = tmp_path / "begun", tmp_path / "elsewhere"
    begun.mkdir()
    elsewhere.mkdir()
    config = JobConfig(CheckpointConfig(), folder="chk", savepoint_folder="saved")

    async def started(restore_from: str | CompletedCheckpoint | None) -> Job:
        env = StreamEnvironment("folders")
        stream = env.from_source(endless(WORDS, pause_ms=0), uid="words").key_by("word").aggregate(count())
        collect(stream.uid("counts"), [])
        monkeypatch.chdir(begun)
        job = Job(env.job_graph(), config, restore_from=restore_from)
        monkeypatch.chdir(elsewhere)
        await job.start()
        async with asyncio.timeout(20):
            while not all(one.state is Life.RUNNING for one in job.master.executions.values()):
                await asyncio.sleep(0.001)
        return job

    async def story() -> None:
        first = await started(None)
        checkpoint = await first.trigger_checkpoint()
        assert Path(checkpoint.path).is_relative_to(begun / "chk")
        saved = await first.trigger_savepoint()
        assert Path(saved).parent == begun / "saved"
        assert await first.stop_with_savepoint("../sp") == str(tmp_path / "sp")
        for restore_from in (saved, "../sp", str(tmp_path / "sp")):
            await (await started(restore_from)).cancel()

    asyncio.run(story())
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("folder", [5, b"chk", ["chk"]])
def test_what_is_no_folder_is_refused_by_name(folder: Any) -> None:
    env = StreamEnvironment("folders")
    collect(env.from_source(endless(WORDS), uid="words"), [])
    with pytest.raises(BadInputError, match="is no folder: give a path"):
        Job(env.job_graph(), restore_from=folder)

    async def story() -> None:
        job = Job(env.job_graph(), JobConfig(CheckpointConfig()), files=MemoryFiles())
        await job.start()
        with pytest.raises(BadInputError, match="is no folder: give a path"):
            await job.trigger_savepoint(folder)
        with pytest.raises(BadInputError, match="is no folder: give a path"):
            await job.stop_with_savepoint(folder)
        assert job.state == "running"
        await job.cancel()

    asyncio.run(story())


def test_folders_are_texts_or_paths_and_a_checkpoint_names_its_own(tmp_path: Path) -> None:
    async def counted(restore_from: Path | CompletedCheckpoint | None, savepoint: Path) -> Job:
        env = StreamEnvironment("paths")
        stream = env.from_source(endless(WORDS, pause_ms=0), uid="words").key_by("word").aggregate(count())
        stream.uid("counts").sink_to(TwoPhaseFileSink(tmp_path / "out"), uid="files")
        config = JobConfig(CheckpointConfig(interval_ms=10), folder=tmp_path / "chk")
        job = Job(env.job_graph(), config, restore_from=restore_from)
        await job.start()
        async with asyncio.timeout(30):
            while job.latest_checkpoint is None or len(await committed_rows(tmp_path / "out")) < len(WORDS):
                await asyncio.sleep(0.01)
        await job.stop_with_savepoint(savepoint)
        return job

    async def story() -> None:
        first = await counted(None, tmp_path / "one")
        await counted(tmp_path / "one", tmp_path / "two")
        await counted(first.latest_checkpoint, tmp_path / "three")

    asyncio.run(story())
    assert len(asyncio.run(committed_rows(tmp_path / "out"))) == len(WORDS)
    assert {path.name for path in tmp_path.iterdir()} == {"chk", "one", "two", "three", "out"}


@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_job_whose_checkpoint_is_damaged_fails_and_does_not_restart(damage: str) -> None:
    """It used to restart ten times a second without end."""
    virtual = Virtual()

    async def story() -> None:
        job = virtual.job(word_counts(virtual, 2, endless(WORDS)))
        await job.start()
        await asyncio.sleep(0.3)
        folder = await job.stop_with_savepoint("sp/1")
        state = next(path for path in virtual.files.data if path.startswith(f"{folder}/sums-"))
        data = virtual.files.data.pop(state)
        if damage == "changed":
            virtual.files.data[state] = bytes([data[0] ^ 1]) + data[1:]
        again = virtual.job(word_counts(virtual, 2, endless(WORDS)), restore_from=folder)
        await again.start()
        with pytest.raises(JobFailedError, match="take another") as failed:
            await asyncio.wait_for(again.wait(), 60)
        assert isinstance(failed.value.__cause__, DamagedCheckpointError)

    virtual.run(story)
    assert len(virtual.told.of(seen.Restored)) == 2


@pytest.mark.parametrize(
    ("retain", "message"),
    [
        (1, r"Checkpoint \d+ was the only one that the job kept: CheckpointConfig\(retain=2\)"),
        (2, r"The next older checkpoint is .*/(chk-\d+): .* its sinks commit that again"),
    ],
)
def test_a_job_whose_latest_checkpoint_is_damaged_names_the_one_before(retain: int, message: str) -> None:
    virtual = Virtual()

    async def story() -> None:
        config = JobConfig(CheckpointConfig(interval_ms=None, retain=retain))
        job = virtual.job(word_counts(virtual, 2, endless(WORDS)), config)
        await job.start()
        for _ in range(3):
            await asyncio.sleep(0.1)
            latest = await job.trigger_checkpoint()
        for path in latest.files:
            virtual.files.data.pop(path)
        job.fail_subtask(job.graph.subtasks()[0], RuntimeError("dies"))
        with pytest.raises(JobFailedError, match=message) as failed:
            await job.wait()
        if retain == 2:
            assert "chk-2: " in str(failed.value)

    virtual.run(story)


def test_metadata_survives_its_file() -> None:
    virtual = Virtual()

    async def story() -> None:
        job = virtual.job(word_counts(virtual, 2, endless(WORDS)))
        await job.start()
        await asyncio.sleep(0.3)
        done = await job.trigger_checkpoint()
        assert await metadata.load(virtual.files, done.path) == done
        with pytest.raises(DamagedCheckpointError):
            await metadata.load(virtual.files, "nowhere")
        await job.cancel()

    virtual.run(story)


def test_an_ordinary_loop_and_real_files(tmp_path: Path) -> None:
    env = StreamEnvironment(parallelism=2)
    env.from_rows(WORDS * 10, splits=4).key_by("word").aggregate(count()).sink_to(
        TwoPhaseFileSink(str(tmp_path / "out"))
    )
    run(env.job_graph(), JobConfig(CheckpointConfig(interval_ms=50), folder=str(tmp_path / "chk")))
    rows = asyncio.run(committed_rows(str(tmp_path / "out")))
    assert len(rows) == 300
    assert list((tmp_path / "out" / ".pending").iterdir()) == []


# -- graphs that can never run -------------------------------------------------------------------------------


def test_a_claimed_savepoint_goes_when_no_checkpoint_refers_to_it() -> None:
    virtual = Virtual()

    def counting() -> StreamEnvironment:
        env = StreamEnvironment("counting")
        source = RowsSource(
            WORDS * 10,
            batch_rows=1,
            pause_ms=lambda: 5,
            boundedness=Boundedness.CONTINUOUS_UNBOUNDED,
        )
        collect(env.from_source(source, uid="rows").key_by("word").aggregate(count()).uid("counts"), [])
        return env

    async def story() -> None:
        job = virtual.job(counting())
        await job.start()
        await asyncio.sleep(0.25)
        savepoint = await job.stop_with_savepoint("sp/1")
        job = virtual.job(counting(), replace(CHECKPOINTED, claim=True), restore_from=savepoint + "/")
        await job.start()
        claimed = job.latest_checkpoint
        assert claimed is not None
        assert claimed.path == savepoint
        await asyncio.sleep(0.05)
        job.fail_subtask(job.graph.subtasks()[0], ValueError("before the first checkpoint"))
        await asyncio.sleep(1)
        await job.cancel()
        assert [path for path in virtual.files.data if path.startswith(savepoint)] == []

    virtual.run(story)


def test_a_machine_whose_clock_is_set_back_takes_checkpoints_on(monkeypatch: pytest.MonkeyPatch) -> None:
    env = StreamEnvironment()
    source = RowsSource(WORDS, batch_rows=4, boundedness=Boundedness.CONTINUOUS_UNBOUNDED)
    collect(env.from_source(source), [])

    async def story() -> None:
        config = JobConfig(checkpoints=CheckpointConfig(interval_ms=10))
        job = Job(env.job_graph(), config, files=MemoryFiles())
        await job.start()
        monkeypatch.setattr("time.time_ns", lambda right=time.time_ns: right() - 3_600 * 10**9)
        async with asyncio.timeout(20):
            while job.latest_checkpoint is None:
                await asyncio.sleep(0.001)
        await job.cancel()

    asyncio.run(story())


def test_graphs_that_are_refused() -> None:
    env = StreamEnvironment()
    with pytest.raises(InvalidJobGraphError, match="no source"):
        env.job_graph()
    stream = env.from_rows(WORDS).map(dict).uid("same")
    looped = stream.map(dict, name="back").uid("same")
    with pytest.raises(InvalidJobGraphError, match=r"uid 'same' is used twice"):
        env.job_graph()
    looped.uid("other")
    stream.node.inputs.append(NodeEdge(looped.node))
    with pytest.raises(InvalidJobGraphError, match=r"cycle: map → back → map|cycle: back → map → back"):
        env.job_graph()
    stream.node.inputs.pop()
    looped.set_parallelism(200)
    with pytest.raises(InvalidJobGraphError, match="128 key groups"):
        env.job_graph()
    looped.set_parallelism(0)
    with pytest.raises(InvalidJobGraphError, match="at least 1"):
        JobGraph("g", env.nodes)
    looped.set_parallelism(2)
    looped.node.inputs[0] = stream.forward()._edges[0]
    with pytest.raises(InvalidJobGraphError, match="use rescale or rebalance"):
        env.job_graph()


def test_rows_of_different_columns_are_refused() -> None:
    with pytest.raises(BadInputError, match="same columns"):
        _ = Batch.of_rows([{"a": 1}, {"b": 2}]).arrow
    with pytest.raises(BadInputError, match="no Arrow type"):
        _ = Batch.of_rows([{"a": 1}, {"a": "x"}]).arrow
    with pytest.raises(BadInputError, match=r"no Arrow type.* too large"):
        _ = Batch.of_rows([{"a": 2**70}]).arrow
    with pytest.raises(BadInputError, match=r"no Arrow type.* surrogates not allowed"):
        _ = Batch.of_rows([{"a": "\ud800"}]).arrow
    with pytest.raises(BadInputError, match=r"named by strings, but a row is \{1: 2\}"):
        _ = Batch.of_rows([{1: 2}]).arrow  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"x": 1}, {"y": 2}),
        ({}, {"x": 1}),
        ({"x": {"y": 1}}, {"x": {"z": 1}}),
        ([{"x": 1}], [{"x": 1}, {"x": 1, "y": 2}]),
        ([[{"x": 1}]], [None, [None, {"y": 1}]]),
    ],
)
def test_dicts_of_different_fields_in_a_column_are_refused(first: Any, second: Any) -> None:
    with pytest.raises(BadInputError, match="dicts of a column must have the same fields"):
        _ = Batch.of_rows([{"a": first}, {"a": second}]).arrow


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("a", b"a", "texts and bytes"),
        ({"x": ["a"]}, {"x": [b"a"]}, "texts and bytes"),
        ([b"a"], ["a"], "bytes and texts"),
        (date(2026, 1, 1), datetime(2026, 1, 1, 5), "dates and dates with a time"),
        (
            datetime(2026, 1, 1, 5),
            datetime(2026, 1, 1, 5, tzinfo=UTC),
            "dates with a time and dates with a time and a zone",
        ),
        (timedelta(seconds=1), 1, "durations and numbers"),
        (time_of_day(5), 1, "times and numbers"),
        (date(2026, 1, 1), 1, "dates and numbers"),
    ],
)
def test_values_that_a_column_would_change_are_refused(first: Any, second: Any, words: str) -> None:
    for values in ([first, None, second], [[first, second]]):
        with pytest.raises(BadInputError, match=f"a column has one type, but 'a' has {words} "):
            _ = Batch.of_rows([{"a": value} for value in values]).arrow


@pytest.mark.parametrize(
    ("value", "lost"),
    [
        (time_of_day(5, tzinfo=UTC), "the zone of a time"),
        (pd.Timestamp(1), "nanoseconds"),
        (pd.Timedelta(1), "nanoseconds"),
    ],
)
def test_values_of_which_a_column_would_lose_a_part_are_refused(value: Any, lost: str) -> None:
    for values in ([None, value], [[value]], [{"x": value}]):
        with pytest.raises(BadInputError, match=f"a column of rows does not hold {lost}, but 'a' has "):
            _ = Batch.of_rows([{"a": value} for value in values]).arrow


@pytest.mark.parametrize(
    "values",
    [
        [b"a", bytearray(b"b")],
        [date(2026, 1, 1), None],
        [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=5)))],
    ],
)
def test_values_of_one_kind_pass_a_channel(values: list[Any]) -> None:
    assert [row["a"] for row in Batch.of_rows([{"a": value} for value in values]).sealed().rows] == values


def test_dicts_of_equal_fields_pass_a_channel() -> None:
    values = [{"x": [{"y": 1}], "z": None}, None, {"z": 2, "x": []}, {"x": None, "z": 3}]
    assert [row["a"] for row in Batch.of_rows([{"a": value} for value in values]).sealed().rows] == values


@pytest.mark.parametrize("name", ["interval_ms", "timeout_ms", "max_concurrent", "retain"])
def test_a_configuration_that_can_never_work_is_refused(name: str) -> None:
    with pytest.raises(BadInputError, match=f"{name}=0: it must be at least"):
        JobConfig(CheckpointConfig(**{name: 0}))
    JobConfig(CheckpointConfig(tolerable_failures=0, min_pause_ms=0))
    with pytest.raises(BadInputError, match="tolerable_failures=-1"):
        JobConfig(CheckpointConfig(tolerable_failures=-1))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("checkpoints", "folder/of/checkpoints"),
        ("checkpoints", 1000),
        ("restart", 3),
        ("restart", FixedDelay),
        ("channel_capacity", "5"),
        ("channel_capacity", 5.5),
        ("sample_interval_ms", "100"),
        ("folder", 5),
        ("folder", None),
        ("savepoint_folder", 5),
    ],
)
def test_a_setting_of_another_type_is_refused(name: str, value: Any) -> None:
    """A strategy of another type used to be noticed when the job started, and a folder raised an
    AttributeError.
    """
    with pytest.raises(BadInputError, match=rf"{name}={value!r}: give a "):
        JobConfig(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("interval_ms", "100"),
        ("interval_ms", True),
        ("timeout_ms", None),
        ("min_pause_ms", "0"),
        ("max_concurrent", "1"),
        ("tolerable_failures", 0.5),
        ("retain", None),
    ],
)
def test_a_setting_of_checkpoints_of_another_type_is_refused(name: str, value: Any) -> None:
    with pytest.raises(BadInputError, match=rf"{name}={value!r}: give a (whole number|number of ms)$"):
        JobConfig(CheckpointConfig(**{name: value}))


def test_times_need_not_be_whole() -> None:
    times: dict[str, Any] = {"interval_ms": 1e3 / 3, "timeout_ms": 2e3, "min_pause_ms": 0.5}
    assert JobConfig(CheckpointConfig(**times)).checkpoints == CheckpointConfig(**times)


@pytest.mark.parametrize("config", ["folder/of/checkpoints", CheckpointConfig(interval_ms=100)])
def test_a_job_takes_no_other_configuration(config: Any) -> None:
    env = StreamEnvironment("words")
    collect(env.from_rows(WORDS), [])
    for start in (run, run_batch):
        with pytest.raises(BadInputError, match=f"takes a JobConfig, not a {type(config).__name__}"):
            start(env.job_graph(), config)


@pytest.mark.parametrize("config", [None, JobConfig(), JobConfig(CheckpointConfig(timeout_ms=1000))])
def test_a_job_that_would_wait_forever_for_its_final_checkpoint_is_refused(config: JobConfig | None) -> None:
    env, got = StreamEnvironment("words"), list[Any]()
    collect(env.from_rows(WORDS), got)
    graph = env.job_graph()
    with pytest.raises(BadInputError, match=r"CheckpointConfig\(interval_ms=1000\).*checkpoints=None"):
        run(graph, config)
    run(graph, JobConfig(checkpoints=None))
    assert len(got) == len(WORDS)


@pytest.mark.parametrize(
    ("start", "instead"),
    [(run, r"await execute\(graph, config\)"), (run_batch, r"await BatchRunner\(graph, config\)\.run\(\)")],
)
@pytest.mark.filterwarnings("error")  # of a coroutine that nobody awaits
def test_a_cell_of_a_notebook_is_told_what_to_write(start: Callable[..., object], instead: str) -> None:
    env = StreamEnvironment("words")
    collect(env.from_rows(WORDS), [])

    async def cell() -> None:
        start(env.job_graph())

    with pytest.raises(BadInputError, match=f"an event loop runs here already.*: write {instead}"):
        asyncio.run(cell())


@pytest.mark.parametrize("start", [run, run_batch])
def test_an_environment_is_no_graph(start: Callable[..., Any]) -> None:
    env: Any = StreamEnvironment()
    with pytest.raises(BadInputError, match=r"give what env\.job_graph\(\) returns"):
        start(env)
