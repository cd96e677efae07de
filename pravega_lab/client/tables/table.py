"""Provide `AsyncTable`: one table segment at the segment store, with conditional updates.

A conditional update whose answer was lost is sent again, because only one of the two can take effect. If the
second is refused, nothing says whether the first one succeeded: the wire protocol has no name for an update,
and a table that another client changed in the same way looks the same. The error says so.

Source: pravega.md A13; reader-groups.md C4.
"""

from __future__ import annotations

from collections.abc import Sequence

from pravega_lab.client.context import NO_TOKEN
from pravega_lab.client.segment_stores import SegmentStores
from pravega_lab.client.tables.requests import NO_OFFSET, TableRequests, condition_failed, expect
from pravega_lab.client.values import NO_VERSION, TableValue
from pravega_lab.errors import (
    BadInputError,
    ConditionFailedError,
    Definite,
    NotFoundError,
    SegmentNotFoundError,
)
from pravega_lab.protocol.names import TABLE_SUFFIX, split_scoped_name, table_segment_name
from pravega_lab.protocol.wire.commands import (
    CreateTableSegment,
    DeleteTableSegment,
    ReadTable,
    ReadTableEntries,
    RemoveTableKeys,
    SegmentAlreadyExists,
    SegmentCreated,
    SegmentDeleted,
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

KEY_BYTES_MAX = 8192
VALUE_BYTES_MAX = 1024 * 1024 - KEY_BYTES_MAX
"""As in Java, for key-value tables."""
ENTRY_BYTES_MAX = 1024 * 1024 - 17
"""Key and value together; a store adds a header of 17 bytes."""
PAGE_ENTRIES = 500
GET_KEYS_MAX = 15
"""The number of keys in a request: a reply has at most 16 MiB, and a value nearly 1 MiB."""


class AsyncTable:
    """Implements `sync.Table` with asyncio, under the same contract."""

    def __init__(self, scoped_name: str, stores: SegmentStores) -> None:
        scope, name = split_scoped_name(scoped_name)
        self.scoped_name = scoped_name
        self._stores = stores
        self._home = f"{scope}/{name}{TABLE_SUFFIX}"  # names the table in calls to the controller
        self._segment = table_segment_name(scope, name)
        self._requests = TableRequests(scoped_name, self._home, stores, self._missing)

    async def create(self) -> bool:
        """Create the table and return True, or False if it existed."""
        request = CreateTableSegment(0, self._segment, NO_TOKEN)
        reply, repeated = await self._stores.change(f"create {self.scoped_name}", self._home, 0, request)
        if isinstance(reply, SegmentAlreadyExists):
            return repeated  # an earlier attempt without an answer may have created it
        expect(SegmentCreated, reply)
        return True

    async def get(self, key: bytes) -> TableValue | None:
        """Return the value and version of a key, None if it has none."""
        return (await self.get_many([key]))[0]

    async def get_many(self, keys: Sequence[bytes]) -> list[TableValue | None]:
        """Return the values of several keys, up to 15 at once; see `get`."""
        for key in keys:
            _check(key)
        found: list[TableValue | None] = []
        for begin in range(0, len(keys), GET_KEYS_MAX):
            wanted = tuple(TableKey(key, NO_VERSION) for key in keys[begin : begin + GET_KEYS_MAX])
            request = ReadTable(0, self._segment, NO_TOKEN, wanted)
            entries = expect(TableRead, await self._requests.ask(0, request)).entries
            found += [TableValue(e.value, e.key.version) if e.key.version >= 0 else None for e in entries]
        return found

    async def put(self, key: bytes, value: bytes, version: int = NO_VERSION) -> int:
        """Set a value, on the condition ``version``, and return its new version."""
        _check(key, value)
        entries = (TableEntry(TableKey(key, version), value),)
        request = UpdateTableEntries(0, self._segment, NO_TOKEN, entries, NO_OFFSET)
        reply, repeated = await self._requests.change(0, request)
        if isinstance(reply, (TableKeyBadVersion, TableKeyDoesNotExist)):
            raise await self._condition_failed(key, version, repeated)
        return expect(TableEntriesUpdated, reply).versions[0]

    async def remove(self, key: bytes, version: int = NO_VERSION) -> None:
        """Remove a key, on the condition ``version``. Without one an absent key is no error."""
        _check(key)
        request = RemoveTableKeys(0, self._segment, NO_TOKEN, (TableKey(key, version),), NO_OFFSET)
        reply, repeated = await self._requests.change(0, request)
        if isinstance(reply, (TableKeyBadVersion, TableKeyDoesNotExist)):
            raise await self._condition_failed(key, version, repeated)
        expect(TableKeysRemoved, reply)

    async def items(self) -> dict[bytes, TableValue]:
        """Return all keys with their values, in the order of the store."""
        found: dict[bytes, TableValue] = {}
        token = b""
        while True:
            request = ReadTableEntries(0, self._segment, NO_TOKEN, PAGE_ENTRIES, token)
            page = expect(TableEntriesRead, await self._requests.ask(0, request))
            found.update((e.key.key, TableValue(e.value, e.key.version)) for e in page.entries)
            if not page.entries or not page.continuation_token or page.continuation_token == token:
                return found
            token = page.continuation_token

    async def delete(self) -> bool:
        """Delete the table and return True, or False if there was none."""
        request = DeleteTableSegment(0, self._segment, False, NO_TOKEN)
        try:
            reply, _ = await self._stores.change(f"delete {self.scoped_name}", self._home, 0, request)
        except SegmentNotFoundError as error:  # an earlier attempt without an answer may have deleted it
            return error.definite is Definite.UNKNOWN
        expect(SegmentDeleted, reply)
        return True

    async def _condition_failed(self, key: bytes, version: int, repeated: bool) -> ConditionFailedError:
        found = await self.get(key)
        there = None if found is None else found.version
        return condition_failed(self.scoped_name, repr(key[:80]), version, there, repeated, found)

    def _missing(self) -> NotFoundError:
        return NotFoundError(f"there is no table {self.scoped_name}: call create() first")


def _check(key: bytes, value: bytes = b"") -> None:
    if not (isinstance(key, bytes) and isinstance(value, bytes)):
        raise BadInputError(
            f"a key of type {type(key).__name__} and a value of type {type(value).__name__}: "
            "a table takes bytes; encode text first, as in 'key'.encode()"
        )
    if not key:
        raise BadInputError("a key of 0 bytes: a table takes 1 byte or more")
    if len(key) > KEY_BYTES_MAX or len(key) + len(value) > ENTRY_BYTES_MAX:
        raise BadInputError(
            f"a key of {len(key)} and a value of {len(value)} bytes: "
            f"a table takes at most {KEY_BYTES_MAX} for the key, and {ENTRY_BYTES_MAX} together"
        )
