"""Keys and key groups: the unit in which keyed state moves between subtasks.

A key is None, a bool, a number, a text, bytes, or a tuple of these. Its hash is the same in every process.
The ranges of key groups are Flink's (`KeyGroupRangeAssignment`), but the hash of a key is the engine's own.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pravega_lab.errors import BadInputError

from ..batch import Batch, Row

Key = Any
DEFAULT_MAX_PARALLELISM = 128
GROUPS_KEPT = 131_072


def _canonical(key: Key) -> bytes:
    """Return equal bytes for equal keys: 1, 1.0 and True are equal, as in Python."""
    match key:
        case None:
            return b"n"
        case str():
            return b"s" + key.encode()
        case bytes():
            return b"b" + key
        case int():
            return b"i%d" % key
        case float():
            return b"i%d" % int(key) if key.is_integer() else b"f" + struct.pack(">d", key)
        case tuple():
            parts = [_canonical(part) for part in key]
            return b"t" + b"".join(b"%d:" % len(part) + part for part in parts)
    raise BadInputError(
        f"a key is None, a bool, a number, a text, bytes or a tuple of these, not "
        f"{type(key).__name__} ({key!r})"
    )


def key_hash(key: Key) -> int:
    """Return a well-distributed 32-bit hash of a key.

    Raises:
        BadInputError: the key has another type than the allowed ones.
    """
    value = zlib.crc32(_canonical(key))
    value = ((value ^ (value >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    value = ((value ^ (value >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    return value ^ (value >> 16)


def key_group(key: Key, max_parallelism: int) -> int:
    """Return the key group of a key.

    Raises:
        BadInputError: the key has another type than the allowed ones.
    """
    return key_groups_of([key], max_parallelism)[0]


def key_groups_of(keys: Sequence[Key], max_parallelism: int) -> list[int]:
    """Return the key group of each key; see `key_group`."""
    try:
        return [_kept_group(key, max_parallelism) for key in keys]
    except TypeError:  # a list, for example, cannot be looked up in the cache
        return [key_hash(key) % max_parallelism for key in keys]


@lru_cache(GROUPS_KEPT, typed=True)
def _kept_group(key: Key, max_parallelism: int) -> int:
    return key_hash(key) % max_parallelism


def key_group_range(max_parallelism: int, parallelism: int, index: int) -> range:
    """Return the key groups that subtask ``index`` owns."""
    start = (index * max_parallelism + parallelism - 1) // parallelism
    return range(start, ((index + 1) * max_parallelism - 1) // parallelism + 1)


def owner_of(group: int, max_parallelism: int, parallelism: int) -> int:
    """Return the index of the subtask that owns a key group."""
    return group * parallelism // max_parallelism


class KeySelector:
    """Select the key of a record: a column, several columns (a tuple), or a function of the row."""

    def __init__(self, by: str | Sequence[str] | Callable[[Row], Key]) -> None:
        self.by: str | tuple[str, ...] | Callable[[Row], Key]
        self.by = by if isinstance(by, str) or callable(by) else tuple(by)

    def key(self, row: Row) -> Key:
        """Return the key of a row.

        Raises:
            BadInputError: the row has no such column.
        """
        try:
            if isinstance(self.by, str):
                return row[self.by]
            if isinstance(self.by, tuple):
                return tuple(row[column] for column in self.by)
        except KeyError as error:
            raise BadInputError(f"there is no column {error} to key by; the row has {list(row)}") from None
        return self.by(row)

    def encoded(self, batch: Batch) -> tuple[list[Key], npt.NDArray[np.int64]]:
        """Return the distinct keys of a batch in order of appearance, and for each record the index of its
        key.
        """
        if isinstance(self.by, str) and batch.num_rows > 16:
            arrow = batch.arrow
            if self.by not in arrow.schema.names:
                raise BadInputError(
                    f"there is no column {self.by!r} to key by; the row has {arrow.schema.names}"
                )
            column = arrow.column(self.by)
            encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode("encode")
            return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(
                np.int64
            )
        known: dict[Key, int] = {}
        keys = (self.key(row) for row in batch.rows)
        indices = [known.setdefault(key, len(known)) for key in keys]
        return list(known), np.array(indices, dtype=np.int64)

    def key_groups(self, batch: Batch, max_parallelism: int) -> npt.NDArray[np.int64]:
        """Return the key group of each record."""
        keys, indices = self.encoded(batch)
        return np.array(key_groups_of(keys, max_parallelism), dtype=np.int64)[indices]

    def __str__(self) -> str:
        return self.by if isinstance(self.by, str) else getattr(self.by, "__name__", str(self.by))
