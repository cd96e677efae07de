"""(a) The legacy reader: a reader group, an `ExternallyInducedSource` and a `MasterHook`.

The coordinator asks the hook, the hook asks the group, and each reader is handed the checkpoint in place of
an event: there it lets the barrier go. The position is the hook's state; readers keep none.
Source: ``FlinkPravegaReader``, ``ReaderCheckpointHook``. There a hook that fails is taken for one without
state, and the checkpoint may complete without a position; here the checkpoint fails.
"""

from __future__ import annotations

import asyncio
import copy
from typing import Any

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.reader_group.event_reader import AsyncReader
from pravega_lab.client.reader_group.values import BatchRead, Checkpoint
from pravega_lab.connector.flow.events import EventRows
from pravega_lab.connector.flow.group_fetcher import leave
from pravega_lab.connector.flow.reader_groups import GroupSettings, JobGroup, parse_checkpoint_id, reader_id
from pravega_lab.connector.flow.window_watermarks import WindowWatermarks
from pravega_lab.engine.flow.errors import DamagedCheckpointError
from pravega_lab.engine.flow.hooks import MasterHook
from pravega_lab.engine.flow.sources import Boundedness, ExternallyInducedSource, SourceContext
from pravega_lab.errors import TruncatedDataError

HOOK_PREFIX = "pravega-reader "


class CheckpointSerializer:
    """Of a reader-group checkpoint, in Java's bytes. Version 2, as flink-connectors."""

    version = 2

    def to_bytes(self, value: Checkpoint) -> bytes:
        return value.to_bytes()

    def from_bytes(self, version: int, data: bytes) -> Checkpoint:
        if version != self.version:
            raise DamagedCheckpointError(
                f"Invalid format version {version} of a reader-group checkpoint; this reads {self.version}"
            )
        return Checkpoint.from_bytes(data)


class ReaderCheckpointHook(MasterHook):
    """A reader group's checkpoints beside the job's."""

    def __init__(self, settings: GroupSettings, uid: str) -> None:
        self._settings, self._uid = settings, uid
        self._group: JobGroup | None = None

    @property
    def identifier(self) -> str:
        return HOOK_PREFIX + self._uid

    @property
    def group(self) -> JobGroup:
        if self._group is None:
            self._group = JobGroup(self._settings, self.identifier)
        return self._group

    async def trigger_checkpoint(self, checkpoint_id: int, timestamp_ms: int) -> Checkpoint:
        return await self.group.checkpoint(checkpoint_id)

    def serializer(self) -> CheckpointSerializer:
        return CheckpointSerializer()

    async def restore_checkpoint(self, checkpoint_id: int, data: Checkpoint | None) -> None:
        """
        Raises:
            BadInputError: the checkpoint is of other streams.
        """
        if data is not None:
            await self.group.reset_to(data)

    async def reset(self) -> None:
        await self.group.begin()

    async def close(self) -> None:
        if self._group is not None:
            await self._group.close()


class PravegaReader(ExternallyInducedSource):
    """The legacy source. ``uid`` names the hook's state in checkpoints; by default it is the group's name."""

    boundedness = Boundedness.CONTINUOUS_UNBOUNDED

    def __init__(
        self, settings: GroupSettings, *, rows: EventRows | None = None, uid: str | None = None
    ) -> None:
        self.settings, self.rows = settings, rows or EventRows()
        self.uid = uid or settings.scoped_group
        self._is_cancelled = False
        self._client: AsyncClient | None = None
        self._reader: AsyncReader | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> PravegaReader:
        made = copy.copy(self)
        memo[id(self)] = made
        return made

    def create_master_hook(self) -> ReaderCheckpointHook:
        return ReaderCheckpointHook(self.settings, self.uid)

    async def open(self, context: SourceContext) -> None:
        settings = self.settings
        self._client = settings.config.client(context.task_name)
        group = settings.config.group(self._client, settings.scoped_group)
        try:
            self._reader = await group.create_reader(reader_id(context.task_name))
        finally:
            await group.close()

    async def run(self, context: SourceContext) -> None:
        assert self._reader is not None
        settings, watermarks = self.settings, WindowWatermarks(self.settings, self._reader)
        while not self._is_cancelled:
            try:
                found = await self._reader.read_batch(settings.read_s, max_bytes=settings.batch_bytes)
            except TruncatedDataError:
                continue  # what is left begins behind it
            await self._hand_on(found, context)
            if found.checkpoint is None and (watermark := await watermarks.after_read()) is not None:
                await context.emit_watermark(watermark)

    async def _hand_on(self, found: BatchRead, context: SourceContext) -> None:
        if found.checkpoint is not None:
            await self.trigger(parse_checkpoint_id(found.checkpoint))
        elif found.batch is not None and found.stream is not None:
            await context.collect(self.rows.batch(found.stream, found.batch))
        elif found.is_completed:
            await self._rest()

    async def _rest(self) -> None:
        """All was read; checkpoints may still come."""
        await asyncio.sleep(min(self.settings.read_s, self.settings.refresh_ms / 1000))

    def cancel(self) -> None:
        self._is_cancelled = True

    async def close(self) -> None:
        if self._reader is not None:
            await leave(self._reader)
        if self._client is not None:
            await self._client.close()
