"""The fold of the segment map: a `SegmentHistory` that remembers who owned each segment, and when."""

from __future__ import annotations

from dataclasses import dataclass

from pravega_lab.observe.group.due import CheckpointDue
from pravega_lab.observe.group.observations import GroupObservation, GroupSeen
from pravega_lab.observe.group.rows import AT_CHECKPOINT, number_label
from pravega_lab.observe.journal.observations import (
    Observation,
    SegmentAcquired,
    SegmentMeasured,
    SegmentOpened,
    SegmentReleased,
)
from pravega_lab.observe.stream.fold import SegmentHistory, SegmentRow

from ..svg.picture import due_text


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
    due_s: float | None = None  # when the checkpoint is due that it waits for, in seconds of the picture

    @property
    def words(self) -> str:
        """``r2``, ``nobody``, ``waits for #2``, or ``waits for a checkpoint, due at 41 s``."""
        return owner_words(self.state, self.reader, self.waits_for) + due_text(self.due_s)


def owner_words(state: str, reader: str | None, waits_for: tuple[int, ...]) -> str:
    """Return the owner in words. A segment that waits for no predecessor waits for a checkpoint."""
    if state == "waits" and not waits_for:
        return AT_CHECKPOINT
    if state == "waits":
        return "waits for " + " ".join(map(number_label, waits_for))
    return reader or "nobody"


def short_words(words: str) -> str:
    """Return what fits into the gutter: ``r2``, ``waits #2``, or ``waits`` for a checkpoint."""
    return "waits" if words.startswith(AT_CHECKPOINT) else words.replace("waits for", "waits")


class MapHistory(SegmentHistory):
    """Contains all segments, and the stretches of their ownership in order of beginning."""

    def __init__(self) -> None:
        super().__init__()
        self.owners: list[Stretch] = []
        self.changed_owners: dict[int, None] = {}
        self.groups: dict[str, None] = {}
        self._open: dict[int, Stretch] = {}  # by the index of the segment's row
        self._due = CheckpointDue()
        self._followers: dict[tuple[str, int], dict[int, None]] = {}  # successors by stream and predecessor
        self._foreseen: set[int] = set()  # indexes of rows whose next measurement is known
        self._moved: dict[int, None] = {}  # indexes of rows whose owner or offset a group reported

    def apply(self, observation: Observation) -> None:
        """Take one more observation into account."""
        super().apply(observation)
        self._due.apply(observation)
        if isinstance(observation, SegmentOpened):
            for before in observation.predecessors:
                followers = self._followers.setdefault((observation.stream, before), {})
                followers[observation.segment_id] = None
        if isinstance(observation, GroupSeen):
            self._begin_anew(observation)
        if not self.knows_owners:
            return
        if isinstance(observation, GroupObservation | SegmentAcquired | SegmentReleased | SegmentOpened):
            stream = getattr(observation, "stream", "")
            row = self.find(stream, getattr(observation, "segment_id", -1)) if stream else None
            if row is not None:
                self._look(row, observation.time_ms)
        moved, self._moved = self._moved, {}
        for index in moved:
            row = self.rows[index]
            for segment_id in self._followers.get((row.stream, row.segment_id), ()):
                follower = self.find(row.stream, segment_id)
                if follower is not None:
                    self._look(follower, observation.time_ms)

    def foresee(self, o: SegmentMeasured) -> None:
        """Take a measurement that follows the last moment of this history.

        A measurement is of the time since the one before it. So if the next one of a segment has no rate, no
        observer looked at the segment at that moment. If only the last one has none, it ended such a time.
        """
        row = self.find(o.stream, o.segment_id)
        if row is None or not row.growth or row.end_ms is not None or row.index in self._foreseen:
            return
        self._foreseen.add(row.index)
        is_known = row.bytes_per_s is not None or row.events_per_s is not None
        if is_known != (o.bytes_per_s is not None or o.events_per_s is not None):
            row.bytes_per_s, row.events_per_s = o.bytes_per_s, o.events_per_s

    def _take_owner(self, row: SegmentRow) -> None:
        super()._take_owner(row)
        self._moved[row.index] = None

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
        state, waits_for = row.state or ("held" if row.reader else ""), row.waits_for
        if state == "waits" or self._is_at_checkpoint(row):
            state, waits_for = "waits", self._unread(row.stream, waits_for)
        last = self._open.get(row.index)
        if last is not None:
            if (last.state, last.reader, last.waits_for) == (state, row.reader, waits_for):
                return
            last.end_ms = time_ms
            self.changed_owners[last.index] = None
            del self._open[row.index]
        if state in ("held", "nobody", "waits"):
            new = Stretch(len(self.owners), row.index, state, row.reader, time_ms, None, waits_for, row.group)
            if state == "waits" and not waits_for:
                new.due_s = self._due_s(row)
            self.owners.append(new)
            self._open[row.index] = new
            self.changed_owners[new.index] = None

    def _is_at_checkpoint(self, row: SegmentRow) -> bool:
        """Return whether a checkpoint has to complete the predecessors before a group names a segment."""
        if row.state or row.reader or not self.groups:
            return False
        before = [self.find(row.stream, p) for p in row.predecessors]
        ended = any(b is not None and b.read_offset == -1 and b.state in ("held", "nobody") for b in before)
        return ended and not self._unread(row.stream, row.predecessors)

    def _unread(self, stream: str, segments: tuple[int, ...]) -> tuple[int, ...]:
        """Return those of ``segments`` that no reader has read to the end."""
        rows = [(segment_id, self.find(stream, segment_id)) for segment_id in segments]
        return tuple(segment_id for segment_id, row in rows if row is None or row.read_offset != -1)

    def _due_s(self, row: SegmentRow) -> float | None:
        before = [self.find(row.stream, p) for p in row.predecessors]
        due_ms = next((self._due.due_ms(b.group) for b in before if b is not None and b.group), None)
        return None if due_ms is None else (due_ms - (self.start_ms or 0)) / 1000

    def place_of(self, reader: str) -> int:
        """Return the number with which the reader joined, from 0: its colour."""
        return self._places[reader]

    def owner_of(self, row: SegmentRow) -> str:
        """Return who owns the segment now, in words; "" where no group reported it.

        A new segment waits for its predecessors; this is inferred.
        """
        if row.state == "finished" or not self.knows_owners:
            return ""
        stretch = self._open.get(row.index)
        if stretch is not None and stretch.state == "waits":
            return stretch.words
        if not row.state and not row.reader and row.predecessors and self.groups:
            return owner_words("waits", None, row.predecessors)
        return owner_words(row.state, row.reader, row.waits_for)
