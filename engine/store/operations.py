"""The vocabulary of the log: everything that can change a store, as values.

One :meth:`Storage.submit <pravega_lab.engine.store.storage.Storage.submit>` takes a sequence of these and
applies all or none. Offsets and lengths are in bytes, times come with the submission. What each operation
answers (``ticket.results``) stands in its docstring; without a word it is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

NO_VALUE = -(1 << 63)
"""An attribute that was never set, and the event number of a writer that never wrote (Java's
Long.MIN_VALUE)."""

NO_VERSION = -(1 << 63)
"""Table entries: no condition on the version (pravega.md A13)."""

NOT_EXISTS = -1
"""Table entries: the key must not exist (pravega.md A13)."""

NO_LENGTH = -1
"""Tables: no condition on the table segment's length (pravega.md A13)."""


@dataclass(frozen=True, slots=True)
class CreateSegment:
    """Make an empty segment: of a stream, a transaction, transient, or (``is_table``) a table segment.

    ``scale_type`` 0 none, 1 kB/s, 2 events/s, with ``target_rate`` (pravega.md A6) are kept for the
    auto-scaler. ``key_length`` > 0 makes a table take keys of exactly that length.
    Refused with SegmentExists.
    """

    segment: str
    is_table: bool = False
    scale_type: int = 0
    target_rate: int = 0
    key_length: int = 0


@dataclass(frozen=True, slots=True)
class Append:
    """Add ``data`` at the end of a segment, as one piece. Result: the segment's length after it.

    ``expected_offset``: the length must be this, else ConditionFailed (conditional appends, pravega.md A11).
    ``writer_id`` with ``event_number``: the number becomes the writer's last one on this segment, in the same
    step. ``expected_event_number`` is the last number the caller knows (from ``setup_append`` or from its own
    appends since): the stored one must equal it, else BadEventNumber (upstream's compare-and-set). Without
    it the stored number must be lower than ``event_number``.
    Refused further with NoSuchSegment, SegmentSealed, WrongKind (a table), StoreFull.
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
    """No append goes behind this. Result: the final length. Sealed already: SegmentSealed (pravega.md D5)."""

    segment: str


@dataclass(frozen=True, slots=True)
class Truncate:
    """Bytes below ``offset`` are gone; allowed on sealed segments. Backwards or beyond the end:
    SegmentTruncated."""

    segment: str
    offset: int


@dataclass(frozen=True, slots=True)
class Delete:
    """The segment is gone. ``must_be_empty`` is for tables that hold keys: TableNotEmpty."""

    segment: str
    must_be_empty: bool = False


@dataclass(frozen=True, slots=True)
class Merge:
    """Put all of ``source`` at the end of ``target``, in one piece, and remove ``source``; nothing is copied.

    The merge seals an open source. Result: the target's length after it; again for a source that is merged
    already (idempotent; the last 4,096 sources of a target are remembered). Neither there nor merged:
    NoSuchSegment naming the source; target sealed: SegmentSealed naming the *source* (pravega.md D5).
    """

    target: str
    source: str


@dataclass(frozen=True, slots=True)
class SetAttribute:
    """Set an attribute; ``expected`` (``NO_VALUE``: must be unset) makes it compare-and-set:
    AttributeMismatch."""

    segment: str
    attribute_id: UUID
    value: int
    expected: int | None = None


@dataclass(frozen=True, slots=True)
class SetPolicy:
    """Change what the auto-scaler compares this segment's rate with (wire command 32)."""

    segment: str
    scale_type: int
    target_rate: int


class TableUpdate(NamedTuple):
    """One entry of a batch; ``version``: a version, ``NOT_EXISTS`` or ``NO_VERSION``."""

    key: bytes
    value: bytes
    version: int = NO_VERSION


class TableRemoval(NamedTuple):
    """One key of a removal; ``version``: a version or ``NO_VERSION``."""

    key: bytes
    version: int = NO_VERSION


@dataclass(frozen=True, slots=True)
class UpdateTable:
    """Insert or replace entries. Result: one version per entry, in order.

    All conditions are checked against the state before the batch; repeated keys are fine and the last wins
    (pravega.md A13, E3-14). KeyMissing goes before BadVersion; ``expected_length`` of the table:
    SegmentTruncated.
    """

    segment: str
    entries: tuple[TableUpdate, ...]
    expected_length: int = NO_LENGTH


@dataclass(frozen=True, slots=True)
class RemoveTableKeys:
    """Remove keys; a key that is not there is no error unless a version is asked of it (KeyMissing)."""

    segment: str
    keys: tuple[TableRemoval, ...]
    expected_length: int = NO_LENGTH


@dataclass(frozen=True, slots=True)
class PutRecord:
    """Keep ``value`` under ``key`` (None removes it): the controller's metadata. No conditions."""

    key: str
    value: bytes | None


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
)
