"""Which splits hold back the watermark of their reader, so that none of their records is late."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.elements import Watermark, WatermarkStatus
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.operators.functions import count
from pravega_lab.engine.flow.operators.operator import Operator
from pravega_lab.engine.flow.operators.windows import TumblingWindows
from pravega_lab.engine.flow.source.collections import RowsReader, RowsSource
from pravega_lab.engine.flow.source.hybrid import HybridSource
from pravega_lab.engine.flow.source.sources import InputStatus, ReaderContext, ReaderOutput
from pravega_lab.engine.flow.time.watermarks import WatermarkGenerator, WatermarkStrategy
from tests.engine.flow.jobs import Virtual, collect


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_no_split_of_a_savepoint_is_late_in_a_job_with_fewer_readers(parallelism: int) -> None:
    rows = [{"k": n % 5, "at": 10 * (n % 100)} for n in range(200)]  # both splits have all times
    virtual, got = Virtual(), []

    def windows(parallelism: int) -> StreamEnvironment:
        env = StreamEnvironment(parallelism=parallelism)
        source = RowsSource(rows, splits=2, batch_rows=5, pause_ms=lambda: 10)
        keyed = env.from_source(source, WatermarkStrategy("at"), uid="rows").key_by("k")
        collect(keyed.window(TumblingWindows(50)).aggregate(count()).uid("windows"), got)
        return env

    async def story() -> None:
        job = virtual.job(windows(2))
        await job.start()
        await asyncio.sleep(0.06)
        folder = await job.stop_with_savepoint("sp/1")
        assert 0 < sum(row["value"] for row, _ in got) < len(rows)
        job = virtual.job(windows(parallelism), restore_from=folder)
        await job.start()
        await job.wait()

    virtual.run(story)
    assert sum(row["value"] for row, _ in got) == len(rows)


class Alternating(RowsSource):
    """Two splits, whose batches one reader emits in turn."""

    def create_reader(self, context: ReaderContext) -> RowsReader:
        reader = super().create_reader(context)
        poll = reader.poll_next

        def start() -> None:
            context.send_split_request()
            context.send_split_request()

        def poll_next(output: ReaderOutput) -> InputStatus:
            reader.splits.rotate()
            return poll(output)

        setattr(reader, "start", start)  # noqa: B010
        setattr(reader, "poll_next", poll_next)  # noqa: B010
        return reader


class Slow(Operator):
    """Takes 50 ms for a batch."""

    async def process_batch(self, batch: Batch, input: int) -> None:
        await asyncio.sleep(0.05)
        self.context.output.emit(batch)


@pytest.mark.parametrize("capacity", [5, 7], ids=["before a batch", "within a batch"])
def test_no_split_is_idle_while_the_output_of_its_reader_is_full(capacity: int) -> None:
    rows = [{"k": 0, "at": 10 * (n % 100)} for n in range(200)]  # both splits have all times
    virtual, env, got = Virtual(), StreamEnvironment(), []
    source = Alternating(rows, splits=2, batch_rows=5)
    read = env.from_source(source, WatermarkStrategy("at", idle_after_ms=30))
    keyed = read.rebalance().transform("slow", Slow).key_by("k")
    collect(keyed.window(TumblingWindows(20)).aggregate(count()).uid("windows"), got)
    virtual.finish(env, JobConfig(None, channel_capacity=capacity))
    assert sum(row["value"] for row, _ in got) == len(rows)


def at(*times: int) -> Batch:
    return Batch.of_rows([{"at": time} for time in times])


def news_of(generator: WatermarkGenerator, split: str | None, *times: int, now_ms: int = 0) -> list[Any]:
    generator.on_batch(at(*times), split, now_ms)
    return generator.news()


def test_an_assigned_split_holds_the_watermark_back_until_it_has_records_or_is_released() -> None:
    generator = WatermarkGenerator(WatermarkStrategy("at"))
    generator.assigned(["a", "b", "c"], 0)
    assert news_of(generator, "a", 100) == []
    assert news_of(generator, "b", 50) == []
    generator.release("c")
    assert generator.news() == [Watermark(49)]
    generator.assigned(["b", "d"], 0)  # b keeps what it had
    assert news_of(generator, "b", 200) == []
    assert news_of(generator, "d", 150) == [Watermark(99)]


def test_an_assigned_split_without_records_becomes_idle() -> None:
    generator = WatermarkGenerator(WatermarkStrategy("at", idle_after_ms=10))
    generator.assigned(["a", "b"], 0)
    assert news_of(generator, "a", 100, now_ms=5) == []
    assert generator.next_check_ms() == 10
    generator.check_idle(10)
    assert generator.news() == [Watermark(99)]
    generator.check_idle(15)
    assert generator.news() == [WatermarkStatus(True)]
    generator.assigned(["c"], 20)
    assert generator.news() == [WatermarkStatus(False)]


def test_a_reader_that_does_not_name_its_splits_is_not_held_back_by_them() -> None:
    generator = WatermarkGenerator(WatermarkStrategy("at"))
    generator.assigned(["a", "b"], 0)
    assert news_of(generator, None, 100) == [Watermark(99)]
    generator.assigned(["c"], 0)
    assert news_of(generator, None, 200) == [Watermark(199)]


def test_nothing_above_the_limit_is_emitted_and_a_subtask_is_idle_only_when_it_has_emitted_the_rest() -> None:
    generator = WatermarkGenerator(WatermarkStrategy("at", idle_after_ms=10))
    generator.limit_ms = 50
    generator.assigned(["a"], 0)
    assert news_of(generator, "a", 100) == [Watermark(50)]
    generator.check_idle(10)
    assert generator.news() == []
    generator.limit_ms = 99
    assert generator.news() == [Watermark(99), WatermarkStatus(True)]
    generator.limit_ms = 0
    assert generator.news() == []


class Unnamed(RowsSource):
    """Its readers emit without a split."""

    def create_reader(self, context: ReaderContext) -> RowsReader:
        reader = super().create_reader(context)
        poll = reader.poll_next

        class Output:
            def __init__(self, output: ReaderOutput) -> None:
                self._output = output

            def emit(self, batch: Batch, split_id: str | None = None) -> None:
                self._output.emit(batch)

            def release_split(self, split_id: str) -> None:
                return

        def poll_next(output: ReaderOutput) -> InputStatus:
            return poll(Output(output))  # type: ignore[arg-type]

        setattr(reader, "poll_next", poll_next)  # noqa: B010
        return reader


class Watermarks(Operator):
    def __init__(self, into: list[int]) -> None:
        self._into = into

    def process_batch(self, batch: Batch, input: int) -> None:
        return

    def process_watermark(self, watermark: Watermark) -> None:
        self._into.append(watermark.timestamp_ms)


def test_event_time_goes_on_after_a_source_without_names_of_splits_was_handed_over() -> None:
    rows = [[{"at": start + n} for n in range(10)] for start in (0, 100)]
    source = HybridSource(Unnamed(rows[0]), RowsSource(rows[1], batch_rows=5))
    virtual, env, got = Virtual(), StreamEnvironment(), []
    stream = env.from_source(source, WatermarkStrategy("at"))
    stream.transform("watermarks", lambda: Watermarks(got))
    virtual.finish(env)
    assert got[:-1] == [8, 103, 108]
