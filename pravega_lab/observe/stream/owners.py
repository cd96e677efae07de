"""`SegmentOwners`: the owners of segments, as reader groups report them; the part of `SegmentHistory`
that concerns groups.

A group may report a segment before the stream's observer does: the report is kept here until then. If
several groups read a stream, the newest report on a segment counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from pravega_lab.observe.group.observations import (
    GroupCheckpointPassed,
    GroupSegmentAcquired,
    GroupSegmentFinished,
    GroupSegmentReleased,
    Positions,
    ReaderMeasured,
    SegmentOffered,
    SegmentWaits,
)
from pravega_lab.observe.group.rows import split_segment
from pravega_lab.observe.journal.observations import Observation

Key: TypeAlias = tuple[str, int]  # stream, segment id


@dataclass(slots=True)
class Owner:
    """``state`` is ``held`` (by ``reader``), ``nobody``, ``waits`` (for ``waits_for``) or ``finished``."""

    group: str
    state: str
    reader: str | None = None
    waits_for: tuple[int, ...] = ()
    read_offset: int | None = None  # -1: read to its end


class SegmentOwners:
    """The owners of all segments that a group reported."""

    def __init__(self) -> None:
        self.owners: dict[Key, Owner] = {}

    def apply(self, observation: Observation) -> list[Key]:
        """Take the next observation, and return the segments that it changed, in order."""
        handler = _HANDLERS.get(type(observation))
        return [] if handler is None else handler(self, observation)

    def _offered(self, o: SegmentOffered) -> list[Key]:
        return self._put(o, Owner(o.group, "nobody", read_offset=o.offset))

    def _acquired(self, o: GroupSegmentAcquired) -> list[Key]:
        return self._put(o, Owner(o.group, "held", o.reader, read_offset=o.offset))

    def _released(self, o: GroupSegmentReleased) -> list[Key]:
        return self._put(o, Owner(o.group, "nobody", read_offset=o.offset))

    def _finished(self, o: GroupSegmentFinished) -> list[Key]:
        return self._put(o, Owner(o.group, "finished", read_offset=-1))

    def _waits(self, o: SegmentWaits) -> list[Key]:
        return self._put(o, Owner(o.group, "waits", waits_for=o.waits_for, read_offset=0))

    def _put(self, o: Any, owner: Owner) -> list[Key]:
        key = (o.stream, o.segment_id)
        self.owners[key] = owner
        return [key]

    def _measured(self, o: ReaderMeasured) -> list[Key]:
        return self._read(o.group, o.reader, o.last_read)

    def _passed(self, o: GroupCheckpointPassed) -> list[Key]:
        return [] if o.is_by_leaving else self._read(o.group, o.reader, o.positions)

    def _read(self, group: str, reader: str, positions: Positions) -> list[Key]:
        changed = []
        for name, offset in positions:
            key = split_segment(name)
            owner = self.owners.get(key)
            if owner is not None and (owner.group, owner.reader) == (group, reader):
                owner.read_offset = offset
                changed.append(key)
        return changed


_HANDLERS: dict[type[Observation], Callable[[Any, Any], list[Key]]] = {
    SegmentOffered: SegmentOwners._offered,
    GroupSegmentAcquired: SegmentOwners._acquired,
    GroupSegmentReleased: SegmentOwners._released,
    GroupSegmentFinished: SegmentOwners._finished,
    SegmentWaits: SegmentOwners._waits,
    ReaderMeasured: SegmentOwners._measured,
    GroupCheckpointPassed: SegmentOwners._passed,
}
