"""Define the values that readers and groups return. They only encode and decode themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pravega_lab.protocol.metadata import positions
from pravega_lab.protocol.metadata.reader_group import KeyRange
from pravega_lab.protocol.names import parse_segment_name, segment_name
from pravega_lab.protocol.stream_cut import StreamCut

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Position:
    """Holds a reader's next offset in each of its segments, by full name; -1 for a segment that is read.

    It belongs to the reader as a whole. Passed to `ReaderGroup.reader_offline`, it says where other readers
    resume.
    """

    segments: Mapping[str, int] = field(default_factory=dict)
    ranges: Mapping[str, KeyRange] = field(default_factory=dict, compare=False, repr=False)

    def to_bytes(self) -> bytes:
        """Return the bytes of Java's ``Position.toBytes``, which both clients can read."""
        return positions.position_to_bytes(self.segments, self.ranges)

    @classmethod
    def from_bytes(cls, data: bytes) -> Position:
        """Read what `to_bytes` or Java wrote. Raises `ProtocolError`."""
        return cls(*positions.position_from_bytes(data))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Holds a consistent position of a whole group: a cut of each stream, each covering all keys."""

    name: str
    stream_cuts: Mapping[str, StreamCut]

    def to_bytes(self) -> bytes:
        """Return the bytes of Java's ``Checkpoint.toBytes``, which both clients can read."""
        return positions.checkpoint_to_bytes(self.name, self.stream_cuts)

    @classmethod
    def from_bytes(cls, data: bytes) -> Checkpoint:
        """Read what `to_bytes` or Java wrote. Raises `ProtocolError`."""
        return cls(*positions.checkpoint_from_bytes(data))


class TimeWindow(NamedTuple):
    """Holds the times, noted by writers, between which a group reads one stream (pravega.md A12).

    ``lower``: writers had noted this time before they wrote what the group reads next. ``upper``: the latest
    time that a writer had noted when it wrote the next events. Each is None where nothing is known.
    """

    lower: int | None
    upper: int | None


class EventRead(NamedTuple):
    """Holds the result of one read: an event, the name of a checkpoint, or nothing.

    ``segment_id`` and ``offset`` say where the event begins. ``is_completed``: the group has read everything,
    and nothing more will come.
    """

    event: bytes | None = None
    stream: str | None = None
    segment_id: int | None = None
    offset: int | None = None
    checkpoint: str | None = None
    is_completed: bool = False

    @property
    def is_checkpoint(self) -> bool:
        """Return whether the read returned a checkpoint in place of an event."""
        return self.checkpoint is not None


@dataclass(frozen=True, slots=True)
class BatchRead:
    """Holds the result of one read of several events of one segment; see `EventRead`.

    ``batch`` has the columns event, segment_id and offset.
    """

    batch: pa.RecordBatch | None = None
    stream: str | None = None
    checkpoint: str | None = None
    is_completed: bool = False

    @property
    def is_checkpoint(self) -> bool:
        """Return whether the read returned a checkpoint in place of events."""
        return self.checkpoint is not None


@dataclass(frozen=True, slots=True)
class GroupMetrics:
    """Holds the ``unread_bytes`` after a group's last checkpoint, and its counts.

    ``n_segments`` counts the segments that the group may read now. Of these, ``n_unassigned`` have no reader.
    ``n_waiting_successors`` counts the segments that wait for predecessors, and ``n_outstanding_checkpoints``
    the reader-group checkpoints that some reader has not passed yet.
    """

    unread_bytes: int
    n_readers: int
    n_segments: int
    n_unassigned: int
    n_waiting_successors: int
    n_outstanding_checkpoints: int


def stream_of(segment: str) -> str:
    """Return ``scope/stream`` from a segment's full name."""
    return segment.rsplit("/", 1)[0]


def by_stream(offsets: Mapping[str, int]) -> dict[str, dict[int, int]]:
    """Return offsets by segment id, for each stream."""
    found: dict[str, dict[int, int]] = {}
    for segment, offset in offsets.items():
        found.setdefault(stream_of(segment), {})[parse_segment_name(segment).segment_id] = offset
    return found


def full_names(stream: str, offsets: Mapping[int, int]) -> dict[str, int]:
    """Return the reverse of `by_stream` for one stream: offsets by full name."""
    scope, name = stream.split("/")
    return {segment_name(scope, name, segment): offset for segment, offset in offsets.items()}
