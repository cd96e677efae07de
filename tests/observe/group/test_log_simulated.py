"""An observer in simulated worlds: connections are cut, stores and it itself are killed; it misses nothing.

The groups that it follows are those of `engine.simulation.group_scenario`: members that die, a stream that
scales, checkpoints, resets, compactions.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random

import pytest

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.reader_group.core.state import fold
from pravega_lab.client.reader_group.following import AsyncGroupLog
from pravega_lab.engine.simulation.groups import scenario as group_scenario
from pravega_lab.engine.simulation.groups.apps import GROUP
from pravega_lab.engine.simulation.groups.scenario import GroupWorld, run_groups
from pravega_lab.engine.simulation.store.apps import App
from pravega_lab.errors import PravegaError
from pravega_lab.observe.group.entries import read_entry
from pravega_lab.observe.group.fold import fold_groups
from pravega_lab.observe.group.tracker import GroupTracker
from pravega_lab.observe.journal.observations import Observation
from pravega_lab.protocol.metadata.reader_group import Update
from tests.observe.group.logs import Logged, check, tell

N_SEEDS = 8


class Follower(App):
    """Follows the group until it has read everything; each of its lives goes on where the last one ended."""

    def __init__(self, world: GroupWorld) -> None:
        super().__init__(world, "observer")
        self.world = world
        self.tracker = GroupTracker(GROUP)
        self.seen: list[Observation] = []
        self.interruptions = 0

    async def live(self, client: AsyncClient) -> None:
        log = AsyncGroupLog(client, GROUP)
        while not self.is_end:
            try:
                await self.follow(log)
            except PravegaError:
                self.interruptions += 1
                await asyncio.sleep(0.1)
        await log.close()

    async def follow(self, log: AsyncGroupLog) -> None:
        place = await log.locate()
        assert self.tracker.segment in ("", place.segment)
        self.tracker.segment = place.segment
        await log.read_from(place, self.tracker.offset)
        while not self.is_end:
            for entry in await log.next(0.25):
                now_ms = self.world.loop.now_us // 1000
                self.seen += self.tracker.take(read_entry(entry.data), entry.end, now_ms=now_ms)

    @property
    def is_end(self) -> bool:
        state = self.tracker.state
        return state is not None and state.is_end_of_data


@pytest.mark.parametrize("seed", range(N_SEEDS))
def test_nothing_is_missed_and_nothing_told_twice(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[tuple[GroupWorld, Follower]] = []
    populate = group_scenario._populate

    def with_follower(world: GroupWorld, chance: Random) -> None:
        populate(world, chance)
        found.append((world, Follower(world)))
        world.until_end.append(found[0][1])

    monkeypatch.setattr(group_scenario, "_populate", with_follower)
    result = run_groups(seed)
    assert result.problems == []
    (world, follower) = found[0]
    read = [Logged(data, end) for end, data in world.log if end <= follower.tracker.offset]
    assert read[-1].end == follower.tracker.offset
    assert [timeless(o) for o in follower.seen] == [timeless(o) for o in tell(GroupTracker(GROUP), read)]
    updates = [u for entry in read for u in read_entry(entry.data) if isinstance(u, Update)]
    check(fold_groups(follower.seen), fold(updates), GROUP)
    assert len(follower.seen) > 100
    assert follower.interruptions + follower.lives > 1


def timeless(observation: Observation) -> Observation:
    return replace(observation, time_ms=0)
