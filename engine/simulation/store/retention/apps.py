"""The applications of the scenario ``retention``: subscribers, an observer of heads, and a survey.

The survey looks at the storage itself, so it also knows events that no reader received before they were
truncated. The checkers are in ``checkers``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.reader_group.opening import async_reader_group, reading
from pravega_lab.errors import RefusedError
from pravega_lab.protocol.metadata.reader_group import RetentionType
from pravega_lab.protocol.stream_cut import StreamCut

from ....server.runner import StoreRunner
from ....store.log import operations as ops
from ....store.storage.segment import Change
from ..apps import STREAM, App
from ..readers import Follower, written
from ..world import World, events_in, segments_of

SURVEY_S = 0.05
Apply: TypeAlias = Callable[[Change, int], None]
BY_HAND = RetentionType.MANUAL_RELEASE_AT_USER_STREAMCUT


class Subscriber(Follower):
    """Follows the stream with a group of its own, and releases what it has read. It may be slow."""

    def __init__(self, world: World, name: str, pause_ms: int) -> None:
        super().__init__(world, name)
        self.pause_ms = pause_ms
        self.released: StreamCut | None = None

    async def live(self, client: AsyncClient) -> None:
        self.group = async_reader_group(client, f"sim/{self.name}", lambda: self.world.loop.now_us // 1000)
        config = reading([STREAM], automatic_checkpoint_interval_ms=-1, retention_type=BY_HAND)
        async with self.group:
            self.log("subscribing", group=self.name)
            await self.group.create(config)
            self.log("subscribed", group=self.name)
            await super().live(client)

    async def save(self, client: AsyncClient, position: StreamCut) -> None:
        self.position = position
        if self.chance.random() < 0.5:
            self.log("release", group=self.name, positions=written(position))
            try:
                await self.group.update_retention_stream_cut({STREAM: position})
            except RefusedError:
                self.log("release-refused", group=self.name)
            else:
                self.log("released", group=self.name, positions=written(position))
        await self.pause(self.pause_ms)


class HeadObserver(App):
    """Asks for the head of the stream, again and again."""

    def __init__(self, world: World, name: str, rounds: int) -> None:
        super().__init__(world, name)
        self.rounds = rounds

    async def live(self, client: AsyncClient) -> None:
        while self.rounds:
            self.rounds -= 1
            head = await client.stream(STREAM).head()
            self.log("head", positions=written(head))
            await self.pause(400)


class StorageSurvey:
    """Writes what the storage contains into the journal, every 50 ms while the store runs.

    Events that a slow disk held up may be old enough to be truncated as soon as they are stored. The survey
    therefore also looks before bytes that it has not seen are truncated or deleted. The world asks for a look
    before it kills the store, because the next life may truncate what was stored just before.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._seen: dict[int, int] = {}
        world.store.on_start = self._look_before_truncations

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await asyncio.sleep(SURVEY_S)
            self.look()

    def _look_before_truncations(self, runner: StoreRunner) -> None:
        """Replace what applies truncations and deletions in one life of the store."""
        applies = runner.storage._synced._applies

        def looking_first(right: Apply) -> Apply:
            def apply(change: Change, now_ms: int) -> None:
                segment = change.segment
                if segment is not None and self._is_news(segment.name, segment.length):
                    self.look()
                right(change, now_ms)

            return apply

        for operation in (ops.Truncate, ops.Delete):
            applies[operation] = looking_first(applies[operation])

    def _is_news(self, name: str, length: int) -> bool:
        """Return whether a segment of the stream has bytes that no look has seen."""
        runner = self._world.store.runner
        assert runner is not None
        ids = (segment_id for segment_id, found in segments_of(runner.storage) if found == name)
        return any(length > self._seen.get(segment_id, 0) for segment_id in ids)

    def look(self) -> None:
        """Append one line to the journal, with the events that are new."""
        process, runner = self._world.store.process, self._world.store.runner
        if process is None or not process.alive or runner is None:
            return
        found, new = {}, {}
        for segment_id, name in segments_of(runner.storage):
            info = runner.storage.info(name)
            found[str(segment_id)] = [info.start_offset, info.length]
            begin = max(info.start_offset, self._seen.get(segment_id, 0))
            if info.length > begin:
                new[str(segment_id)] = events_in(runner.storage.read(name, begin, info.length).data, begin)
                self._seen[segment_id] = info.length
        self._world.journal.add("world", "survey", segments=found, events=new)
