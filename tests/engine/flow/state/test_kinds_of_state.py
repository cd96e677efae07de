"""A checkpoint says of which kind each keyed state is, so that another kind does not read its values."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.checkpoint import metadata
from pravega_lab.engine.flow.checkpoint.command import describe
from pravega_lab.engine.flow.errors import JobFailedError
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.operators.functions import KeyedContext, KeyedProcessFunction
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.engine.flow.source.sources import Boundedness
from tests.engine.flow.jobs import Virtual, collect

Kind = Callable[[KeyedContext], Any]
KINDS: dict[str, Kind] = {
    "value state": lambda context: context.value_state("s"),
    "list state": lambda context: context.keyed_list_state("s"),
    "map state": lambda context: context.map_state("s"),
    "reducing state": lambda context: context.reducing_state("s", max),
}


class Keeps(KeyedProcessFunction):
    def __init__(self, kind: str) -> None:
        self.kind = kind

    def open(self, context: KeyedContext) -> None:
        self.state = KINDS[self.kind](context)

    def process(self, row: Row, context: KeyedContext) -> None:
        match self.kind:
            case "value state":
                self.state.update(row["n"])
            case "map state":
                self.state.put("n", row["n"])
            case _:
                self.state.add(row["n"])


def program(kind: str, parallelism: int = 1) -> StreamEnvironment:
    env = StreamEnvironment(parallelism=parallelism)
    rows = RowsSource(
        [{"key": n % 5, "n": n} for n in range(20)], boundedness=Boundedness.CONTINUOUS_UNBOUNDED
    )
    keyed = env.from_source(rows, uid="rows").key_by("key")
    collect(keyed.process(Keeps(kind)).uid("kept"), [])
    return env


def stop(virtual: Virtual, env: StreamEnvironment, folder: str, restore_from: str | None = None) -> None:
    async def story() -> None:
        job = virtual.job(env, restore_from=restore_from)
        await job.start()
        await asyncio.sleep(0.5)
        await job.stop_with_savepoint(folder)

    virtual.run(story)


@pytest.mark.parametrize("new", KINDS)
@pytest.mark.parametrize("old", KINDS)
def test_keyed_state_is_restored_as_the_kind_that_it_was(old: str, new: str) -> None:
    virtual = Virtual()
    stop(virtual, program(old, parallelism=2), "sp/1")
    if old == new:
        stop(virtual, program(new, parallelism=3), "sp/2", "sp/1")
        return
    with pytest.raises(
        JobFailedError,
        match=f"process: the checkpoint has {old} 's', where this job keeps {new}: give the new",
    ):
        virtual.finish(program(new, parallelism=3), restore_from="sp/1")


class Passes(KeyedProcessFunction):
    def process(self, row: Row, context: KeyedContext) -> None:
        context.emit(row)


def test_the_kind_survives_a_job_that_does_not_ask_for_the_state() -> None:
    virtual = Virtual()
    stop(virtual, program("list state"), "sp/1")
    env = StreamEnvironment()
    rows = RowsSource([], boundedness=Boundedness.CONTINUOUS_UNBOUNDED)
    collect(env.from_source(rows, uid="rows").key_by("key").process(Passes()).uid("kept"), [])
    stop(virtual, env, "sp/2", "sp/1")
    with pytest.raises(JobFailedError, match="the checkpoint has list state 's', where this job keeps value"):
        virtual.finish(program("value state"), restore_from="sp/2")


def test_a_checkpoint_of_an_earlier_version_has_no_kinds_and_is_restored() -> None:
    virtual = Virtual()
    stop(virtual, program("value state"), "sp/1")
    earlier = metadata.decode(virtual.files.data["sp/1/_metadata"], "sp/1")
    assert any("s (value state)" in line for line in describe(earlier))
    for operator in earlier.operators.values():
        operator.subtasks = {n: replace(state, kinds={}) for n, state in operator.subtasks.items()}
    virtual.files.data["sp/1/_metadata"] = metadata.encode(earlier)
    assert b"kinds" not in virtual.files.data["sp/1/_metadata"]
    stop(virtual, program("reducing state"), "sp/2", "sp/1")
