"""Everything that can change a store, as values: the vocabulary of the log.

`Storage.submit` receives a sequence of these and applies all or none. Offsets and lengths are in bytes, and
the time comes with the submission. The docstring of each operation names its result (``ticket.results``).
Without a mention it is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from .chunks import Chunk, Piece

NO_VALUE = -(1 << 63)
"""The value of an attribute that was never set, and the event number of a writer that never wrote.

It is Java's Long.MIN_VALUE.
"""

NO_VERSION = -(1 << 63)
"""Table entries: no condition on the version (pravega.md A13)."""

NOT_EXISTS = -1
"""Table entries: the key must not exist (pravega.md A13)."""

NO_LENGTH = -1
"""Tables: no condition on the table segment's length (pravega.md A13)."""


@dataclass(frozen=True, slots=True)
class CreateSegment:
    """Create an empty segment: of a stream, of a transaction, transient, or (``is_table``) a table segment.

    ``scale_type`` (0 none, 1 kB/s, 2 events/s) and ``target_rate`` (pravega.md A6) are kept for the
    auto-scaler. With ``key_length`` > 0 a table accepts only keys of that length. Refused with
    SegmentExists.
    """

    segment: str
    is_table: bool = False
    scale_type: int = 0
    target_rate: int = 0
    key_length: int = 0


@dataclass(frozen=True, slots=True)
class Append:
    """Add ``data`` at the end of a segment, in one piece. Result: the segment's length after it.

    ``expected_offset``: the length must be this, else ConditionFailed (conditional appends, pravega.md A11).
    ``writer_id`` with ``event_number``: the number becomes the writer's last one on this segment, in the
    same step. ``expected_event_number`` is the last number that the caller knows, from ``setup_append`` or
    from its own later appends. The stored number must equal it, else BadEventNumber (upstream's
    compare-and-set). Without it, the stored number must be lower than ``event_number``.

    Also refused with NoSuchSegment, SegmentSealed, WrongKind (a table), StoreFull.
    """

    segment: str
    data: bytes
    event_count: int = 1
    writer_id: UUID | None = None
    event_number: int = 0
    expected_event_number: int | None = None
    expected_offset: int | None = None


@dataclass(frozen=True, slots=True)
class Seal:
    """Refuse later appends.

    Result: the final length. Refused with SegmentSealed if it is sealed (pravega.md D5).
    """

    segment: str


@dataclass(frozen=True, slots=True)
class Truncate:
    """Drop the bytes below ``offset``, also of a sealed segment.

    Refused with SegmentTruncated if the offset is below the present start or beyond the end.
    """

    segment: str
    offset: int


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the segment. With ``must_be_empty``, a table that holds keys is refused with TableNotEmpty."""

    segment: str
    must_be_empty: bool = False


@dataclass(frozen=True, slots=True)
class Merge:
    """Append all of ``source`` to ``target``, in one piece, and remove ``source``. Nothing is copied.

    The merge seals an open source. Result: the target's length after it, also for a source that was merged
    before (the last 4,096 sources of a target are remembered). Refused with NoSuchSegment naming the source
    if it neither exists nor was merged, and with SegmentSealed naming the *source* if the target is sealed
    (pravega.md D5).
    """

    target: str
    source: str


@dataclass(frozen=True, slots=True)
class SetAttribute:
    """Set an attribute. ``expected`` makes it compare-and-set; ``NO_VALUE`` means that it must be unset.

    Refused with AttributeMismatch.
    """

    segment: str
    attribute_id: UUID
    value: int
    expected: int | None = None


@dataclass(frozen=True, slots=True)
class SetPolicy:
    """Change the rate with which the auto-scaler compares this segment (wire command 32)."""

    segment: str
    scale_type: int
    target_rate: int


class TableUpdate(NamedTuple):
    """Holds one entry of a batch. ``version``: a version, ``NOT_EXISTS`` or ``NO_VERSION``."""

    key: bytes
    value: bytes
    version: int = NO_VERSION


class TableRemoval(NamedTuple):
    """Holds one key of a removal. ``version``: a version or ``NO_VERSION``."""

    key: bytes
    version: int = NO_VERSION


@dataclass(frozen=True, slots=True)
class UpdateTable:
    """Insert or replace entries. Result: one version per entry, in order.

    All conditions are checked against the state before the batch. A key may be repeated, and its last entry
    wins (pravega.md A13, E3-14). Refused with KeyMissing before BadVersion, and then with SegmentTruncated if
    the table does not have ``expected_length``. A negative length is no condition.
    """

    segment: str
    entries: tuple[TableUpdate, ...]
    expected_length: int = NO_LENGTH


@dataclass(frozen=True, slots=True)
class RemoveTableKeys:
    """Remove keys. A missing key is refused (KeyMissing) only if a version of it is expected."""

    segment: str
    keys: tuple[TableRemoval, ...]
    expected_length: int = NO_LENGTH


@dataclass(frozen=True, slots=True)
class PutRecord:
    """Keep ``value`` under ``key``, or remove the key (None): the controller's metadata. Never refused."""

    key: str
    value: bytes | None


@dataclass(frozen=True, slots=True)
class MoveToTier:
    """Read bytes of segments from a chunk in tier 2 from now on, instead of from the log.

    The chunk is written before this is submitted. ``pieces`` are in the order in which they are in it. A
    piece of a segment that was truncated, deleted or merged since is skipped. A chunk of which no piece is
    left is to be deleted. Never refused.
    """

    chunk: Chunk
    pieces: tuple[Piece, ...]


Operation = (
    CreateSegment
    | Append
    | Seal
    | Truncate
    | Delete
    | Merge
    | SetAttribute
    | SetPolicy
    | UpdateTable
    | RemoveTableKeys
    | PutRecord
    | MoveToTier
)
