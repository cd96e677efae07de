"""Provide `AsyncTable`: one table segment at the segment store, with conditional updates.

A conditional update whose answer was lost is sent again, because only one of the two can take effect. If the
second is refused, the value in the table says whether the first one succeeded.

Source: pravega.md A13; reader-groups.md C4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pravega_lab.client.connection.connection import Reply
from pravega_lab.client.connection.retry import Retries, TransientError
from pravega_lab.client.context import NO_TOKEN
from pravega_lab.client.segment_stores import SegmentStores
from pravega_lab.client.values import NO_VERSION, TableValue
from pravega_lab.errors import (
    BadInputError,
    ConditionFailedError,
    ConditionUnknownError,
    NotFoundError,
    RefusedError,
    SegmentNotFoundError,
)
from pravega_lab.protocol.names import TABLE_SUFFIX, split_scoped_name, table_segment_name
from pravega_lab.protocol.wire.commands import (
    Command,
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
PAGE_ENTRIES = 500
_NO_OFFSET = -1

R = TypeVar("R", bound=Command)


class AsyncTable:
    """Implements `sync.Table` with asyncio, under the same contract."""

    def __init__(self, scoped_name: str, stores: SegmentStores) -> None:
        scope, name = split_scoped_name(scoped_name)
        self.scoped_name = scoped_name
        self._stores = stores
        self._home = f"{scope}/{name}{TABLE_SUFFIX}"  # names the table in calls to the controller
        self._segment = table_segment_name(scope, name)

    async def create(self) -> bool:
        """Create the table and return True, or False if it existed."""
        reply = await self._ask(CreateTableSegment(0, self._segment, NO_TOKEN))
        if isinstance(reply, SegmentAlreadyExists):
            return False
        _expect(SegmentCreated, reply)
        return True

    async def get(self, key: bytes) -> TableValue | None:
        """Return the value and version of a key, None if it has none."""
        return (await self.get_many([key]))[0]

    async def get_many(self, keys: Sequence[bytes]) -> list[TableValue | None]:
        """Return the values of several keys in one request; see `get`."""
        if not keys:
            return []
        for key in keys:
            _check(key)
        wanted = tuple(TableKey(key, NO_VERSION) for key in keys)
        reply = _expect(TableRead, await self._ask(ReadTable(0, self._segment, NO_TOKEN, wanted)))
        return [TableValue(e.value, e.key.version) if e.key.version >= 0 else None for e in reply.entries]

    async def put(self, key: bytes, value: bytes, version: int = NO_VERSION) -> int:
        """Set a value, on the condition ``version``, and return its new version."""
        _check(key, value)
        entries = (TableEntry(TableKey(key, version), value),)
        request = UpdateTableEntries(0, self._segment, NO_TOKEN, entries, _NO_OFFSET)
        reply, repeated = await self._change(request)
        if isinstance(reply, (TableKeyBadVersion, TableKeyDoesNotExist)):
            found = await self.get(key)
            if repeated and found is not None and found.value == value:
                return found.version  # the attempt whose answer was lost succeeded
            raise _condition_failed(self.scoped_name, key, version, found, repeated)
        return _expect(TableEntriesUpdated, reply).versions[0]

    async def remove(self, key: bytes, version: int = NO_VERSION) -> None:
        """Remove a key, on the condition ``version``. Without one an absent key is no error."""
        _check(key)
        request = RemoveTableKeys(0, self._segment, NO_TOKEN, (TableKey(key, version),), _NO_OFFSET)
        reply, repeated = await self._change(request)
        if isinstance(reply, (TableKeyBadVersion, TableKeyDoesNotExist)):
            found = await self.get(key)
            if not (repeated and found is None):
                raise _condition_failed(self.scoped_name, key, version, found, repeated)
            return
        _expect(TableKeysRemoved, reply)

    async def items(self) -> dict[bytes, TableValue]:
        """Return all keys with their values, in the order of the store."""
        found: dict[bytes, TableValue] = {}
        token = b""
        while True:
            request = ReadTableEntries(0, self._segment, NO_TOKEN, PAGE_ENTRIES, token)
            page = _expect(TableEntriesRead, await self._ask(request))
            found.update((e.key.key, TableValue(e.value, e.key.version)) for e in page.entries)
            if not page.entries or not page.continuation_token or page.continuation_token == token:
                return found
            token = page.continuation_token

    async def delete(self) -> bool:
        """Delete the table and return True, or False if there was none."""
        try:
            reply = await self._stores.ask(
                self._home, 0, DeleteTableSegment(0, self._segment, False, NO_TOKEN)
            )
        except SegmentNotFoundError:
            return False
        _expect(SegmentDeleted, reply)
        return True

    async def _ask(self, request: Command) -> Reply:
        try:
            return await self._stores.ask(self._home, 0, request)
        except SegmentNotFoundError as error:
            raise self._missing() from error

    async def _change(self, request: Command) -> tuple[Reply, bool]:
        """Return the reply to an update, and whether an earlier attempt may have taken effect."""
        retries = Retries(
            f"update of table {self.scoped_name}", self._stores.retry_for_s, self._stores.chance
        )
        repeated = False
        while True:
            try:
                return await self._stores.ask_once(self._home, 0, request), repeated
            except SegmentNotFoundError as error:
                raise self._missing() from error
            except (TransientError, OSError) as error:
                repeated, failure = True, error
            await retries.pause(failure)

    def _missing(self) -> NotFoundError:
        return NotFoundError(f"there is no table {self.scoped_name}: call create() first")


def _expect(kind: type[R], reply: Reply) -> R:
    if not isinstance(reply, kind):
        raise RefusedError(f"the segment store answered {type(reply).__name__}, not {kind.__name__}: {reply}")
    return reply


def _check(key: bytes, value: bytes = b"") -> None:
    if not (isinstance(key, bytes) and isinstance(value, bytes)):
        raise BadInputError(
            f"a key of type {type(key).__name__} and a value of type {type(value).__name__}: "
            "a table takes bytes; encode text first, as in 'key'.encode()"
        )
    if not key:
        raise BadInputError("a key of 0 bytes: a table takes 1 byte or more")
    if len(key) > KEY_BYTES_MAX or len(value) > VALUE_BYTES_MAX:
        raise BadInputError(
            f"a key of {len(key)} and a value of {len(value)} bytes: "
            f"a table takes at most {KEY_BYTES_MAX} and {VALUE_BYTES_MAX}"
        )


def _condition_failed(
    table: str, key: bytes, version: int, found: TableValue | None, repeated: bool
) -> ConditionFailedError:
    there = "is absent" if found is None else f"has version {found.version}"
    said = f"table {table}: key {key[:80]!r} was to have version {version} (-1: be absent); it {there}. "
    if repeated:  # this update may have happened, and another have replaced it
        lost = "The answer to an earlier attempt was lost: it may have happened and been replaced since. "
        return ConditionUnknownError(said + lost + "Look for traces of it before you try again")
    return ConditionFailedError(said + "Read it again, then decide again")
