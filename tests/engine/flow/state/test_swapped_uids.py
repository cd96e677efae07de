"""State that a uid brings to an operator that cannot use it is refused when the job starts, not later."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.errors import JobFailedError, RestoreError
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.operators.functions import (
    FunctionContext,
    KeyedContext,
    KeyedProcessFunction,
    ProcessFunction,
    count,
)
from pravega_lab.engine.flow.operators.windows import TumblingWindows
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.engine.flow.source.sources import Boundedness
from pravega_lab.engine.flow.time.watermarks import WatermarkStrategy
from tests.engine.flow.jobs import CHECKPOINTED, Virtual, collect

FAR_MS = 1_000_000_000


class Waits(KeyedProcessFunction):
    """Keeps a timer for each key, which never fires in these tests."""

    def process(self, row: Row, context: KeyedContext) -> None:
        context.register_event_timer(FAR_MS)


class Passes(ProcessFunction):
    def process(self, row: Row, context: FunctionContext) -> None:
        context.emit(row)


def program(kept: str) -> StreamEnvironment:
    """A program whose operator with the uid "kept" is of one of three kinds."""
    env = StreamEnvironment(parallelism=2)
    rows = RowsSource(
        [{"key": n % 5, "n": n} for n in range(20)], boundedness=Boundedness.CONTINUOUS_UNBOUNDED
    )
    stream = env.from_source(rows, watermarks=WatermarkStrategy("n"), uid="rows")
    match kept:
        case "timers":
            made = stream.key_by("key").process(Waits())
        case "windows":
            made = stream.key_by("key").window(TumblingWindows(FAR_MS)).aggregate(count())
        case _:
            made = stream.process(Passes())
    collect(made.uid("kept"), [])
    return env


def savepoint(
    virtual: Virtual,
    kept: str,
    folder: str,
    restore_from: str | None = None,
    config: JobConfig = CHECKPOINTED,
) -> None:
    async def story() -> None:
        job = virtual.job(program(kept), config, restore_from)
        await job.start()
        await asyncio.sleep(0.5)
        await job.stop_with_savepoint(folder)

    virtual.run(story)


@pytest.mark.parametrize("old", ["timers", "windows"])
def test_keyed_state_is_not_given_to_an_operator_without_keys(old: str) -> None:
    virtual, dropping = Virtual(), replace(CHECKPOINTED, allow_non_restored_state=True)
    savepoint(virtual, old, "sp/1")
    with pytest.raises(RestoreError, match=r"has keyed state of operator 'kept' \(.*\), which is not keyed"):
        savepoint(virtual, "none", "sp/2", "sp/1")
    savepoint(virtual, "none", "sp/2", "sp/1", dropping)
    savepoint(virtual, "none", "sp/3", "sp/2")


@pytest.mark.parametrize(("old", "new"), [("timers", "windows"), ("windows", "timers")])
def test_timers_of_windows_and_of_functions_are_not_mistaken_for_each_other(old: str, new: str) -> None:
    virtual = Virtual()
    savepoint(virtual, old, "sp/1")
    savepoint(virtual, old, "sp/2", "sp/1")
    with pytest.raises(JobFailedError, match=r"timers of an operator with (no )?windows, .* the uid that it"):
        virtual.finish(program(new), restore_from="sp/2")
