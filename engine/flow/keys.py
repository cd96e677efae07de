"""Keys, key groups, and which subtask owns which: the unit in which keyed state moves.

A key is plain: None, a bool, a number, a text, bytes, or a tuple of these. Its hash is the same in every
process. The ranges are Flink's (`KeyGroupRangeAssignment`); the hash of a key is our own.
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

from pravega_lab.engine.flow.batch import Batch, Row
from pravega_lab.errors import BadInputError

Key = Any
DEFAULT_MAX_PARALLELISM = 128
GROUPS_KEPT = 131_072


def _canonical(key: Key) -> bytes:
    """Equal keys give equal bytes: 1, 1.0 and True are equal in Python and so here."""
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
    """32 bits, well spread.

    Raises:
        BadInputError: the key is not plain.
    """
    value = zlib.crc32(_canonical(key))
    value = ((value ^ (value >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    value = ((value ^ (value >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    return value ^ (value >> 16)


def key_group(key: Key, max_parallelism: int) -> int:
    """
    Raises:
        BadInputError: the key is not plain.
    """
    return key_groups_of([key], max_parallelism)[0]


def key_groups_of(keys: Sequence[Key], max_parallelism: int) -> list[int]:
    """`key_group` of each."""
    try:
        return [_kept_group(key, max_parallelism) for key in keys]
    except TypeError:  # a list or the like: it cannot even be looked up
        return [key_hash(key) % max_parallelism for key in keys]


@lru_cache(GROUPS_KEPT, typed=True)
def _kept_group(key: Key, max_parallelism: int) -> int:
    return key_hash(key) % max_parallelism


def key_group_range(max_parallelism: int, parallelism: int, index: int) -> range:
    """The key groups of subtask ``index``."""
    start = (index * max_parallelism + parallelism - 1) // parallelism
    return range(start, ((index + 1) * max_parallelism - 1) // parallelism + 1)


def owner_of(group: int, max_parallelism: int, parallelism: int) -> int:
    """The subtask that owns a key group."""
    return group * parallelism // max_parallelism


class KeySelector:
    """Takes the key of a record: a column, several columns (a tuple), or a function of the row."""

    def __init__(self, by: str | Sequence[str] | Callable[[Row], Key]) -> None:
        self.by: str | tuple[str, ...] | Callable[[Row], Key]
        self.by = by if isinstance(by, str) or callable(by) else tuple(by)

    def key(self, row: Row) -> Key:
        """
        Raises:
            BadInputError: there is no such column.
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
        """The distinct keys of a batch in order of appearance, and per record the index of its key."""
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
        """Per record its key group."""
        keys, indices = self.encoded(batch)
        return np.array(key_groups_of(keys, max_parallelism), dtype=np.int64)[indices]

    def __str__(self) -> str:
        return self.by if isinstance(self.by, str) else getattr(self.by, "__name__", str(self.by))
