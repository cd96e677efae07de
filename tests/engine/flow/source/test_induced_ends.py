"""An induced source that ends with a trigger whose position its reader never reached."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from pravega_lab.engine.flow.calling import begin, call
from pravega_lab.engine.flow.elements import Barrier
from pravega_lab.engine.flow.operators.operator import Operator
from pravega_lab.engine.flow.source.input import LegacyInput, Rendezvous, SourceInput
from pravega_lab.engine.flow.source.source_operator import LegacySourceOperator
from pravega_lab.engine.flow.source.sources import (
    ExternallyInducedSource,
    ExternallyInducedSourceReader,
    InputStatus,
    ReaderOutput,
    SourceContext,
)


class Task:
    """What an input uses of its subtask. ``seen`` has what the input did, in order."""

    def __init__(self) -> None:
        self.seen: list[object] = []
        self.has_data_ended = False
        self.chain = self

    async def drain(self, position: int) -> None:
        return

    def now_ms(self) -> int:
        return 0

    def wake(self) -> None:
        return

    def fail(self, error: BaseException) -> None:
        raise error

    def spawn(self, coro: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(coro)

    async def perform(self, barrier: Barrier) -> None:
        self.seen.append(barrier.checkpoint_id)

    async def stop_source(self, barrier: Barrier) -> None:
        raise AssertionError("no savepoint was asked for")

    async def end_source_data(self, *, drain: bool) -> None:
        self.has_data_ended = True
        self.seen.append("end of data")


class Ended(ExternallyInducedSourceReader[Any]):
    def poll_next(self, output: ReaderOutput) -> InputStatus:
        return InputStatus.END_OF_INPUT

    def should_trigger_checkpoint(self) -> int | None:
        return None


class EndedFunction(ExternallyInducedSource):
    async def run(self, context: SourceContext) -> None:
        return

    def cancel(self) -> None:
        return


class Context:
    """What an input uses of the context of its operator."""

    begin, call = staticmethod(begin), staticmethod(call)


class Head(Operator):
    reader = Ended()


def with_context(operator: Any) -> Any:
    operator.context = Context()
    return operator


def new_form(task: Task) -> SourceInput:
    return SourceInput(task, with_context(Head()), Rendezvous())


def legacy_form(task: Task) -> LegacyInput:
    return LegacyInput(task, with_context(LegacySourceOperator(EndedFunction(), None)))


@pytest.mark.parametrize("make", [new_form, legacy_form])
def test_the_checkpoints_are_taken_at_the_end(make: Any) -> None:
    async def story() -> list[object]:
        task = Task()
        input = make(task)
        for number in (4, 5, 6):
            await input.trigger(Barrier(number, 0))
        await input.abort(5)
        input.start()
        await asyncio.sleep(0.01)
        while await input.step():
            pass
        return task.seen

    assert asyncio.run(story()) == ["end of data", 4, 6]
