"""What the storage refuses, each with the values a front needs to answer on the wire.

StorageError                      nothing of the submission was applied
├── NoSuchSegment                 .segment
├── SegmentExists                 .segment
├── SegmentSealed                 .segment, .length
├── SegmentTruncated              .segment, .start_offset, .offset
├── OffsetBeyondEnd               .segment, .offset, .length
├── WrongKind                     .segment (a table where a stream segment is needed, or the reverse)
├── ConditionFailed               .segment, .length
├── BadEventNumber                .segment, .event_number, .last_event_number
├── AttributeMismatch             .segment, .value
├── KeyMissing                    .segment, .key
├── BadVersion                    .segment, .key, .version
├── BadTableEntry                 .segment (key or value too long, or of the wrong length)
├── TableNotEmpty                 .segment, .key_count
├── StoreFull                     the disk is full
├── StoreFailed                   a sync failed: the process has to stop
└── StoreInUse                    another process holds the folder
"""

from __future__ import annotations

from pravega_lab.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    CorruptStoreError,
    Definite,
    NotEmptyError,
    PravegaError,
    SegmentNotFoundError,
    SegmentSealedError,
    StoreFullError,
    TruncatedDataError,
)

__all__ = [
    "AttributeMismatch",
    "BadEventNumber",
    "BadTableEntry",
    "BadVersion",
    "ConditionFailed",
    "CorruptStoreError",
    "DiskFull",
    "KeyMissing",
    "NoSuchSegment",
    "OffsetBeyondEnd",
    "SegmentExists",
    "SegmentSealed",
    "SegmentTruncated",
    "StorageError",
    "StoreFailed",
    "StoreFull",
    "StoreInUse",
    "TableNotEmpty",
    "WrongKind",
]


class StorageError(PravegaError):
    """The storage refused; nothing of what was submitted was applied."""

    segment: str = ""


class NoSuchSegment(StorageError, SegmentNotFoundError):
    """There is no such segment (any more)."""

    def __init__(self, segment: str) -> None:
        super().__init__(f"There is no segment {segment!r}: it was never created, or was deleted or merged.")
        self.segment = segment


class SegmentExists(StorageError, AlreadyExistsError):
    """A segment of that name is there already."""

    definite = Definite.NO

    def __init__(self, segment: str) -> None:
        super().__init__(f"Segment {segment!r} exists already.")
        self.segment = segment


class SegmentSealed(StorageError, SegmentSealedError):
    """The segment is sealed; ``segment`` is the *source* where a merge into a sealed target was refused."""

    def __init__(self, segment: str, length: int) -> None:
        super().__init__(f"Segment {segment!r} is sealed, or is to be merged into one that is.")
        self.segment = segment
        self.length = length


class SegmentTruncated(StorageError, TruncatedDataError):
    """The offset is outside what the segment still holds; ``start_offset`` is where it begins now.

    As on the wire it also says that a table's length is not the expected one; ``start_offset`` is then the
    length.
    """

    def __init__(self, segment: str, start_offset: int, offset: int) -> None:
        super().__init__(
            f"Segment {segment!r} has nothing at offset {offset}; go on at {start_offset}.", start_offset
        )
        self.segment = segment
        self.start_offset = start_offset
        self.offset = offset


class OffsetBeyondEnd(StorageError):
    """A read behind the end of a sealed segment, at a negative offset, or a table position that is not
    yet."""

    def __init__(self, segment: str, offset: int, length: int) -> None:
        super().__init__(f"Offset {offset} of segment {segment!r} does not exist: it ends at {length}.")
        self.segment = segment
        self.offset = offset
        self.length = length


class WrongKind(StorageError):
    """A table operation on a segment of events, or the reverse."""

    def __init__(self, segment: str, is_table: bool) -> None:
        found, asked = ("table", "events") if is_table else ("events", "table")
        super().__init__(f"Segment {segment!r} is a segment of {found}; the operation needs one of {asked}.")
        self.segment = segment
        self.is_table = is_table


class ConditionFailed(StorageError, ConditionFailedError):
    """A conditional append expected another length; ``length`` is what was found."""

    def __init__(self, segment: str, expected: int, length: int) -> None:
        super().__init__(f"Segment {segment!r} has {length} bytes; the append expected {expected}.")
        self.segment = segment
        self.expected = expected
        self.length = length


class BadEventNumber(StorageError, ConditionFailedError):
    """The writer's stored event number is not the one the append rests on: another connection wrote too."""

    def __init__(self, segment: str, event_number: int, last_event_number: int) -> None:
        super().__init__(
            f"Append up to event {event_number} on segment {segment!r} refused: the writer's last stored"
            f" event is {last_event_number}. Set the writer up again and resend what lies above it."
        )
        self.segment = segment
        self.event_number = event_number
        self.last_event_number = last_event_number


class AttributeMismatch(StorageError, ConditionFailedError):
    """An attribute held another value than expected."""

    def __init__(self, segment: str, expected: int, value: int) -> None:
        super().__init__(f"The attribute of segment {segment!r} is {value}; the update expected {expected}.")
        self.segment = segment
        self.expected = expected
        self.value = value


class KeyMissing(StorageError, ConditionFailedError):
    """A version was asked of a key that the table does not hold (wire reply 81)."""

    def __init__(self, segment: str, key: bytes) -> None:
        super().__init__(f"Table {segment!r} has no key {key[:40]!r}.")
        self.segment = segment
        self.key = key


class BadVersion(StorageError, ConditionFailedError):
    """The key has another version (``NOT_EXISTS`` if none) than the update expected (wire reply 82)."""

    def __init__(self, segment: str, key: bytes, expected: int, version: int) -> None:
        super().__init__(
            f"Key {key[:40]!r} of table {segment!r} has version {version}; the update expected {expected}."
        )
        self.segment = segment
        self.key = key
        self.expected = expected
        self.version = version


class BadTableEntry(StorageError):
    """A key or value that this table never takes (pravega.md A13: key ≤ 8,192 B, value ≤ 1 MiB − 8,192 B)."""

    def __init__(self, segment: str, reason: str) -> None:
        super().__init__(f"Table {segment!r} refused an entry: {reason}.")
        self.segment = segment


class TableNotEmpty(StorageError, NotEmptyError):
    """A table that still holds keys was to be deleted only if empty."""

    def __init__(self, segment: str, key_count: int) -> None:
        super().__init__(f"Table {segment!r} still holds {key_count} keys.")
        self.segment = segment
        self.key_count = key_count


class StoreFull(StorageError, StoreFullError):
    """No room on the disk: what grows is refused, reads and deletions go on; it ends when there is room."""


class StoreFailed(StorageError):
    """A sync failed earlier: whether its data is on disk is not known, so nothing more is served."""

    definite = Definite.UNKNOWN


class StoreInUse(StorageError):
    """Another process has this folder open."""


class DiskFull(OSError):
    """Raised by a disk that has no room for a new file."""
