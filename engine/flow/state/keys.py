"""Keys and key groups: the unit in which keyed state moves between subtasks.

A key is None, a bool, a number except NaN, a text, bytes, or a tuple of these. Its hash is the same in every
process. The ranges of key groups are Flink's (`KeyGroupRangeAssignment`), but the hash of a key is the
engine's own.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.portable import few
from pravega_lab.portable.columns import np, npt, pa

from ..batch import Batch, Row
from ..cancelling import is_to_be_explained
from ..errors import UserFunctionError
from .growing import Growing
from .key_index import KeyIndex, can_be_indexed

Key = Any
DEFAULT_MAX_PARALLELISM = 128
GROUPS_KEPT = 131_072
FEW = few(16)  # up to so many keys are looked up one by one
INDEXED_FROM = 64  # distinct keys in a batch; fewer are faster one by one


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
        case float() if key != key:
            raise BadInputError("NaN is not equal to itself, so it cannot be a key: key by None instead")
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
            UserFunctionError: the function raised.
        """
        try:
            if isinstance(self.by, str):
                return row[self.by]
            if isinstance(self.by, tuple):
                return tuple(row[column] for column in self.by)
        except KeyError as error:
            raise BadInputError(f"there is no column {error} to key by; the row has {list(row)}") from None
        try:
            return self.by(row)
        except BaseException as error:
            if not is_to_be_explained(error):
                raise
            raise UserFunctionError(
                f"key_by({self}): {type(error).__name__}: {error} at record {row!r:.200}"
            ) from error

    def encoded(self, batch: Batch) -> tuple[pa.Array | list[Key], npt.NDArray[np.int64]]:
        """Return the keys of a batch, and the index of each record's key.

        The keys are an Arrow array if the batch has them in a column; each occurs once there.
        """
        if isinstance(self.by, str) and batch.num_rows > FEW:
            arrow = batch.arrow
            if self.by not in arrow.schema.names:
                raise BadInputError(
                    f"there is no column {self.by!r} to key by; the row has {arrow.schema.names}"
                )
            column = arrow.column(self.by)
            if pa.types.is_dictionary(column.type):  # its nulls are among the indices, not among the keys
                column = column.dictionary_decode()
            encoded = column.dictionary_encode("encode")
            return encoded.dictionary, encoded.indices.to_numpy().astype(np.int64)
        known: dict[Key, int] = {}
        indices = []
        for row in batch.rows:
            key = self.key(row)
            try:
                indices.append(known.setdefault(key, len(known)))
            except TypeError:  # a list, for example
                key_hash(key)  # says which keys there are
                raise
        return list(known), np.array(indices, dtype=np.int64)

    def __str__(self) -> str:
        return self.by if isinstance(self.by, str) else getattr(self.by, "__name__", str(self.by))


class KeyGroups:
    """Returns the key group of each record of a batch, and remembers the groups of the keys."""

    def __init__(self, by: KeySelector, max_parallelism: int) -> None:
        self._by, self._max_parallelism = by, max_parallelism
        self._index = KeyIndex(pa.null())
        self._known = Growing(np.int64)

    def of(self, batch: Batch) -> npt.NDArray[np.int64]:
        """Return the key group of each record."""
        keys, indices = self._by.encoded(batch)
        groups = self._indexed(keys) if isinstance(keys, pa.Array) else None
        if groups is None:
            values = keys.to_pylist() if isinstance(keys, pa.Array) else keys
            groups = np.array(key_groups_of(values, self._max_parallelism), dtype=np.int64)
        return groups[indices]

    def _indexed(self, keys: pa.Array) -> npt.NDArray[np.int64] | None:
        if len(keys) < INDEXED_FROM or not can_be_indexed(keys.type):
            return None
        if keys.type != self._index.kind or len(self._index) > GROUPS_KEPT:
            self._index, self._known = KeyIndex(keys.type), Growing(np.int64)
        codes = self._index.find(keys)
        if codes is None:
            return None
        new = np.flatnonzero(codes < 0)
        if len(new):
            added = keys.take(pa.array(new))
            groups = np.array(key_groups_of(added.to_pylist(), self._max_parallelism), dtype=np.int64)
            self._known.add(groups)
            codes[new] = self._index.add(added)
        return self._known.values[codes]
