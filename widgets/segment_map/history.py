"""The fold of the segment map: a `SegmentHistory` that remembers who owned each segment, and when."""

from __future__ import annotations

from dataclasses import dataclass

from pravega_lab.observe.group.observations import GroupObservation, GroupSeen
from pravega_lab.observe.journal.observations import (
    Observation,
    SegmentAcquired,
    SegmentOpened,
    SegmentReleased,
)
from pravega_lab.observe.stream.fold import SegmentHistory, SegmentRow


@dataclass(slots=True)
class Stretch:
    """A time in which a reader ``held`` a segment, in which it was ``nobody``'s, or ``waits`` for others."""

    index: int
    segment: int  # index of the segment's row
    state: str
    reader: str | None
    start_ms: int
    end_ms: int | None = None
    waits_for: tuple[int, ...] = ()
    group: str = ""

    @property
    def words(self) -> str:
        """``r2``, ``nobody`` or ``waits for #2``."""
        return owner_words(self.state, self.reader, self.waits_for)


def owner_words(state: str, reader: str | None, waits_for: tuple[int, ...]) -> str:
    if state == "waits":
        return "waits for " + " ".join(f"#{i & 0xFFFFFFFF}" for i in waits_for)
    return reader or "nobody"


class MapHistory(SegmentHistory):
    """Contains all segments, and the stretches of their ownership in order of beginning."""

    def __init__(self) -> None:
        super().__init__()
        self.owners: list[Stretch] = []
        self.changed_owners: dict[int, None] = {}
        self.groups: dict[str, None] = {}
        self._open: dict[int, Stretch] = {}  # by the index of the segment's row

    def apply(self, observation: Observation) -> None:
        """Take one more observation into account."""
        super().apply(observation)
        if isinstance(observation, GroupSeen):
            self._begin_anew(observation)
        if not self.knows_owners:
            return
        if isinstance(observation, GroupObservation | SegmentAcquired | SegmentReleased | SegmentOpened):
            stream = getattr(observation, "stream", "")
            row = self.find(stream, getattr(observation, "segment_id", -1)) if stream else None
            if row is not None:
                self._look(row, observation.time_ms)

    def _begin_anew(self, o: GroupSeen) -> None:
        """Begin a group, or begin it again: no reader of its former life owns a segment."""
        self.groups[o.group] = None
        for stretch in [s for s in self._open.values() if s.group == o.group]:
            row = self.rows[stretch.segment]
            row.state, row.reader, row.waits_for = "", None, ()
            self.changed[row.index] = None
            self._look(row, o.time_ms)

    def _look(self, row: SegmentRow, time_ms: int) -> None:
        """Compare the row with the open stretch, and begin another stretch where they differ."""
        state = row.state or ("held" if row.reader else "")
        last = self._open.get(row.index)
        if last is not None:
            if (last.state, last.reader, last.waits_for) == (state, row.reader, row.waits_for):
                return
            last.end_ms = time_ms
            self.changed_owners[last.index] = None
            del self._open[row.index]
        if state in ("held", "nobody", "waits"):
            new = Stretch(
                len(self.owners), row.index, state, row.reader, time_ms, None, row.waits_for, row.group
            )
            self.owners.append(new)
            self._open[row.index] = new
            self.changed_owners[new.index] = None

    def place_of(self, reader: str) -> int:
        """Return the number with which the reader joined, from 0: its colour."""
        return self._places[reader]

    def owner_of(self, row: SegmentRow) -> str:
        """Return who owns the segment now, in words; "" where no group reported it.

        A new segment waits for its predecessors; this is inferred.
        """
        if row.state == "finished" or not self.knows_owners:
            return ""
        if not row.state and not row.reader and row.predecessors and self.groups:
            return owner_words("waits", None, row.predecessors)
        return owner_words(row.state, row.reader, row.waits_for)
