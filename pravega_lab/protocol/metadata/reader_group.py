"""The state log of a Java reader group: its configuration, its updates, and its events.

The module has values and bytes only. What an update does to a group is decided by the group's rules. Every
class keeps what it did not understand in ``leftover``: a newer client's revisions, or the zeros that Java
leaves after an initial state. A log that is read and written again therefore has the same bytes.

Segments are full names, ``scope/stream/0.#epoch.0``. Offsets are bytes from the segment's start, -1 for a
segment that was read to its end.

Source: reader-groups.md B1, B2, C2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple, Self, TypeVar
from uuid import UUID

from pravega_lab.errors import ProtocolError
from pravega_lab.protocol.serializer import (
    BOOL,
    COMPACT_INT,
    DOUBLE,
    I32,
    I64,
    NOTHING_LEFT,
    UTF,
    UUID_,
    Envelope,
    Format,
    Input,
    Layout,
    Leftover,
    array_of,
    list_of,
    map_of,
)
from pravega_lab.protocol.stream_cut import StreamCut

T = TypeVar("T")


class KeyRange(NamedTuple):
    """Holds the range of keys of a segment, (low, high]."""

    low: float
    high: float


UNKNOWN_RANGE = KeyRange(-1.0, -1.0)
"""The range that is stored for the segments with which a group starts."""


class SegmentWithRange(NamedTuple):
    """A segment's full name and its keys. It is used as a key of maps."""

    segment: str
    range: KeyRange = UNKNOWN_RANGE


def _read_segment_with_range(data: Input) -> SegmentWithRange:
    return SegmentWithRange(UTF.read(data), RANGE.read(data))


RANGE = Format(
    lambda data: KeyRange(DOUBLE.read(data), DOUBLE.read(data)),
    lambda keys: DOUBLE.write(keys.low) + DOUBLE.write(keys.high),
)
SEGMENT_WITH_RANGE = Format(
    _read_segment_with_range, lambda value: UTF.write(value.segment) + RANGE.write(value.range)
)
POSITIONS = map_of(UTF, I64)
RANGED_POSITIONS = map_of(SEGMENT_WITH_RANGE, I64)
RANGES = map_of(UTF, RANGE)
PREDECESSORS = map_of(UTF, list_of(I64))
CUTS = map_of(UTF, array_of(StreamCut.from_bytes, StreamCut.to_bytes))


# ---- configuration ------------------------------------------------------------------------------


class RetentionType(IntEnum):
    """When a group lets its streams delete what it has read."""

    NONE = 0
    MANUAL_RELEASE_AT_USER_STREAMCUT = 1
    AUTOMATIC_RELEASE_AT_LAST_CHECKPOINT = 2


def _read_retention(data: Input) -> RetentionType:
    found = COMPACT_INT.read(data)
    if found > max(RetentionType):
        raise ProtocolError(f"retention type {found}; 0 to {max(RetentionType)} are known")
    return RetentionType(found)


@dataclass(frozen=True, slots=True)
class ReaderGroupConfig:
    """The configuration of a group, with cuts by stream (``scope/stream``).

    An ``UNBOUNDED`` cut stands for the head of a stream where reading starts, and for no end where it ends.
    ``generation`` and ``reader_group_id`` belong to the controller and are not compared. The interval -1 of
    ``automatic_checkpoint_interval_ms`` switches automatic checkpoints off.
    """

    starting_stream_cuts: dict[str, StreamCut]
    ending_stream_cuts: dict[str, StreamCut] = field(default_factory=dict)
    automatic_checkpoint_interval_ms: int = 30_000
    group_refresh_time_ms: int = 3_000
    max_outstanding_checkpoint_request: int = 3
    retention_type: RetentionType = RetentionType.NONE
    generation: int = field(default=-1, compare=False)
    reader_group_id: UUID = field(default=UUID(int=0), compare=False)
    leftover: Leftover = field(default=NOTHING_LEFT, compare=False, repr=False)

    def to_bytes(self) -> bytes:
        """Return the encoded configuration."""
        return _CONFIG.write(self, self.leftover).to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the configuration in ``data``. Raises ``ProtocolError``."""
        values, leftover = _CONFIG.read(Envelope.from_bytes(data))
        return _made(cls, values, leftover)


_CONFIG_FIELDS: dict[str, Format[Any]] = {
    "automatic_checkpoint_interval_ms": I64,
    "group_refresh_time_ms": I64,
    "starting_stream_cuts": CUTS,
    "ending_stream_cuts": CUTS,
}
_CONFIG = Layout(
    _CONFIG_FIELDS,
    {**_CONFIG_FIELDS, "max_outstanding_checkpoint_request": I32},  # repeats all of revision 0
    {
        "retention_type": Format(_read_retention, COMPACT_INT.write),
        "generation": I64,
        "reader_group_id": UUID_,
    },
)
CONFIG = array_of(ReaderGroupConfig.from_bytes, ReaderGroupConfig.to_bytes)


@dataclass(frozen=True, slots=True)
class CheckpointState:
    """The checkpoints of a group, pending and complete, in the order in which they began.

    A checkpoint that is missing in ``uncheckpointed_hosts`` is complete. ``last_checkpoint_position``
    belongs to the last complete one that was not silent.
    """

    checkpoints: tuple[str, ...] = ()
    uncheckpointed_hosts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    checkpoint_positions: dict[str, dict[str, int]] = field(default_factory=dict)
    last_checkpoint_position: dict[str, int] = field(default_factory=dict)
    is_last_checkpoint_published: bool = False
    leftover: Leftover = field(default=NOTHING_LEFT, compare=False, repr=False)

    def to_bytes(self) -> bytes:
        """Return the encoded state."""
        return _CHECKPOINT_STATE.write(self, self.leftover).to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the state in ``data``. Raises ``ProtocolError``."""
        values, leftover = _CHECKPOINT_STATE.read(Envelope.from_bytes(data))
        return _made(cls, values, leftover)


_CHECKPOINT_STATE = Layout(
    {
        "checkpoints": list_of(UTF),
        "uncheckpointed_hosts": map_of(UTF, list_of(UTF)),
        "checkpoint_positions": map_of(UTF, POSITIONS),
        "last_checkpoint_position": POSITIONS,
    },
    {"is_last_checkpoint_published": BOOL},
)
CHECKPOINT_STATE = array_of(CheckpointState.from_bytes, CheckpointState.to_bytes)


def _made(cls: type[T], values: dict[str, Any], leftover: Leftover) -> T:
    make: Callable[..., T] = cls
    try:
        return make(**values, leftover=leftover)
    except TypeError:
        raise ProtocolError(f"{cls.__name__} has no first revision, only {sorted(values)}") from None


# ---- updates ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """One change of a group's state. Subclasses declare which fields are in which revision."""

    type_id: ClassVar[int]
    layout: ClassVar[Layout]
    leftover: Leftover = field(default=NOTHING_LEFT, compare=False, repr=False)

    def to_bytes(self) -> bytes:
        """Return the encoded update, with its type id."""
        return self.layout.write(self, self.leftover).to_bytes(self.type_id)


@dataclass(frozen=True, slots=True)
class ReaderGroupStateInit(Update):
    """Begins a new state: all start segments unassigned, no readers, no checkpoints."""

    type_id: ClassVar[int] = 0
    layout: ClassVar[Layout] = Layout(
        {"config": CONFIG, "start_segments": POSITIONS, "end_segments": POSITIONS},
        {"ranged_start_segments": RANGED_POSITIONS},
        {"updating_config": BOOL},
    )
    config: ReaderGroupConfig
    start_segments: dict[str, int]
    end_segments: dict[str, int]
    ranged_start_segments: dict[SegmentWithRange, int] = field(default_factory=dict)
    updating_config: bool = False


@dataclass(frozen=True, slots=True)
class CompactReaderGroupState(Update):
    """Replaces the log before it by the whole state. ``ranges`` has the keys of all segments in it."""

    type_id: ClassVar[int] = 1
    layout: ClassVar[Layout] = Layout(
        {
            "config": CONFIG,
            "checkpoint_state": CHECKPOINT_STATE,
            "distance_to_tail": POSITIONS,
            "future_segments": PREDECESSORS,
            "assigned_segments": map_of(UTF, POSITIONS),
            "unassigned_segments": POSITIONS,
            "end_segments": POSITIONS,
        },
        {"last_read_position": POSITIONS, "ranges": RANGES},
        {"updating_config": BOOL},
    )
    config: ReaderGroupConfig
    checkpoint_state: CheckpointState
    distance_to_tail: dict[str, int]
    future_segments: dict[str, tuple[int, ...]]
    assigned_segments: dict[str, dict[str, int]]
    unassigned_segments: dict[str, int]
    end_segments: dict[str, int]
    last_read_position: dict[str, int] = field(default_factory=dict)
    ranges: dict[str, KeyRange] = field(default_factory=dict)
    updating_config: bool = False


@dataclass(frozen=True, slots=True)
class AddReader(Update):
    """Brings a reader online. It is an error if the reader is online."""

    type_id: ClassVar[int] = 2
    layout: ClassVar[Layout] = Layout({"reader": UTF})
    reader: str


@dataclass(frozen=True, slots=True)
class RemoveReader(Update):
    """Removes a reader. Its segments become unassigned, at ``positions`` or else at the stored offset."""

    type_id: ClassVar[int] = 3
    layout: ClassVar[Layout] = Layout({"reader": UTF, "positions": POSITIONS})
    reader: str
    positions: dict[str, int]


@dataclass(frozen=True, slots=True)
class ReleaseSegment(Update):
    """Releases a segment of a reader at ``offset``."""

    type_id: ClassVar[int] = 4
    layout: ClassVar[Layout] = Layout({"reader": UTF, "segment": UTF, "offset": I64})
    reader: str
    segment: str
    offset: int


@dataclass(frozen=True, slots=True)
class AcquireSegment(Update):
    """Assigns an unassigned segment to a reader, at its stored offset."""

    type_id: ClassVar[int] = 5
    layout: ClassVar[Layout] = Layout({"reader": UTF, "segment": UTF})
    reader: str
    segment: str


@dataclass(frozen=True, slots=True)
class UpdateDistanceToTail(Update):
    """Reports the lag of a reader in ms, and its last positions (used only for time windows)."""

    type_id: ClassVar[int] = 6
    layout: ClassVar[Layout] = Layout(
        {"reader": UTF, "distance_to_tail": I64}, {"last_read_positions": RANGED_POSITIONS}
    )
    reader: str
    distance_to_tail: int
    last_read_positions: dict[SegmentWithRange, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SegmentCompleted(Update):
    """Reports that a reader read a sealed segment to its end.

    ``successors`` has the segment's successors, each with the ids of all its predecessors.
    """

    type_id: ClassVar[int] = 7
    layout: ClassVar[Layout] = Layout(
        {"reader": UTF, "segment": UTF, "successors": PREDECESSORS}, {"ranges": RANGES}
    )
    reader: str
    segment: str
    successors: dict[str, tuple[int, ...]]
    ranges: dict[str, KeyRange] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckpointReader(Update):
    """Reports a reader's positions for a checkpoint. The report of the last reader completes it."""

    type_id: ClassVar[int] = 8
    layout: ClassVar[Layout] = Layout({"checkpoint_id": UTF, "reader": UTF, "positions": POSITIONS})
    checkpoint_id: str
    reader: str
    positions: dict[str, int]


@dataclass(frozen=True, slots=True)
class CreateCheckpoint(Update):
    """Begins a checkpoint. It is ignored if the group has one of that name."""

    type_id: ClassVar[int] = 9
    layout: ClassVar[Layout] = Layout({"checkpoint_id": UTF})
    checkpoint_id: str


@dataclass(frozen=True, slots=True)
class ClearCheckpointsBefore(Update):
    """Removes every checkpoint that began before this one, complete or not."""

    type_id: ClassVar[int] = 10
    layout: ClassVar[Layout] = Layout({"checkpoint_id": UTF})
    checkpoint_id: str


@dataclass(frozen=True, slots=True)
class UpdateCheckpointPublished(Update):
    """Records whether the controller knows the last checkpoint, for retention."""

    type_id: ClassVar[int] = 11
    layout: ClassVar[Layout] = Layout({"is_published": BOOL})
    is_published: bool


@dataclass(frozen=True, slots=True)
class UpdatingConfig(Update):
    """Records that a reset of the group began (true) or ended."""

    type_id: ClassVar[int] = 12
    layout: ClassVar[Layout] = Layout({"updating_config": BOOL})
    updating_config: bool


@dataclass(frozen=True, slots=True)
class RemoveOutstandingCheckpoints(Update):
    """Removes every checkpoint that is neither complete nor silent."""

    type_id: ClassVar[int] = 13
    layout: ClassVar[Layout] = Layout({})


UPDATES: dict[int, type[Update]] = {update.type_id: update for update in Update.__subclasses__()}


def update_from_bytes(data: bytes) -> Update:
    """Return one update of any type. Raises ``ProtocolError``."""
    type_id, envelope = Envelope.from_typed_bytes(data)
    update = UPDATES.get(type_id)
    if update is None:
        raise ProtocolError(
            f"no update of a reader group has the type {type_id}; 0 to {max(UPDATES)} are known"
        )
    values, leftover = update.layout.read(envelope)
    return _made(update, values, leftover)


# ---- events of the state stream -----------------------------------------------------------------

_INITIAL = 1
_UPDATES = 2


@dataclass(frozen=True, slots=True)
class StateEvent:
    """The payload of one event: a whole state (``is_initial``), or updates that take effect together."""

    is_initial: bool
    updates: tuple[Update, ...]

    def to_bytes(self) -> bytes:
        """Return the payload of the event."""
        parts = [update.to_bytes() for update in self.updates]
        if self.is_initial:
            return I32.write(_INITIAL) + parts[0]
        return b"".join([I32.write(_UPDATES), *(I32.write(len(part)) + part for part in parts)])

    @classmethod
    def from_bytes(cls, data: bytes) -> StateEvent:
        """Return the state or updates in an event's payload. Raises ``ProtocolError``."""
        source = Input(data)
        kind = I32.read(source)
        if kind == _INITIAL:
            return cls(True, (update_from_bytes(source.rest()),))
        if kind != _UPDATES:
            raise ProtocolError(
                f"an event of type {kind} in a state stream; {_INITIAL} and {_UPDATES} are known"
            )
        found = []
        while source.left:
            found.append(update_from_bytes(source.take(I32.read(source))))
        return cls(False, tuple(found))


def initial(state: ReaderGroupStateInit | CompactReaderGroupState) -> bytes:
    """Return the payload that begins a group's log, or replaces the log before it."""
    return StateEvent(True, (state,)).to_bytes()


def updates(changes: Sequence[Update]) -> bytes:
    """Return the payload of changes that take effect together."""
    return StateEvent(False, tuple(changes)).to_bytes()
