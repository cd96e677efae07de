"""Decide where the entries of a key-value table are, and what their keys look like in its segments.

Source: pravega.md A3, A13.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from pravega_lab.client.tables.values import Condition, KeyValueTableConfiguration, KeyVersion
from pravega_lab.client.values import NO_VERSION, NOT_EXISTS
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.hashing import table_key_position
from pravega_lab.protocol.names import SegmentRange


class Partitions:
    """The segments and the keys of one key-value table."""

    def __init__(
        self, name: str, configuration: KeyValueTableConfiguration, segments: Sequence[SegmentRange]
    ) -> None:
        self.configuration = configuration
        self.segment_ids = [segment.segment_id for segment in segments]
        self._name = name
        self._highs = [segment.high for segment in segments]

    def segment_of(self, primary: bytes) -> int:
        """Return the segment with the entries of a primary key."""
        return self.segment_ids[bisect_left(self._highs, table_key_position(primary))]

    def key(self, primary: bytes, secondary: bytes) -> bytes:
        """Return the key of an entry in its segment. Raises `BadInputError` for a wrong length."""
        self._check("primary", primary, self.configuration.primary_key_length)
        self._check("secondary", secondary, self.configuration.secondary_key_length)
        return primary + secondary

    def split(self, key: bytes) -> tuple[bytes, bytes]:
        """Return primary and secondary key of a key in a segment."""
        at = self.configuration.primary_key_length
        return key[:at], key[at:]

    def bounds(self, primary: bytes | None, start: bytes, end: bytes, prefix: bytes) -> tuple[bytes, bytes]:
        """Return the lowest and the highest key of a range. Raises `BadInputError`; see
        `sync.KeyValueTable.entries`.
        """
        first, second = self.configuration.primary_key_length, self.configuration.secondary_key_length
        if prefix and (start or end):
            raise BadInputError("entries: give either a prefix, or a start and an end, not both")
        if primary is not None:
            self._check("primary", primary, first)
        which, length = ("primary", first) if primary is None else ("secondary", second)
        for bound in (start, end):
            if bound:
                self._check(which, bound, length)
        if start and end and start > end:
            raise BadInputError(f"entries: the start {start!r} is after the end {end!r}")
        if not isinstance(prefix, bytes) or len(prefix) > length:
            raise BadInputError(
                f"entries: the prefix {prefix!r} of a {which} key: it takes at most {length} bytes"
            )
        low, high = (start or prefix).ljust(length, b"\0"), (end or prefix).ljust(length, b"\xff")
        if primary is None:
            return low + bytes(second), high + b"\xff" * second
        return primary + low, primary + high

    def expected(self, condition: Condition, segment_id: int) -> int | None:
        """Return the version in the segment that meets a condition, None if no version there can."""
        if isinstance(condition, KeyVersion):
            return condition.offset if condition.segment_id == segment_id else None
        if condition in (NO_VERSION, NOT_EXISTS):
            return condition
        raise BadInputError(
            f"version {condition!r}: give a KeyVersion as get() and put() return it, NO_VERSION or NOT_EXISTS"
        )

    def _check(self, which: str, key: bytes, length: int) -> None:
        if not isinstance(key, bytes):
            raise BadInputError(f"a {which} key of type {type(key).__name__}: a table takes bytes")
        if len(key) != length:
            raise BadInputError(
                f"the {which} key {key[:40]!r} has {len(key)} bytes: those of {self._name} have {length}"
            )


def successor(key: bytes) -> bytes | None:
    """Return the next key of the same length, None after the last one."""
    number = int.from_bytes(key, "big") + 1
    return None if number >> 8 * len(key) else number.to_bytes(len(key), "big")
