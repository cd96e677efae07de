"""(b1) and (b2): the attempts of flink-connectors (issue 390) that failed, each as it was. For lessons only.

(b1) keeps each reader's position in the reader's state and rewinds it with "offline and recreate" in
``handleSplitsChange``. Positions of readers that are taken at different moments are no cut of the stream:
a segment that moves in between is in two of them, or in none.

(b2) takes the reader-group checkpoint in the enumerator's snapshot, but its readers know nothing of it: when
the barrier comes they have read on, and what lies between is read again after a failure.
"""

from __future__ import annotations

from collections.abc import Sequence

from pravega_lab.client.reader_group.group import AsyncReaderGroup
from pravega_lab.client.reader_group.values import Checkpoint, Position
from pravega_lab.connector.flow.events import EventRows
from pravega_lab.connector.flow.induced_source import PravegaSource
from pravega_lab.connector.flow.reader_groups import GroupSettings, parse_checkpoint_id
from pravega_lab.connector.flow.reader_slots import (
    CheckpointOrNoneSerializer,
    ReaderSlot,
    SlotEnumerator,
    SlotReader,
    SlotSerializer,
)
from pravega_lab.engine.flow.sources import (
    Boundedness,
    InputStatus,
    ReaderContext,
    Source,
    SplitEnumeratorContext,
)


class PositionEnumerator(SlotEnumerator[Checkpoint | None]):
    """Keeps nothing but who has a slot: the positions are the readers'."""

    async def start(self) -> None:
        await self.group.handle.create(self.settings.to_config())

    def add_splits_back(self, splits: Sequence[ReaderSlot], subtask: int) -> None:
        """The reader gets its slot when it registers again."""

    def snapshot_state(self, checkpoint_id: int) -> None:
        return None


class PositionReader(SlotReader):
    """Of the same name in every attempt, and rewound to the position in its state.

    It never says good-bye to the group: where a reader closed in order others go on, and nothing could be
    rewound any more.
    """

    leaves_silently = True

    def reader_id(self, slot: ReaderSlot) -> str:
        return f"flink-reader-{slot.subtask}"

    async def prepare(self, group: AsyncReaderGroup, slot: ReaderSlot) -> None:
        position = None if slot.position is None else Position.from_bytes(slot.position)
        await group.reader_offline(self.reader_id(slot), position)

    def snapshot_state(self, checkpoint_id: int) -> list[ReaderSlot]:
        if self.slot is None:
            return []
        return [self.slot if self.position is None else self.slot.at(self.position)]


class PositionSource(Source[ReaderSlot, Checkpoint | None]):
    """(b1). Not exactly once: see the module."""

    boundedness = Boundedness.CONTINUOUS_UNBOUNDED

    def __init__(self, settings: GroupSettings, *, rows: EventRows | None = None) -> None:
        self.settings, self.rows = settings, rows or EventRows()

    def create_enumerator(self, context: SplitEnumeratorContext[ReaderSlot]) -> PositionEnumerator:
        return PositionEnumerator(self.settings, context)

    def restore_enumerator(
        self, context: SplitEnumeratorContext[ReaderSlot], checkpoint: Checkpoint | None
    ) -> PositionEnumerator:
        return PositionEnumerator(self.settings, context)

    def create_reader(self, context: ReaderContext) -> SlotReader:
        return PositionReader(self.settings, self.rows, context)

    def split_serializer(self) -> SlotSerializer:
        return SlotSerializer()

    def enumerator_serializer(self) -> CheckpointOrNoneSerializer:
        return CheckpointOrNoneSerializer()


class ReadingOnReader(SlotReader):
    """Takes no notice of a checkpoint; only whoever watches is told where it lay."""

    def at_checkpoint(self, name: str) -> InputStatus:
        self.context.cut_passed(parse_checkpoint_id(name))
        return super().at_checkpoint(name)


class EnumeratorSnapshotSource(PravegaSource):
    """(b2). Doubles: see the module."""

    def create_reader(self, context: ReaderContext) -> SlotReader:
        return ReadingOnReader(self.settings, self.rows, context)
