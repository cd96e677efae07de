"""Regions: the subtasks that restart together after one of them failed."""

from __future__ import annotations

import asyncio

import pytest

from pravega_lab.engine.flow import observer as seen
from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.graph.graph import Exchange, JobGraph, NodeEdge, OperatorNode
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.operators.operator import Operator
from pravega_lab.engine.flow.sink.file_sink import TwoPhaseFileSink, committed_rows
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.engine.flow.source.sources import Boundedness
from pravega_lab.engine.flow.subtask_states import SubtaskState as Life
from pravega_lab.engine.simulation.flow.external import ExternalLog, HookSource
from tests.engine.flow.jobs import Virtual

ROWS: list[Row] = [{"n": n} for n in range(60)]
SOURCE, SINK = "numbers", "sink"


def lines(exchange: Exchange, producers: int, consumers: int) -> list[str]:
    source = OperatorNode("s", Operator, producers, boundedness=Boundedness.BOUNDED)
    node = OperatorNode("m", Operator, consumers, inputs=[NodeEdge(source, exchange=exchange)])
    graph = JobGraph("lines", [node], chaining=False)
    return [" ".join(f"{id.vertex}{id.index}" for id in region) for region in graph.regions()]


def test_pointwise_edges_make_a_region_of_each_line() -> None:
    assert lines(Exchange.FORWARD, 2, 2) == ["s0 m0", "s1 m1"]
    assert lines(Exchange.RESCALE, 2, 4) == ["s0 m0 m1", "s1 m2 m3"]
    assert lines(Exchange.RESCALE, 4, 2) == ["s0 s1 m0", "s2 s3 m1"]


@pytest.mark.parametrize("exchange", [Exchange.HASH, Exchange.REBALANCE, Exchange.BROADCAST, Exchange.GLOBAL])
def test_other_edges_make_one_region_of_all_subtasks(exchange: Exchange) -> None:
    assert lines(exchange, 2, 3) == ["s0 s1 m0 m1 m2"]


def test_two_programs_are_two_regions_until_something_connects_them() -> None:
    env = StreamEnvironment("two", parallelism=2, chaining=False)
    one, two = (env.from_source(RowsSource(ROWS), name=name) for name in ("one", "two"))
    assert len(env.job_graph().regions()) == 4
    one.union(two).to_one().map(dict)
    [region] = env.job_graph().regions()
    assert len(region) == 6


def test_sources_with_a_master_hook_are_one_region() -> None:
    """A recovery resets the systems of all hooks, so that all of their readers begin again."""
    env = StreamEnvironment("hooked", parallelism=2)
    for name in ("one", "two"):
        env.add_source(HookSource(ExternalLog(ROWS, 2), 2, 1, 0.01), name=name).map(dict)
    [region] = env.job_graph().regions()
    assert len(region) == 4


def parallel_lines(virtual: Virtual, splits: int = 2) -> StreamEnvironment:
    """Return a job of two subtasks of a source, each connected with one subtask of the sink."""
    env = StreamEnvironment("lines", parallelism=2, chaining=False)
    source = RowsSource(ROWS, splits=splits, batch_rows=1, pause_ms=lambda: 20)
    rows = env.from_source(source, name=SOURCE, uid="numbers")
    rows.sink_to(TwoPhaseFileSink("out", virtual.files), name=SINK, uid="sink")
    return env


def attempts(virtual: Virtual) -> dict[SubtaskId, int]:
    return {o.subtask: o.attempt for o in virtual.told.of(seen.SubtaskStateChanged)}


@pytest.mark.parametrize("failed", [SubtaskId(SOURCE, 1), SubtaskId(SINK, 1)])
def test_one_of_two_lines_restarts(failed: SubtaskId) -> None:
    virtual = Virtual()

    async def story() -> None:
        job = virtual.job(parallel_lines(virtual))
        await job.start()
        await asyncio.sleep(0.35)
        assert job.latest_checkpoint is not None
        job.fail_subtask(failed, ValueError("broken"))
        await job.wait()

    virtual.run(story)
    line = {SubtaskId(SOURCE, failed.index), SubtaskId(SINK, failed.index)}
    assert {id: attempt for id, attempt in attempts(virtual).items() if attempt} == dict.fromkeys(line, 1)
    restored = [o for o in virtual.told.of(seen.Restored) if not o.is_global]
    assert [set(o.subtasks) for o in restored] == [line]
    rows: list[Row] = virtual.run(lambda: committed_rows("out", virtual.files))
    assert sorted(row["n"] for row in rows) == list(range(60))


def test_two_lines_fail_apart() -> None:
    test_one_of_two_lines_restarts(SubtaskId(SINK, 0))


def test_a_line_that_has_finished_stays_finished() -> None:
    virtual = Virtual()
    lives: list[SubtaskId] = []

    async def story() -> None:
        job = virtual.job(parallel_lines(virtual, splits=1))  # for one of the two lines
        await job.start()
        await asyncio.sleep(0.7)
        executions = job.master.executions.items()
        lives.extend(id for id, execution in executions if execution.state is not Life.FINISHED)
        job.fail_subtask(lives[-1], ValueError("broken"))
        await job.wait()

    virtual.run(story)
    assert len(lives) == 2
    assert {id for id, attempt in attempts(virtual).items() if attempt == 1} == set(lives)
    rows: list[Row] = virtual.run(lambda: committed_rows("out", virtual.files))
    assert sorted(row["n"] for row in rows) == list(range(60))


def test_two_lines_that_fail_together_are_recovered_together() -> None:
    virtual = Virtual()

    async def story() -> None:
        job = virtual.job(parallel_lines(virtual))
        await job.start()
        await asyncio.sleep(0.35)
        for index in (0, 1):
            job.fail_subtask(SubtaskId(SOURCE, index), ValueError("broken"))
        await job.wait()

    virtual.run(story)
    assert set(attempts(virtual).values()) == {1}
    [restored] = [o for o in virtual.told.of(seen.Restored) if not o.is_global]
    assert len(restored.subtasks) == 4
    rows: list[Row] = virtual.run(lambda: committed_rows("out", virtual.files))
    assert sorted(row["n"] for row in rows) == list(range(60))
