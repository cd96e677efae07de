"""(b1) and (b2): the attempts of flink-connectors (issue 390) that failed, as they were. For lessons only.

(b1) keeps each reader's position in the state of the reader and rewinds it with "offline and recreate" in
``handleSplitsChange``. Positions of readers that are taken at different moments are not a cut of the stream:
a segment that moves in between is in two of them, or in none.

(b2) takes the reader-group checkpoint in the enumerator's snapshot, but its readers do not notice it. When
the barrier arrives they have read further, and the events after the checkpoint are read again after a
failure.
"""

from __future__ import annotations

from collections.abc import Sequence

from pravega_lab.client.reader_group.group import AsyncReaderGroup
from pravega_lab.client.reader_group.values import Checkpoint, Position
from pravega_lab.connector.flow.events import EventRows
from pravega_lab.connector.flow.reader_group.induced_source import PravegaSource
from pravega_lab.connector.flow.reader_group.reader_slots import (
    CheckpointOrNoneSerializer,
    ReaderSlot,
    SlotEnumerator,
    SlotReader,
    SlotSerializer,
)
from pravega_lab.connector.flow.reader_group.settings import GroupSettings, parse_checkpoint_id
from pravega_lab.engine.flow.source.sources import (
    Boundedness,
    InputStatus,
    ReaderContext,
    Source,
    SplitEnumeratorContext,
)


class PositionEnumerator(SlotEnumerator[Checkpoint | None]):
    """Assigns slots and keeps no positions: they are in the readers' state."""

    async def start(self) -> None:
        """Create the reader group."""
        await self.group.handle.create(self.settings.to_config())

    def add_splits_back(self, splits: Sequence[ReaderSlot], subtask: int) -> None:
        """Do nothing: the reader gets its slot when it registers again."""

    def snapshot_state(self, checkpoint_id: int) -> None:
        return None


class PositionReader(SlotReader):
    """A reader with the same name in every attempt, rewound to the position in its state.

    It never leaves the group in order. Other readers would then continue from where it closed, and nothing
    could be rewound.
    """

    leaves_silently = True

    def reader_id(self, slot: ReaderSlot) -> str:
        """Return the same id in every attempt."""
        return f"flink-reader-{slot.subtask}"

    async def prepare(self, group: AsyncReaderGroup, slot: ReaderSlot) -> None:
        """Declare the reader of the last attempt offline at the position of the slot."""
        position = None if slot.position is None else Position.from_bytes(slot.position)
        await group.reader_offline(self.reader_id(slot), position)

    def snapshot_state(self, checkpoint_id: int) -> list[ReaderSlot]:
        """Return the slot with the current position."""
        if self.slot is None:
            return []
        return [self.slot if self.position is None else self.slot.at(self.position)]


class PositionSource(Source[ReaderSlot, Checkpoint | None]):
    """(b1) Reads streams through a reader group. Not exactly once; the module explains why."""

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
    """A reader that ignores checkpoints, and only reports to observers where they were."""

    def at_checkpoint(self, name: str) -> InputStatus:
        """Report the cut, and continue reading."""
        self.context.cut_passed(parse_checkpoint_id(name))
        return super().at_checkpoint(name)


class EnumeratorSnapshotSource(PravegaSource):
    """(b2) Reads streams through a reader group. Doubles events after a failure; the module explains why."""

    def create_reader(self, context: ReaderContext) -> SlotReader:
        """Return a reader that ignores checkpoints."""
        return ReadingOnReader(self.settings, self.rows, context)
