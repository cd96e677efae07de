"""Broadcast records, broadcast state, and what has no key beside a keyed stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.errors import JobFailedError
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.batch_mode import BatchRunner
from pravega_lab.engine.flow.master.config import JobConfig
from pravega_lab.engine.flow.operators.functions import (
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedContext,
)
from tests.engine.flow.jobs import Virtual, collect

RULES = [{"id": n, "limit": 10 * n} for n in range(3)]


class Taking(BroadcastProcessFunction):
    """Takes the id out of each rule, and asks for the state again at each record."""

    def open(self, context: KeyedContext) -> None:
        self.rules = context.broadcast_state("rules")

    def process(self, row: Row, context: KeyedContext) -> None:
        return

    def process_broadcast(self, row: Row, context: KeyedContext) -> None:
        context.broadcast_state("rules").put(row.pop("id"), row)
        context.emit({"rules": len(self.rules.items()), "limit": self.rules.get(2, {"limit": None})["limit"]})


def in_batch(virtual: Virtual, env: StreamEnvironment) -> None:
    virtual.run(lambda: BatchRunner(env.job_graph()).run())


def streaming(virtual: Virtual, env: StreamEnvironment) -> None:
    virtual.finish(env, JobConfig(None))


@pytest.mark.parametrize("execute", [streaming, in_batch])
def test_each_subtask_may_change_the_broadcast_rows_that_it_receives(
    execute: Callable[[Virtual, StreamEnvironment], None],
) -> None:
    virtual, env, got = Virtual(), StreamEnvironment(parallelism=2), list[Any]()
    rules = env.from_rows(RULES, name="rules", parallelism=1)
    collect(env.from_rows([{"n": 1}]).connect(rules.broadcast()).process(Taking()), got)
    execute(virtual, env)
    seen = sorted((row["rules"], row["limit"]) for row, _ in got)
    assert seen == [(1, None)] * 2 + [(2, None)] * 2 + [(3, 20)] * 2


class Keyless(BroadcastProcessFunction):
    """Uses keyed state for records that have no key."""

    def open(self, context: KeyedContext) -> None:
        self.last = context.value_state("last")

    def process(self, row: Row, context: KeyedContext) -> None:
        self.last.update(row["n"])

    def process_broadcast(self, row: Row, context: KeyedContext) -> None:
        self.last.update(row["id"])


class KeylessTimer(Keyless):
    def process_broadcast(self, row: Row, context: KeyedContext) -> None:
        context.register_event_timer(row["id"])


class KeylessEnd(CoProcessFunction):
    def open(self, context: KeyedContext) -> None:
        self.last = context.value_state("last")

    def process_1(self, row: Row, context: KeyedContext) -> None:
        self.last.update(row["n"])

    process_2 = process_1

    def end_input_2(self, context: KeyedContext) -> None:
        context.emit({"last": self.last.get()})


@pytest.mark.parametrize("function", [Keyless(), KeylessTimer(), KeylessEnd()])
def test_the_key_of_the_record_before_is_not_that_of_what_has_none(function: Any) -> None:
    virtual, env = Virtual(), StreamEnvironment()
    keyed = env.from_rows([{"n": n} for n in range(3)]).key_by("n")
    rules = env.from_rows([{**rule, "n": rule["id"]} for rule in RULES], name="rules")
    other = rules.key_by("n") if isinstance(function, CoProcessFunction) else rules.broadcast()
    collect(keyed.connect(other).process(function), [])
    with pytest.raises(JobFailedError, match="there is no current key"):
        virtual.finish(env, JobConfig(None))
