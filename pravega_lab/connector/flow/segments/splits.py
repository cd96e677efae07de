"""`SegmentSplit`, a split that is a segment, and the changes of splits that FLIP-27 lacks.

FLIP-27 knows one change, the addition of splits. A stream that scales has two more: successors replace a
finished split, and a split is removed from its reader. They are sent as source events. `SplitsAddition` is
what ``assign_splits`` does. Source: flink-connectors, issue 390, "LT plan".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any, TypeAlias

from pravega_lab.engine.flow.errors import DamagedCheckpointError
from pravega_lab.engine.flow.state import plain_values
from pravega_lab.protocol.names import SegmentRange, segment_name, split_scoped_name
from pravega_lab.protocol.stream_cut import SEGMENT_READ

VERSION, VERSION_OF_SEVERAL = 1, 2
SplitKey: TypeAlias = tuple[str, int]
"""``scope/stream`` and the id of a segment, which together identify a split among several streams."""


@dataclass(frozen=True, slots=True)
class SegmentSplit:
    """A segment of ``scope/stream`` with the keys in ``(low, high]``.

    ``offset`` is the next byte to read, or -1 after the segment was read to its end. ``end`` is the byte to
    stop at, or None to stop where the segment is sealed.
    """

    stream: str
    segment_id: int
    low: float
    high: float
    offset: int = 0
    end: int | None = None

    @property
    def key(self) -> SplitKey:
        """Return the stream and the segment id."""
        return self.stream, self.segment_id

    @property
    def split_id(self) -> str:
        """The full name of the segment."""
        return segment_name(*split_scoped_name(self.stream), self.segment_id)

    @property
    def range(self) -> SegmentRange:
        """Return the segment with its key range."""
        return SegmentRange(self.segment_id, self.low, self.high)

    @property
    def is_read(self) -> bool:
        """Whether the segment was read to its end."""
        return self.offset == SEGMENT_READ


class SplitSerializer:
    """Converts a `SegmentSplit` to and from bytes."""

    version = VERSION

    def to_bytes(self, value: SegmentSplit) -> bytes:
        """Return the value as bytes."""
        return plain_values.to_bytes(astuple(value))

    def from_bytes(self, version: int, data: bytes) -> SegmentSplit:
        """Return the value in ``data``.

        Raises:
            DamagedCheckpointError: ``version`` is not one that this class reads.
        """
        _check(version)
        return plain_values.read_as(data, "a segment split", lambda value: SegmentSplit(*value))


class SplitsSerializer:
    """Converts several splits, the state of an enumerator, to and from bytes."""

    version = VERSION

    def to_bytes(self, value: Sequence[SegmentSplit]) -> bytes:
        """Return the value as bytes."""
        return plain_values.to_bytes([astuple(split) for split in value])

    def from_bytes(self, version: int, data: bytes) -> list[SegmentSplit]:
        """Return the value in ``data``.

        Raises:
            DamagedCheckpointError: ``version`` is not one that this class reads.
        """
        _check(version)
        return plain_values.read_as(data, "segment splits", _splits_of)


@dataclass(frozen=True)
class SegmentState:
    """The state of the enumerator of (c): the splits that no reader has, and the streams that were begun.

    ``streams`` is None in a checkpoint of a source of one stream, which does not name the stream.
    """

    splits: Sequence[SegmentSplit]
    streams: tuple[str, ...] | None


class SegmentStateSerializer:
    """Converts a `SegmentState` of a source of ``streams`` to and from bytes.

    The state of one stream has the format of `SplitsSerializer`. The state of several has their names too
    (version 2).
    """

    def __init__(self, streams: Sequence[str]) -> None:
        self._streams = tuple(streams)
        self.version = VERSION if len(streams) == 1 else VERSION_OF_SEVERAL

    def to_bytes(self, value: SegmentState) -> bytes:
        """Return the value as bytes."""
        if self.version == VERSION:
            return SplitsSerializer().to_bytes(value.splits)
        return plain_values.to_bytes((value.streams, [astuple(split) for split in value.splits]))

    def from_bytes(self, version: int, data: bytes) -> SegmentState:
        """Return the value in ``data``.

        Raises:
            DamagedCheckpointError: ``version`` is not one that this class reads.
        """
        if version == VERSION_OF_SEVERAL:
            return plain_values.read_as(
                data, "segment splits", lambda v: SegmentState(_splits_of(v[1]), v[0])
            )
        streams = self._streams if len(self._streams) == 1 else None
        return SegmentState(SplitsSerializer().from_bytes(version, data), streams)


def _splits_of(value: Sequence[Sequence[Any]]) -> list[SegmentSplit]:
    return [SegmentSplit(*split) for split in value]


def _check(version: int) -> None:
    if version != VERSION:
        raise DamagedCheckpointError(
            f"segment splits of version {version} are not a state of this source, which reads {VERSION}"
        )


# -- changes, from the enumerator to a reader ----------------------------------------------------------------


@dataclass(frozen=True)
class SplitsAddition:
    """Read these splits too: the only change that FLIP-27 has."""

    splits: tuple[SegmentSplit, ...]


@dataclass(frozen=True)
class SplitsFinished:
    """Forget these splits, which were read to their end or returned. The enumerator has their successors."""

    splits: tuple[SegmentSplit, ...]
    successors: tuple[SegmentSplit, ...] = ()


@dataclass(frozen=True)
class SplitsRemoval:
    """Stop reading these splits and report their offsets (`SplitsReturned`): another reader will get them."""

    splits: tuple[SegmentSplit, ...]


# -- from a reader to the enumerator -------------------------------------------------------------------------


@dataclass(frozen=True)
class SplitsReported:
    """The splits that a reader begins with: those that it restored, or none."""

    splits: tuple[SegmentSplit, ...]


@dataclass(frozen=True)
class SplitsRead:
    """These splits are read to their end. They stay in the reader's state until `SplitsFinished` arrives."""

    splits: tuple[SegmentSplit, ...]


@dataclass(frozen=True)
class SplitsReturned:
    """These splits were returned at their offsets. They stay in the reader's state until `SplitsFinished`
    arrives.
    """

    splits: tuple[SegmentSplit, ...]


Change = SplitsFinished | SplitsRemoval | SplitsReported | SplitsRead | SplitsReturned
_CHANGES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (SplitsFinished, SplitsRemoval, SplitsReported, SplitsRead, SplitsReturned)
}


def to_event(change: Change) -> Any:
    """Return the change as a plain value, which a source event can carry."""
    fields = [[astuple(split) for split in splits] for splits in vars(change).values()]
    return (type(change).__name__, *fields)


def from_event(event: Any) -> Change:
    """Return the change that `to_event` converted."""
    kind, *fields = event
    found: Change = _CHANGES[kind](*(tuple(SegmentSplit(*split) for split in splits) for splits in fields))
    return found
