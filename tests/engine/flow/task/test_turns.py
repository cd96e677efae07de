"""Subtasks of one event loop take turns, so that a checkpoint waits for one batch and not for all of them."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.elements import SubtaskId
from pravega_lab.engine.flow.task.channels import UNCUT_FROM, Channel
from pravega_lab.engine.flow.task.hosting import LocalHost, LocalWire


def test_between_two_steps_the_loop_sees_what_is_ready() -> None:
    """With ``asyncio.sleep(0)``, every subtask would step before ``news`` is seen."""
    seen: list[str] = []

    async def subtask(name: str, host: LocalHost) -> None:
        for _ in range(3):
            seen.append(name)
            asyncio.get_running_loop().call_soon(seen.append, "news")
            await host.take_turn()

    async def run() -> None:
        host = LocalHost()
        await asyncio.gather(*(subtask(name, host) for name in "abc"))
        await asyncio.sleep(0)

    asyncio.run(run())
    after_the_first_round = seen[seen.index("c") + 1 :]
    steps = [n for n, what in enumerate(after_the_first_round) if what != "news"]
    assert len(steps) == 6
    for one, next_one in pairwise(steps):
        assert "news" in after_the_first_round[one:next_one]


def test_a_turn_that_was_cancelled_or_taken_early_delays_nobody() -> None:
    async def run() -> None:
        host = LocalHost()
        cancelled, early, late = host.take_turn(), host.take_turn(), host.take_turn()
        cancelled.cancel()
        early.set_result(None)
        async with asyncio.timeout(60):
            await late
            await host.take_turn()

    asyncio.run(run())


@pytest.mark.parametrize(("rows", "has_room"), [(UNCUT_FROM, False), (UNCUT_FROM - 1, True)])
def test_a_producer_of_large_batches_begins_when_there_is_room_for_one(rows: int, has_room: bool) -> None:
    async def run() -> None:
        capacity = UNCUT_FROM + UNCUT_FROM // 2
        channel = Channel(SubtaskId("a", 0), SubtaskId("b", 0), 0, 0, capacity, LocalWire())
        assert channel.has_room
        channel.put(Batch.of_rows([{"n": 0}] * rows))
        assert channel.room > 0
        assert channel.has_room is has_room
        channel.take()
        assert channel.has_room

    asyncio.run(run())
