"""Hand-written frames for table segments, against both stores.

Source: pravega.md A13; reader-groups.md C4; real-pravega.md 5.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pravega_lab.protocol.wire import commands as c
from pravega_lab.protocol.wire.key_range import encode_range
from tests.conformance.wire.connection import CLOSED, Wire
from tests.conformance.wire.test_frames import connect

__all__ = ["connect"]

ANY, ABSENT = c.NO_VERSION, c.NOT_EXISTS
Entry = tuple[bytes, bytes, int]


@pytest.fixture
def wire(connect: Callable[[], Wire]) -> Wire:
    return connect()


@pytest.fixture
def table(wire: Wire, scope_name: Callable[[], str]) -> str:
    name = f"{scope_name()}/group_kvtable/0.#epoch.0"
    assert wire.ask(c.CreateTableSegment(1, name, "")) == c.SegmentCreated(1, name)
    return name


def update(wire: Wire, table: str, *entries: Entry, at: int = -1) -> c.Command | str:
    values = tuple(c.TableEntry(c.TableKey(key, version), value) for key, value, version in entries)
    return wire.ask(c.UpdateTableEntries(2, table, "", values, at))


def remove(wire: Wire, table: str, key: bytes, version: int = ANY) -> c.Command | str:
    return wire.ask(c.RemoveTableKeys(3, table, "", (c.TableKey(key, version),), -1))


def read(wire: Wire, table: str, *keys: bytes) -> list[Entry]:
    reply = wire.ask(c.ReadTable(4, table, "", tuple(c.TableKey(key, ANY) for key in keys)))
    assert isinstance(reply, c.TableRead), reply
    return plain(reply.entries)


def plain(entries: tuple[c.TableEntry, ...]) -> list[Entry]:
    return [(e.key.key, e.value, e.key.version) for e in entries]


def delta(wire: Wire, table: str, position: int, count: int) -> c.TableEntriesDeltaRead:
    reply = wire.ask(c.ReadTableEntriesDelta(5, table, "", position, count))
    assert isinstance(reply, c.TableEntriesDeltaRead), reply
    return reply


def versions(*numbers: int) -> c.TableEntriesUpdated:
    return c.TableEntriesUpdated(2, numbers)


def test_a_table_is_created_once(wire: Wire, table: str) -> None:
    assert wire.ask(c.CreateTableSegment(9, table, "")) == c.SegmentAlreadyExists(9, table, "")


def test_a_new_table_is_empty(wire: Wire, table: str) -> None:
    info = c.TableSegmentInfo(9, table, 0, 0, 0, 0)
    assert wire.ask(c.GetTableSegmentInfo(9, table, "")) == info
    found = delta(wire, table, 0, 10)
    assert (found.entries, found.should_clear, found.reached_end, found.last_position) == ((), False, True, 0)


def test_the_version_of_an_entry_is_its_offset(wire: Wire, table: str, which: str) -> None:
    assert update(wire, table, (b"k1", b"v1", ANY), (b"k2", b"v2", ANY)) == versions(0, 21)
    assert update(wire, table, (b"k3", b"v3", ABSENT)) == versions(42)
    assert update(wire, table, (b"k1", b"v1c", 0)) == versions(63)
    assert read(wire, table, b"k1", b"missing", b"k2") == [
        (b"k1", b"v1c", 63),
        (b"missing", b"", -1),
        (b"k2", b"v2", 21),
    ]

    info = wire.ask(c.GetTableSegmentInfo(9, table, ""))
    assert isinstance(info, c.TableSegmentInfo)
    assert info == c.TableSegmentInfo(9, table, 0, 85, info.entry_count, 0)
    # A real server counts the four entries until its writer has indexed them, and sometimes for ever.
    assert info.entry_count == 3 or (which == "real" and info.entry_count == 4)


def test_conditions_that_do_not_hold(wire: Wire, table: str) -> None:
    update(wire, table, (b"k", b"v", ANY))
    bad, missing = c.TableKeyBadVersion(2, table, ""), c.TableKeyDoesNotExist(2, table, "")
    assert update(wire, table, (b"k", b"w", ABSENT)) == bad
    assert update(wire, table, (b"k", b"w", 12345)) == bad
    assert update(wire, table, (b"no", b"w", 5)) == missing
    assert update(wire, table, (b"k", b"w", 99), (b"no", b"w", 7)) == missing
    assert read(wire, table, b"k") == [(b"k", b"v", 0)]


def test_a_batch_is_atomic(wire: Wire, table: str) -> None:
    update(wire, table, (b"a", b"1", ANY))
    assert update(wire, table, (b"new", b"1", ABSENT), (b"a", b"2", 99)) == c.TableKeyBadVersion(2, table, "")
    assert read(wire, table, b"new", b"a") == [(b"new", b"", -1), (b"a", b"1", 0)]


def test_a_key_may_come_again_in_one_batch(wire: Wire, table: str) -> None:
    batch = ((b"d", b"1", ABSENT), (b"d", b"2", ABSENT), (b"d", b"3", ANY))
    assert update(wire, table, *batch) == versions(0, 19, 38)
    assert read(wire, table, b"d") == [(b"d", b"3", 38)]


def test_an_empty_batch_and_an_empty_value(wire: Wire, table: str) -> None:
    assert update(wire, table) == versions()
    assert update(wire, table, (b"e", b"", ANY)) == versions(0)
    assert read(wire, table, b"e") == [(b"e", b"", 0)]


def test_a_condition_on_the_length_of_the_table(wire: Wire, table: str) -> None:
    assert update(wire, table, (b"a", b"1", ANY), at=0) == versions(0)
    assert update(wire, table, (b"b", b"1", ANY), at=3) == c.SegmentIsTruncated(2, table, 19, "", 3)
    assert update(wire, table, (b"b", b"1", ANY), at=19) == versions(19)


@pytest.mark.parametrize("at", [-2, ANY])
def test_a_negative_length_of_the_table_is_no_condition(wire: Wire, table: str, at: int) -> None:
    assert update(wire, table, (b"a", b"1", ANY), at=at) == versions(0)
    assert update(wire, table, (b"b", b"1", ANY), at=at) == versions(19)


def test_conditions_on_keys_come_before_one_on_the_length(wire: Wire, table: str) -> None:
    update(wire, table, (b"a", b"1", ANY))
    assert update(wire, table, (b"a", b"2", ABSENT), at=3) == c.TableKeyBadVersion(2, table, "")
    assert update(wire, table, (b"no", b"2", 5), at=3) == c.TableKeyDoesNotExist(2, table, "")
    assert isinstance(update(wire, table, (b"K" * 8193, b"v", ANY), at=3), c.ErrorMessage)


def test_removal(wire: Wire, table: str) -> None:
    update(wire, table, (b"k1", b"v1", ANY), (b"k2", b"v2", ANY))
    removed = c.TableKeysRemoved(3, table)
    assert remove(wire, table, b"k2", 777) == c.TableKeyBadVersion(3, table, "")
    assert remove(wire, table, b"k2", 21) == removed
    assert remove(wire, table, b"k1") == removed
    assert remove(wire, table, b"never") == removed
    assert remove(wire, table, b"never", 4) == c.TableKeyDoesNotExist(3, table, "")
    assert read(wire, table, b"k1", b"k2") == [(b"k1", b"", -1), (b"k2", b"", -1)]


def test_the_delta_of_a_table_page_by_page(wire: Wire, table: str) -> None:
    for number in range(7):
        update(wire, table, (b"k%d" % (number % 5), b"v%d" % number, ANY))
    newest: dict[bytes, tuple[bytes, int]] = {}
    position = 0
    while True:
        page = delta(wire, table, position, 2)
        if not page.entries:
            break
        newest |= {key: (value, version) for key, value, version in plain(page.entries)}
        position = page.last_position
    expected = {b"k%d" % n: (b"v%d" % n, 21 * n) for n in (2, 3, 4, 5, 6)}
    assert newest == {b"k%d" % (n % 5): expected[b"k%d" % n] for n in (2, 3, 4, 5, 6)}
    assert position == 7 * 21


def test_the_delta_from_the_end_is_empty_and_beyond_it_an_error(wire: Wire, table: str) -> None:
    update(wire, table, (b"k", b"v", ANY))
    found = delta(wire, table, 19, 10)
    assert (found.entries, found.reached_end, found.last_position) == ((), True, 0)
    beyond = wire.ask(c.ReadTableEntriesDelta(9, table, "", 9999, 10))
    assert isinstance(beyond, c.ErrorMessage)
    assert (beyond.request_id, beyond.error_code) == (9, 0)


def test_all_keys_and_all_entries_by_continuation(wire: Wire, table: str) -> None:
    update(wire, table, *((b"k%d" % n, b"v%d" % n, ANY) for n in range(5)))
    expected = [(b"k%d" % n, b"v%d" % n, 21 * n) for n in range(5)]
    keys: list[c.TableKey] = []
    token = b""
    for _ in range(10):
        page = wire.ask(c.ReadTableKeys(9, table, "", 2, token))
        assert isinstance(page, c.TableKeysRead)
        keys += page.keys
        token = page.continuation_token
        if not page.keys:
            break
    assert sorted((k.key, k.version) for k in keys) == [(key, version) for key, _, version in expected]
    entries = wire.ask(c.ReadTableEntries(9, table, "", 100, b""))
    assert isinstance(entries, c.TableEntriesRead)
    assert sorted(plain(entries.entries)) == expected


def test_a_key_that_is_too_long(wire: Wire, table: str) -> None:
    reply = update(wire, table, (b"K" * 8193, b"v", ANY))
    assert isinstance(reply, c.ErrorMessage)
    assert (reply.request_id, reply.error_code) == (2, 0)


@pytest.mark.parametrize("key", [b"k", b"k" * 8192])
def test_an_entry_has_at_most_1_mib_with_its_header(wire: Wire, table: str, key: bytes) -> None:
    most = (1 << 20) - 17 - len(key)
    reply = update(wire, table, (key, bytes(most + 1), ANY))
    assert isinstance(reply, c.ErrorMessage)
    assert (reply.request_id, reply.error_code) == (2, 0)
    assert update(wire, table, (key, bytes(most), ANY)) == versions(0)
    assert read(wire, table, key) == [(key, bytes(most), 0)]


@pytest.fixture
def fixed(wire: Wire, table: str) -> str:
    name = table.replace("/group", "/fixed")
    options = c.TableSegmentOptions(False, 4, 0)
    assert wire.ask(c.CreateTableSegment(1, name, "", options)) == c.SegmentCreated(1, name)
    return name


def test_keys_of_a_fixed_length(wire: Wire, fixed: str) -> None:
    info = wire.ask(c.GetTableSegmentInfo(9, fixed, ""))
    assert isinstance(info, c.TableSegmentInfo)
    assert info.key_length == 4
    assert isinstance(update(wire, fixed, (b"toolong", b"v", ANY)), c.ErrorMessage)
    assert isinstance(remove(wire, fixed, b"toolong"), c.ErrorMessage)
    assert isinstance(wire.ask(c.ReadTable(4, fixed, "", (c.TableKey(b"a", ANY),))), c.ErrorMessage)
    assert update(wire, fixed, (b"four", b"v", ANY), (b"aaaa", b"w", ABSENT)) == versions(0, 22)


def test_a_fixed_table_tells_only_of_wrong_versions_and_removes_without_a_byte(
    wire: Wire, fixed: str
) -> None:
    assert update(wire, fixed, (b"aaaa", b"v", ABSENT)) == versions(0)
    for key, version in ((b"zzzz", 5), (b"aaaa", ABSENT), (b"aaaa", 5)):
        assert remove(wire, fixed, key, version) == c.TableKeyBadVersion(3, fixed, "")
        assert update(wire, fixed, (key, b"v", version)) == c.TableKeyBadVersion(2, fixed, "")
    for key, version in ((b"zzzz", ABSENT), (b"aaaa", 0), (b"aaaa", ANY)):
        assert remove(wire, fixed, key, version) == c.TableKeysRemoved(3, fixed)
    assert update(wire, fixed, (b"aaaa", b"v", ABSENT)) == versions(22)
    assert update(wire, fixed, (b"bbbb", b"v", ANY), at=7) == c.SegmentIsTruncated(2, fixed, 44, "", 7)


def test_a_fixed_table_is_read_in_the_order_of_keys(wire: Wire, table: str, fixed: str) -> None:
    def keys(low: bytes = b"", high: bytes = b"", *, token: bytes = b"", of: str = fixed) -> c.Command | str:
        return wire.ask(c.ReadTableKeys(5, of, "", 100, token, encode_range(low, high)))

    update(wire, fixed, *((key, b"v", ANY) for key in (b"cccc", b"aaaa", b"dddd", b"bbbb")))
    first, middle = keys(), keys(b"aaab", b"cccc")
    assert isinstance(first, c.TableKeysRead)
    assert [key.key for key in first.keys] == [b"aaaa", b"bbbb", b"cccc", b"dddd"]
    assert first.continuation_token == bytes.fromhex("0000010000000005") + b"\x04dddd"
    assert isinstance(middle, c.TableKeysRead)
    assert [key.key for key in middle.keys] == [b"bbbb", b"cccc"]
    assert keys(b"eeee", b"ffff") == c.TableKeysRead(5, fixed, (), b"")
    entries = wire.ask(c.ReadTableEntries(5, fixed, "", 100, b"", encode_range(b"dddd", b"dddd")))
    assert isinstance(entries, c.TableEntriesRead)
    assert plain(entries.entries) == [(b"dddd", b"v", 44)]
    for refused in (keys(b"dddd", b"aaaa"), keys(b"dd"), keys(token=b"12345678"), keys(b"a", b"b", of=table)):
        assert isinstance(refused, c.ErrorMessage), refused


def test_what_a_fixed_table_does_not_have(wire: Wire, fixed: str) -> None:
    for request, name in (
        (c.ReadTableEntriesDelta(5, fixed, "", 0, 10), "readTableEntriesDelta"),
        (c.DeleteTableSegment(5, fixed, True, ""), "deleteTableSegment"),
    ):
        assert wire.ask(request) == c.OperationUnsupported(5, name, "")
    assert wire.ask(c.DeleteTableSegment(5, fixed, False, "")) == c.SegmentDeleted(5, fixed)
    assert wire.ask(c.CreateTableSegment(1, fixed, "", c.TableSegmentOptions(False, 300, 0))) == CLOSED


def test_requests_on_a_missing_table(wire: Wire, table: str) -> None:
    gone = table.replace("/group", "/gone")
    key = c.TableKey(b"k", ANY)
    requests: list[c.Command] = [
        c.UpdateTableEntries(9, gone, "", (c.TableEntry(key, b"v"),), -1),
        c.ReadTableEntriesDelta(9, gone, "", 0, 10),
        c.ReadTable(9, gone, "", (key,)),
        c.DeleteTableSegment(9, gone, False, ""),
    ]
    for request in requests:
        assert wire.ask(request) == c.NoSuchSegment(9, gone, "", -1), request


def test_a_table_that_holds_keys_is_deleted_only_on_demand(wire: Wire, table: str) -> None:
    update(wire, table, (b"k", b"v", ANY))
    assert wire.ask(c.DeleteTableSegment(9, table, True, "")) == c.TableSegmentNotEmpty(9, table, "")
    assert wire.ask(c.DeleteTableSegment(9, table, False, "")) == c.SegmentDeleted(9, table)
    assert wire.ask(c.DeleteTableSegment(9, table, False, "")) == c.NoSuchSegment(9, table, "", -1)


def test_an_update_of_a_segment_that_is_no_table_closes_the_connection(wire: Wire, table: str) -> None:
    segment = table.replace("_kvtable", "")
    wire.create(segment)
    assert update(wire, segment, (b"k", b"v", ANY)) == CLOSED
