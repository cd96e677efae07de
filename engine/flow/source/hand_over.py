"""`HandOver`: decide which of several sources each reader reads, and when all readers have finished one.

A source begins when every reader has finished the source before it. So without a failure no row of a later
source is read before the last row of an earlier one, whatever the parallelism.

A reader that failed may go back to a checkpoint from before a hand-over. It gets the splits of the earlier
source that it had then, or received since, and reads them while the other readers are in the later source.
Splits that come back for an earlier source therefore wait here for the next reader that arrives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class HybridSplit:
    """A split of one of the sources. ``stage`` is the place of the source in their order, from 0."""

    stage: int
    split: Any

    @property
    def split_id(self) -> str:
        """Return ``stage:id``."""
        return f"{self.stage}:{self.split.split_id}"


class HandOver:
    """Know the current ``stage``, the readers ``present`` in it, and what came back for earlier ones."""

    def __init__(self, stage: int = 0, returned: Sequence[HybridSplit] = ()) -> None:
        self.stage, self.returned = stage, list(returned)
        self.present: dict[int, None] = {}
        self._finished: dict[int, None] = {}

    def restarted(self, subtask: int) -> None:
        """Note that a new attempt of the reader has registered: nothing is known about it."""
        self.present.pop(subtask, None)
        self._finished.pop(subtask, None)

    def arrived(self, subtask: int, stage: int | None) -> int:
        """Return the stage in which a reader begins: the earliest of which there is something to read.

        Args:
            stage: The earliest stage of the splits that the reader has restored, None if it has none.
        """
        begins = min(
            [self.stage, *(split.stage for split in self.returned), *([] if stage is None else [stage])]
        )
        if begins == self.stage:
            self.present[subtask] = None
        return begins

    def take_returned(self, stage: int) -> list[HybridSplit]:
        """Return the splits that came back for a stage, and forget them: a reader gets them now."""
        found = [split for split in self.returned if split.stage == stage]
        self.returned = [split for split in self.returned if split.stage != stage]
        return found

    def finished(self, subtask: int, stage: int, readers: int) -> bool:
        """Note that a reader has finished a stage.

        Return whether all ``readers`` have, so that the next stage begins. A reader that went back to an
        earlier stage does not count here. It arrives in the current stage.
        """
        if stage != self.stage:
            return False
        self._finished[subtask] = None
        if len(self._finished) < readers:
            return False
        self.stage += 1
        self._finished.clear()
        self.present.clear()
        return True
