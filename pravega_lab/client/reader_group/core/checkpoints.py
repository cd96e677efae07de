"""Keep the checkpoints of a reader group: which readers have not reported, and the reported positions.

A checkpoint is complete when all readers have reported. A silent checkpoint serves ``generate_stream_cuts``:
neither dead readers nor a reset return to it. `Checkpoints` is mutable, and `state.GroupState` owns one.

Source: reader-groups.md B5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pravega_lab.client.reader_group.errors import StateLogError
from pravega_lab.protocol.metadata.reader_group import CheckpointState

SILENT = "_SILENT_"  # part of the name of every silent checkpoint


def is_silent(checkpoint_id: str) -> bool:
    """Return whether the name is that of a silent checkpoint."""
    return SILENT in checkpoint_id


class Checkpoints:
    """Holds all checkpoints that were not cleared, in the order in which they were begun."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.positions: dict[str, dict[str, int]] = {}
        self.last_positions: dict[str, int] = {}  # of the last complete one that was not silent
        self.is_last_published = True  # there is nothing to publish yet
        self._waiting: dict[str, list[str]] = {}  # the readers that have not reported; absent: complete

    @classmethod
    def from_record(cls, record: CheckpointState) -> Checkpoints:
        """Return the checkpoints that a record of a compacted state log describes."""
        made = cls()
        made.begun = list(record.checkpoints)
        made.positions = {name: dict(at) for name, at in record.checkpoint_positions.items()}
        made.last_positions = dict(record.last_checkpoint_position)
        made.is_last_published = record.is_last_checkpoint_published
        made._waiting = {name: list(readers) for name, readers in record.uncheckpointed_hosts.items()}
        return made

    def to_record(self) -> CheckpointState:
        """Return the checkpoints as a record for a compacted state log."""
        return CheckpointState(
            tuple(self.begun),
            {name: tuple(readers) for name, readers in self._waiting.items()},
            {name: dict(at) for name, at in self.positions.items()},
            dict(self.last_positions),
            self.is_last_published,
        )

    # questions

    def waiting_for(self, checkpoint_id: str) -> tuple[str, ...]:
        """Return the readers that have not reported: none if the checkpoint is complete or was cleared."""
        return tuple(self._waiting.get(checkpoint_id, ()))

    def is_complete(self, checkpoint_id: str) -> bool:
        """Return whether all readers have reported and the checkpoint was not cleared."""
        return checkpoint_id in self.positions and checkpoint_id not in self._waiting

    def pending(self, reader: str) -> str | None:
        """Return the first checkpoint that ``reader`` has not reported for, or None."""
        return next((name for name in self.begun if reader in self._waiting.get(name, ())), None)

    @property
    def has_ongoing(self) -> bool:
        """Return whether a checkpoint waits for a reader."""
        return bool(self._waiting)

    def outstanding(self) -> list[str]:
        """Return the checkpoints that count against the maximum: neither complete nor silent."""
        return [name for name in self.begun if name in self._waiting and not is_silent(name)]

    # changes

    def begin(self, checkpoint_id: str, readers: Iterable[str], unassigned: Mapping[str, int]) -> None:
        """Begin a checkpoint. Without readers it is complete at once, but then no reset starts from it.

        Source: reader-groups.md B5-8.
        """
        if checkpoint_id in self.positions:
            return
        waiting = list(readers)
        if waiting:
            self._waiting[checkpoint_id] = waiting
        self.positions[checkpoint_id] = dict(unassigned)
        self.begun.append(checkpoint_id)

    def report(self, checkpoint_id: str, reader: str, positions: Mapping[str, int]) -> None:
        """Add the positions of a reader, unless the checkpoint is complete or was cleared."""
        waiting = self._waiting.get(checkpoint_id)
        if waiting is None:
            return
        if reader not in waiting:
            raise StateLogError(f"reader {reader} reported twice for checkpoint {checkpoint_id}")
        waiting.remove(reader)
        self.positions[checkpoint_id].update(positions)
        if waiting:
            return
        del self._waiting[checkpoint_id]
        if not is_silent(checkpoint_id):
            self.last_positions = dict(self.positions[checkpoint_id])
            self.is_last_published = False

    def report_all(self, reader: str, positions: Mapping[str, int]) -> None:
        """Report for every checkpoint that waits for a reader, because the reader goes offline."""
        for name in [name for name, readers in self._waiting.items() if reader in readers]:
            self.report(name, reader, positions)

    def clear_before(self, checkpoint_id: str) -> None:
        """Drop the checkpoints begun before this one, complete or not. An unknown name clears nothing."""
        if checkpoint_id not in self.positions:
            return
        index = self.begun.index(checkpoint_id)
        for name in self.begun[:index]:
            self._forget(name)
        del self.begun[:index]

    def remove_outstanding(self) -> None:
        """Drop all checkpoints that are neither complete nor silent."""
        for name in self.outstanding():
            self._forget(name)

    def _forget(self, checkpoint_id: str) -> None:
        self._waiting.pop(checkpoint_id, None)
        self.positions.pop(checkpoint_id, None)
