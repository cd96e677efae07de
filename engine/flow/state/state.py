"""The live state of one operator in one subtask: keyed state by key group, and three kinds of lists.

Values are kept in dicts. A snapshot encodes them at once. An incremental snapshot refers to the file of an
earlier, completed checkpoint for every key group that has not changed since (keyed state only). User code may
change a list, dict or set in place, without a call that could be counted. A group with such values is
therefore encoded for each snapshot and compared with its file.
"""

from __future__ import annotations

import copy
import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from pravega_lab.portable.columns import pa

from ..batch import are_constant
from ..errors import IllegalStateError, RestoreError
from . import plain_values as plain
from .handles import Blob, ListMode
from .integer_table import IntegerTable
from .keys import Key, key_group

Table = dict[Key, Any]
_ABSENT = object()


class StateKind(Enum):
    """Say what the table of a name contains for each key."""

    VALUE = "value state"
    LIST = "list state"
    MAP = "map state"
    REDUCING = "reducing state"
    TIMERS = "the operator's timers"


_CONTAINERS = {StateKind.LIST: list, StateKind.MAP: dict}


class KeyedState:
    """Keep the keyed state of an operator's subtask: tables by name, for each owned key group.

    With ``single_key`` it keeps one key at a time and forgets it when the next key is set (batch execution).
    """

    def __init__(self, max_parallelism: int, groups: range, *, single_key: bool = False) -> None:
        self.max_parallelism = max_parallelism
        self.groups = groups
        self.current_key: Key = _ABSENT
        self.current_group = -1
        self._single_key = single_key
        self._tables: dict[int, dict[str, Table]] = {}
        self._changes: dict[int, int] = {}
        # By group: its latest file, and the count of changes that the file has.
        self._last: dict[int, tuple[int, Blob]] = {}
        self._confirmed: dict[int, Blob] = {}
        self._flying: dict[int, dict[int, tuple[int, Blob]]] = {}
        self._integers: dict[str, IntegerTable] = {}  # in front of the table of that name
        self._kinds: dict[str, StateKind] = {}
        self._restored_kinds: dict[str, str] = {}
        # By group: the count of changes at which nothing in it could be changed in place.
        self._constant: dict[int, int] = {}

    def declare(self, name: str, kind: StateKind) -> None:
        """Note what the table ``name`` contains.

        Raises:
            IllegalStateError: the name belongs to state of another kind.
            RestoreError: the checkpoint has state of another kind under the name.
        """
        known = self._kinds.get(name)
        if known is None:
            restored = self._restored_kinds.get(name, kind.value)
            if restored != kind.value:
                raise RestoreError(
                    f"the checkpoint has {restored} {name!r}, where this job keeps {kind.value}: give the "
                    "new state another name"
                )
            self._refuse_other_values(name, _CONTAINERS.get(kind, object))
            self._kinds[name] = kind
            self._constant.clear()  # it was decided without the values of this name
        elif known is not kind:
            raise IllegalStateError(
                f"state {name!r} is {known.value}; asked for as {kind.value}: choose another name"
            )

    def _refuse_other_values(self, name: str, wanted: type) -> None:
        for tables in self._tables.values():
            for value in tables.get(name, {}).values():
                if not isinstance(value, wanted):
                    raise RestoreError(
                        f"the checkpoint has {value!r:.80} in state {name!r}, where this job keeps a "
                        f"{wanted.__name__} for each key: give the new state another name"
                    )

    def set_key(self, key: Key) -> None:
        """Make ``key`` the current key.

        Raises:
            IllegalStateError: another subtask owns the key, so the partitioner and the state disagree about
                it.
        """
        if key is self.current_key:
            return
        if self._single_key and (self.current_key is _ABSENT or key != self.current_key):
            self._tables.clear()
        group = key_group(key, self.max_parallelism)
        if group not in self.groups:
            raise self._foreign(key, group)
        self.current_key, self.current_group = key, group

    def forget_key(self) -> None:
        """Leave the current key: what follows is of no key."""
        self.current_key, self.current_group = _ABSENT, -1

    def _foreign(self, key: Key, group: int) -> IllegalStateError:
        return IllegalStateError(
            f"key {key!r} is of key group {group}, and this subtask owns {self.groups.start} to "
            f"{self.groups.stop - 1}: equal keys have to be equal at key_by and at state"
        )

    @property
    def key(self) -> Key:
        """Return the current key.

        Raises:
            IllegalStateError: neither a record nor a timer of a key is being processed.
        """
        if self.current_key is _ABSENT:
            raise IllegalStateError(
                "there is no current key: keyed state and timers need a record of a keyed stream, or a timer"
            )
        return self.current_key

    def table(self, name: str, group: int | None = None) -> Table:
        """Return the table of values by key, of ``group`` or of the current key group, for reading."""
        self._settle(name)
        return self._table(name, self.current_group if group is None else group)

    def changing(self, name: str, group: int | None = None) -> Table:
        """Return the same table as `table`, and note that the key group changes."""
        self._settle(name)
        return self.changed_table(name, self.current_group if group is None else group)

    def _table(self, name: str, group: int) -> Table:
        return self._tables.setdefault(group, {}).setdefault(name, {})

    def _settle(self, name: str) -> None:
        """Write the integers in front of a table back, and forget them."""
        if name in self._integers:
            self._integers.pop(name).write_back()

    # -- many keys at once ---------------------------------------------------------------------------------

    def integers(self, name: str, kind: pa.DataType) -> IntegerTable:
        """Return the numbers of rows and sums in the table ``name``, whose keys have this Arrow type.

        It is valid until another caller asks for the table.
        """
        known = self._integers.get(name)
        if known is None or known.kind != kind:
            self._settle(name)
            known = self._integers[name] = IntegerTable(self, name, kind)
        return known

    def own_table(self, name: str, key: Key, group: int) -> Table:
        """Return the table of the group of ``key``, without the integers in front of it.

        Raises:
            IllegalStateError: another subtask owns the key.
        """
        if group not in self.groups:
            raise self._foreign(key, group)
        return self._tables.get(group, {}).get(name, {})

    def changed_table(self, name: str, group: int) -> Table:
        """Return the table of ``group``, and note that the group changes."""
        self._changes[group] = self._changes.get(group, 0) + 1
        return self._table(name, group)

    def tables(self, name: str) -> Iterator[tuple[int, Table]]:
        """Yield the key group and the table of every group that has a table of that name."""
        self._settle(name)
        for group, tables in self._tables.items():
            if name in tables:
                yield group, tables[name]

    # -- snapshots -----------------------------------------------------------------------------------------

    def restore_kinds(self, kinds: Mapping[str, str]) -> None:
        """Note what the restored tables contain; see `handles.SubtaskState`."""
        self._restored_kinds = dict(kinds)

    def restore(self, group: int, data: bytes, blob: Blob | None) -> None:
        """Restore a key group from ``data``; later checkpoints may refer to ``blob``, where it was read.

        Raises:
            DamagedCheckpointError: ``data`` are not the tables of a key group.
        """
        self._tables[group] = plain.read_as(data, f"key group {group}", _tables_of)
        self._changes[group] = 0
        if blob is not None:
            self._last[group] = (0, blob)
            self._confirmed[group] = blob

    def snapshot(self, *, full: bool) -> KeyedSnapshot:
        """Encode each key group, or refer to its file if that is confirmed and unchanged and not ``full``."""
        for integers in self._integers.values():
            integers.write_back()
        snapshot = KeyedSnapshot()
        for group in sorted(self._tables):
            tables = {name: table for name, table in self._tables[group].items() if table}
            if not tables:
                continue
            snapshot.kinds.update(self._kinds_of(tables))
            changes = self._changes.get(group, 0)
            file = None if full else self._confirmed_file(group, changes)
            if file is not None and self._is_constant(group, changes, tables):
                snapshot.reused[group] = file
                continue
            data = plain.to_bytes(tables)
            if file is not None and (file.length, file.crc) == (len(data), zlib.crc32(data)):
                snapshot.reused[group] = file
            else:
                snapshot.written[group] = (changes, data)
        return snapshot

    def _kinds_of(self, names: Iterable[str]) -> dict[str, str]:
        known = self._restored_kinds | {name: kind.value for name, kind in self._kinds.items()}
        return {name: known[name] for name in names if name in known}

    def _confirmed_file(self, group: int, changes: int) -> Blob | None:
        """Return the confirmed file that was written after as many changes, or None."""
        last = self._last.get(group)
        if last is None or last[0] != changes or self._confirmed.get(group) != last[1]:
            return None
        return last[1]

    def _is_constant(self, group: int, changes: int, tables: dict[str, Table]) -> bool:
        """Return whether only a counted change can change the values of users in ``tables``."""
        if self._constant.get(group) != changes:
            if not all(are_constant([*_values_of(self._kinds.get(name), t)]) for name, t in tables.items()):
                return False
            self._constant[group] = changes
        return True

    def written(self, checkpoint_id: int, snapshot: KeyedSnapshot, blobs: Mapping[int, Blob]) -> None:
        """Note in which files an incremental snapshot was written."""
        files = {group: (snapshot.written[group][0], blob) for group, blob in blobs.items()}
        self._flying[checkpoint_id] = files
        self._last.update(files)

    def confirm(self, checkpoint_id: int) -> None:
        """Note that the checkpoint is complete, so that later snapshots may refer to its files."""
        for group, (_, blob) in self._flying.pop(checkpoint_id, {}).items():
            self._confirmed[group] = blob
        self._flying = {n: files for n, files in self._flying.items() if n > checkpoint_id}


def _values_of(kind: StateKind | None, table: Table) -> Iterable[Any]:
    """Return the values in ``table`` that user code holds; the engine changes its own tables itself."""
    match kind:
        case StateKind.VALUE | StateKind.REDUCING:
            return table.values()
        case StateKind.LIST:
            return itertools.chain.from_iterable(table.values())
        case StateKind.MAP:
            return itertools.chain.from_iterable(entries.values() for entries in table.values())
    return ()


def _tables_of(value: Any) -> dict[str, Table]:
    for name, table in value.items():
        if not isinstance(name, str) or not isinstance(table, dict):
            raise TypeError(f"{name!r:.40} is not the name of a table")
    return dict(value)


@dataclass
class KeyedSnapshot:
    """A snapshot has, for each key group, the file that stores it or the bytes to write.

    With the bytes comes the count of changes that they contain. ``kinds`` is that of `handles.SubtaskState`.
    """

    written: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    reused: dict[int, Blob] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)


class ValueState:
    """Keep one value for each key."""

    def __init__(self, state: KeyedState, name: str, default: Any = None) -> None:
        state.declare(name, StateKind.VALUE)
        self._state, self._name, self._default = state, name, default

    def get(self) -> Any:
        """Return the value of the current key, or a copy of the default."""
        value = self._state.table(self._name).get(self._state.key, _ABSENT)
        return copy.deepcopy(self._default) if value is _ABSENT else value

    def update(self, value: Any) -> None:
        """Set the value of the current key."""
        self._state.changing(self._name)[self._state.key] = value

    def clear(self) -> None:
        """Remove the state of the current key."""
        self._state.changing(self._name).pop(self._state.key, None)


class KeyedListState:
    """Keep a list for each key."""

    def __init__(self, state: KeyedState, name: str) -> None:
        state.declare(name, StateKind.LIST)
        self._state, self._name = state, name

    def get(self) -> list[Any]:
        """Return a copy of the list of the current key."""
        return list(self._state.table(self._name).get(self._state.key, ()))

    def add(self, value: Any) -> None:
        """Append a value to the list of the current key."""
        self._state.changing(self._name).setdefault(self._state.key, []).append(value)

    def update(self, values: list[Any]) -> None:
        """Replace the list of the current key."""
        self._state.changing(self._name)[self._state.key] = list(values)

    def clear(self) -> None:
        """Remove the state of the current key."""
        self._state.changing(self._name).pop(self._state.key, None)


class MapState:
    """Keep a dict for each key."""

    def __init__(self, state: KeyedState, name: str) -> None:
        state.declare(name, StateKind.MAP)
        self._state, self._name = state, name

    def _map(self) -> dict[Any, Any]:
        found: dict[Any, Any] = self._state.table(self._name).get(self._state.key, {})
        return found

    def get(self, item: Any, default: Any = None) -> Any:
        """Return the value of ``item`` in the dict of the current key, or ``default``."""
        return self._map().get(item, default)

    def put(self, item: Any, value: Any) -> None:
        """Set the value of ``item`` in the dict of the current key."""
        self._state.changing(self._name).setdefault(self._state.key, {})[item] = value

    def remove(self, item: Any) -> None:
        """Remove ``item`` from the dict of the current key if it is there."""
        table = self._state.changing(self._name)
        inner = table.get(self._state.key)
        if inner is not None:
            inner.pop(item, None)
            if not inner:
                del table[self._state.key]

    def items(self) -> list[tuple[Any, Any]]:
        """Return the items of the dict of the current key."""
        return list(self._map().items())

    def __contains__(self, item: Any) -> bool:
        return item in self._map()

    def clear(self) -> None:
        """Remove the state of the current key."""
        self._state.changing(self._name).pop(self._state.key, None)


class ReducingState:
    """Keep one value for each key, combined from all added values by a function of two values."""

    def __init__(self, state: KeyedState, name: str, reduce: Callable[[Any, Any], Any]) -> None:
        state.declare(name, StateKind.REDUCING)
        self._state, self._name, self._reduce = state, name, reduce

    def get(self) -> Any:
        """Return the combined value of the current key, or None if no value was added."""
        return self._state.table(self._name).get(self._state.key)

    def add(self, value: Any) -> None:
        """Combine the value of the current key with ``value``."""
        table, key = self._state.changing(self._name), self._state.key
        table[key] = self._reduce(table[key], value) if key in table else value

    def clear(self) -> None:
        """Remove the state of the current key."""
        self._state.changing(self._name).pop(self._state.key, None)


@dataclass
class OperatorLists:
    """Keep the state of an operator that is not keyed: lists of plain values, by name."""

    modes: dict[str, ListMode] = field(default_factory=dict)
    values: dict[str, list[Any]] = field(default_factory=dict)

    def of(self, name: str, mode: ListMode) -> list[Any]:
        """Return the list itself, to be read and changed in place.

        Raises:
            IllegalStateError: the name belongs to state of another mode.
        """
        known = self.modes.setdefault(name, mode)
        if known is not mode:
            raise IllegalStateError(f"state {name!r} is {known.value} state; asked for as {mode.value}")
        return self.values.setdefault(name, [])

    def snapshot(self) -> dict[str, tuple[ListMode, list[bytes]]]:
        """Return the mode and the encoded elements of each list, by name."""
        return {
            name: (self.modes[name], [plain.to_bytes(value) for value in values])
            for name, values in self.values.items()
        }


class BroadcastState:
    """Keep a dict that is equal in all subtasks, because only broadcast records change it."""

    def __init__(self, lists: OperatorLists, name: str) -> None:
        self._entries = lists.of(name, ListMode.BROADCAST)
        self._at = {entry[0]: position for position, entry in enumerate(self._entries)}

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of ``key``, or ``default``."""
        return self._entries[self._at[key]][1] if key in self._at else default

    def put(self, key: Any, value: Any) -> None:
        """Set the value of ``key``."""
        if key in self._at:
            self._entries[self._at[key]] = (key, value)
        else:
            self._at[key] = len(self._entries)
            self._entries.append((key, value))

    def remove(self, key: Any) -> None:
        """Remove ``key`` if it is there."""
        if key in self._at:
            del self._entries[self._at.pop(key)]
            self._at = {entry[0]: position for position, entry in enumerate(self._entries)}

    def items(self) -> list[tuple[Any, Any]]:
        """Return all items in the order in which their keys were first put."""
        return [(key, value) for key, value in self._entries]

    def __contains__(self, key: Any) -> bool:
        return key in self._at
