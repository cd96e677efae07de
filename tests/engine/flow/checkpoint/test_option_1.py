"""Stop-with-savepoint with option 1 of FLIP-147, in which each task waits for a checkpoint by itself.

The proposal rejects it for this: tasks have to wait for different checkpoints, so no savepoint ends the job.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from pravega_lab.engine.flow import observer as seen
from pravega_lab.engine.flow.batch import Batch, Row
from pravega_lab.engine.flow.checkpoint.history import Finishing, History
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.operators.operator import Operator
from pravega_lab.engine.flow.sink.file_sink import TwoPhaseFileSink, committed_rows
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.engine.flow.source.sources import Boundedness
from pravega_lab.engine.flow.state.handles import ListMode
from tests.engine.flow.jobs import CHECKPOINTED, Virtual
from tests.engine.flow.test_finishing import Passing

ROWS = [{"n": n} for n in range(40)]


class Holding(Operator):
    """Passes records on, but holds the last one back in its state until it finishes."""

    def initialize_state(self) -> None:
        self._held = self.context.lists.of("held", ListMode.SPLIT)

    def process_batch(self, batch: Batch, input: int) -> None:
        for row in batch.rows:
            if row == ROWS[-1]:
                self._held.append(row)
            else:
                self.context.output.row(row)

    def finish(self) -> None:
        for row in self._held:
            self.context.output.row(row)
        self._held.clear()


def stopping(virtual: Virtual) -> StreamEnvironment:
    """Return a job of five tasks: an endless source, two sinks in a row, `Holding`, and a sink."""
    env = StreamEnvironment("chain", chaining=False)
    forever = Boundedness.CONTINUOUS_UNBOUNDED
    stream = env.from_source(
        RowsSource(ROWS, batch_rows=5, pause_ms=lambda: 10, boundedness=forever), uid="s"
    )
    for n in range(2):
        make = lambda n=n: Passing(TwoPhaseFileSink(f"out-{n}", virtual.files))  # noqa: E731
        stream = stream.transform(f"sink-{n}", make).uid(f"sink-{n}")
    stream.transform("holding", Holding).uid("holding").sink_to(
        TwoPhaseFileSink("out", virtual.files), uid="sink"
    )
    return env


def stop(finishing: Finishing, *, drain: bool) -> tuple[Virtual, str]:
    """Stop the job; return what `stop_with_savepoint` returned or raised."""
    virtual = Virtual()

    async def story() -> str:
        config = replace(CHECKPOINTED, history=History(finishing=finishing))
        job = virtual.job(stopping(virtual), config)
        await job.start()
        await asyncio.sleep(0.25)
        stopped = job.stop_with_savepoint("sp", drain=drain)
        [found] = await asyncio.gather(stopped, return_exceptions=True)
        assert job.state == "finished"
        return str(found)

    return virtual, virtual.run(story)


def completed_after_the_savepoint(virtual: Virtual) -> int:
    completed = [o.kind.is_synchronous for o in virtual.told.of(seen.CheckpointCompleted)]
    return len(completed) - completed.index(True) - 1


def out(virtual: Virtual) -> list[int]:
    rows: list[Row] = virtual.run(lambda: committed_rows("out", virtual.files))
    return sorted(row["n"] for row in rows)


@pytest.mark.parametrize("drain", [True, False])
def test_option_1_cannot_end_with_its_savepoint(drain: bool) -> None:
    """Each of the four tasks after the source waits for a checkpoint of its own."""
    virtual, said = stop(Finishing.WAIT_IN_EACH_TASK, drain=drain)
    assert completed_after_the_savepoint(virtual) == 4
    assert "did not end with it: its last tasks waited for later checkpoints, up to 7" in said
    assert out(virtual) == [*range(40 if drain else 39)]


def test_option_1_ends_although_the_caller_stops_waiting() -> None:
    virtual = Virtual()

    async def story() -> None:
        config = replace(CHECKPOINTED, history=History(finishing=Finishing.WAIT_IN_EACH_TASK))
        job = virtual.job(stopping(virtual), config)
        await job.start()
        await asyncio.sleep(0.25)
        stopped = asyncio.ensure_future(job.stop_with_savepoint("sp", drain=True))
        while job.master.stop is None:
            await asyncio.sleep(0)
        stopped.cancel()
        await asyncio.wait_for(job.wait(), 20)
        assert job.state == "finished"

    virtual.run(story)


def test_option_1_cannot_drain_with_its_savepoint() -> None:
    test_option_1_cannot_end_with_its_savepoint(drain=True)


@pytest.mark.parametrize("drain", [True, False])
def test_option_2_ends_with_its_savepoint(drain: bool) -> None:
    virtual, said = stop(Finishing.FLIP_147, drain=drain)
    assert said == "sp"
    assert completed_after_the_savepoint(virtual) == 0
    assert out(virtual) == [*range(40 if drain else 39)]


@pytest.mark.parametrize(("finishing", "times"), [(Finishing.FLIP_147, 1), (Finishing.WAIT_IN_EACH_TASK, 2)])
def test_a_job_that_resumes_repeats_what_the_savepoint_does_not_cover(
    finishing: Finishing, times: int
) -> None:
    virtual, _ = stop(finishing, drain=True)

    async def again() -> None:
        job = virtual.job(stopping(virtual), restore_from="sp")
        await job.start()
        await asyncio.sleep(0.5)
        await job.stop_with_savepoint("sp-2", drain=True)

    virtual.run(again)
    assert out(virtual) == [*range(39), *[39] * times]
