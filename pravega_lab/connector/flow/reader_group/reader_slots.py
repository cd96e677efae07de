"""FLIP-27 with one split per reader: the common part of the three attempts of flink-connectors (issue 390).

A split is not a part of the stream but the right to run one reader of a group. The reader group decides which
segments the reader reads. (b1), (b2) and (b3) differ in where positions are kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from pravega_lab.client.client import AsyncClient
from pravega_lab.client.reader_group.group import AsyncReaderGroup
from pravega_lab.client.reader_group.values import Checkpoint, Position
from pravega_lab.connector.flow.events import EventRows
from pravega_lab.connector.flow.reader_group.fetcher import Fetched, GroupFetcher
from pravega_lab.connector.flow.reader_group.settings import GroupSettings, JobGroup, reader_id
from pravega_lab.engine.flow.errors import DamagedCheckpointError
from pravega_lab.engine.flow.source.sources import (
    InputStatus,
    ReaderContext,
    ReaderOutput,
    SourceReader,
    SplitEnumerator,
    SplitEnumeratorContext,
)
from pravega_lab.engine.flow.state import plain_values
from pravega_lab.errors import PravegaError

VERSION = 1
NO_SLOT_S = 0.05
EnumT = TypeVar("EnumT")


class GlobalFailoverError(PravegaError):
    """Raised when one reader of a group failed, to restart all of them from the checkpoint.

    A single reader of a group cannot be rewound.
    """


@dataclass(frozen=True)
class ReaderSlot:
    """The right to run one reader. ``position`` is its position as bytes, which only (b1) keeps."""

    group: str
    subtask: int
    position: bytes | None = field(default=None, repr=False)

    @property
    def split_id(self) -> str:
        """The name of the split: ``group/subtask``."""
        return f"{self.group}/{self.subtask}"

    def at(self, position: Position) -> ReaderSlot:
        """Return this slot with another position."""
        return replace(self, position=position.to_bytes())


class SlotSerializer:
    """Converts a `ReaderSlot` to and from bytes."""

    version = VERSION

    def to_bytes(self, value: ReaderSlot) -> bytes:
        """Return the value as bytes."""
        return plain_values.to_bytes((value.group, value.subtask, value.position))

    def from_bytes(self, version: int, data: bytes) -> ReaderSlot:
        """Return the value in ``data``.

        Raises:
            DamagedCheckpointError: ``version`` is not one that this class reads.
        """
        if version != VERSION:
            raise DamagedCheckpointError(f"reader slots of version {version}; this source reads {VERSION}")
        return plain_values.read_as(data, "a reader slot", lambda value: ReaderSlot(*value))


class CheckpointOrNoneSerializer:
    """Converts the state of an enumerator to and from bytes: a reader-group checkpoint in Java's bytes, or
    none.
    """

    version = VERSION

    def to_bytes(self, value: Checkpoint | None) -> bytes:
        """Return the value as bytes."""
        return b"" if value is None else value.to_bytes()

    def from_bytes(self, version: int, data: bytes) -> Checkpoint | None:
        """Return the value in ``data``.

        Raises:
            DamagedCheckpointError: ``version`` is not one that this class reads.
        """
        if version != VERSION:
            raise DamagedCheckpointError(f"enumerator state of version {version}; this reads {VERSION}")
        return Checkpoint.from_bytes(data) if data else None


class SlotEnumerator(SplitEnumerator[ReaderSlot, EnumT], Generic[EnumT]):
    """Assigns each reader its slot. Subclasses define in ``snapshot_state`` which positions are kept."""

    def __init__(self, settings: GroupSettings, context: SplitEnumeratorContext[ReaderSlot]) -> None:
        self.settings, self.context = settings, context
        own = settings if context.is_checkpointing else settings.without_job_checkpoints()
        self.group = JobGroup(own, f"enumerator of {settings.scoped_group}")
        self.given: dict[int, None] = {}

    def add_reader(self, subtask: int) -> None:
        self.given[subtask] = None
        self.context.assign_splits({subtask: [ReaderSlot(self.settings.scoped_group, subtask)]})

    async def close(self) -> None:
        await self.group.close()


class RewindingEnumerator(SlotEnumerator[Checkpoint | None]):
    """The enumerator of (b2) and (b3), whose state is a reader-group checkpoint.

    A reader that registers again makes the whole job fail over, because a group is reset as a whole.
    (flink-connectors detect it by splits that are added back, which the tracker forgets after a completed
    checkpoint.)
    """

    def __init__(
        self,
        settings: GroupSettings,
        context: SplitEnumeratorContext[ReaderSlot],
        restored: Checkpoint | None,
    ) -> None:
        super().__init__(settings, context)
        self._restored = restored

    async def start(self) -> None:
        """Reset the group to the restored checkpoint, or to its beginning."""
        if self._restored is None:
            await self.group.begin()
        else:
            await self.group.reset_to(self._restored)

    def add_reader(self, subtask: int) -> None:
        """Assign a slot to a new reader.

        Raises:
            GlobalFailoverError: The reader had a slot before.
        """
        if subtask in self.given:
            raise self._failover(subtask)
        super().add_reader(subtask)

    def add_splits_back(self, splits: Sequence[ReaderSlot], subtask: int) -> None:
        raise self._failover(subtask)

    def _failover(self, subtask: int) -> GlobalFailoverError:
        return GlobalFailoverError(
            f"reader {subtask} of {self.settings.scoped_group} failed, and one reader cannot be rewound "
            "alone: triggering a global failure"
        )

    async def snapshot_state(self, checkpoint_id: int) -> Checkpoint:
        """Wait until all readers are online, take a reader-group checkpoint, and return it.

        Readers that have left a group that has read everything are not missing: they have no position.
        """
        await self.group.until_online(self.context.current_parallelism)
        return await self.group.checkpoint(checkpoint_id)


class SlotReader(SourceReader[ReaderSlot]):
    """Runs one reader of the group for its slot. Subclasses handle checkpoints in `at_checkpoint`."""

    def __init__(self, settings: GroupSettings, rows: EventRows, context: ReaderContext) -> None:
        self.settings, self._rows, self.context = settings, rows, context
        self.slot: ReaderSlot | None = None
        self.position: Position | None = None  # after the last emitted event
        self._client: AsyncClient = settings.config.client(context.task_name)
        self._fetcher: GroupFetcher | None = None

    def reader_id(self, slot: ReaderSlot) -> str:
        """Return the id of the reader, which is unique in the group and for this attempt."""
        return reader_id(self.context.task_name)

    async def add_splits(self, splits: Sequence[ReaderSlot]) -> None:
        """Create the reader of the first slot."""
        if self.slot is not None or not splits:
            return  # a subtask runs only one reader
        self.slot = splits[0]
        group = self.settings.config.group(self._client, self.settings.scoped_group)
        try:
            for slot in splits:
                await self.prepare(group, slot)
            reader = await group.create_reader(self.reader_id(self.slot))
        finally:
            await group.close()
        self._fetcher = GroupFetcher(self.settings, reader, leaves_silently=self.leaves_silently)

    async def prepare(self, group: AsyncReaderGroup, slot: ReaderSlot) -> None:
        """Prepare the group before the reader is created."""
        return

    def poll_next(self, output: ReaderOutput) -> InputStatus:
        found = None if self._fetcher is None else self._fetcher.take()
        if found is None:
            return InputStatus.NOTHING_AVAILABLE
        self.position = found.position
        if found.checkpoint is not None and self.context.is_checkpointing:
            return self.at_checkpoint(found.checkpoint)
        self._emit(found, output)
        return InputStatus.END_OF_INPUT if found.is_end else InputStatus.MORE_AVAILABLE

    def _emit(self, found: Fetched, output: ReaderOutput) -> None:
        if found.stream is not None and found.events is not None:
            output.emit(self._rows.batch(found.stream, found.events))
        if found.watermark is not None:
            output.emit_watermark(found.watermark)

    def at_checkpoint(self, name: str) -> InputStatus:
        """Handle a reader-group checkpoint that the reader received in place of an event."""
        return InputStatus.MORE_AVAILABLE

    async def available(self) -> None:
        while self._fetcher is None:
            await asyncio.sleep(NO_SLOT_S)
        await self._fetcher.wait()

    def snapshot_state(self, checkpoint_id: int) -> list[ReaderSlot]:
        return []

    leaves_silently = False

    async def close(self) -> None:
        if self._fetcher is not None:
            await self._fetcher.close()
        await self._client.close()
