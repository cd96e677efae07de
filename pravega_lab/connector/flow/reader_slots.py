"""FLIP-27 with split = reader: what the three attempts of flink-connectors (issue 390) share.

A split is no piece of the stream but the right to run one reader of a group; which segments it reads is
between the reader and its group. (b1), (b2) and (b3) differ in where positions are kept.
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
from pravega_lab.connector.flow.group_fetcher import Fetched, GroupFetcher
from pravega_lab.connector.flow.reader_groups import GroupSettings, JobGroup, reader_id
from pravega_lab.engine.flow import plain
from pravega_lab.engine.flow.errors import DamagedCheckpointError
from pravega_lab.engine.flow.sources import (
    InputStatus,
    ReaderContext,
    ReaderOutput,
    SourceReader,
    SplitEnumerator,
    SplitEnumeratorContext,
)
from pravega_lab.errors import PravegaError

VERSION = 1
NO_SLOT_S = 0.05
EnumT = TypeVar("EnumT")


class GlobalFailoverError(PravegaError):
    """One reader of a group cannot be rewound alone: all of them start again from the checkpoint."""


@dataclass(frozen=True)
class ReaderSlot:
    """The right to run one reader. ``position``: where it was, as bytes; only (b1) keeps one."""

    group: str
    subtask: int
    position: bytes | None = field(default=None, repr=False)

    @property
    def split_id(self) -> str:
        return f"{self.group}/{self.subtask}"

    def at(self, position: Position) -> ReaderSlot:
        return replace(self, position=position.to_bytes())


class SlotSerializer:
    """Of a `ReaderSlot`."""

    version = VERSION

    def to_bytes(self, value: ReaderSlot) -> bytes:
        return plain.to_bytes((value.group, value.subtask, value.position))

    def from_bytes(self, version: int, data: bytes) -> ReaderSlot:
        if version != VERSION:
            raise DamagedCheckpointError(f"reader slots of version {version}; this source reads {VERSION}")
        return ReaderSlot(*plain.from_bytes(data))


class CheckpointOrNoneSerializer:
    """Of what an enumerator keeps: a reader-group checkpoint in Java's bytes, or none."""

    version = VERSION

    def to_bytes(self, value: Checkpoint | None) -> bytes:
        return b"" if value is None else value.to_bytes()

    def from_bytes(self, version: int, data: bytes) -> Checkpoint | None:
        if version != VERSION:
            raise DamagedCheckpointError(f"enumerator state of version {version}; this reads {VERSION}")
        return Checkpoint.from_bytes(data) if data else None


class SlotEnumerator(SplitEnumerator[ReaderSlot, EnumT], Generic[EnumT]):
    """Gives each reader its slot. What positions are kept, subclasses say in ``snapshot_state``."""

    def __init__(self, settings: GroupSettings, context: SplitEnumeratorContext[ReaderSlot]) -> None:
        self.settings, self.context = settings, context
        self.group = JobGroup(settings, f"enumerator of {settings.scoped_group}")
        self.given: dict[int, None] = {}

    def add_reader(self, subtask: int) -> None:
        self.given[subtask] = None
        self.context.assign_splits({subtask: [ReaderSlot(self.settings.scoped_group, subtask)]})

    async def close(self) -> None:
        await self.group.close()


class RewindingEnumerator(SlotEnumerator[Checkpoint | None]):
    """Positions are a reader-group checkpoint in its own state: (b2) and (b3).

    A reader that comes again makes the whole job fail over, for a group is reset as a whole.
    (flink-connectors learn it from splits that come back, which a completed checkpoint makes the tracker
    forget.)
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
        if self._restored is None:
            await self.group.begin()
        else:
            await self.group.reset_to(self._restored)

    def add_reader(self, subtask: int) -> None:
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
        await self.group.until_online(self.context.current_parallelism)
        return await self.group.checkpoint(checkpoint_id)


class SlotReader(SourceReader[ReaderSlot]):
    """Runs one reader of the group, as its slot says. Subclasses see checkpoints in `at_checkpoint`."""

    def __init__(self, settings: GroupSettings, rows: EventRows, context: ReaderContext) -> None:
        self.settings, self._rows, self.context = settings, rows, context
        self.slot: ReaderSlot | None = None
        self.position: Position | None = None  # behind what was emitted
        self._client: AsyncClient = settings.config.client(context.task_name)
        self._fetcher: GroupFetcher | None = None

    def reader_id(self, slot: ReaderSlot) -> str:
        """Of this attempt; nobody else in the group has it."""
        return reader_id(self.context.task_name)

    async def add_splits(self, splits: Sequence[ReaderSlot]) -> None:
        if self.slot is not None or not splits:
            return  # one reader is enough
        self.slot = splits[0]
        group = self.settings.config.group(self._client, self.settings.scoped_group)
        try:
            for slot in splits:
                await self.prepare(group, slot)
            reader = await group.create_reader(self.reader_id(self.slot))
        finally:
            await group.close()
        self._fetcher = GroupFetcher(self.settings, reader)

    async def prepare(self, group: AsyncReaderGroup, slot: ReaderSlot) -> None:
        """Before the reader is created."""
        return

    def poll_next(self, output: ReaderOutput) -> InputStatus:
        found = None if self._fetcher is None else self._fetcher.take()
        if found is None:
            return InputStatus.NOTHING_AVAILABLE
        self.position = found.position
        if found.checkpoint is not None:
            return self.at_checkpoint(found.checkpoint)
        self._emit(found, output)
        return InputStatus.MORE_AVAILABLE

    def _emit(self, found: Fetched, output: ReaderOutput) -> None:
        if found.stream is not None and found.events is not None:
            output.emit(self._rows.batch(found.stream, found.events))
        if found.watermark is not None:
            output.emit_watermark(found.watermark)

    def at_checkpoint(self, name: str) -> InputStatus:
        """The reader was handed a reader-group checkpoint in place of an event."""
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
            await self._fetcher.close(silently=self.leaves_silently)
        await self._client.close()
