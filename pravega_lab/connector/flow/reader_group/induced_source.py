"""(b3) FLIP-27 with an externally induced reader: FLINK-20270, FLINK-22133 and FLINK-25256 together.

In its snapshot, the enumerator takes the reader-group checkpoint under the id of the job checkpoint. Each
reader receives it in place of an event and places the barrier exactly there. The position is in the
enumerator's state. Source: ``PravegaSource`` of flink-connectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from pravega_lab.client.reader_group.values import Checkpoint
from pravega_lab.connector.flow.events import EventRows
from pravega_lab.connector.flow.reader_group.legacy_reader import HOOK_PREFIX
from pravega_lab.connector.flow.reader_group.reader_slots import (
    CheckpointOrNoneSerializer,
    ReaderSlot,
    RewindingEnumerator,
    SlotReader,
    SlotSerializer,
)
from pravega_lab.connector.flow.reader_group.settings import GroupSettings, parse_checkpoint_id
from pravega_lab.engine.flow.errors import RestoreError
from pravega_lab.engine.flow.source.sources import (
    Boundedness,
    ExternallyInducedSourceReader,
    InputStatus,
    ReaderContext,
    Source,
    SplitEnumeratorContext,
)


class InducedReader(SlotReader, ExternallyInducedSourceReader[ReaderSlot]):
    """A reader whose barriers are placed by the checkpoints of the reader group."""

    _marker: int | None = None

    def at_checkpoint(self, name: str) -> InputStatus:
        """Remember the checkpoint for `should_trigger_checkpoint`."""
        self._marker = parse_checkpoint_id(name)
        return InputStatus.NOTHING_AVAILABLE

    def should_trigger_checkpoint(self) -> int | None:
        """Return the id of the checkpoint that the reader has just received, once; else None."""
        marker, self._marker = self._marker, None
        return marker


class PravegaSource(Source[ReaderSlot, Checkpoint | None]):
    """(b3) Reads streams through a reader group, each to its end cut or to where it is sealed.

    It is bounded if every stream has an end cut.
    """

    def __init__(self, settings: GroupSettings, *, rows: EventRows | None = None) -> None:
        self.settings, self.rows = settings, rows or EventRows()
        bounded, unbounded = Boundedness.BOUNDED, Boundedness.CONTINUOUS_UNBOUNDED
        self.boundedness = bounded if settings.is_bounded else unbounded

    def check_restored(self, hooks: Sequence[str]) -> None:
        """Refuse a checkpoint of the legacy reader.

        Raises:
            RestoreError: ``hooks`` has the state of a `PravegaReader`.
        """
        legacy = [name for name in hooks if name.startswith(HOOK_PREFIX)]
        if legacy:
            raise RestoreError(
                f"the checkpoint has the position of the legacy reader in master hook {legacy[0]!r}; "
                "PravegaSource keeps its own in its enumerator, so it would begin again and read everything "
                "twice. Resume with PravegaReader, or begin PravegaSource at that checkpoint's stream cut"
            )

    def create_enumerator(self, context: SplitEnumeratorContext[ReaderSlot]) -> RewindingEnumerator:
        return RewindingEnumerator(self.settings, context, None)

    def restore_enumerator(
        self, context: SplitEnumeratorContext[ReaderSlot], checkpoint: Checkpoint | None
    ) -> RewindingEnumerator:
        return RewindingEnumerator(self.settings, context, checkpoint)

    def create_reader(self, context: ReaderContext) -> SlotReader:
        return InducedReader(self.settings, self.rows, context)

    def split_serializer(self) -> SlotSerializer:
        return SlotSerializer()

    def enumerator_serializer(self) -> CheckpointOrNoneSerializer:
        return CheckpointOrNoneSerializer()
