"""State of one operator in one subtask: keyed by key group, and lists of three kinds.

Values live in dicts. A snapshot freezes them to bytes at once; what was not changed since a file that is
known to be in a completed checkpoint is only referred to (incremental, keyed state only).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pravega_lab.engine.flow import plain
from pravega_lab.engine.flow.errors import IllegalStateError
from pravega_lab.engine.flow.handles import Blob, ListMode
from pravega_lab.engine.flow.keys import Key, key_group, key_groups_of

Table = dict[Key, Any]
_ABSENT = object()


class KeyedState:
    """All keyed state of an operator's subtask: for each owned key group, tables by name.

    ``single_key``: keep one key at a time and forget it when the next comes (batch execution).
    """

    def __init__(self, max_parallelism: int, groups: range, *, single_key: bool = False) -> None:
        self.max_parallelism = max_parallelism
        self.groups = groups
        self.current_key: Key = _ABSENT
        self.current_group = -1
        self._single_key = single_key
        self._tables: dict[int, dict[str, Table]] = {}
        self._changes: dict[int, int] = {}
        self._last: dict[int, tuple[int, Blob]] = {}  # group to its newest file, with the changes it has
        self._confirmed: dict[int, Blob] = {}
        self._flying: dict[int, dict[int, tuple[int, Blob]]] = {}

    def set_key(self, key: Key) -> None:
        """
        Raises:
            IllegalStateError: the key belongs to another subtask: the partitioner and the state disagree.
        """
        if key is self.current_key:
            return
        if self._single_key and (self.current_key is _ABSENT or key != self.current_key):
            self._tables.clear()
        group = key_group(key, self.max_parallelism)
        if group not in self.groups:
            raise self._foreign(key, group)
        self.current_key, self.current_group = key, group

    def _foreign(self, key: Key, group: int) -> IllegalStateError:
        return IllegalStateError(
            f"key {key!r} is of key group {group}, and this subtask owns {self.groups.start} to "
            f"{self.groups.stop - 1}: equal keys have to be equal at key_by and at state"
        )

    @property
    def key(self) -> Key:
        if self.current_key is _ABSENT:
            raise IllegalStateError("keyed state is there while a record or a timer of a key is processed")
        return self.current_key

    def table(self, name: str, group: int | None = None) -> Table:
        """Key to value, of the current key group; to read."""
        return self._tables.setdefault(self.current_group if group is None else group, {}).setdefault(
            name, {}
        )

    def changing(self, name: str, group: int | None = None) -> Table:
        """The same, about to be changed."""
        at = self.current_group if group is None else group
        self._changes[at] = self._changes.get(at, 0) + 1
        return self.table(name, at)

    def changing_all(self, name: str, keys: Sequence[Key]) -> list[Table]:
        """`changing` for each key, whatever the current one is.

        Raises:
            IllegalStateError: as of `set_key`.
        """
        groups = key_groups_of(keys, self.max_parallelism)
        at: dict[int, Table] = {}
        for group in dict.fromkeys(groups):
            if group not in self.groups:
                raise self._foreign(keys[groups.index(group)], group)
            at[group] = self.changing(name, group)
        return [at[group] for group in groups]

    def tables(self, name: str) -> Iterator[tuple[int, Table]]:
        """Key group and table, of all groups that have one by that name."""
        for group, tables in self._tables.items():
            if name in tables:
                yield group, tables[name]

    # -- snapshots -----------------------------------------------------------------------------------------

    def restore(self, group: int, data: bytes, blob: Blob | None) -> None:
        """``blob``: a file of a completed checkpoint that later ones may refer to."""
        self._tables[group] = plain.from_bytes(data)
        self._changes[group] = 0
        if blob is not None:
            self._last[group] = (0, blob)
            self._confirmed[group] = blob

    def snapshot(self, *, full: bool) -> KeyedSnapshot:
        snapshot = KeyedSnapshot()
        for group in sorted(self._tables):
            tables = {name: table for name, table in self._tables[group].items() if table}
            if not tables:
                continue
            changes, last = self._changes.get(group, 0), self._last.get(group)
            if not full and last is not None and last[0] == changes and self._confirmed.get(group) == last[1]:
                snapshot.reused[group] = last[1]
            else:
                snapshot.written[group] = (changes, plain.to_bytes(tables))
        return snapshot

    def written(self, checkpoint_id: int, snapshot: KeyedSnapshot, blobs: Mapping[int, Blob]) -> None:
        """The files of an incremental snapshot are there."""
        files = {group: (snapshot.written[group][0], blob) for group, blob in blobs.items()}
        self._flying[checkpoint_id] = files
        self._last.update(files)

    def confirm(self, checkpoint_id: int) -> None:
        """The checkpoint is complete: its files stay as long as a later one refers to them."""
        for group, (_, blob) in self._flying.pop(checkpoint_id, {}).items():
            self._confirmed[group] = blob
        self._flying = {n: files for n, files in self._flying.items() if n > checkpoint_id}


@dataclass
class KeyedSnapshot:
    """Per key group: what has to be written (with the count of changes it has), or the file that has it."""

    written: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    reused: dict[int, Blob] = field(default_factory=dict)


class ValueState:
    """One value for each key."""

    def __init__(self, state: KeyedState, name: str, default: Any = None) -> None:
        self._state, self._name, self._default = state, name, default

    def get(self) -> Any:
        return self._state.table(self._name).get(self._state.key, self._default)

    def update(self, value: Any) -> None:
        self._state.changing(self._name)[self._state.key] = value

    def clear(self) -> None:
        self._state.changing(self._name).pop(self._state.key, None)


class KeyedListState:
    """A list for each key. `get` gives a copy."""

    def __init__(self, state: KeyedState, name: str) -> None:
        self._state, self._name = state, name

    def get(self) -> list[Any]:
        return list(self._state.table(self._name).get(self._state.key, ()))

    def add(self, value: Any) -> None:
        self._state.changing(self._name).setdefault(self._state.key, []).append(value)

    def update(self, values: list[Any]) -> None:
        self._state.changing(self._name)[self._state.key] = list(values)

    def clear(self) -> None:
        self._state.changing(self._name).pop(self._state.key, None)


class MapState:
    """A dict for each key."""

    def __init__(self, state: KeyedState, name: str) -> None:
        self._state, self._name = state, name

    def _map(self) -> dict[Any, Any]:
        found: dict[Any, Any] = self._state.table(self._name).get(self._state.key, {})
        return found

    def get(self, item: Any, default: Any = None) -> Any:
        return self._map().get(item, default)

    def put(self, item: Any, value: Any) -> None:
        self._state.changing(self._name).setdefault(self._state.key, {})[item] = value

    def remove(self, item: Any) -> None:
        table = self._state.changing(self._name)
        inner = table.get(self._state.key)
        if inner is not None:
            inner.pop(item, None)
            if not inner:
                del table[self._state.key]

    def items(self) -> list[tuple[Any, Any]]:
        return list(self._map().items())

    def __contains__(self, item: Any) -> bool:
        return item in self._map()

    def clear(self) -> None:
        self._state.changing(self._name).pop(self._state.key, None)


class ReducingState:
    """One value for each key, to which others are added by a function of two values."""

    def __init__(self, state: KeyedState, name: str, reduce: Callable[[Any, Any], Any]) -> None:
        self._state, self._name, self._reduce = state, name, reduce

    def get(self) -> Any:
        return self._state.table(self._name).get(self._state.key)

    def add(self, value: Any) -> None:
        table, key = self._state.changing(self._name), self._state.key
        table[key] = self._reduce(table[key], value) if key in table else value

    def clear(self) -> None:
        self._state.changing(self._name).pop(self._state.key, None)


@dataclass
class OperatorLists:
    """Operator state that is not keyed: lists of plain values, by name."""

    modes: dict[str, ListMode] = field(default_factory=dict)
    values: dict[str, list[Any]] = field(default_factory=dict)

    def of(self, name: str, mode: ListMode) -> list[Any]:
        """The list itself, to read and to change in place.

        Raises:
            IllegalStateError: the name stands for state of another kind.
        """
        known = self.modes.setdefault(name, mode)
        if known is not mode:
            raise IllegalStateError(f"state {name!r} is {known.value} state; asked for as {mode.value}")
        return self.values.setdefault(name, [])

    def snapshot(self) -> dict[str, tuple[ListMode, list[bytes]]]:
        return {
            name: (self.modes[name], [plain.to_bytes(value) for value in values])
            for name, values in self.values.items()
        }


class BroadcastState:
    """A dict that is equal in all subtasks, for it is changed by broadcast records only."""

    def __init__(self, lists: OperatorLists, name: str) -> None:
        self._entries = lists.of(name, ListMode.BROADCAST)
        self._at = {entry[0]: position for position, entry in enumerate(self._entries)}

    def get(self, key: Any, default: Any = None) -> Any:
        return self._entries[self._at[key]][1] if key in self._at else default

    def put(self, key: Any, value: Any) -> None:
        if key in self._at:
            self._entries[self._at[key]] = (key, value)
        else:
            self._at[key] = len(self._entries)
            self._entries.append((key, value))

    def remove(self, key: Any) -> None:
        if key in self._at:
            del self._entries[self._at.pop(key)]
            self._at = {entry[0]: position for position, entry in enumerate(self._entries)}

    def items(self) -> list[tuple[Any, Any]]:
        return [(key, value) for key, value in self._entries]

    def __contains__(self, key: Any) -> bool:
        return key in self._at
