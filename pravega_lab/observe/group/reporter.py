"""`Reporter`: makes the observations of one group, with the place and the time of the log entry that they
are from.

It knows no rule of reader groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pravega_lab.observe.group.observations import (
    GroupCheckpointPassed,
    GroupObservation,
    GroupSegmentAcquired,
    GroupSegmentFinished,
    GroupSegmentReleased,
    Positions,
    ReaderLeft,
    SegmentOffered,
    SegmentWaits,
)
from pravega_lab.observe.group.rows import split_segment
from pravega_lab.observe.journal.observations import LOGGED, Observation


class Reporter:
    """Makes and collects observations of ``group``, until `take`. It belongs to one tracker.

    `at` sets the log entry that the next observations are from. Segments are passed by full name.
    """

    def __init__(self, group: str) -> None:
        self.group = group
        self._found: list[Observation] = []
        self._revision = -1
        self._time_ms = 0
        self._uncertain_ms: int | None = None

    def at(self, revision: int, time_ms: int, uncertain_ms: int | None) -> None:
        """Report for this entry from now on.

        Args:
            revision: The offset in the log after the entry.
            time_ms: When the entry was seen.
            uncertain_ms: How much earlier it may have been written, None if that is not known.
        """
        self._revision, self._time_ms, self._uncertain_ms = revision, time_ms, uncertain_ms

    def take(self) -> list[Observation]:
        """Return what was reported since the last call, and forget it."""
        found, self._found = self._found, []
        return found

    def __len__(self) -> int:
        return len(self._found)

    def drop(self, n: int) -> None:
        """Forget what was reported after the first ``n`` observations."""
        del self._found[n:]

    def report(self, kind: type[GroupObservation], **values: Any) -> None:
        """Report an observation of ``kind`` with these fields."""
        self._found.append(
            kind(
                time_ms=self._time_ms,
                group=self.group,
                revision=self._revision,
                uncertain_ms=self._uncertain_ms,
                **values,
            )
        )

    def offered(self, segment: str, offset: int, why: str, reader: str = "") -> None:
        """Report that a segment may be read and that no reader holds it."""
        stream, segment_id = split_segment(segment)
        self.report(
            SegmentOffered, stream=stream, segment_id=segment_id, offset=offset, why=why, reader=reader
        )

    def acquired(self, segment: str, reader: str, offset: int, cause: str, cause_kind: str) -> None:
        """Report that a reader acquired a segment."""
        stream, segment_id = split_segment(segment)
        self.report(
            GroupSegmentAcquired, stream=stream, segment_id=segment_id, reader=reader, offset=offset,
            cause=cause, cause_kind=cause_kind,
        )  # fmt: skip

    def released(self, segment: str, reader: str, offset: int, cause: str, cause_kind: str = LOGGED) -> None:
        """Report that a reader released a segment."""
        stream, segment_id = split_segment(segment)
        self.report(
            GroupSegmentReleased, stream=stream, segment_id=segment_id, reader=reader, offset=offset,
            cause=cause, cause_kind=cause_kind,
        )  # fmt: skip

    def finished(self, segment: str, reader: str, successors: Iterable[str]) -> None:
        """Report that a reader read a segment to its end."""
        stream, segment_id = split_segment(segment)
        after = tuple(split_segment(name)[1] for name in successors)
        self.report(
            GroupSegmentFinished, stream=stream, segment_id=segment_id, reader=reader, successors=after
        )

    def waits(self, segment: str, waits_for: tuple[int, ...]) -> None:
        """Report that a segment waits for predecessors."""
        stream, segment_id = split_segment(segment)
        self.report(SegmentWaits, stream=stream, segment_id=segment_id, waits_for=waits_for)

    def left(self, reader: str, held: Mapping[str, int], **cause: Any) -> None:
        """Report that a reader is no longer online."""
        self.report(ReaderLeft, reader=reader, held=pairs(held), **cause)

    def passed(
        self, checkpoint: str, reader: str, positions: Mapping[str, int], waiting: tuple[str, ...], **how: Any
    ) -> None:
        """Report that a reader passed a checkpoint."""
        self.report(
            GroupCheckpointPassed, checkpoint=checkpoint, reader=reader, positions=pairs(positions),
            waiting=waiting, **how,
        )  # fmt: skip


def pairs(positions: Mapping[str, int]) -> Positions:
    """Return positions as pairs, in their order."""
    return tuple(positions.items())
