"""Tables whose keys all have one length: the segments of key-value tables (pravega.md A13).

They differ from other tables in four ways. Their keys can be read in order, between two bounds. A removal
takes no bytes. Every mismatch of a version is BadVersion, also of a missing key. They have no delta reads.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence

from ..errors import BadTableEntry, BadVersion, Unsupported
from ..log.operations import NO_VERSION, TableRemoval, TableUpdate
from .table import Table, TableDelta, TableEntry

FIXED_KEY_BYTES_MAX = 256


class FixedTable(Table):
    """The keys of a table segment with a fixed key length.

    The order of keys is computed by the first read that needs it. Later changes keep it up to date.
    """

    __slots__ = ("_sorted",)

    def __init__(self, key_length: int) -> None:
        super().__init__(key_length)
        self._sorted: list[bytes] | None = None

    def check_versions(self, segment: str, entries: Sequence[TableUpdate | TableRemoval]) -> None:
        """Check all versions against the state before the batch. Raise BadVersion for the first mismatch."""
        for entry in entries:
            version = self.next_version(entry.key)
            if entry.version not in (NO_VERSION, version):
                raise BadVersion(segment, entry.key, entry.version, version)

    def remove_ahead(self, length: int, keys: Sequence[TableRemoval]) -> int:
        """Validate the removal of ``keys``. Return ``length``: the removal takes no bytes."""
        super().remove_ahead(length, keys)
        return length

    def put(self, version: int, key: bytes, value: bytes) -> int:
        """Store an entry at offset ``version``. Return the offset after it."""
        if self._sorted is not None and key not in self.values:
            insort(self._sorted, key)
        return super().put(version, key, value)

    def remove(self, key: bytes) -> int:
        """Remove a key. Return 0, the bytes that its removal takes."""
        if self._sorted is not None and key in self.values:
            del self._sorted[bisect_left(self._sorted, key)]
        super().remove(key)
        return 0

    def check_readable(self, segment: str, keys: Sequence[bytes]) -> None:
        """Raise BadTableEntry for a key that has another length."""
        for key in keys:
            if len(key) != self.key_length:
                raise BadTableEntry(segment, f"a key of {len(key)} bytes; its keys have {self.key_length}")

    def range(self, segment: str, low: bytes, high: bytes, count: int) -> list[TableEntry]:
        """Return up to ``count`` entries from ``low`` to ``high``, both included, in the order of keys.

        An empty bound is no bound.
        """
        self.check_readable(segment, [bound for bound in (low, high) if bound])
        if high and low > high:
            raise BadTableEntry(segment, "a range that ends before it begins")
        if self._sorted is None:
            self._sorted = sorted(self.values)
        begin = bisect_left(self._sorted, low)
        end = bisect_right(self._sorted, high) if high else len(self._sorted)
        found = self._sorted[begin : min(end, begin + count)]
        return [TableEntry(key, *self.values[key]) for key in found]

    def delta(self, segment: str, position: int, count: int, length: int) -> TableDelta:
        """Raise Unsupported."""
        raise Unsupported(segment, "readTableEntriesDelta")


def new_table(key_length: int) -> Table:
    """Return an empty table. ``key_length`` is the length of all keys, 0 for keys of any length."""
    return FixedTable(key_length) if key_length else Table()
