"""The fold of the reader board and the checkpoint timeline: a `GroupHistory`, and what only pictures need.

It adds the lag twice a second, so that scrubbing shows it as it was, every arrival and departure, and the
keys of segments. No state log contains the keys; a stream observer in the same journal does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pravega_lab.observe.group.fold import GroupHistory
from pravega_lab.observe.group.observations import ReaderJoined, ReaderLeft
from pravega_lab.observe.group.rows import CheckpointRow, ReaderRow, split_segment, time_of_offset
from pravega_lab.observe.journal.observations import Observation, SegmentOpened

SAMPLE_MS = 500
SAMPLES_MAX = 100_000  # kept; older ones are dropped, and counted

Segment = tuple[str, int]  # stream, segment id


@dataclass(frozen=True, slots=True)
class LagSample:
    """The lag of a reader at ``time_ms``; ``behind_since_ms`` is when its oldest unread byte came."""

    index: int
    time_ms: int
    unread_bytes: int | None
    behind_since_ms: int | None


@dataclass(frozen=True, slots=True)
class CutPiece:
    """A segment of a cut. It owns (low, high], which may be unknown; ``offset`` -1 means read to its end.

    ``time_ms`` is about when ``offset`` was written.
    """

    stream: str
    segment_id: int
    offset: int
    low: float | None
    high: float | None
    time_ms: int | None


class BoardHistory(GroupHistory):
    """A `GroupHistory` that also remembers lag, arrivals, departures and key ranges."""

    keeps_lag: ClassVar[bool] = True  # computing it takes most of the time of this fold

    def __init__(self) -> None:
        super().__init__()
        self.samples: list[LagSample] = []
        self.samples_dropped = 0
        self.presence: list[ReaderJoined | ReaderLeft] = []
        self.ranges: dict[Segment, tuple[float, float]] = {}
        self._next_sample_ms = 0

    def apply(self, observation: Observation) -> None:
        """Take one more observation into account."""
        is_due = not 0 < self._next_sample_ms - observation.time_ms <= SAMPLE_MS  # or the clock was set back
        if self.keeps_lag and self.readers and is_due:
            self._sample(observation.time_ms)
        if isinstance(observation, SegmentOpened):
            self.ranges[(observation.stream, observation.segment_id)] = (observation.low, observation.high)
        elif isinstance(observation, ReaderJoined | ReaderLeft):
            self.presence.append(observation)
        super().apply(observation)

    def _sample(self, time_ms: int) -> None:
        self._next_sample_ms = time_ms + SAMPLE_MS
        if len(self.samples) >= SAMPLES_MAX:
            del self.samples[: SAMPLES_MAX // 4]
            self.samples_dropped += SAMPLES_MAX // 4
        self.samples += [
            LagSample(row.index, time_ms, row.unread_bytes, row.behind_since_ms)
            for row in self.readers
            if row.is_online
        ]

    @property
    def first_group(self) -> str:
        """The first group in the journal, or "" while there is none."""
        return next(iter(self.groups), "")

    def lanes(self, group: str) -> list[ReaderRow]:
        """Return the readers of a group in order of joining, those that left too."""
        return [row for row in self.readers if row.group == group]

    def checkpoints_of(self, group: str, *, silent: bool = False) -> list[CheckpointRow]:
        """Return the checkpoints that readers of a group saw; with ``silent`` also the others."""
        return [row for row in self.checkpoints if row.group == group and (silent or not row.is_silent)]

    def pieces(self, row: CheckpointRow) -> list[CutPiece]:
        """Return what a checkpoint has so far, by stream and place in the key space."""
        found = [self._piece(row.group, *split_segment(name), offset) for name, offset in row.cut]
        return sorted(found, key=lambda p: (p.stream, -1.0 if p.low is None else p.low, p.segment_id))

    def _piece(self, group: str, stream: str, segment_id: int, offset: int) -> CutPiece:
        low, high = self.ranges.get((stream, segment_id), (None, None))
        place = self.place(group, stream, segment_id)
        at = None if place is None or offset < 0 else time_of_offset(place.growth, offset)
        return CutPiece(stream, segment_id, offset, low, high, at)
