"""Keyed state of a batch at once: the number of rows and the sum of each key, as arrays.

The arrays stand in front of the table of a `KeyedState`, whose entries are (number, sum). They are written
back before anybody else reads or changes the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pravega_lab.portable.columns import np, npt, pa

from .growing import Growing
from .key_index import Codes, KeyIndex
from .keys import Key, key_groups_of

Ints = npt.NDArray[np.int64]
SUM_MAX = 2**62


class Tables(Protocol):
    """What an `IntegerTable` needs of the `KeyedState` behind it."""

    max_parallelism: int

    def own_table(self, name: str, key: Key, group: int) -> dict[Key, Any]:
        """Return the table of the group of ``key``, for reading."""

    def changed_table(self, name: str, group: int) -> dict[Key, Any]:
        """Return the table of a key group, and note that the group changes."""


class IntegerTable:
    """Holds (number of rows, sum) for the keys of a table of ``state`` that have been looked up."""

    def __init__(self, state: Tables, name: str, kind: pa.DataType) -> None:
        self._state, self._name = state, name
        self._index = KeyIndex(kind)
        self._groups = Growing(np.int64)
        self._counts = Growing(np.int64)
        self._sums = Growing(np.int64)
        self._is_changed = Growing(np.bool_)

    @property
    def kind(self) -> pa.DataType:
        """Return the Arrow type of the keys."""
        return self._index.kind

    def find(self, keys: pa.Array, first: Callable[[Key], tuple[int, object]]) -> Codes | None:
        """Return the place of each key, for `sums` and `add`.

        Args:
            keys: Different keys.
            first: Returns the entry of a key that the table does not have.

        Returns:
            None if an entry is no pair of integers below 2**62, or the keys cannot be indexed.

        Raises:
            IllegalStateError: another subtask owns a key.
        """
        codes = self._index.find(keys)
        if codes is None:
            return None
        new = np.flatnonzero(codes < 0)
        if len(new):
            added = self._add(keys.take(pa.array(new)), first)
            if added is None:
                return None
            codes[new] = added
        return codes

    def _add(self, keys: pa.Array, first: Callable[[Key], tuple[int, object]]) -> Codes | None:
        values = keys.to_pylist()
        groups = key_groups_of(values, self._state.max_parallelism)
        entries = [
            self._state.own_table(self._name, key, group).get(key) or first(key)
            for key, group in zip(values, groups, strict=True)
        ]
        if not all(type(total) is int and abs(total) < SUM_MAX for _, total in entries):
            return None
        self._groups.add(np.array(groups, dtype=np.int64))
        self._counts.add(np.array([n for n, _ in entries], dtype=np.int64))
        self._sums.add(np.array([total for _, total in entries], dtype=np.int64))
        self._is_changed.add(np.zeros(len(values), dtype=np.bool_))
        return self._index.add(keys)

    def sums(self, codes: Codes) -> Ints:
        """Return the sums at these places."""
        return self._sums.values[codes]

    def update(self, codes: Codes, rows: Ints, sums: Ints) -> None:
        """Add ``rows`` to the numbers of rows, and set the sums, at different places."""
        self._counts.values[codes] += rows
        self._sums.values[codes] = sums
        self._is_changed.values[codes] = True

    def write_back(self) -> None:
        """Write what has changed into the table."""
        changed = np.flatnonzero(self._is_changed.values)
        if not len(changed):
            return
        self._is_changed.values[:] = False
        groups = self._groups.values[changed].tolist()
        tables = {group: self._state.changed_table(self._name, group) for group in dict.fromkeys(groups)}
        entries = zip(self._counts.values[changed].tolist(), self._sums.values[changed].tolist(), strict=True)
        for key, group, entry in zip(self._index.keys(changed), groups, entries, strict=True):
            tables[group][key] = entry
