"""Settings of operators in a program, and what functions and committers may do besides the common cases."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from pravega_lab.engine.flow.batch import Batch, Row
from pravega_lab.engine.flow.errors import InvalidJobGraphError, RestoreError
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.operators.functions import KeyedContext, KeyedProcessFunction, total
from pravega_lab.engine.flow.sink.sinks import CommitRequest, Committer, Sink, SinkContext, SinkWriter
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.engine.flow.source.sources import Boundedness
from tests.engine.flow.jobs import Virtual, collect


def chains(env: StreamEnvironment) -> list[str]:
    return [vertex.name for vertex in env.job_graph().vertices]


def test_an_operator_can_begin_a_new_chain_or_stay_alone() -> None:
    def program() -> tuple[StreamEnvironment, Any]:
        env = StreamEnvironment()
        before = env.from_rows([{"n": 1}], name="source").map(lambda row: row, name="before")
        middle = before.map(lambda row: row, name="middle")
        middle.map(lambda row: row, name="after")
        return env, middle

    env, _ = program()
    assert chains(env) == ["source → before → middle → after"]
    env, middle = program()
    middle.start_new_chain()
    assert chains(env) == ["source → before", "middle → after"]
    env, middle = program()
    middle.disable_chaining()
    assert chains(env) == ["source → before", "middle", "after"]


def sums(n_groups: int, *, parallelism: int = 2) -> StreamEnvironment:
    env = StreamEnvironment(parallelism=parallelism)
    rows = RowsSource(
        [{"key": n % 5, "n": n} for n in range(20)], boundedness=Boundedness.CONTINUOUS_UNBOUNDED
    )
    summed = env.from_source(rows, uid="rows").key_by("key").aggregate(total("n")).uid("sums")
    summed.set_max_parallelism(n_groups)
    collect(summed, [])
    return env


def test_the_max_parallelism_of_an_operator_bounds_its_subtasks_and_cannot_change_with_its_state() -> None:
    by_name = {vertex.name: vertex for vertex in sums(4).job_graph().vertices}
    assert by_name["aggregate"].max_parallelism == 4
    assert by_name["source"].max_parallelism == 128  # the other operators keep the job's
    with pytest.raises(InvalidJobGraphError, match="parallelism 5 is above its max parallelism 4"):
        sums(4, parallelism=5).job_graph()
    virtual = Virtual()

    async def story() -> None:
        job = virtual.job(sums(4))
        await job.start()
        await asyncio.sleep(0.2)
        path = await job.stop_with_savepoint("saved")
        wider = virtual.job(sums(4, parallelism=4), restore_from=path)
        await wider.start()
        await wider.cancel()
        with pytest.raises(RestoreError, match="set max_parallelism=4"):
            await virtual.job(sums(8), restore_from=path).start()

    virtual.run(story)


class HighestSoFar(KeyedProcessFunction):
    """Emits the highest number since the last row that says "clear"."""

    def open(self, context: KeyedContext) -> None:
        self._highest = context.reducing_state("highest", max)

    def process(self, row: Row, context: KeyedContext) -> None:
        if row["n"] == "clear":
            self._highest.clear()
        else:
            self._highest.add(row["n"])
        context.emit({"key": context.key, "highest": self._highest.get()})


def test_reducing_state_combines_the_values_of_each_key() -> None:
    virtual, env, got = Virtual(), StreamEnvironment(), []
    numbers = [("a", 3), ("b", 9), ("a", 1), ("a", 5), ("b", "clear"), ("b", 2)]
    rows = env.from_source(RowsSource([{"key": key, "n": n} for key, n in numbers], batch_rows=1))
    collect(rows.key_by("key").process(HighestSoFar()), got)
    virtual.finish(env)
    values = [(row["key"], row["highest"]) for row, _ in got]
    assert values == [("a", 3), ("b", 9), ("a", 3), ("a", 5), ("b", None), ("b", 2)]


class Halving(Sink):
    """Commits the first half of what a committable still has, and asks to commit the rest later."""

    def __init__(self) -> None:
        self.commits: list[tuple[int, list[int]]] = []

    def create_writer(self, context: SinkContext, restored: Sequence[Any]) -> SinkWriter:
        return _Numbers()

    def create_committer(self, context: SinkContext) -> Committer:
        return _HalvingCommitter(self.commits)


class _Numbers(SinkWriter):
    def __init__(self) -> None:
        self._numbers: list[int] = []

    def write(self, batch: Batch) -> None:
        self._numbers += [row["n"] for row in batch.rows]

    def prepare_commit(self) -> list[Any]:
        numbers, self._numbers = self._numbers, []
        return [numbers] if numbers else []


class _HalvingCommitter(Committer):
    def __init__(self, commits: list[tuple[int, list[int]]]) -> None:
        self._commits = commits

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            numbers = request.committable
            half = (len(numbers) + 1) // 2
            self._commits.append((request.retries, numbers[:half]))
            if numbers[half:]:
                request.update_and_retry_later(numbers[half:])


def test_a_committer_can_replace_a_committable_before_it_is_tried_again() -> None:
    env, sink, virtual = StreamEnvironment(), Halving(), Virtual()
    env.from_rows([{"n": n} for n in range(8)]).sink_to(sink)
    virtual.finish(env)
    assert sink.commits == [(0, [0, 1, 2, 3]), (1, [4, 5]), (2, [6]), (3, [7])]
