"""Provide `AsyncKeyValueTable`: entries under primary and secondary keys, with conditional updates.

As in `AsyncTable`, an update whose answer was lost is sent again, and if the second attempt is refused, the
error says that the first one may have succeeded.

Source: pravega.md A13.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from pravega_lab.client.context import NO_TOKEN
from pravega_lab.client.controller.calls import Controller
from pravega_lab.client.segment_stores import SegmentStores
from pravega_lab.client.tables import controller_calls as calls
from pravega_lab.client.tables.entries import AsyncEntries, Range
from pravega_lab.client.tables.partitions import Partitions
from pravega_lab.client.tables.requests import NO_OFFSET, TableRequests, condition_failed, expect
from pravega_lab.client.tables.table import GET_KEYS_MAX, VALUE_BYTES_MAX
from pravega_lab.client.tables.values import (
    Condition,
    KeyValueEntry,
    KeyValueTableConfiguration,
    KeyVersion,
    Put,
    Remove,
)
from pravega_lab.client.values import NO_VERSION, NOT_EXISTS
from pravega_lab.errors import BadInputError, NotFoundError, require
from pravega_lab.portable.waiting import gather
from pravega_lab.protocol.names import TABLE_SUFFIX, kv_table_segment_name, split_scoped_name
from pravega_lab.protocol.wire.commands import (
    ReadTable,
    ReadTableEntries,
    RemoveTableKeys,
    TableEntriesRead,
    TableEntriesUpdated,
    TableEntry,
    TableKey,
    TableKeyBadVersion,
    TableKeyDoesNotExist,
    TableKeysRemoved,
    TableRead,
    UpdateTableEntries,
)
from pravega_lab.protocol.wire.key_range import encode_range

if TYPE_CHECKING:
    import pandas as pd

CHANGES_MAX = 256
"""The number of changes in a batch, as in the Java client."""

BATCH_BYTES_MAX = 0xFFFFFF - 8192
PAGE_ENTRIES = 500

T = TypeVar("T")


class AsyncKeyValueTable:
    """Implements `sync.KeyValueTable` with asyncio, under the same contract."""

    def __init__(self, scoped_name: str, controller: Controller, stores: SegmentStores) -> None:
        self.scoped_name = scoped_name
        self._scope, self._name = split_scoped_name(scoped_name)
        self._controller = controller
        home = f"{self._scope}/{self._name}{TABLE_SUFFIX}"
        self._requests = TableRequests(scoped_name, home, stores, lambda: calls.missing(scoped_name))
        self._partitions: Partitions | None = None

    async def configuration(self) -> KeyValueTableConfiguration:
        """Return the configuration, which never changes."""
        return await calls.table_configuration(self._controller, self.scoped_name)

    async def get(self, primary: bytes, secondary: bytes = b"") -> KeyValueEntry | None:
        """Return an entry, None if there is none."""
        return (await self.get_many([(primary, secondary)]))[0]

    async def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[KeyValueEntry | None]:
        """Return several entries by primary and secondary key, None for those that are not there."""
        return await self._located(lambda at: self._get_many(at, keys))

    async def put(
        self, primary: bytes, value: bytes, secondary: bytes = b"", version: Condition = NO_VERSION
    ) -> KeyVersion:
        """Set a value, on the condition ``version``, and return its new version."""
        return (await self.update(primary, [Put(secondary, value, version)]))[0]

    async def remove(self, primary: bytes, secondary: bytes = b"", version: Condition = NO_VERSION) -> None:
        """Remove an entry, on the condition ``version``. Without one an absent entry is no error."""
        await self.update(primary, [Remove(secondary, version)])

    async def update(self, primary: bytes, changes: Sequence[Put] | Sequence[Remove]) -> list[KeyVersion]:
        """Apply all changes to entries of one primary key, or none, and return the new versions."""
        puts, removals = _sorted_by_kind(changes)
        if removals:
            return await self._located(lambda at: self._remove(at, primary, removals))
        if puts:
            return await self._located(lambda at: self._put(at, primary, puts))
        return []

    def entries(
        self,
        primary: bytes | None = None,
        *,
        start: bytes = b"",
        end: bytes = b"",
        prefix: bytes = b"",
    ) -> AsyncEntries:
        """Iterate over entries in the order of keys."""

        async def plan() -> Range:
            at = await self._where()
            low, high = at.bounds(primary, start, end, prefix)
            return ([at.segment_of(primary)] if primary is not None else at.segment_ids), low, high

        return AsyncEntries(plan, self._page)

    async def frame(
        self,
        primary: bytes | None = None,
        *,
        start: bytes = b"",
        end: bytes = b"",
        prefix: bytes = b"",
    ) -> pd.DataFrame:
        """Return the same entries as a data frame."""
        require("pandas")
        import pandas as pd

        found = [entry async for entry in self.entries(primary, start=start, end=end, prefix=prefix)]
        rows = [(*entry[:3], entry.version.segment_id, entry.version.offset) for entry in found]
        return pd.DataFrame(rows, columns=["primary_key", "secondary_key", "value", "segment_id", "version"])

    async def delete(self) -> bool:
        """Delete the table with its entries and return True, or False if there was none."""
        self._partitions = None
        return await calls.delete_table(self._controller, self.scoped_name)

    async def _where(self) -> Partitions:
        if self._partitions is None:
            configuration, segments = await gather(
                self.configuration(), calls.table_segments(self._controller, self.scoped_name)
            )
            self._partitions = Partitions(self.scoped_name, configuration, segments)
        return self._partitions

    async def _located(self, call: Callable[[Partitions], Awaitable[T]]) -> T:
        """Make a call, once more if the table was deleted and created again since it was located."""
        at = await self._where()
        try:
            return await call(at)
        except NotFoundError:
            self._partitions = None
            again = await self._where()
            if again.segment_ids == at.segment_ids:
                raise
        return await call(again)

    def _segment(self, segment_id: int) -> str:
        return kv_table_segment_name(self._scope, self._name, segment_id)

    async def _get_many(
        self, at: Partitions, keys: Sequence[tuple[bytes, bytes]]
    ) -> list[KeyValueEntry | None]:
        by_segment: dict[int, dict[bytes, None]] = {}
        for pair in keys:
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise BadInputError(f"get_many: {pair!r:.80} is no pair of a primary and a secondary key")
        wanted = [at.key(primary, secondary) for primary, secondary in keys]
        for (primary, _), key in zip(keys, wanted, strict=True):
            by_segment.setdefault(at.segment_of(primary), {})[key] = None
        parts = [
            self._read(at, segment_id, part)
            for segment_id, of_segment in by_segment.items()
            for part in _parts(list(of_segment))
        ]
        found: dict[bytes, KeyValueEntry] = {}
        for part in await gather(*parts):
            found.update((entry.primary + entry.secondary, entry) for entry in part)
        return [found.get(key) for key in wanted]

    async def _read(self, at: Partitions, segment_id: int, keys: Sequence[bytes]) -> list[KeyValueEntry]:
        wanted = tuple(TableKey(key, NO_VERSION) for key in keys)
        request = ReadTable(0, self._segment(segment_id), NO_TOKEN, wanted)
        reply = expect(TableRead, await self._requests.ask(segment_id, request))
        return _entries(at, segment_id, reply.entries)

    async def _page(self, segment_id: int, low: bytes, high: bytes) -> list[KeyValueEntry]:
        at = await self._where()
        request = ReadTableEntries(
            0, self._segment(segment_id), NO_TOKEN, PAGE_ENTRIES, b"", encode_range(low, high)
        )
        reply = expect(TableEntriesRead, await self._requests.ask(segment_id, request))
        return _entries(at, segment_id, reply.entries)

    async def _put(self, at: Partitions, primary: bytes, puts: Sequence[Put]) -> list[KeyVersion]:
        keys = await self._conditions(at, primary, puts)
        entries = tuple(TableEntry(key, put.value) for key, put in zip(keys, puts, strict=True))
        segment_id = at.segment_of(primary)
        request = UpdateTableEntries(0, self._segment(segment_id), NO_TOKEN, entries, NO_OFFSET)
        reply, repeated = await self._requests.change(segment_id, request)
        if isinstance(reply, (TableKeyBadVersion, TableKeyDoesNotExist)):
            found = await self._get_many(at, [(primary, put.secondary) for put in puts])
            raise self._refused(primary, puts, found, repeated)
        versions = expect(TableEntriesUpdated, reply).versions
        return [KeyVersion(segment_id, version) for version in versions]

    async def _remove(self, at: Partitions, primary: bytes, removals: Sequence[Remove]) -> list[KeyVersion]:
        keys = tuple(await self._conditions(at, primary, removals))
        segment_id = at.segment_of(primary)
        request = RemoveTableKeys(0, self._segment(segment_id), NO_TOKEN, keys, NO_OFFSET)
        reply, repeated = await self._requests.change(segment_id, request)
        if isinstance(reply, (TableKeyBadVersion, TableKeyDoesNotExist)):
            found = await self._get_many(at, [(primary, removal.secondary) for removal in removals])
            raise self._refused(primary, removals, found, repeated)
        expect(TableKeysRemoved, reply)
        return []

    async def _conditions(
        self, at: Partitions, primary: bytes, changes: Sequence[Put] | Sequence[Remove]
    ) -> list[TableKey]:
        """Return the keys of changes with the versions that they expect in their segment."""
        keys = [at.key(primary, change.secondary) for change in changes]
        segment_id = at.segment_of(primary)
        versions = [at.expected(change.version, segment_id) for change in changes]
        if None in versions:  # of a table that was deleted since
            found = await self._get_many(at, [(primary, change.secondary) for change in changes])
            raise self._refused(primary, changes, found, repeated=False)
        return [TableKey(key, version or 0) for key, version in zip(keys, versions, strict=True)]

    def _refused(
        self,
        primary: bytes,
        changes: Sequence[Put] | Sequence[Remove],
        found: Sequence[KeyValueEntry | None],
        repeated: bool,
    ) -> Exception:
        """Return the error for the first change whose condition is not met, or the first conditional one."""
        pairs: list[tuple[Put | Remove, KeyValueEntry | None]] = list(zip(changes, found, strict=True))
        conditional = [(change, entry) for change, entry in pairs if change.version != NO_VERSION] or pairs
        unmet = [
            (change, entry)
            for change, entry in conditional
            if (NOT_EXISTS if entry is None else entry.version) != change.version
        ]
        change, entry = (unmet or conditional)[0]
        key = repr(primary[:40]) + (f", {change.secondary[:40]!r}" if change.secondary else "")
        wanted = change.version.to_text() if isinstance(change.version, KeyVersion) else change.version
        there = None if entry is None else entry.version.to_text()
        return condition_failed(self.scoped_name, key, wanted, there, repeated, list(found))


def _parts(keys: Sequence[bytes]) -> list[Sequence[bytes]]:
    return [keys[at : at + GET_KEYS_MAX] for at in range(0, len(keys), GET_KEYS_MAX)]


def _sorted_by_kind(changes: Sequence[Put] | Sequence[Remove]) -> tuple[list[Put], list[Remove]]:
    """Return puts and removals, of which one is empty. Raises `BadInputError`."""
    puts = [change for change in changes if isinstance(change, Put)]
    removals = [change for change in changes if isinstance(change, Remove)]
    if len(puts) + len(removals) != len(changes):
        raise BadInputError("update: the changes are to be Put(secondary, value) or Remove(secondary)")
    if puts and removals:
        raise BadInputError("update: puts and removals cannot be combined; Pravega has no such batch")
    if len(changes) > CHANGES_MAX:
        raise BadInputError(f"update: {len(changes)} changes; a batch has at most {CHANGES_MAX}")
    for put in puts:
        if not isinstance(put.value, bytes):
            raise BadInputError(f"a value of type {type(put.value).__name__}: a table takes bytes")
        if len(put.value) > VALUE_BYTES_MAX:
            raise BadInputError(f"a value of {len(put.value)} bytes: a table takes at most {VALUE_BYTES_MAX}")
    size = sum(len(put.value) + 300 for put in puts)
    if size > BATCH_BYTES_MAX:
        raise BadInputError(f"update: about {size} bytes in one batch; it has at most {BATCH_BYTES_MAX}")
    return puts, removals


def _entries(at: Partitions, segment_id: int, entries: Sequence[TableEntry]) -> list[KeyValueEntry]:
    return [
        KeyValueEntry(*at.split(e.key.key), e.value, KeyVersion(segment_id, e.key.version))
        for e in entries
        if e.key.version >= 0
    ]
