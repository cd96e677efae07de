"""How a group's tracker says things: observations of one entry of the log, with its place and time filled in.

Knows no rule; a `Voice` belongs to one tracker and collects until `take`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pravega_lab.observe.group_observations import (
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
from pravega_lab.observe.group_rows import split_segment
from pravega_lab.observe.observations import LOGGED, Observation


class Voice:
    """Makes observations of ``group``; `at` says where in the log and when."""

    def __init__(self, group: str) -> None:
        self.group = group
        self._found: list[Observation] = []
        self._revision = -1
        self._time_ms = 0
        self._uncertain_ms: int | None = None

    def at(self, revision: int, time_ms: int, uncertain_ms: int | None) -> None:
        """What is said from now on is of this entry."""
        self._revision, self._time_ms, self._uncertain_ms = revision, time_ms, uncertain_ms

    def take(self) -> list[Observation]:
        """What was said since the last time."""
        found, self._found = self._found, []
        return found

    def __len__(self) -> int:
        return len(self._found)

    def drop(self, n: int) -> None:
        """Take back what was said after the first ``n``."""
        del self._found[n:]

    def say(self, kind: type[GroupObservation], **values: Any) -> None:
        """One observation of ``kind`` with these fields."""
        self._found.append(
            kind(
                time_ms=self._time_ms,
                group=self.group,
                revision=self._revision,
                uncertain_ms=self._uncertain_ms,
                **values,
            )
        )

    # segments by full name

    def offered(self, segment: str, offset: int, why: str, reader: str = "") -> None:
        stream, segment_id = split_segment(segment)
        self.say(SegmentOffered, stream=stream, segment_id=segment_id, offset=offset, why=why, reader=reader)

    def acquired(self, segment: str, reader: str, offset: int, cause: str, cause_kind: str) -> None:
        stream, segment_id = split_segment(segment)
        self.say(
            GroupSegmentAcquired, stream=stream, segment_id=segment_id, reader=reader, offset=offset,
            cause=cause, cause_kind=cause_kind,
        )  # fmt: skip

    def released(self, segment: str, reader: str, offset: int, cause: str, cause_kind: str = LOGGED) -> None:
        stream, segment_id = split_segment(segment)
        self.say(
            GroupSegmentReleased, stream=stream, segment_id=segment_id, reader=reader, offset=offset,
            cause=cause, cause_kind=cause_kind,
        )  # fmt: skip

    def finished(self, segment: str, reader: str, successors: Iterable[str]) -> None:
        stream, segment_id = split_segment(segment)
        after = tuple(split_segment(name)[1] for name in successors)
        self.say(GroupSegmentFinished, stream=stream, segment_id=segment_id, reader=reader, successors=after)

    def waits(self, segment: str, waits_for: tuple[int, ...]) -> None:
        stream, segment_id = split_segment(segment)
        self.say(SegmentWaits, stream=stream, segment_id=segment_id, waits_for=waits_for)

    # readers

    def left(self, reader: str, held: Mapping[str, int], **cause: Any) -> None:
        self.say(ReaderLeft, reader=reader, held=pairs(held), **cause)

    def passed(
        self, checkpoint: str, reader: str, positions: Mapping[str, int], waiting: tuple[str, ...], **how: Any
    ) -> None:
        self.say(
            GroupCheckpointPassed, checkpoint=checkpoint, reader=reader, positions=pairs(positions),
            waiting=waiting, **how,
        )  # fmt: skip


def pairs(positions: Mapping[str, int]) -> Positions:
    return tuple(positions.items())
