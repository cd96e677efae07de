"""The participants of a simulated reader group: members, and programs that checkpoint, reset and compact it.

They use the asyncio client as any program does. The replies go into the journal:

==================  ======================================================================================
what                about
==================  ======================================================================================
member              at: this life is the member that the entry of the state log ending there has added
got                 segment, offset, behind: an event was delivered; it ends at ``behind``
at-checkpoint       name: a checkpoint was delivered in place of an event
window              lower, upper, at: a time window, by the state log up to there; is_last: all was read
closed              the reader went offline in good order
declared-dead       reader: it was declared offline
checkpointed        name, positions: a checkpoint completed with this cut
reset               positions, generation: a reset of the group to this cut was requested
shares              counts, free: segments per reader, and of no reader, two refreshes after a checkpoint
lag                 ms: by how much the times of a writer's events are behind the clock
noting, noted       time: a writer begins to note it, and has noted it
twin-wrote          event: it will be in the second stream once, if at all
twin-flushed        all events that this life wrote before are in the second stream
==================  ======================================================================================
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Protocol

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.reader_group.access import GroupAccess
from pravega_lab.client.reader_group.errors import (
    CheckpointFailedError,
    ReaderExistsError,
    TooManyCheckpointsError,
)
from pravega_lab.client.reader_group.event_reader import AsyncReader
from pravega_lab.client.reader_group.group import AsyncReaderGroup
from pravega_lab.client.reader_group.values import EventRead, Position, full_names
from pravega_lab.errors import AlreadyExistsError, ConditionFailedError
from pravega_lab.protocol.names import segment_name, split_scoped_name

from ..store.apps import KEYS, STREAM, App, Scaler, Surroundings, Writer
from .java_rule import JavaRuleReader

if TYPE_CHECKING:
    from pravega_lab.client.writing.writer import AsyncEventWriter
    from pravega_lab.protocol.stream_cut import StreamCut


GROUP = "sim/group"
TWIN = "sim/twin"
"""A second stream of the group, whose segments may have the ids of the first one's. What is read of it is not
checked.
"""

HEADER_BYTES = 8
ROUNDS_A_LIFE = 4
ON_ITS_WAY_S = 10.0  # longer than any link or disk of a run holds a request up
QUIET_S = 15.0  # long enough for the watermark after the last writer's silence


def group_of(world: Surroundings, client: AsyncClient) -> AsyncReaderGroup:
    """Return a handle of the group that uses the clock of the world."""

    def access() -> GroupAccess:
        return GroupAccess(GROUP, client._controller, client._stores, lambda: world.loop.now_us // 1000)

    return AsyncReaderGroup(access)


class GroupSurroundings(Surroundings, Protocol):
    """The part of a world with a group that its members need."""

    is_left_alone: bool


class Member(App):
    """Reads to the end as a reader of the group. A later life first declares the earlier one offline.

    Args:
        may_retire: Whether a later life may declare the earlier one offline and do nothing else.
        follows_java: Whether it acquires and releases segments by the rule of Java's client.
    """

    def __init__(
        self, world: GroupSurroundings, name: str, *, may_retire: bool, follows_java: bool = False
    ) -> None:
        super().__init__(world, name)
        self.group_world = world
        self.may_retire = may_retire
        self.follows_java = follows_java
        self.checkpoints_at_ends = world.loop.random(f"{name}/ends").random() < 0.3
        self.position: Position | None = None
        self.reads_since_s = 0.0  # without a pause; infinite while the program does something else

    async def live(self, client: AsyncClient) -> None:
        async with group_of(self.world, client) as group:
            if self.lives > 1 and self.may_retire and self.chance.random() < 0.3:
                if not await self.declare_dead(group):
                    # The earlier life may have been killed while its request to join was on its way.
                    await asyncio.sleep(ON_ITS_WAY_S)
                    await self.declare_dead(group)
                return
            while not await self.read(await self.open(group)):
                await self.pause(2000)

    async def open(self, group: AsyncReaderGroup) -> AsyncReader:
        while True:
            position, self.position = self.position, None  # it is not that of a reader that joins now
            try:
                reader = await group.create_reader(
                    self.name, checkpoint_at_segment_end=self.checkpoints_at_ends
                )
            except ReaderExistsError:
                self.position = position
                await self.declare_dead(group)
                continue
            if self.follows_java:
                reader._core = JavaRuleReader(
                    self.name,
                    reader._access.state,
                    now_ms=reader._access.clock_ms(),
                    chance=reader._access.stores.chance,
                )
            self.log("member", at=reader._access.sync.revision.offset)
            return reader

    async def declare_dead(self, group: AsyncReaderGroup) -> bool:
        """Declare the earlier life offline, at its last checkpoint or its last known position.

        Return False if it was not online.
        """
        position = self.position if self.chance.random() < 0.5 else None
        self.position = None
        self.log("declared-dead", reader=self.name)
        return await group.reader_offline(self.name, position)

    async def read(self, reader: AsyncReader) -> bool:
        """Read until the end of all data (True), or until a drawn time (False)."""
        while True:
            found = await reader.read_next(self.chance.choice((0.0, 0.05, 1.0)))
            self.show(found)
            self.position = reader.position()
            if self.chance.random() < 0.2:
                await self.look_at_the_time(reader)
            if found.is_completed:
                await asyncio.sleep(QUIET_S)
                await self.look_at_the_time(reader, is_last=True)
            leaves = self.chance.random() < 0.002 and not self.group_world.is_left_alone
            if found.is_completed or leaves:
                await reader.close()
                self.position = None
                self.log("closed")
                return found.is_completed

    async def look_at_the_time(self, reader: AsyncReader, *, is_last: bool = False) -> None:
        """Ask for the time window and log it. The reader does not look at its group during the call."""
        self.reads_since_s = math.inf
        window = await reader.time_window(STREAM)
        self.reads_since_s = self.world.loop.time()
        at = reader._access.sync.revision.offset
        self.log("window", lower=window.lower, upper=window.upper, at=at, is_last=is_last)

    def show(self, found: EventRead) -> None:
        if found.event is not None:
            if found.stream != STREAM:
                return
            assert found.segment_id is not None
            assert found.offset is not None
            segment = segment_name(*split_scoped_name(STREAM), found.segment_id)
            behind = found.offset + HEADER_BYTES + len(found.event)
            self.log("got", segment=segment, offset=found.offset, behind=behind)
        elif found.checkpoint is not None:
            self.log("at-checkpoint", name=found.checkpoint)


class TimedWriter(Writer):
    """Notes the time after every flush: everything that it writes next is of that time or later.

    Args:
        lag_ms: By how much the times of its events are behind the clock.
    """

    def __init__(self, world: Surroundings, name: str, rounds: int, lag_ms: int) -> None:
        super().__init__(world, name, rounds)
        self.lag_ms = lag_ms
        world.journal.add(name, "lag", ms=lag_ms)

    async def flushed(self, writer: AsyncEventWriter) -> None:
        time_ms = self.world.loop.now_us // 1000 - self.lag_ms
        self.log("noting", time=time_ms)
        await writer.note_time(time_ms)
        self.log("noted", time=time_ms)
        await self.pause(300)


class TwinWriter(App):
    """Writes into the second stream."""

    async def live(self, client: AsyncClient) -> None:
        async with client.stream(TWIN).writer() as writer:
            for n in range(self.chance.randint(20, 80)):
                key = self.chance.choice(KEYS)
                self.log("twin-wrote", event=(event := self.event(self.who, key, n)))
                await writer.write([event], key)
                await self.pause(self.chance.choice((0, 5, 100)))
            await writer.flush()
            self.log("twin-flushed")


class LastingScaler(Scaler):
    """Scales some rounds in each life, so that the stream scales even if all earlier lives were short."""

    async def live(self, client: AsyncClient) -> None:
        self.rounds = max(self.rounds, self.world.loop.faults.plan.rounds(ROUNDS_A_LIFE))
        await super().live(client)


class GroupApp(App):
    """Acts on the group a number of times."""

    def __init__(self, world: Surroundings, name: str, rounds: int) -> None:
        super().__init__(world, name)
        self.rounds = rounds

    async def live(self, client: AsyncClient) -> None:
        async with group_of(self.world, client) as group:
            while self.rounds:
                await self.pause(1500)
                await self.act(group)
                self.rounds -= 1

    async def act(self, group: AsyncReaderGroup) -> None:
        """Act once."""
        raise NotImplementedError


class Checkpointer(GroupApp):
    """Initiates checkpoints and waits for them, up to a time limit."""

    async def act(self, group: AsyncReaderGroup) -> None:
        try:
            if self.chance.random() < 0.3:
                cuts = await group.generate_stream_cuts(10.0)
                self.log("checkpointed", name="silent", positions=written(cuts[STREAM]))
                return
            begun = await group.initiate_checkpoint(f"{self.name}-{self.lives}-{self.rounds}")
            found = await begun.result(10.0)
            self.log("checkpointed", name=begun.name, positions=written(found.stream_cuts[STREAM]))
        except (TimeoutError, TooManyCheckpointsError):
            await group.cancel_outstanding_checkpoints()
        except (CheckpointFailedError, AlreadyExistsError):
            pass


class Resetter(GroupApp):
    """Resets the group to its last checkpoint, or to its stored positions."""

    async def act(self, group: AsyncReaderGroup) -> None:
        await self.pause(3000)
        cuts = await group.last_checkpoint_cuts()
        if cuts is None or self.chance.random() < 0.3:
            cuts = await group.stream_cuts()
        if STREAM not in cuts:
            return
        generation = (await group._access.calls.config()).generation + 1
        self.log("reset", positions=written(cuts[STREAM]), generation=generation)
        try:
            await group.reset(cuts)
        except ConditionFailedError:
            self.log("reset-lost")


class Compactor(GroupApp):
    """Compacts the state log once. A second compaction would remove entries that the checkers need."""

    async def act(self, group: AsyncReaderGroup) -> None:
        await self.pause(4000)
        if await group._access._log.mark() is None:
            await group.compact()


def written(cut: StreamCut) -> dict[str, int]:
    """Return a cut in the form of the journal, by full names of segments."""
    return full_names(cut.scoped_stream, cut.positions)
