"""The common part of all sources that read through a reader group: settings, checkpoint names, reader ids.

Source: flink-connectors (``PVG-CHK-``, defaults of its builders).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.reader_group.errors import (
    CheckpointFailedError,
    ReaderGroupNotFoundError,
    TooManyCheckpointsError,
)
from pravega_lab.client.reader_group.group import AsyncReaderGroup
from pravega_lab.client.reader_group.opening import reading
from pravega_lab.client.reader_group.values import Checkpoint
from pravega_lab.connector.flow.config import PravegaConfig
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.metadata.reader_group import ReaderGroupConfig
from pravega_lab.protocol.stream_cut import StreamCut

NAME_PREFIX = "PVG-CHK-"
READER_ID_MAX = 255
POLL_S = 0.05
REFRESHES = 3  # between two checkpoints of a group whose job takes none
BATCH_BYTES = 256 * 1024


@dataclass(frozen=True)
class GroupSettings:
    """The settings of a reader group that belongs to a job.

    Args:
        group: ``scope/group``, or a name in the default scope.
        streams: ``scope/stream`` each, or names in the default scope.
        start: Cuts to begin at. Streams without one begin at their head.
        end: Cuts to stop at. Streams without one end where they are sealed.
        refresh_ms: How often readers read the state of the group, and so notice checkpoints.
        checkpoint_timeout_ms: Time limit of a reader-group checkpoint.
        max_outstanding_checkpoints: How many reader-group checkpoints may be in progress.
        automatic_checkpoint_ms: Interval of the group's own checkpoints. -1: only those of the job, or
            every three times ``refresh_ms`` if the job takes none.
        read_timeout_ms: Time limit of one read.
        batch_bytes: Most bytes of events that are emitted at once.
        watermark_interval_ms: How often a source reads the time window of its stream and emits the lower
            bound as its watermark, for streams whose writers note times. None: never.
    """

    config: PravegaConfig
    group: str
    streams: Sequence[str]
    start: Sequence[StreamCut] = ()
    end: Sequence[StreamCut] = ()
    refresh_ms: int = 3_000
    checkpoint_timeout_ms: int = 5_000
    max_outstanding_checkpoints: int = 3
    automatic_checkpoint_ms: int = -1
    read_timeout_ms: int = 1_000
    batch_bytes: int = BATCH_BYTES
    watermark_interval_ms: int | None = None

    def __post_init__(self) -> None:
        if not self.streams:
            raise BadInputError(f"reader group {self.group!r} reads no stream: name at least one")
        for name in ("refresh_ms", "checkpoint_timeout_ms", "max_outstanding_checkpoints", "read_timeout_ms"):
            if getattr(self, name) <= 0:
                raise BadInputError(f"{name}={getattr(self, name)}: it must be a positive number")
        if self.watermark_interval_ms is not None:
            self._check_watermarks(self.watermark_interval_ms)

    def _check_watermarks(self, interval_ms: int) -> None:
        if interval_ms <= 0:
            raise BadInputError(f"watermark_interval_ms={interval_ms}: it must be a positive number, or None")
        if len(self.streams) > 1:
            raise BadInputError(
                f"watermarks from time windows are of one stream, and reader group {self.group!r} reads "
                f"{len(self.streams)}: read each stream through its own group, then union them"
            )

    @property
    def read_s(self) -> float:
        """Seconds that one read waits: at most until the time window is due."""
        return min(self.read_timeout_ms, self.watermark_interval_ms or self.read_timeout_ms) / 1000

    @property
    def is_bounded(self) -> bool:
        """Whether every stream has an end cut."""
        ends = {cut.scoped_stream for cut in self.end if not cut.is_unbounded}
        return all(self.config.resolve(stream) in ends for stream in self.streams)

    def without_job_checkpoints(self) -> GroupSettings:
        """Return the settings for a job that takes no checkpoints.

        Readers release segments, and so reach successors and the end, at checkpoints of the group only.
        """
        if self.automatic_checkpoint_ms > 0:
            return self
        return replace(self, automatic_checkpoint_ms=REFRESHES * self.refresh_ms)

    @property
    def scoped_group(self) -> str:
        """The name ``scope/group`` of the reader group."""
        return self.config.resolve(self.group)

    def to_config(self) -> ReaderGroupConfig:
        """Return the configuration with which the group is created, and reset without a checkpoint."""
        return reading(
            [self.config.resolve(stream) for stream in self.streams],
            start=self.start,
            end=self.end,
            automatic_checkpoint_interval_ms=self.automatic_checkpoint_ms,
            group_refresh_time_ms=self.refresh_ms,
            max_outstanding_checkpoint_request=self.max_outstanding_checkpoints,
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> GroupSettings:
        return self


def checkpoint_name(checkpoint_id: int) -> str:
    """Return the name of the reader-group checkpoint of a job checkpoint."""
    return f"{NAME_PREFIX}{checkpoint_id}"


def parse_checkpoint_id(name: str) -> int:
    """Return the id of the job checkpoint that a reader-group checkpoint belongs to.

    Raises:
        BadInputError: ``name`` is not the name of a job's checkpoint.
    """
    number = name.removeprefix(NAME_PREFIX)
    if number == name or not number.isdigit():
        raise BadInputError(
            f"Cannot trigger checkpoint due to invalid Pravega checkpoint name {name!r}: a job's begins with "
            f"{NAME_PREFIX}, then a number. No other program may checkpoint the job's reader group"
        )
    return int(number)


def reader_id(text: str) -> str:
    """Return a reader id made of a text: letters, digits, points and dashes, at most 255 characters."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-")[-READER_ID_MAX:]


class JobGroup:
    """The reader group as the job master uses it: it creates, checkpoints and resets the group.

    Creating this object makes no request.
    """

    def __init__(self, settings: GroupSettings, who: str) -> None:
        self.settings = settings
        self._client: AsyncClient = settings.config.client(who)
        self.handle: AsyncReaderGroup = settings.config.group(self._client, settings.scoped_group)

    async def begin(self) -> None:
        """Create the group. A group that exists is reset to its beginning."""
        if not await self.handle.create(self.settings.to_config()):
            await self._reset(None)

    async def reset_to(self, checkpoint: Checkpoint) -> None:
        """Reset the group to a checkpoint. All readers are offline then, and new ones resume at the
        checkpoint.
        """
        try:
            await self._reset(checkpoint)
        except ReaderGroupNotFoundError:
            await self.handle.create(self.settings.to_config())
            await self._reset(checkpoint)

    async def _reset(self, checkpoint: Checkpoint | None) -> None:
        if checkpoint is None:
            await self.handle.reset(config=self.settings.to_config())
        else:
            await self.handle.reset(checkpoint)

    async def checkpoint(self, checkpoint_id: int) -> Checkpoint:
        """Take a checkpoint, wait until all readers have passed it, and return it.

        Raises:
            CheckpointFailedError: It took longer than the settings allow, or was cancelled.
            TooManyCheckpointsError: Too many checkpoints are in progress. They are cancelled, so that the
                next one succeeds.
        """
        try:
            pending = await self.handle.initiate_checkpoint(checkpoint_name(checkpoint_id))
        except TooManyCheckpointsError:
            await self.handle.cancel_outstanding_checkpoints()
            raise
        timeout_ms = self.settings.checkpoint_timeout_ms
        try:
            return await pending.result(timeout_ms / 1000)
        except TimeoutError:
            raise CheckpointFailedError(
                f"reader-group checkpoint {pending.name} of {self.handle.scoped_name} was not passed by all "
                f"readers within {timeout_ms} ms: a reader died, or does not read"
            ) from None

    async def until_online(self, readers: int) -> None:
        """Wait until so many readers are online, or until the group has read everything.

        It waits at most as long as a checkpoint may take. A checkpoint that begins earlier would not include
        the readers that are missing. Readers leave a group that has read everything.

        Raises:
            CheckpointFailedError: The readers did not come online in time.
        """
        online: list[str] = []
        try:
            async with asyncio.timeout(self.settings.checkpoint_timeout_ms / 1000):
                while True:
                    state = await self.handle.state()
                    online = state.readers
                    if len(online) >= readers or state.is_end_of_data:
                        return
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            raise CheckpointFailedError(
                f"{readers} readers should be online in {self.handle.scoped_name}; there are {online}"
            ) from None

    async def close(self) -> None:
        """Close the handle and its client."""
        await self.handle.close()
        await self._client.close()
