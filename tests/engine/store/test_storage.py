"""What the storage answers and refuses, one behaviour a test (pravega.md A11, A13, D3 to D5)."""

from __future__ import annotations

import sys
import tracemalloc
from uuid import UUID

import pytest

from pravega_lab.engine.store import errors
from pravega_lab.engine.store.log import operations as ops
from pravega_lab.engine.store.storage.storage import MAX_GROUP_CHANGES
from pravega_lab.engine.store.storage.table import ENTRY_HEADER_BYTES, MAX_ENTRY_BYTES, MAX_KEY_BYTES
from tests.engine.store.storage_driver import Driver

A, B, TABLE = "s/a/0.#epoch.0", "s/a/0.#epoch.0#transaction.01", "s/t_kvtable/0.#epoch.0"
WRITER = UUID(int=7)


@pytest.fixture
def driver() -> Driver:
    made = Driver()
    made.do(ops.CreateSegment(A), ops.CreateSegment(B), ops.CreateSegment(TABLE, is_table=True))
    return made


# What may be seen


def test_only_synced_state_is_shown(driver: Driver) -> None:
    ticket = driver.submit(ops.Append(A, b"hello"), ops.Seal(A), ops.PutRecord("k", b"v"))
    driver.take()
    info = driver.storage.info(A)
    assert (ticket.done, info.length, info.is_sealed, driver.storage.record("k")) == (False, 0, False, None)
    driver.finish()
    info = driver.storage.info(A)
    assert (ticket.done, info.length, info.is_sealed, driver.storage.record("k")) == (True, 5, True, b"v")


def test_conditions_are_checked_against_what_is_on_its_way(driver: Driver) -> None:
    driver.submit(ops.Append(A, b"hello", expected_offset=0))
    with pytest.raises(errors.ConditionFailed) as caught:
        driver.submit(ops.Append(A, b"again", expected_offset=0))
    assert caught.value.length == 5
    assert driver.submit(ops.Append(A, b"again", expected_offset=5)).results == (10,)


def test_a_refused_submission_leaves_nothing(driver: Driver) -> None:
    driver.submit(ops.UpdateTable(TABLE, (ops.TableUpdate(b"k", b"v"),)))
    with pytest.raises(errors.SegmentExists):
        driver.submit(
            ops.Append(A, b"lost", writer_id=WRITER, event_number=3),
            ops.Merge(A, B),
            ops.UpdateTable(TABLE, (ops.TableUpdate(b"new", b"v"),)),
            ops.CreateSegment("s/new/0.#epoch.0"),
            ops.CreateSegment(TABLE),
        )
    assert driver.do(ops.Append(B, b"x"), ops.Append(A, b"y")) == [1, 1]
    assert driver.storage.setup_append(A, WRITER).results == (ops.NO_VALUE,)
    assert driver.storage.table_get(TABLE, [b"k", b"new"])[1] is None
    assert not driver.storage.exists("s/new/0.#epoch.0")
    driver.do(ops.CreateSegment("s/new/0.#epoch.0"))


def test_a_barrier_waits_for_what_is_on_its_way(driver: Driver) -> None:
    assert driver.storage.barrier().done
    driver.submit(ops.Append(A, b"hello"))
    barrier = driver.storage.barrier()
    driver.take()
    behind = driver.storage.barrier()
    assert not barrier.done
    driver.finish()
    assert barrier.done
    assert not behind.done
    driver.sync()
    assert behind.done


def test_a_barrier_keeps_the_store_no_busier(driver: Driver) -> None:
    """Only what changes something counts for the time at which a writer's next request is read."""
    append = driver.submit(ops.Append(A, b"hello"))
    barrier = driver.storage.barrier()
    assert (barrier.done, barrier.cost_bytes) == (False, 0)
    assert append.cost_bytes > 5


def test_a_new_store_knows_no_time() -> None:
    driver = Driver()
    assert driver.storage.last_now_ms == 0
    driver.do(ops.CreateSegment(A))
    assert driver.storage.last_now_ms == driver.now_ms
    driver.reopen()
    assert driver.storage.last_now_ms == driver.now_ms


def test_many_small_changes_are_several_groups() -> None:
    """A group that takes long holds up everything that waits for it."""
    driver = Driver(file_bytes=1 << 20)
    driver.do(ops.CreateSegment(A))
    tickets = [driver.submit(ops.Append(A, b"x")) for _ in range(MAX_GROUP_CHANGES + 5)]
    driver.take()
    assert driver.storage.queued == 5
    driver.finish()
    assert [ticket.done for ticket in tickets[-6:]] == [True, *[False] * 5]
    driver.sync()
    assert all(ticket.done for ticket in tickets)


def test_what_can_be_read_is_counted(driver: Driver) -> None:
    driver.do(ops.Append(A, b"12345"), ops.Append(B, b"123"), ops.Truncate(A, 2))
    assert driver.storage.readable_bytes([A, B, "never created"]) == 6
    assert driver.storage.readable_bytes([]) == 0


def test_a_failed_write_completes_tickets_with_the_failure(driver: Driver) -> None:
    first, second = driver.submit(ops.Append(A, b"1")), None
    driver.take()
    second = driver.submit(ops.Append(A, b"2"))
    failure = OSError("the sync failed")
    driver.storage.failed(failure)
    assert (first.failure, second.failure) == (failure, failure)
    with pytest.raises(errors.StoreFailed):
        driver.submit(ops.Append(A, b"3"))
    assert driver.storage.take_group() is None
    assert driver.storage.info(A).length == 0
    assert driver.storage.barrier().failure is failure  # or who waits for it to stop would wait for ever


# Writers


def test_setup_tells_a_number_once_it_is_safe(driver: Driver) -> None:
    driver.submit(ops.Append(A, b"x", writer_id=WRITER, event_number=4))
    setup = driver.storage.setup_append(A, WRITER)
    assert not setup.done
    driver.sync()
    assert (setup.done, setup.results) == (True, (4,))
    assert driver.storage.setup_append(A, UUID(int=8)).results == (ops.NO_VALUE,)


def test_two_connections_of_one_writer_cannot_double_an_event(driver: Driver) -> None:
    driver.do(ops.Append(A, b"x", 1, WRITER, 10, ops.NO_VALUE))
    driver.submit(ops.Append(A, b"old connection", 1, WRITER, 15, 10))
    with pytest.raises(errors.BadEventNumber) as caught:
        driver.submit(ops.Append(A, b"new connection", 1, WRITER, 15, 10))
    assert caught.value.last_event_number == 15


def test_event_numbers_survive_a_restart(driver: Driver) -> None:
    driver.do(ops.Append(A, b"x", 3, WRITER, 10))
    driver.reopen()
    assert driver.storage.setup_append(A, WRITER).results == (10,)
    assert driver.storage.info(A).event_count == 3
    with pytest.raises(errors.BadEventNumber):
        driver.submit(ops.Append(A, b"x", 1, WRITER, 10))


def test_totals_are_what_was_appended_also_to_what_is_gone(driver: Driver) -> None:
    before = driver.storage.totals()
    driver.do(ops.Append(A, b"0123456789", 3), ops.Append(B, b"abcd", 2))
    driver.do(ops.UpdateTable(TABLE, (ops.TableUpdate(b"k", b"v"),)), ops.Truncate(A, 5))
    driver.storage.read(A, 5, 3)
    steps = ((ops.Merge(A, B), 2), (ops.Delete(TABLE), 1), (ops.Delete(A), 0))
    for step, segments in steps:
        driver.do(step)
        now = driver.storage.totals()
        assert (now.bytes - before.bytes, now.events - before.events) == (14, 5)
        assert (now.segments, now.read_bytes) == (segments, 3)


def test_what_is_synced_leaves_no_segment_with_a_change_under_way(driver: Driver) -> None:
    """Validated and synced state are equal then, and a segment keeps no copy of what was on its way."""
    entry, key = ops.TableUpdate(b"k", b"v"), UUID(int=9)
    steps: list[tuple[ops.Operation, ...]] = [
        (ops.Append(A, b"x", 1, WRITER, 1), ops.SetAttribute(A, key, 5), ops.SetPolicy(A, 1, 100)),
        (ops.UpdateTable(TABLE, (entry,)), ops.RemoveTableKeys(TABLE, (ops.TableRemoval(b"k"),))),
        (ops.Append(B, b"y"), ops.Merge(A, B), ops.Truncate(A, 1)),
        (ops.Seal(A), ops.CreateSegment(B), ops.PutRecord("k", b"v")),
    ]
    for step in steps:
        driver.submit(*step)
        names = driver.storage._validated.names
        changed = {names[op.segment] for op in step if getattr(op, "segment", None) in names}
        assert all(segment.pending for segment in changed)
        driver.sync()
        for segment in names.values():
            assert segment.pending == 0
            assert (segment.next_start, segment.next_length) == (segment.start, segment.length)
            assert not segment.next_attributes
            assert not segment.next_merged


# Segments


def test_reads_at_the_ends_of_a_segment(driver: Driver) -> None:
    driver.do(ops.Append(A, b"0123456789"), ops.Truncate(A, 2))
    read = driver.storage.read(A, 8, 100)
    assert (read.data, read.at_tail, read.end_of_segment) == (b"89", True, False)
    assert driver.storage.read(A, 2, 3).data == b"234"
    assert driver.storage.read(A, 50, 3).at_tail
    driver.do(ops.Seal(A))
    read = driver.storage.read(A, 8, 100)
    assert (read.data, read.at_tail, read.end_of_segment) == (b"89", False, True)
    assert driver.storage.read(A, 10, 1).end_of_segment
    with pytest.raises(errors.SegmentTruncated) as caught:
        driver.storage.read(A, 1, 1)
    assert caught.value.start_offset == 2
    for offset in (-1, 11):
        with pytest.raises(errors.OffsetBeyondEnd):
            driver.storage.read(A, offset, 1)


@pytest.mark.parametrize("operation", [ops.Append(A, b"x"), ops.Seal(A), ops.SetAttribute(A, WRITER, 1)])
def test_a_sealed_segment_refuses(driver: Driver, operation: ops.Operation) -> None:
    driver.submit(ops.Seal(A))
    with pytest.raises(errors.SegmentSealed):
        driver.submit(operation)


def test_a_sealed_segment_is_truncated_and_set_up(driver: Driver) -> None:
    driver.do(ops.Append(A, b"0123"), ops.Seal(A))
    driver.do(ops.Truncate(A, 4))
    assert driver.storage.info(A).start_offset == 4
    assert driver.storage.setup_append(A, WRITER).done


@pytest.mark.parametrize("offset", [1, 5])
def test_truncation_goes_neither_back_nor_beyond(driver: Driver, offset: int) -> None:
    driver.do(ops.Append(A, b"0123"), ops.Truncate(A, 2))
    with pytest.raises(errors.SegmentTruncated) as caught:
        driver.submit(ops.Truncate(A, offset))
    assert (caught.value.start_offset, caught.value.offset) == (2, offset)


def test_merge_joins_and_is_idempotent(driver: Driver) -> None:
    driver.do(ops.Append(A, b"one"), ops.Append(B, b"two", 4))
    assert driver.do(ops.Merge(A, B)) == (6,)
    assert driver.storage.read(A, 0, 10).data == b"onetwo"
    assert driver.storage.info(A).event_count == 5
    driver.do(ops.Append(A, b"three"))
    assert driver.do(ops.Merge(A, B)) == (11,)
    driver.reopen()
    assert driver.do(ops.Merge(A, B)) == (11,)


def test_what_is_kept_of_merges_is_bounded_while_the_target_never_rests(driver: Driver) -> None:
    for number in range(20):
        driver.do(ops.CreateSegment(f"source-{number}"))
    driver.submit(ops.Append(A, b"."))
    for number in range(20):
        driver.take()
        driver.submit(ops.Merge(A, f"source-{number}"), ops.Append(A, b"."))
        driver.finish()
    assert len(driver.storage._validated.get(A).next_merged) <= 1
    driver.sync()
    length = driver.storage.info(A).length
    assert list(driver.do(ops.Merge(A, "source-3"))) == [length]


def test_merge_refusals_name_the_source(driver: Driver) -> None:
    with pytest.raises(errors.NoSuchSegment) as missing:
        driver.submit(ops.Merge("s/none/0.#epoch.0", "s/none/1.#epoch.0"))
    assert missing.value.segment == "s/none/1.#epoch.0"
    driver.submit(ops.Seal(A))
    with pytest.raises(errors.SegmentSealed) as sealed:
        driver.submit(ops.Merge(A, B))
    assert sealed.value.segment == B


def test_a_segment_made_anew_under_its_name_is_empty(driver: Driver) -> None:
    driver.do(ops.Append(A, b"old", 1, WRITER, 1))
    driver.do(ops.Delete(A), ops.CreateSegment(A), ops.Append(A, b"new"))
    assert driver.storage.read(A, 0, 9).data == b"new"
    assert driver.storage.setup_append(A, WRITER).results == (ops.NO_VALUE,)


def test_attributes_compare_and_set(driver: Driver) -> None:
    driver.submit(ops.SetAttribute(A, WRITER, 5, expected=ops.NO_VALUE))
    with pytest.raises(errors.AttributeMismatch) as caught:
        driver.submit(ops.SetAttribute(A, WRITER, 6, expected=4))
    assert caught.value.value == 5
    driver.do(ops.SetAttribute(A, WRITER, 6, expected=5))
    assert driver.storage.attribute(A, WRITER) == 6


def test_a_watch_is_called_for_what_is_synced_until_cancelled(driver: Driver) -> None:
    seen: list[int] = []
    cancel = driver.storage.watch(A, lambda: seen.append(driver.storage.info(A).length))
    driver.submit(ops.Append(A, b"1"))
    driver.submit(ops.Append(A, b"2"))
    assert seen == []
    driver.sync()
    driver.do(ops.Seal(A))
    cancel()
    driver.do(ops.Truncate(A, 1))
    assert seen == [2, 2]


def test_hooks_hear_of_synced_traffic(driver: Driver) -> None:
    heard: list[tuple[object, ...]] = []
    driver.storage.on_append = lambda *what: heard.append(what)
    driver.storage.on_merge = lambda *what: heard.append(what)
    driver.submit(ops.Append(B, b"12", 2))
    assert heard == []
    driver.sync()
    driver.do(ops.Merge(A, B))
    assert heard == [(B, 2, 2, 1002), (A, 2, 2, 2, 1003)]
    for hook in (driver.storage.on_append, driver.storage.on_merge):
        assert hook is not None
        hook("s/x", 0, 0, 0, 0)
    assert len(heard) == 4


# Tables


def put(driver: Driver, *entries: tuple[bytes, bytes, int]) -> object:
    return driver.do(ops.UpdateTable(TABLE, tuple(ops.TableUpdate(*entry) for entry in entries)))[0]


def test_versions_are_offsets_with_a_header_of_17_bytes(driver: Driver) -> None:
    assert put(driver, (b"k1", b"v1", -1), (b"k2", b"v2", ops.NO_VERSION)) == (0, 21)
    assert driver.storage.info(TABLE).length == 42


def test_repeated_keys_of_a_batch_see_the_state_before_it(driver: Driver) -> None:
    assert put(driver, (b"k", b"1", -1), (b"k", b"2", -1)) == (0, 19)
    value = driver.storage.table_get(TABLE, [b"k"])[0]
    assert value is not None
    assert (value.value, value.version) == (b"2", 19)


def test_a_missing_key_is_told_before_a_wrong_version(driver: Driver) -> None:
    put(driver, (b"k", b"1", -1))
    with pytest.raises(errors.KeyMissing) as missing:
        put(driver, (b"k", b"2", 99), (b"none", b"2", 4))
    assert missing.value.key == b"none"
    for version in (-1, 99):
        with pytest.raises(errors.BadVersion) as bad:
            put(driver, (b"k", b"2", version))
        assert bad.value.version == 0


def test_removals(driver: Driver) -> None:
    put(driver, (b"k", b"1", -1))
    with pytest.raises(errors.KeyMissing):
        driver.do(ops.RemoveTableKeys(TABLE, (ops.TableRemoval(b"none", 3),)))
    driver.do(ops.RemoveTableKeys(TABLE, (ops.TableRemoval(b"none"), ops.TableRemoval(b"k", 0))))
    assert driver.storage.table_get(TABLE, [b"k"]) == [None]
    assert put(driver, (b"k", b"2", -1)) == (19 + 21 + 18,)


def test_the_length_of_a_table_can_be_a_condition(driver: Driver) -> None:
    put(driver, (b"k", b"1", -1))
    update = ops.TableUpdate(b"k", b"2")
    with pytest.raises(errors.SegmentTruncated) as caught:
        driver.do(ops.UpdateTable(TABLE, (update,), expected_length=3))
    assert (caught.value.start_offset, caught.value.offset) == (19, 3)
    driver.do(ops.UpdateTable(TABLE, (update,), expected_length=19))


@pytest.mark.parametrize(("key", "value"), [(b"", b""), (b"k" * 8193, b""), (b"k", bytes(1024 * 1024 - 17))])
def test_entries_out_of_bounds_are_refused(driver: Driver, key: bytes, value: bytes) -> None:
    with pytest.raises(errors.BadTableEntry):
        put(driver, (key, value, ops.NO_VERSION))


def test_the_largest_entry_is_taken(driver: Driver) -> None:
    key = b"k" * MAX_KEY_BYTES
    value = b"v" * (MAX_ENTRY_BYTES - MAX_KEY_BYTES - ENTRY_HEADER_BYTES)
    put(driver, (key, value, ops.NO_VERSION))
    [found] = driver.storage.table_get(TABLE, [key])
    assert found is not None
    assert found.value == value


def test_a_table_can_fix_the_length_of_its_keys(driver: Driver) -> None:
    driver.do(ops.CreateSegment("s/f/0.#epoch.0", True, key_length=3))
    with pytest.raises(errors.BadTableEntry):
        driver.do(ops.UpdateTable("s/f/0.#epoch.0", (ops.TableUpdate(b"four", b""),)))


def test_a_delta_ends_and_tells_each_newest_value(driver: Driver) -> None:
    for number in range(30):
        put(driver, (b"k%d" % (number % 7), b"%d" % number, ops.NO_VERSION))
    driver.do(ops.RemoveTableKeys(TABLE, (ops.TableRemoval(b"k3"),)))
    seen, position, pages = {}, 0, 0
    while (page := driver.storage.table_delta(TABLE, position, 2)).entries:
        seen.update({entry.key: entry.value for entry in page.entries})
        assert page.last_position > position
        position, pages = page.last_position, pages + 1
    assert (page.reached_end, page.last_position, pages) == (True, 0, 3)
    assert seen == {b"k%d" % (n % 7): b"%d" % n for n in range(23, 30) if n % 7 != 3}
    with pytest.raises(errors.OffsetBeyondEnd):
        driver.storage.table_delta(TABLE, 10_000, 1)


@pytest.mark.parametrize("asked", [0, 1])
def test_a_page_of_a_delta_has_an_entry_as_long_as_there_is_one(driver: Driver, asked: int) -> None:
    """A client that asks for none would otherwise take the empty page for the end."""
    put(driver, (b"k", b"1", ops.NO_VERSION), (b"l", b"2", ops.NO_VERSION))
    page = driver.storage.table_delta(TABLE, 0, asked)
    assert ([entry.key for entry in page.entries], page.reached_end) == ([b"k"], False)
    page = driver.storage.table_delta(TABLE, page.last_position, asked)
    assert ([entry.key for entry in page.entries], page.reached_end) == ([b"l"], True)


def test_a_table_that_holds_keys_may_be_kept(driver: Driver) -> None:
    put(driver, (b"k", b"1", -1))
    with pytest.raises(errors.TableNotEmpty):
        driver.submit(ops.Delete(TABLE, must_be_empty=True))
    driver.submit(ops.RemoveTableKeys(TABLE, (ops.TableRemoval(b"k"),)))
    driver.do(ops.Delete(TABLE, must_be_empty=True))
    assert not driver.storage.exists(TABLE)


def test_kinds_are_not_mixed(driver: Driver) -> None:
    refused = [
        ops.Append(TABLE, b"x"),
        ops.Merge(A, TABLE),
        ops.UpdateTable(A, ()),
        ops.RemoveTableKeys(A, ()),
    ]
    for operation in refused:
        with pytest.raises(errors.WrongKind):
            driver.submit(operation)
    with pytest.raises(errors.WrongKind):
        driver.storage.read(TABLE, 0, 1)
    with pytest.raises(errors.WrongKind):
        driver.storage.table_get(A, [b"k"])


def test_an_idle_segment_takes_little_memory() -> None:
    driver = Driver(file_bytes=1 << 20)
    created = [ops.CreateSegment(f"s/many/{n}.#epoch.0") for n in range(2000)]
    tracemalloc.start()
    try:
        driver.do(*created[:1000])
        before = tracemalloc.get_traced_memory()[0]
        driver.do(*created[1000:])
        assert (tracemalloc.get_traced_memory()[0] - before) / 1000 < 700  # names and log included
    finally:
        tracemalloc.stop()


def test_a_quiet_store_keeps_no_room_for_what_is_gone() -> None:
    driver = Driver(file_bytes=1 << 20)
    driver.do(*(ops.CreateSegment(f"s/many/{n}.#epoch.0") for n in range(5000)))
    names = driver.storage._synced.names
    driver.storage.shrink()
    assert driver.storage._synced.names is names, "a copy would cost time and free no room"
    driver.do(*(ops.Delete(f"s/many/{n}.#epoch.0") for n in range(1, 5000)))
    driver.storage.shrink()
    assert sys.getsizeof(driver.storage._synced.names) < 1000
    assert driver.storage.segments() == ["s/many/0.#epoch.0"]
    driver.do(ops.Append("s/many/0.#epoch.0", b"more"))
    assert driver.storage.read("s/many/0.#epoch.0", 0, 9).data == b"more"
