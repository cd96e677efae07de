"""Table segments (pravega.md A13, E3-14, E3-15): keys whose versions are offsets in an append-only
layout.

Upstream stores each entry as a header of 17 bytes, key and value, and calls the offset of the entry its
version. This table assigns the same offsets but keeps only the live entries. A delta read returns what
upstream returns after a compaction.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..errors import BadTableEntry, BadVersion, KeyMissing, SegmentTruncated
from ..log.operations import NO_VERSION, NOT_EXISTS, TableRemoval, TableUpdate

ENTRY_HEADER_BYTES = 17
MAX_KEY_BYTES = 8192
MAX_ENTRY_BYTES = 1024 * 1024
"""With the header."""


class TableValue(NamedTuple):
    """A value with its version, which is the offset of the entry."""

    value: bytes
    version: int


class TableEntry(NamedTuple):
    """Holds a key with its value and version."""

    key: bytes
    value: bytes
    version: int


class TableDelta(NamedTuple):
    """One page of a delta read.

    ``last_position`` is where the next page begins, 0 if there was nothing to read.
    """

    entries: tuple[TableEntry, ...]
    should_clear: bool
    reached_end: bool
    last_position: int


class Table:
    """The keys of a table segment.

    ``values`` are synced, ``ahead`` has the versions that are only validated.
    """

    __slots__ = ("ahead", "by_version", "key_length", "next_count", "order", "values")

    def __init__(self, key_length: int = 0) -> None:
        self.key_length = key_length
        self.values: dict[bytes, TableValue] = {}
        self.by_version: dict[int, bytes] = {}
        self.order: list[int] = []  # versions, ascending; some are dead (not in by_version)
        self.ahead: dict[bytes, int] = {}  # key -> version, NOT_EXISTS if removed
        self.next_count = 0

    # Validated state

    def next_version(self, key: bytes) -> int:
        """The validated version of a key, NOT_EXISTS if it is not there."""
        version = self.ahead.get(key)
        if version is not None:
            return version
        value = self.values.get(key)
        return NOT_EXISTS if value is None else value.version

    def check_sizes(self, segment: str, entries: Sequence[TableUpdate | TableRemoval]) -> None:
        """Raise BadTableEntry for keys and values that this table never accepts."""
        for entry in entries:
            length = len(entry.key)
            if not 0 < length <= MAX_KEY_BYTES:
                raise BadTableEntry(segment, f"a key of {length} bytes; 1 to {MAX_KEY_BYTES} are allowed")
            if self.key_length and length != self.key_length:
                raise BadTableEntry(segment, f"a key of {length} bytes; its keys have {self.key_length}")
            most = MAX_ENTRY_BYTES - ENTRY_HEADER_BYTES - length
            if isinstance(entry, TableUpdate) and len(entry.value) > most:
                raise BadTableEntry(
                    segment, f"a value of {len(entry.value)} bytes; up to {most} are allowed with this key"
                )

    def check_versions(self, segment: str, entries: Sequence[TableUpdate | TableRemoval]) -> None:
        """Check all versions against the state before the batch. Raise KeyMissing before BadVersion."""
        mismatch: tuple[bytes, int, int] | None = None
        for entry in entries:
            if entry.version == NO_VERSION:
                continue
            version = self.next_version(entry.key)
            if version == NOT_EXISTS and entry.version >= 0:
                raise KeyMissing(segment, entry.key)
            if version != entry.version and mismatch is None:
                mismatch = (entry.key, entry.version, version)
        if mismatch is not None:
            raise BadVersion(segment, *mismatch)

    def update_ahead(self, length: int, entries: Sequence[TableUpdate]) -> tuple[list[int], int]:
        """Validate ``entries`` in a table of ``length`` bytes. Return their versions and the new length."""
        versions = []
        for entry in entries:
            self.next_count += self.next_version(entry.key) == NOT_EXISTS
            self.ahead[entry.key] = length
            versions.append(length)
            length += ENTRY_HEADER_BYTES + len(entry.key) + len(entry.value)
        return versions, length

    def remove_ahead(self, length: int, keys: Sequence[TableRemoval]) -> int:
        """Validate the removal of ``keys`` from a table of ``length`` bytes. Return the new length."""
        for removal in keys:
            self.next_count -= self.next_version(removal.key) != NOT_EXISTS
            self.ahead[removal.key] = NOT_EXISTS
            length += ENTRY_HEADER_BYTES + len(removal.key)
        return length

    def save(self) -> Callable[[], None]:
        """Return a callable that resets the validated state to what it is now."""
        ahead, count = dict(self.ahead), self.next_count

        def restore() -> None:
            self.ahead, self.next_count = ahead, count

        return restore

    # Synced state

    def put(self, version: int, key: bytes, value: bytes) -> int:
        """Store an entry at offset ``version``. Return the offset after it."""
        self._forget(key)
        self.values[key] = TableValue(value, version)
        self.by_version[version] = key
        self.order.append(version)
        return version + ENTRY_HEADER_BYTES + len(key) + len(value)

    def remove(self, key: bytes) -> int:
        """Remove a key. Return the bytes that its removal takes in the layout."""
        self._forget(key)
        return ENTRY_HEADER_BYTES + len(key)

    def _forget(self, key: bytes) -> None:
        old = self.values.pop(key, None)
        if old is not None:
            del self.by_version[old.version]
            if len(self.order) > 64 and len(self.order) > 2 * len(self.by_version):
                self.order = [version for version in self.order if version in self.by_version]

    def entries_from(self, position: int, count: int) -> list[TableEntry]:
        """Return up to ``count`` live entries at or after ``position``, by position."""
        found: list[TableEntry] = []
        for index in range(bisect_left(self.order, position), len(self.order)):
            if len(found) >= count:
                break
            version = self.order[index]
            key = self.by_version.get(version)
            if key is not None:
                found.append(TableEntry(key, self.values[key].value, version))
        return found

    def check_readable(self, segment: str, keys: Sequence[bytes]) -> None:
        """Raise BadTableEntry for a key that cannot be in this table. Every key can be in this one."""

    def range(self, segment: str, low: bytes, high: bytes, count: int) -> list[TableEntry]:
        """Raise BadTableEntry: the keys of this table have no order."""
        raise BadTableEntry(segment, "a range of keys; only a table with keys of one length has an order")

    def delta(self, segment: str, position: int, count: int, length: int) -> TableDelta:
        """Return the page of a delta read of a table with ``length`` bytes. It is empty only at the end.

        Source: pravega.md E3-15.
        """
        page = self.entries_from(position, max(1, count))
        if not page:
            return TableDelta((), False, True, 0)
        last = page[-1]
        end = last.version + ENTRY_HEADER_BYTES + len(last.key) + len(last.value)
        if not self.entries_from(end, 1):
            return TableDelta(tuple(page), False, True, length)
        return TableDelta(tuple(page), False, False, end)


def check_length(segment: str, expected: int, length: int) -> None:
    """Raise SegmentTruncated unless ``expected`` is negative or the length of the table.

    As on the wire, the start offset of the error is the length.
    """
    if expected >= 0 and expected != length:
        raise SegmentTruncated(segment, length, expected)
