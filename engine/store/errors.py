"""The errors of the storage. Each carries the values that the server needs for its reply on the wire.

StorageError                      nothing of the submission was applied
├── NoSuchSegment                 .segment
├── SegmentExists                 .segment
├── SegmentSealed                 .segment, .length
├── SegmentTruncated              .segment, .start_offset, .offset
├── OffsetBeyondEnd               .segment, .offset, .length
├── WrongKind                     .segment (a table where a stream segment is needed, or the reverse)
├── NotAtHand                     .segment, .chunk, .position, .length (in tier 2, and not in memory)
├── ConditionFailed               .segment, .length
├── BadEventNumber                .segment, .event_number, .last_event_number
├── AttributeMismatch             .segment, .value
├── KeyMissing                    .segment, .key
├── BadVersion                    .segment, .key, .version
├── BadTableEntry                 .segment (key or value too long, or of the wrong length)
├── Unsupported                   .segment, .operation (of a table with keys of one length)
├── TableNotEmpty                 .segment, .key_count
├── StoreFull                     the disk is full
├── TooManySegments               .segment (the store holds as many as its limit allows)
├── StoreFailed                   a sync failed: the process has to stop
├── TierMismatch                  tier 2 does not belong to this store, or is newer than it
└── StoreInUse                    another process holds the folder
"""

from __future__ import annotations

from typing import Any

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
    StoreVersionError,
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
    "NotAtHand",
    "OffsetBeyondEnd",
    "SegmentExists",
    "SegmentSealed",
    "SegmentTruncated",
    "StorageError",
    "StoreFailed",
    "StoreFull",
    "StoreInUse",
    "StoreVersionError",
    "TableNotEmpty",
    "TierMismatch",
    "TooManySegments",
    "Unsupported",
    "WrongKind",
    "check_version",
]


class StorageError(PravegaError):
    """Raised when the storage refuses operations. Nothing of the submission was applied."""

    segment: str = ""


class NoSuchSegment(StorageError, SegmentNotFoundError):
    """Raised when a segment does not exist (any more)."""

    def __init__(self, segment: str) -> None:
        super().__init__(f"There is no segment {segment!r}: it was never created, or was deleted or merged.")
        self.segment = segment


class SegmentExists(StorageError, AlreadyExistsError):
    """Raised when a segment is to be created under a name that is taken."""

    definite = Definite.NO

    def __init__(self, segment: str) -> None:
        super().__init__(f"Segment {segment!r} exists already.")
        self.segment = segment


class SegmentSealed(StorageError, SegmentSealedError):
    """Raised when a sealed segment is to change.

    ``segment`` is the *source* where a merge into a sealed target was refused.
    """

    def __init__(self, segment: str, length: int) -> None:
        super().__init__(f"Segment {segment!r} is sealed, or is to be merged into a sealed segment.")
        self.segment = segment
        self.length = length


class SegmentTruncated(StorageError, TruncatedDataError):
    """Raised when an offset is outside what the segment still holds.

    ``start_offset`` is where it begins now.

    As on the wire, it also reports that the length of a table is not the expected one. ``start_offset`` is
    then the length.
    """

    def __init__(self, segment: str, start_offset: int, offset: int) -> None:
        super().__init__(
            f"Segment {segment!r} does not hold offset {offset}; continue at {start_offset}.", start_offset
        )
        self.segment = segment
        self.start_offset = start_offset
        self.offset = offset


class OffsetBeyondEnd(StorageError):
    """Raised by a read at an offset that does not exist.

    The offset is negative, after the end of a sealed segment, or after the end of a table.
    """

    def __init__(self, segment: str, offset: int, length: int) -> None:
        super().__init__(f"Offset {offset} of segment {segment!r} does not exist: it ends at {length}.")
        self.segment = segment
        self.offset = offset
        self.length = length


class NotAtHand(StorageError):
    """Raised by a read of bytes that are in tier 2 and not in memory: fetch them, and read again.

    They are the ``length`` bytes from ``position`` on of ``chunk``, a `log.chunks.Chunk`.
    """

    def __init__(self, segment: str, chunk: Any, position: int, length: int) -> None:
        super().__init__(f"The bytes of segment {segment!r} are in tier 2, in {chunk.name!r} at {position}.")
        self.segment = segment
        self.chunk = chunk
        self.position = position
        self.length = length


class WrongKind(StorageError):
    """Raised when a table operation meets a stream segment, or the reverse."""

    def __init__(self, segment: str, is_table: bool) -> None:
        found, asked = ("table", "events") if is_table else ("events", "table")
        super().__init__(f"Segment {segment!r} is a segment of {found}; the operation needs one of {asked}.")
        self.segment = segment
        self.is_table = is_table


class ConditionFailed(StorageError, ConditionFailedError):
    """Raised when a conditional append expected another length. ``length`` is the length that was found."""

    def __init__(self, segment: str, expected: int, length: int) -> None:
        super().__init__(f"Segment {segment!r} has {length} bytes; the append expected {expected}.")
        self.segment = segment
        self.expected = expected
        self.length = length


class BadEventNumber(StorageError, ConditionFailedError):
    """Raised when another connection has changed the writer's stored event number."""

    def __init__(self, segment: str, event_number: int, last_event_number: int) -> None:
        super().__init__(
            f"Append up to event {event_number} on segment {segment!r} refused: the writer's last stored"
            f" event is {last_event_number}. Set the writer up again and resend the events after it."
        )
        self.segment = segment
        self.event_number = event_number
        self.last_event_number = last_event_number


class AttributeMismatch(StorageError, ConditionFailedError):
    """Raised when an attribute has another value than expected."""

    def __init__(self, segment: str, expected: int, value: int) -> None:
        super().__init__(f"The attribute of segment {segment!r} is {value}; the update expected {expected}.")
        self.segment = segment
        self.expected = expected
        self.value = value


class KeyMissing(StorageError, ConditionFailedError):
    """Raised when an update expects a version of a key that the table does not hold (wire reply 81)."""

    def __init__(self, segment: str, key: bytes) -> None:
        super().__init__(f"Table {segment!r} has no key {key[:40]!r}.")
        self.segment = segment
        self.key = key


class BadVersion(StorageError, ConditionFailedError):
    """Raised when a key has another version than the update expected (wire reply 82).

    ``version`` is the version that was found, ``NOT_EXISTS`` if the key is missing.
    """

    def __init__(self, segment: str, key: bytes, expected: int, version: int) -> None:
        super().__init__(
            f"Key {key[:40]!r} of table {segment!r} has version {version}; the update expected {expected}."
        )
        self.segment = segment
        self.key = key
        self.expected = expected
        self.version = version


class BadTableEntry(StorageError):
    """Raised for a key or value that this table never accepts.

    A key has 1 to 8,192 bytes, and an entry up to 1 MiB with its header of 17 bytes (pravega.md A13).
    """

    def __init__(self, segment: str, reason: str) -> None:
        super().__init__(f"Table {segment!r} refused an entry: {reason}.")
        self.segment = segment


class Unsupported(StorageError):
    """Raised for an operation that this kind of table does not have (wire reply 57)."""

    def __init__(self, segment: str, operation: str) -> None:
        super().__init__(f"Table {segment!r} has keys of one length, and such a table has no {operation}.")
        self.segment = segment
        self.operation = operation


class TableNotEmpty(StorageError, NotEmptyError):
    """Raised when a table that holds keys is to be deleted only if it is empty."""

    def __init__(self, segment: str, key_count: int) -> None:
        super().__init__(f"Table {segment!r} still holds {key_count} keys.")
        self.segment = segment
        self.key_count = key_count


class StoreFull(StorageError, StoreFullError):
    """Raised when the disk has no room.

    Operations that make the store grow are refused until there is room again.

    Reads and deletions continue to work.
    """


class TooManySegments(StorageError, StoreFullError):
    """Raised when a segment is to be created and the store holds as many as its limit allows."""

    def __init__(self, segment: str, segments_max: int) -> None:
        super().__init__(
            f"Segment {segment!r} is not created: the store may hold {segments_max} segments"
            " (--max-segments). Delete or truncate streams, or start the store with a higher limit."
        )
        self.segment = segment


class StoreFailed(StorageError):
    """Raised after a sync failed.

    Whether its data is on disk is unknown, so the store serves nothing more.
    """

    definite = Definite.UNKNOWN


class StoreInUse(StorageError):
    """Raised when another process has the folder open."""


class TierMismatch(StorageError):
    """Raised when the folder in tier 2 belongs to another store, or does not fit the folder of this one."""


class DiskFull(OSError):
    """Raised by a disk that has no room for a new file. The storage then raises `StoreFull`."""


def check_version(name: str, found: int, known: int, oldest: int | None = None) -> None:
    """Raise StoreVersionError if the file ``name`` has another version of the format than ``known``.

    Versions from ``oldest`` on are read, too.
    """
    if (known if oldest is None else oldest) <= found <= known:
        return
    age = "a newer" if found > known else "an older"
    raise StoreVersionError(
        f"The file {name!r} has version {found} of the store's format, and this release reads version"
        f" {known}: {age} release wrote it, or the file is damaged. Open the store with that release, or"
        " restore a backup.",
        found,
        known,
    )
