"""A split that is a segment, and the changes of splits that FLIP-27 lacks.

FLIP-27 knows one change, the addition of splits. A stream that scales has two more: a split is finished and
others follow it, and a split is taken from its reader. They travel as source events; `SplitsAddition` is
what ``assign_splits`` does. Source: flink-connectors, issue 390, "LT plan".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any, TypeAlias

from pravega_lab.engine.flow import plain
from pravega_lab.engine.flow.errors import DamagedCheckpointError
from pravega_lab.protocol.names import SegmentRange, segment_name, split_scoped_name
from pravega_lab.protocol.stream_cut import SEGMENT_READ

VERSION, VERSION_OF_SEVERAL = 1, 2
SplitKey: TypeAlias = tuple[str, int]
"""``scope/stream`` and the id of a segment: splits of several streams side by side."""


@dataclass(frozen=True, slots=True)
class SegmentSplit:
    """A segment of ``scope/stream`` with the keys in ``(low, high]``.

    ``offset`` is the next byte to read, -1 once it was read to its end; ``end`` the byte to stop at, None:
    where the segment is sealed.
    """

    stream: str
    segment_id: int
    low: float
    high: float
    offset: int = 0
    end: int | None = None

    @property
    def key(self) -> SplitKey:
        return self.stream, self.segment_id

    @property
    def split_id(self) -> str:
        """The segment's full name."""
        return segment_name(*split_scoped_name(self.stream), self.segment_id)

    @property
    def range(self) -> SegmentRange:
        return SegmentRange(self.segment_id, self.low, self.high)

    @property
    def is_read(self) -> bool:
        return self.offset == SEGMENT_READ


class SplitSerializer:
    """Of a `SegmentSplit`."""

    version = VERSION

    def to_bytes(self, value: SegmentSplit) -> bytes:
        return plain.to_bytes(astuple(value))

    def from_bytes(self, version: int, data: bytes) -> SegmentSplit:
        _check(version)
        return SegmentSplit(*plain.from_bytes(data))


class SplitsSerializer:
    """Of several: what an enumerator keeps."""

    version = VERSION

    def to_bytes(self, value: Sequence[SegmentSplit]) -> bytes:
        return plain.to_bytes([astuple(split) for split in value])

    def from_bytes(self, version: int, data: bytes) -> list[SegmentSplit]:
        _check(version)
        return [SegmentSplit(*split) for split in plain.from_bytes(data)]


@dataclass(frozen=True)
class SegmentState:
    """What the enumerator of (c) keeps: splits that nobody reads, and the streams in which reading has begun;
    None: a checkpoint of a source of one stream, which does not say of which."""

    splits: Sequence[SegmentSplit]
    streams: tuple[str, ...] | None


class SegmentStateSerializer:
    """Of a `SegmentState`, for a source of ``streams``: one as `SplitsSerializer` has it, several with their
    names (version 2)."""

    def __init__(self, streams: Sequence[str]) -> None:
        self._streams = tuple(streams)
        self.version = VERSION if len(streams) == 1 else VERSION_OF_SEVERAL

    def to_bytes(self, value: SegmentState) -> bytes:
        if self.version == VERSION:
            return SplitsSerializer().to_bytes(value.splits)
        return plain.to_bytes((value.streams, [astuple(split) for split in value.splits]))

    def from_bytes(self, version: int, data: bytes) -> SegmentState:
        if version == VERSION_OF_SEVERAL:
            streams, splits = plain.from_bytes(data)
            return SegmentState([SegmentSplit(*split) for split in splits], streams)
        streams = self._streams if len(self._streams) == 1 else None
        return SegmentState(SplitsSerializer().from_bytes(version, data), streams)


def _check(version: int) -> None:
    if version != VERSION:
        raise DamagedCheckpointError(
            f"segment splits of version {version} are no state of this source, which reads {VERSION}"
        )


# -- changes, from the enumerator to a reader ----------------------------------------------------------------


@dataclass(frozen=True)
class SplitsAddition:
    """Read these too: FLIP-27's only change."""

    splits: tuple[SegmentSplit, ...]


@dataclass(frozen=True)
class SplitsFinished:
    """These were read to their end, and their successors are known to the enumerator: forget them."""

    splits: tuple[SegmentSplit, ...]
    successors: tuple[SegmentSplit, ...] = ()


@dataclass(frozen=True)
class SplitsRemoval:
    """Stop reading these and say how far you came (`SplitsReturned`): another reader will have them."""

    splits: tuple[SegmentSplit, ...]


# -- from a reader to the enumerator -------------------------------------------------------------------------


@dataclass(frozen=True)
class SplitsReported:
    """What the reader begins with: the splits that it restored, or none."""

    splits: tuple[SegmentSplit, ...]


@dataclass(frozen=True)
class SplitsRead:
    """These are read to their end. They stay in the reader's state until `SplitsFinished` answers."""

    splits: tuple[SegmentSplit, ...]


@dataclass(frozen=True)
class SplitsReturned:
    """These were taken away, each at its offset. They stay in the reader's state until they are taken."""

    splits: tuple[SegmentSplit, ...]


Change = SplitsFinished | SplitsRemoval | SplitsReported | SplitsRead | SplitsReturned
_CHANGES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (SplitsFinished, SplitsRemoval, SplitsReported, SplitsRead, SplitsReturned)
}


def to_event(change: Change) -> Any:
    """As the plain value that a source event is."""
    fields = [[astuple(split) for split in splits] for splits in vars(change).values()]
    return (type(change).__name__, *fields)


def from_event(event: Any) -> Change:
    """What `to_event` was given."""
    kind, *fields = event
    found: Change = _CHANGES[kind](*(tuple(SegmentSplit(*split) for split in splits) for splits in fields))
    return found
