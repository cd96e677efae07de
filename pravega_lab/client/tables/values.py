"""Define the values of key-value tables: configurations, versions, entries and changes (pravega.md A13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from pravega_lab.client.values import NO_VERSION
from pravega_lab.errors import BadInputError

KEY_BYTES_MAX = 256
"""Primary and secondary key together."""


@dataclass(frozen=True, slots=True)
class KeyValueTableConfiguration:
    """Describes a key-value table. Nothing of it can be changed later.

    Attributes:
        primary_key_length: Bytes of every primary key, at least 1.
        secondary_key_length: Bytes of every secondary key, 0 for a table without secondary keys. Both
            together have at most 256 bytes.
        partitions: The number of segments. Entries of one primary key are in one of them.
    """

    primary_key_length: int
    secondary_key_length: int = 0
    partitions: int = 1

    def __post_init__(self) -> None:
        """Raise `BadInputError` for numbers that can never work."""
        primary, secondary = self.primary_key_length, self.secondary_key_length
        if not all(isinstance(number, int) for number in (primary, secondary, self.partitions)):
            raise BadInputError(f"{self}: lengths of keys and partitions are whole numbers")
        if primary < 1 or secondary < 0 or primary + secondary > KEY_BYTES_MAX:
            raise BadInputError(
                f"keys of {primary} and {secondary} bytes: a primary key has at least 1, a secondary key 0 "
                f"or more, and both together at most {KEY_BYTES_MAX}"
            )
        if not 1 <= self.partitions < 2**31:
            raise BadInputError(
                f"{self.partitions} partitions: a key-value table has at least 1, and fewer than {2**31}"
            )


class KeyVersion(NamedTuple):
    """Names the version of an entry: its segment, and its offset there. Versions of one key only grow."""

    segment_id: int
    offset: int

    def to_text(self) -> str:
        """Return Java's form, ``segment:offset``."""
        return f"{self.segment_id}:{self.offset}"

    @classmethod
    def from_text(cls, text: str) -> KeyVersion:
        """Read what `to_text` or Java wrote. Raises `BadInputError`."""
        try:
            segment_id, offset = text.split(":")
            return cls(int(segment_id), int(offset))
        except ValueError:
            raise BadInputError(f"{text!r} is no version of a key; one looks like 0:24") from None


Condition: TypeAlias = KeyVersion | int
"""A version that the key must have, ``NOT_EXISTS`` if it must be absent, ``NO_VERSION`` for any."""


class KeyValueEntry(NamedTuple):
    """Holds an entry of a key-value table. Without secondary keys, ``secondary`` is empty."""

    primary: bytes
    secondary: bytes
    value: bytes
    version: KeyVersion


class Put(NamedTuple):
    """Sets the value under a secondary key, on a condition (see `Condition`)."""

    secondary: bytes
    value: bytes
    version: Condition = NO_VERSION


class Remove(NamedTuple):
    """Removes the entry under a secondary key, on a condition (see `Condition`)."""

    secondary: bytes
    version: Condition = NO_VERSION
