"""The handlers of requests on table segments (pravega.md A13, E3-14, E3-15; reader-groups.md C4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pravega_lab.errors import ProtocolError
from pravega_lab.protocol.serializer import COMPACT_INT, Envelope
from pravega_lab.protocol.wire import commands as c
from pravega_lab.protocol.wire.key_range import decode_range

from ..store.errors import BadTableEntry, OffsetBeyondEnd, Unsupported
from ..store.log import operations as ops
from ..store.storage.fixed_table import FIXED_KEY_BYTES_MAX
from ..store.storage.table import ENTRY_HEADER_BYTES, TableDelta, TableEntry
from .handlers import Connection, Handlers

PAGE_ENTRIES_MAX = 1000
PAGE_BYTES_MAX = 8 << 20
"""A page ends before it exceeds this size, but holds at least one entry. A frame holds 16 MiB."""


def create(connection: Connection, command: c.CreateTableSegment) -> None:
    """Handle CreateTableSegment: create an empty table. Java sends options, Rust does not."""
    key_length = max(0, command.options.key_length) if command.options is not None else 0
    if key_length > FIXED_KEY_BYTES_MAX:
        raise ProtocolError(f"a key length of {key_length}; a table has at most {FIXED_KEY_BYTES_MAX}")
    operation = ops.CreateSegment(command.segment, is_table=True, key_length=key_length)
    reply = c.SegmentCreated(command.request_id, command.segment)
    connection.change([operation], lambda _: reply)


def delete(connection: Connection, command: c.DeleteTableSegment) -> None:
    """Handle DeleteTableSegment: delete the table with its keys, or only if it is empty.

    As upstream, the latter is unsupported for a table whose keys have one length.
    """
    if command.must_be_empty and connection.store.storage.table_size(command.segment)[1]:
        raise Unsupported(command.segment, "deleteTableSegment")
    operation = ops.Delete(command.segment, must_be_empty=command.must_be_empty)
    reply = c.SegmentDeleted(command.request_id, command.segment)
    connection.change([operation], lambda _: reply)


def get_info(connection: Connection, command: c.GetTableSegmentInfo) -> None:
    """Handle GetTableSegmentInfo: report the length and the number of keys."""
    storage = connection.store.storage
    count, key_length = storage.table_size(command.segment)
    length = storage.info(command.segment).length
    connection.send(c.TableSegmentInfo(command.request_id, command.segment, 0, length, count, key_length))


def update(connection: Connection, command: c.UpdateTableEntries) -> None:
    """Handle UpdateTableEntries: put a batch of entries, each with its condition."""
    entries = tuple(ops.TableUpdate(x.key.key, x.value, x.key.version) for x in command.entries)
    operation = ops.UpdateTable(command.segment, entries, command.table_segment_offset)
    connection.change([operation], lambda results: c.TableEntriesUpdated(command.request_id, results[0]))


def remove(connection: Connection, command: c.RemoveTableKeys) -> None:
    """Handle RemoveTableKeys: remove a batch of keys, each with its condition."""
    keys = tuple(ops.TableRemoval(key.key, key.version) for key in command.keys)
    operation = ops.RemoveTableKeys(command.segment, keys, command.table_segment_offset)
    reply = c.TableKeysRemoved(command.request_id, command.segment)
    connection.change([operation], lambda _: reply)


def read(connection: Connection, command: c.ReadTable) -> None:
    """Handle ReadTable: report the values of some keys. A missing key has version -1 and no value."""
    keys = [key.key for key in command.keys]
    values = connection.store.storage.table_get(command.segment, keys)
    found = [
        c.TableEntry(c.TableKey(key, value.version if value else c.NOT_EXISTS), value.value if value else b"")
        for key, value in zip(keys, values, strict=True)
    ]
    connection.send(c.TableRead(command.request_id, command.segment, tuple(found)))


def read_delta(connection: Connection, command: c.ReadTableEntriesDelta) -> None:
    """Handle ReadTableEntriesDelta: report a page of the entries from a position on."""
    count = _page_size(command.suggested_entry_count)
    try:
        found = connection.store.storage.table_delta(command.segment, command.from_position, count)
    except OffsetBeyondEnd as error:
        reply = c.ErrorMessage(command.request_id, command.segment, str(error), c.ErrorCode.ILLEGAL_ARGUMENT)
        return connection.send(reply)
    page = _fitting(found.entries)
    whole = len(page) == len(found.entries)
    end = found if whole else TableDelta((), False, False, _end_of(page[-1]))
    return connection.send(
        c.TableEntriesDeltaRead(
            *(command.request_id, command.segment, _on_the_wire(page)),
            *(end.should_clear, end.reached_end, end.last_position),
        )
    )


def read_keys(connection: Connection, command: c.ReadTableKeys) -> None:
    """Handle ReadTableKeys: report a page of keys and the token of the next page. The last page is empty."""
    page, token = _page(connection, command, command.suggested_key_count)
    keys = tuple(c.TableKey(entry.key, entry.version) for entry in page)
    connection.send(c.TableKeysRead(command.request_id, command.segment, keys, token))


def read_entries(connection: Connection, command: c.ReadTableEntries) -> None:
    """Handle ReadTableEntries: report a page of entries, with a token as in ``read_keys``."""
    page, token = _page(connection, command, command.suggested_entry_count)
    connection.send(c.TableEntriesRead(command.request_id, command.segment, _on_the_wire(page), token))


def _page(
    connection: Connection, command: c.ReadTableKeys | c.ReadTableEntries, suggested: int
) -> tuple[list[TableEntry], bytes]:
    """Return a page and the token of the next page: in the order of keys where they have one length, else
    by position.
    """
    storage, segment, count = connection.store.storage, command.segment, _page_size(suggested)
    low, high = decode_range(command.range)
    if storage.table_size(segment)[1]:
        if command.continuation_token:
            raise BadTableEntry(segment, "a continuation token; ask for the keys after the last one instead")
        page = _fitting(storage.table_range(segment, low, high, count))
        return page, _last_key(page[-1].key) if page else b""
    if low or high:
        storage.table_range(segment, low, high, count)  # refuses it
    found, position = storage.table_entries(segment, _position(command.continuation_token), count)
    page = _fitting(found)
    if len(page) < len(found):
        position = _end_of(page[-1])
    return page, position.to_bytes(8, "big")


def _last_key(key: bytes) -> bytes:
    """Return what a released server puts into a page's token for the last key in it."""
    return Envelope(0, ((0, COMPACT_INT.write(len(key)) + key),)).to_bytes()


def _position(token: bytes) -> int:
    if len(token) not in (0, 8):
        raise ProtocolError(
            f"a continuation token of {len(token)} bytes is not one of this store's, which have 0 or 8"
        )
    return int.from_bytes(token, "big")


def _page_size(suggested: int) -> int:
    return min(max(suggested, 1), PAGE_ENTRIES_MAX)


def _fitting(entries: Sequence[TableEntry]) -> list[TableEntry]:
    page: list[TableEntry] = []
    size = 0
    for entry in entries:
        size += ENTRY_HEADER_BYTES + len(entry.key) + len(entry.value)
        if page and size > PAGE_BYTES_MAX:
            break
        page.append(entry)
    return page


def _end_of(entry: TableEntry) -> int:
    return entry.version + ENTRY_HEADER_BYTES + len(entry.key) + len(entry.value)


def _on_the_wire(entries: Iterable[TableEntry]) -> tuple[c.TableEntry, ...]:
    return tuple(c.TableEntry(c.TableKey(x.key, x.version), x.value) for x in entries)


HANDLERS: Handlers = {
    c.CreateTableSegment: create,
    c.DeleteTableSegment: delete,
    c.GetTableSegmentInfo: get_info,
    c.UpdateTableEntries: update,
    c.RemoveTableKeys: remove,
    c.ReadTable: read,
    c.ReadTableEntriesDelta: read_delta,
    c.ReadTableKeys: read_keys,
    c.ReadTableEntries: read_entries,
}
