"""Runs of a reader group: members that die and come back, a stream that scales, checkpoints, resets.

Everything is drawn from the seed. Writers, scaling and resets finish, and all faults end. The members and a
new one are then left alone. After a checkpoint they must share the segments evenly within two refresh
intervals. In some seeds a member follows the rule of Java's client. The stream is then sealed, and the
members read to its end. In the scenario ``streams`` the group has a second stream, which scales too and whose
segments may have the same ids. What the members read is checked for the first one only.
`groups.checkers` checks the journal and the state log. For the command line: ``python -m
pravega_lab.engine.simulation.groups.scenario``.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from pravega_lab.client.reader_group.core.state import GroupState
from pravega_lab.client.reader_group.group import AsyncReaderGroup
from pravega_lab.client.values import ScalingPolicy
from pravega_lab.protocol.metadata.reader_group import ReaderGroupConfig
from pravega_lab.protocol.metadata.watermark import Watermark
from pravega_lab.protocol.names import (
    MARK_PREFIX,
    READER_GROUP_PREFIX,
    parent_of,
    parse_segment_name,
    segment_name,
    split_scoped_name,
)
from pravega_lab.protocol.stream_cut import UNBOUNDED

from ..kernel.faults import EVERYTHING, Plan
from ..kernel.loop import SimulationLoop
from ..kernel.run import Result, run_story
from ..store.apps import STREAM
from ..store.scenarios import draw_trouble
from ..store.tier import read_whole
from ..store.world import EVENT_HEADER_BYTES, World, events_in
from . import apps, checkers
from .apps import GROUP, TWIN, group_of
from .bugs import GROUP_BUGS

ALONE_S_MAX = 600.0
LOOK_S = 0.2
READ_S = 0.5  # how long a member may take from one look at the group to the next read
STREAMS = "streams"  # the scenario in which the group has two
LAGS_MS = (0, 1_500)  # the lags of the two writers
STATE_STREAM = (split_scoped_name(GROUP)[0], READER_GROUP_PREFIX + split_scoped_name(GROUP)[1])
MARK_STREAM = (split_scoped_name(STREAM)[0], MARK_PREFIX + split_scoped_name(STREAM)[1])


class GroupWorld(World):
    """A world with a reader group, whose members are among ``until_end``."""

    log: list[tuple[int, bytes]]
    is_left_alone = False
    streams: tuple[str, ...] = (STREAM,)

    async def run(self, segments: int, trouble: Callable[[], None]) -> None:
        """Run the whole scenario, until the journal and the state log are complete."""
        await self.store.start()
        async with self.client("setup") as client:
            for name in self.streams:
                stream = await client.create_stream(name, scaling=ScalingPolicy.fixed(segments))
                await stream.update(scaling=ScalingPolicy.by_event_rate(1_000_000_000, 2, 1))
            async with group_of(self, client) as group:
                await group.create(_config(self.streams, self.chance))
        trouble()
        self.keep_to_plan()
        acting = [self.loop.create_task(self._keep(app), name=f"keep {app.name}") for app in self.apps]
        reading = [self.loop.create_task(self._keep(app), name=f"keep {app.name}") for app in self.until_end]
        store = self._store_keeper = self.loop.create_task(self._keep_store(), name="keep store")
        await asyncio.sleep(self.trouble_s)
        self._heal()
        await self._finish(acting)
        self.until_end.append(late := apps.Member(self, "late", may_retire=False))
        reading.append(self.loop.create_task(self._keep(late), name="keep late"))
        await self._leave_alone()
        async with self.client("sealer") as client:
            for name in self.streams:
                await client.stream(name).seal()
        await self._finish(reading)
        store.cancel()
        self.store.crash()
        await self.store.start()
        await self._write_down()
        await self._write_down_twin()
        self.log = self._log_of(*STATE_STREAM)
        marks = [Watermark.from_bytes(data) for _, data in self._log_of(*MARK_STREAM)]
        self.journal.add("world", "marks", lowers=[mark.lower for mark in marks])
        self.store.crash()

    async def _leave_alone(self) -> None:
        """Wait until a checkpoint has made the shares fair, and log the shares after each checkpoint.

        Only members run now. A checkpoint counts once the group has read all sealed segments and no member
        comes or goes. A member that follows Java's rule releases one segment at a checkpoint, so as many
        checkpoints may pass as there are segments.
        """
        self.is_left_alone = True
        n_javas = sum(isinstance(app, apps.Member) and app.follows_java for app in self.until_end)
        async with self.client("watcher") as client, group_of(self, client) as group:
            segments = {
                segment_name(*split_scoped_name(name), s.segment_id)
                for name in self.streams
                for s in await client.stream(name).segments()
            }
            end_s = self.loop.time() + ALONE_S_MAX
            for _ in range(1 + n_javas * len(segments)):
                counts, free = _shares_of(await self._settled(group, segments, end_s))
                self.journal.add("world", "shares", counts=counts, free=free, n_javas=n_javas)
                if checkers.is_fair(counts, free):
                    return

    async def _settled(self, group: AsyncReaderGroup, segments: set[str], end_s: float) -> GroupState:
        """Return the group's state two refresh intervals after a checkpoint is complete.

        If the shares are not fair then, and a program did not only read, it gets the time once more.
        """
        state = await group.state()
        old, readers, until_s = list(state.checkpoints.begun), list(state.readers), 0.0
        was_calm = False
        while self.loop.time() < end_s:
            await asyncio.sleep(LOOK_S)
            state = await group.state()
            refreshes_s = 2 * state.config.group_refresh_time_ms / 1000
            is_calm = set(state.positions()) == segments and not state.future and state.readers == readers
            if until_s and is_calm and self.loop.time() >= until_s:
                if checkers.is_fair(*_shares_of(state)) or self._have_read(self.loop.time() - refreshes_s):
                    break
                until_s = self.loop.time() + refreshes_s + READ_S
            if not (is_calm and was_calm):  # a checkpoint that began before the group was calm does not count
                old, readers, until_s = list(state.checkpoints.begun), list(state.readers), 0.0
            elif not until_s and any(
                name not in old and state.checkpoints.is_complete(name) for name in state.checkpoints.begun
            ):
                until_s = self.loop.time() + refreshes_s + READ_S
            was_calm = is_calm
        return state

    def _have_read(self, since_s: float) -> bool:
        """Return whether no member did anything but reading since then."""
        members = [app for app in self.until_end if isinstance(app, apps.Member)]
        return all(member.reads_since_s <= since_s for member in members)

    async def _write_down_twin(self) -> None:
        """Write the events of the second stream into the journal, segment by segment in the order of ids."""
        runner = self.store.runner
        assert runner is not None
        names = [n for n in runner.storage.segments() if n.startswith(f"{TWIN}/") and parent_of(n) is None]
        for name in sorted(names, key=lambda n: parse_segment_name(n).segment_id):
            events = [event for _, event in events_in(await read_whole(runner, name), 0)]
            self.journal.add("world", "twin-stored", events=events)

    def _log_of(self, scope: str, stream: str) -> list[tuple[int, bytes]]:
        """Return the entries of an internal stream, each with the offset after it."""
        assert self.store.runner is not None
        storage, name = self.store.runner.storage, segment_name(scope, stream, 0)
        info = storage.info(name)
        assert info.start_offset == 0, "compacted more than once: the checkers need the whole log"
        data, at, found = storage.read(name, 0, info.length).data, 0, []
        while at < len(data):
            length = int.from_bytes(data[at + 4 : at + 8], "big")
            end = at + EVENT_HEADER_BYTES + length
            found.append((end, bytes(data[at + EVENT_HEADER_BYTES : end])))
            at = end
        return found


def _shares_of(state: GroupState) -> tuple[list[int], int]:
    """Return the number of segments of each member, and of no member."""
    return [len(held) for held in state.assigned.values()], len(state.unassigned)


def _config(streams: Sequence[str], chance: Random) -> ReaderGroupConfig:
    return ReaderGroupConfig(
        dict.fromkeys(streams, UNBOUNDED),
        automatic_checkpoint_interval_ms=chance.choice((500, 2_000, 10_000)),
        group_refresh_time_ms=chance.choice((100, 1_000, 3_000)),
    )


def _populate(world: GroupWorld, chance: Random) -> None:
    javas = chance.choice(((), (), (0,), (1,)))
    for n in range(chance.choice((2, 3, 3, 5, 8, 20))):
        member = apps.Member(world, f"r{n}", may_retire=n > 0, follows_java=n in javas)
        world.until_end.append(member)
    for n in range(len(LAGS_MS)):
        world.apps.append(apps.TimedWriter(world, f"writer{n}", chance.randint(40, 150), LAGS_MS[n]))
    world.apps.append(apps.LastingScaler(world, "scaler", chance.choice((8, 14, 20))))
    world.apps.append(apps.Checkpointer(world, "cp", chance.choice((0, 2, 4))))
    world.apps.append(apps.Resetter(world, "resetter", chance.choice((0, 1, 2))))
    world.apps.append(apps.Compactor(world, "compactor", chance.choice((0, 2))))


def run_groups(
    seed: int, bug: str | None = None, plan: Plan = EVERYTHING, scenario: str = "groups"
) -> Result:
    """Run one seed and return its result. Errors are recorded in ``problems`` and not raised.

    ``bug`` is one of `bugs.GROUP_BUGS`, planted for this run. ``plan`` says which drawn
    faults happen. In the ``scenario`` "streams" the group has two streams.
    """
    planted = GROUP_BUGS[bug] if bug is not None else None
    return run_story(seed, scenario, partial(_run, has_twin=scenario == STREAMS), plan, planted)


def _run(result: Result, loop: SimulationLoop, *, has_twin: bool) -> None:
    chance = loop.random("groups")
    world = GroupWorld(loop, result.journal)
    world.store.file_bytes = chance.choice((16_384, 65_536))
    world.store.watermark_period_ms = 500  # with the usual period the runs would have to be much longer
    world.trouble_s = chance.choice((3.0, 8.0, 15.0))
    _populate(world, chance)
    if has_twin:
        world.streams = (STREAM, TWIN)
        world.apps.append(apps.TwinWriter(world, "twin-writer"))
        world.apps.append(apps.LastingScaler(world, "twin-scaler", 14, TWIN))

    def trouble() -> None:
        draw_trouble(world, chance, "groups")
        world.store.disk.conditions.capacity_bytes = 1 << 40
        world.app_life_s_max = min(chance.choice((2.0, 8.0)), world.trouble_s)

    try:
        loop.run_until_complete(world.run(chance.choice((1, 2, 4, 8)), trouble))
        result.problems += checkers.check(result.journal, world.log, *world.streams)
    finally:
        result.faults = world.faults


def main(first: int, last: int) -> int:
    """Run seeds, and print their results and the steps per second of CPU. Return 1 if a seed failed."""
    begin, steps, failed = time.process_time(), 0, 0
    for seed in range(first, last + 1):
        result = run_groups(seed)
        steps += result.steps
        failed += bool(result.problems)
        got = sum(1 for _ in result.journal.of("got"))
        print(f"{result.summary()}; {got} events", *result.problems[:5], sep="\n  ", flush=True)
    took_s = time.process_time() - begin
    print(f"{last - first + 1} seeds, {failed} failed, {steps / took_s:.0f} steps per second of CPU")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])))
