"""What readers and groups hand out. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pravega_lab.protocol import positions
from pravega_lab.protocol.names import parse_segment_name, segment_name
from pravega_lab.protocol.reader_group import KeyRange
from pravega_lab.protocol.stream_cut import StreamCut

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Position:
    """Where one reader is: the next offset of each segment it holds, by full name; -1 where it is read.

    Of the reader as a whole, not of one segment. Given to `ReaderGroup.reader_offline`, it says where others
    go on.
    """

    segments: Mapping[str, int] = field(default_factory=dict)
    ranges: Mapping[str, KeyRange] = field(default_factory=dict, compare=False, repr=False)

    def to_bytes(self) -> bytes:
        """Java's ``Position.toBytes``: to be kept, and read again by either client."""
        return positions.position_to_bytes(self.segments, self.ranges)

    @classmethod
    def from_bytes(cls, data: bytes) -> Position:
        """Read what `to_bytes` or Java wrote. Raises ``ProtocolError``."""
        return cls(*positions.position_from_bytes(data))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A consistent place of a whole group: a cut of each stream, each covering all keys."""

    name: str
    stream_cuts: Mapping[str, StreamCut]

    def to_bytes(self) -> bytes:
        """Java's ``Checkpoint.toBytes``."""
        return positions.checkpoint_to_bytes(self.name, self.stream_cuts)

    @classmethod
    def from_bytes(cls, data: bytes) -> Checkpoint:
        """Read what `to_bytes` or Java wrote. Raises ``ProtocolError``."""
        return cls(*positions.checkpoint_from_bytes(data))


class TimeWindow(NamedTuple):
    """Between which times noted by writers a group reads one stream (A12); None where nothing is known.

    ``lower``: what the group reads from now on was written after that was noted. ``upper``: the latest time
    that a writer had noted when it wrote what comes next.
    """

    lower: int | None
    upper: int | None


@dataclass(frozen=True, slots=True)
class EventRead:
    """What one read gave: an event, or the name of a checkpoint, or nothing.

    ``segment`` and ``offset`` say where the event begins. ``is_completed``: everything was read, by whichever
    reader, and nothing will come.
    """

    event: bytes | None = None
    stream: str | None = None
    segment_id: int | None = None
    offset: int | None = None
    checkpoint: str | None = None
    is_completed: bool = False

    @property
    def is_checkpoint(self) -> bool:
        return self.checkpoint is not None


@dataclass(frozen=True, slots=True)
class BatchRead:
    """As `EventRead`, for several events of one segment: columns event, segment_id, offset."""

    batch: pa.RecordBatch | None = None
    stream: str | None = None
    checkpoint: str | None = None
    is_completed: bool = False

    @property
    def is_checkpoint(self) -> bool:
        return self.checkpoint is not None


@dataclass(frozen=True, slots=True)
class GroupMetrics:
    """How a group stands: ``unread_bytes`` behind its last checkpoint, and who and what there is."""

    unread_bytes: int
    n_readers: int
    n_segments: int
    n_unassigned: int
    n_waiting_successors: int
    n_outstanding_checkpoints: int


def stream_of(segment: str) -> str:
    """``scope/stream`` of a segment's full name."""
    return segment.rsplit("/", 1)[0]


def by_stream(offsets: Mapping[str, int]) -> dict[str, dict[int, int]]:
    """Offsets by segment id, for each stream."""
    found: dict[str, dict[int, int]] = {}
    for segment, offset in offsets.items():
        found.setdefault(stream_of(segment), {})[parse_segment_name(segment).segment_id] = offset
    return found


def full_names(stream: str, offsets: Mapping[int, int]) -> dict[str, int]:
    """The reverse of `by_stream`, for one stream."""
    scope, name = stream.split("/")
    return {segment_name(scope, name, segment): offset for segment, offset in offsets.items()}
