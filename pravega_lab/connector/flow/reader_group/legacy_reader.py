"""(a) The legacy reader: a reader group, an `ExternallyInducedSource` and a `MasterHook`.

The coordinator calls the hook, and the hook takes a reader-group checkpoint. Each reader receives it in place
of an event and places the barrier there. The position is the state of the hook; readers keep none. Source:
``FlinkPravegaReader``, ``ReaderCheckpointHook``. In flink-connectors a hook that fails counts as a hook
without state, so a checkpoint may complete without a position. Here the checkpoint fails.
"""

from __future__ import annotations

import copy
from typing import Any

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.reader_group.event_reader import AsyncReader
from pravega_lab.client.reader_group.values import BatchRead, Checkpoint
from pravega_lab.connector.flow.events import EventRows
from pravega_lab.connector.flow.reader_group.fetcher import leave
from pravega_lab.connector.flow.reader_group.settings import (
    GroupSettings,
    JobGroup,
    parse_checkpoint_id,
    reader_id,
)
from pravega_lab.connector.flow.reader_group.window_watermarks import WindowWatermarks
from pravega_lab.engine.flow.errors import DamagedCheckpointError
from pravega_lab.engine.flow.source.master_hook import MasterHook
from pravega_lab.engine.flow.source.sources import Boundedness, ExternallyInducedSource, SourceContext
from pravega_lab.errors import TruncatedDataError

HOOK_PREFIX = "pravega-reader "


class CheckpointSerializer:
    """Converts a reader-group checkpoint to and from Java's bytes. Version 2, as in flink-connectors."""

    version = 2

    def to_bytes(self, value: Checkpoint) -> bytes:
        """Return the value as bytes."""
        return value.to_bytes()

    def from_bytes(self, version: int, data: bytes) -> Checkpoint:
        """Return the checkpoint in ``data``.

        Raises:
            DamagedCheckpointError: ``version`` is not 2.
        """
        if version != self.version:
            raise DamagedCheckpointError(
                f"Invalid format version {version} of a reader-group checkpoint; this reads {self.version}"
            )
        return Checkpoint.from_bytes(data)


class ReaderCheckpointHook(MasterHook):
    """Takes a reader-group checkpoint with every job checkpoint."""

    def __init__(self, settings: GroupSettings, uid: str) -> None:
        self._settings, self._uid = settings, uid
        self._group: JobGroup | None = None

    @property
    def identifier(self) -> str:
        """The name of the hook's state in checkpoints."""
        return HOOK_PREFIX + self._uid

    @property
    def group(self) -> JobGroup:
        """The reader group, connected on first use."""
        if self._group is None:
            self._group = JobGroup(self._settings, self.identifier)
        return self._group

    async def trigger_checkpoint(self, checkpoint_id: int, timestamp_ms: int) -> Checkpoint:
        """Take a reader-group checkpoint and return it."""
        return await self.group.checkpoint(checkpoint_id)

    def serializer(self) -> CheckpointSerializer:
        return CheckpointSerializer()

    async def restore_checkpoint(self, checkpoint_id: int, data: Checkpoint | None) -> None:
        """Reset the group to the restored checkpoint.

        Raises:
            BadInputError: The checkpoint is of other streams.
        """
        if data is not None:
            await self.group.reset_to(data)

    async def reset(self) -> None:
        """Reset the group to its beginning."""
        await self.group.begin()

    async def close(self) -> None:
        if self._group is not None:
            await self._group.close()


def default_uid(settings: GroupSettings) -> str:
    """Return the uid of a source that was given none: the group and the streams, with their scopes."""
    streams = sorted(settings.config.resolve(stream) for stream in settings.streams)
    return " ".join([settings.scoped_group, *streams])


class PravegaReader(ExternallyInducedSource):
    """The legacy source.

    It ends where every stream has its end cut or is sealed. The job has to take checkpoints, because the
    readers of the group reach successors and the end at checkpoints only.

    ``uid`` names the hook's state in checkpoints. By default it is made of the group and the streams, so that
    a checkpoint of other streams is not mistaken for one of these.
    """

    boundedness = Boundedness.CONTINUOUS_UNBOUNDED

    def __init__(
        self, settings: GroupSettings, *, rows: EventRows | None = None, uid: str | None = None
    ) -> None:
        self.settings, self.rows = settings, rows or EventRows()
        self.uid = uid or default_uid(settings)
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
        is_over = False
        while not self._is_cancelled and not is_over:
            try:
                found = await self._reader.read_batch(settings.read_s, max_bytes=settings.batch_bytes)
            except TruncatedDataError:
                continue  # the reader continues after the truncated part
            await self._hand_on(found, context)
            is_over = found.is_completed
            if found.checkpoint is None and (watermark := await watermarks.after_read()) is not None:
                await context.emit_watermark(watermark)
        if is_over:
            await self._reader.close()  # a checkpoint of the group waits for every reader that is online

    async def _hand_on(self, found: BatchRead, context: SourceContext) -> None:
        if found.checkpoint is not None:
            await self.trigger(parse_checkpoint_id(found.checkpoint))
        elif found.batch is not None and found.stream is not None:
            await context.collect(self.rows.batch(found.stream, found.batch))

    def cancel(self) -> None:
        self._is_cancelled = True

    async def close(self) -> None:
        if self._reader is not None:
            await leave(self._reader)
        if self._client is not None:
            await self._client.close()
