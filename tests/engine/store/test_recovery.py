"""What opening a folder finds, cuts and refuses, and which files stay."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from uuid import UUID
from zlib import crc32

import pytest

from pravega_lab.engine.store import errors
from pravega_lab.engine.store.errors import StoreVersionError
from pravega_lab.engine.store.log import operations as ops
from pravega_lab.engine.store.log import values
from pravega_lab.engine.store.log.format import FILE_HEADER_BYTES, file_id_of
from pravega_lab.engine.store.log.history import HISTORY_NAME, History, Stop, encode_history, read_history
from pravega_lab.engine.store.storage import snapshot
from pravega_lab.engine.store.storage.report import RecoveryReport
from tests.engine.store.storage_driver import Driver, TornDisk, now

A, B = "s/a/0.#epoch.0", "s/a/1.#epoch.0"


@pytest.fixture
def driver() -> Driver:
    made = Driver()
    made.do(ops.CreateSegment(A), ops.CreateSegment(B))
    return made


def logs(driver: Driver) -> list[str]:
    return [name for name in driver.disk.files() if name.startswith("log-")]


def report(driver: Driver) -> RecoveryReport:
    return driver.storage.recovery


def test_a_torn_tail_is_cut(driver: Driver) -> None:
    driver.do(ops.Append(A, b"kept"))
    driver.submit(ops.Append(A, b"t" * 1500))
    group = driver.take()
    assert group is not None
    sectors = iter([False, True, True, True])
    driver.disk.tear(group.file, group.offset, group.data, lambda: next(sectors))
    driver.reopen()
    assert driver.storage.read(A, 0, 99).data == b"kept"
    [cut] = report(driver).cuts
    assert (cut.file, cut.offset, cut.length) == (group.file, group.offset, len(group.data))
    driver.do(ops.Append(A, b", more"))
    driver.reopen()
    assert driver.storage.read(A, 0, 99).data == b"kept, more"


def stop(driver: Driver) -> None:
    """Record a stop in order, as the runner does."""
    place = driver.storage.synced_place()
    assert place is not None
    driver.storage.history = replace(driver.storage.history, stop=Stop(*place))
    driver.disk.contents[HISTORY_NAME] = bytearray(encode_history(driver.storage.history))


def end_of_log(driver: Driver) -> tuple[str, int]:
    place = driver.storage.synced_place()
    assert place is not None
    return place[1:]


def test_after_a_stop_in_order_nothing_is_cut_silently(driver: Driver) -> None:
    for number in range(5):
        driver.do(ops.Append(A, b"event %d" % number))
    stop(driver)
    name, end = end_of_log(driver)
    whole = bytes(driver.disk.contents[name])
    for length in range(FILE_HEADER_BYTES, end, 7):  # the rest is lost, and filled up with zeros
        driver.disk.contents[name] = bytearray(whole[:length].ljust(len(whole), b"\0"))
        with pytest.raises(errors.CorruptStoreError, match=f"{name}.* in order after group 6") as caught:
            driver.reopen()
        assert "Restore the folder from a copy" in str(caught.value)
    driver.disk.contents[name] = bytearray(whole)
    driver.reopen()
    # The record stays true while the store runs again: a tail that is torn then is cut.
    driver.do(ops.Append(A, b"later"))
    driver.submit(ops.Append(A, b"t" * 1500))
    group = driver.take()
    assert group is not None
    driver.disk.tear(group.file, group.offset, group.data[:900], lambda: True)
    driver.reopen()
    assert [cut.length for cut in report(driver).cuts] == [900]


def test_a_file_shorter_than_it_was_created_is_refused(driver: Driver) -> None:
    driver.do(ops.Append(A, b"kept"))
    for name in logs(driver):
        whole = driver.disk.contents[name]
        for length in (0, 100, 511, 512, 513, 700, 4095):
            driver.disk.contents[name] = whole[:length]
            with pytest.raises(errors.CorruptStoreError, match=f"{name}.* at offset {length}") as caught:
                driver.reopen()
            assert "4096 bytes" in str(caught.value) or length < FILE_HEADER_BYTES
        driver.disk.contents[name] = whole
    driver.reopen()


def test_a_store_without_its_first_file_is_refused(driver: Driver) -> None:
    driver.do(ops.Append(A, b"kept"))
    driver.make_files()
    first, spare = logs(driver)
    content = driver.disk.contents.pop(first)
    with pytest.raises(
        errors.CorruptStoreError, match=f"{first}.* is missing, and '{spare}' was created after it"
    ):
        driver.reopen()
    del driver.disk.contents[spare]
    with pytest.raises(errors.CorruptStoreError, match=f"{spare}.* is missing, and 'history' says"):
        driver.reopen()
    driver.storage.history = History()
    stop(driver)  # as a release wrote it that did not record files
    with pytest.raises(errors.CorruptStoreError, match=f"in order after group 2, .* of '{first}'"):
        driver.reopen()
    driver.disk.contents[first] = content
    driver.reopen()
    assert driver.storage.read(A, 0, 99).data == b"kept"


@pytest.mark.parametrize("appends", range(12))
def test_after_a_crash_a_store_without_its_newest_file_is_refused(appends: int) -> None:
    driver = Driver()
    driver.do(ops.CreateSegment(A))
    for number in range(appends):  # three fill a file
        driver.submit(ops.Append(A, bytes([number]) * 1000))
        assert driver.take() is not None
        driver.finish()  # snapshots are late: the log alone has all
    newest = logs(driver)[-1]
    content = driver.disk.contents.pop(newest)
    with pytest.raises(
        errors.CorruptStoreError, match=f"{newest}.* is missing, and 'history' says"
    ) as caught:
        driver.reopen()
    assert "Restore the folder from a copy" in str(caught.value)
    driver.disk.contents[newest] = content
    driver.reopen()
    assert driver.storage.info(A).length == 1000 * appends


@pytest.mark.parametrize("steps", range(4))
@pytest.mark.parametrize("is_first", [True, False])
def test_a_crash_while_a_file_is_made_loses_nothing(is_first: bool, steps: int) -> None:
    """Nothing done, created, recorded, written to: all open, and the next life records what it found."""
    driver = Driver()
    if not is_first:  # the second file is written, and the third one is wanted
        driver.do(ops.CreateSegment(B))
        driver.make_files()
        driver.submit(ops.Append(B, bytes(3500)))
        driver.group = driver.storage.take_group()
        driver.finish()
    driver.submit(ops.CreateSegment(A))
    file = driver.storage.file_wanted()
    assert file is not None
    assert file.file_id == (1 if is_first else 3)
    for step in (
        lambda: now(driver.disk.create(file.name, file.size, file.header)),
        lambda: driver.record_file(file),
        lambda: driver.storage.file_created(file) or driver.sync(),
    )[:steps]:
        step()
    driver.reopen()
    if not driver.storage.exists(A):
        driver.do(ops.CreateSegment(A))
    driver.do(ops.Append(A, b"kept"))
    newest = logs(driver)[-1]
    driver.reopen()
    assert driver.storage.read(A, 0, 99).data == b"kept"
    assert read_history(driver.disk).newest_file == file_id_of(newest)
    del driver.disk.contents[newest]
    with pytest.raises(errors.CorruptStoreError, match=newest):
        driver.reopen()


def test_a_history_of_the_first_version_is_read(driver: Driver) -> None:
    """It ends without the newest file, which the next start records."""
    body = values.encode(((2, logs(driver)[0], 700), ()))
    driver.disk.contents[HISTORY_NAME] = bytearray(b"PLHIST01" + crc32(body).to_bytes(4, "big") + body)
    assert read_history(driver.disk) == History(Stop(2, logs(driver)[0], 700))
    driver.do(ops.Append(A, b"kept"))
    driver.reopen()
    driver.make_files()
    driver.record_file(None)
    del driver.disk.contents[logs(driver)[-1]]
    with pytest.raises(errors.CorruptStoreError, match="'history' says"):
        driver.reopen()


def test_a_file_that_was_never_used_may_be_missing() -> None:
    """A first append that is larger than a file, and a disk without room, leave no holes in the ids."""
    driver = Driver(TornDisk(capacity=100))
    for _ in range(2):
        driver.make_files()
    driver.disk.capacity = 1 << 40
    driver.make_files()
    driver.do(ops.CreateSegment(A))
    assert logs(driver)[0] == "log-000000000001"
    other = Driver()
    other.make_files()
    other.do(ops.CreateSegment(A), ops.Append(A, bytes(9000)))
    for _ in range(3):
        other.reopen()
        other.do(ops.Append(A, bytes(9000)))
    assert other.storage.info(A).length == 36_000


def test_a_damaged_history_is_refused(driver: Driver) -> None:
    stop(driver)
    driver.disk.contents[HISTORY_NAME][14] ^= 1
    with pytest.raises(errors.CorruptStoreError, match=r"'history'.*delete this file"):
        driver.reopen()
    driver.disk.contents[HISTORY_NAME][7] = ord("9")
    with pytest.raises(StoreVersionError, match="a newer release wrote it"):
        driver.reopen()


def test_a_whole_group_that_was_not_told_is_kept(driver: Driver) -> None:
    driver.submit(ops.Append(A, b"untold"))
    group = driver.take()
    assert group is not None
    driver.disk.tear(group.file, group.offset, group.data, lambda: True)
    driver.reopen()
    assert driver.storage.read(A, 0, 99).data == b"untold"


def test_damage_with_something_valid_behind_it_is_refused(driver: Driver) -> None:
    for number in range(3):
        driver.submit(ops.Append(A, b"event %d" % number))
        group = driver.take()
        assert group is not None
        if number == 1:
            damaged = group
        driver.finish()
    driver.disk.contents[damaged.file][damaged.offset + 40] ^= 1
    with pytest.raises(errors.CorruptStoreError) as caught:
        driver.reopen()
    message = str(caught.value)
    assert damaged.file in message
    assert f"offset {damaged.offset}" in message
    assert "restore the folder from a copy" in message


@pytest.mark.parametrize("n_damaged", [2, 3, 9])
def test_after_a_crash_more_than_one_damaged_group_is_refused(driver: Driver, n_damaged: int) -> None:
    ends = []
    for number in range(9):
        driver.do(ops.Append(A, b"event %d" % number))
        ends.append(end_of_log(driver)[1])
    name, end = end_of_log(driver)
    whole = bytes(driver.disk.contents[name])
    first = ends[-n_damaged - 1] if n_damaged < 9 else ends[0] - (ends[1] - ends[0])
    flipped = bytearray(whole)
    for offset in range(first, end, ends[1] - ends[0]):
        flipped[offset + 60] ^= 1
    garbled = Random(1).randbytes(end - first)
    for rest in (flipped[first:end], whole[first : first + 70] + garbled[70:], garbled):
        driver.disk.contents[name] = bytearray(whole[:first] + rest + whole[end:])
        with pytest.raises(errors.CorruptStoreError, match=f"{name}.* at offset {first}") as caught:
            driver.reopen()
        assert "at most one torn group" in str(caught.value)
        assert "Restore the folder from a copy" in str(caught.value)
    driver.disk.contents[name] = bytearray(whole)
    driver.disk.contents[name][ends[-2] + 60] ^= 1  # the last group alone can be torn
    driver.reopen()
    assert [cut.offset for cut in report(driver).cuts] == [ends[-2]]


def test_torn_groups_at_the_ends_of_two_files_are_refused() -> None:
    """A file is written when the groups of the one before it are on the disk."""
    driver = Driver()
    places = []
    for number in range(5):  # three fill a file
        driver.submit(*((ops.CreateSegment(A),) if not number else ()), ops.Append(A, bytes([number]) * 1000))
        group = driver.take()
        assert group is not None
        places.append(group)
        driver.finish()
    first, second = places[2:4]
    assert first.file != second.file
    driver.disk.contents[first.file][first.offset + 60] ^= 1
    content = driver.disk.contents[second.file]
    content[second.offset :] = bytes(len(content) - second.offset)
    driver.disk.tear(second.file, second.offset, second.data, iter((False, True, True)).__next__)
    with pytest.raises(errors.CorruptStoreError, match=f"{first.file}.* at offset {first.offset}"):
        driver.reopen()


def test_damage_at_the_end_of_a_full_file_is_refused() -> None:
    # No snapshot between the files: it is written later than the next file begins.
    driver = Driver()
    driver.submit(ops.CreateSegment(A))
    places = []
    for number in range(8):
        driver.submit(ops.Append(A, bytes([number]) * 1000))
        group = driver.take()
        assert group is not None
        places.append((group.file, group.offset))
        driver.finish()
    last = max(place for place in places if place[0] == places[0][0])
    driver.disk.contents[last[0]][last[1] + 60] ^= 1
    with pytest.raises(errors.CorruptStoreError, match=last[0]):
        driver.reopen()


def test_a_damaged_file_header_or_snapshot_is_refused(driver: Driver) -> None:
    driver.do(ops.Append(A, bytes(3000)))
    driver.do(ops.Append(A, bytes(3000)))
    snapshot = next(name for name in driver.disk.files() if name.startswith("snapshot-"))
    for name in (snapshot, logs(driver)[0]):
        driver.disk.contents[name][20] ^= 1
        with pytest.raises(errors.CorruptStoreError, match=name):
            driver.reopen()
        driver.disk.contents[name][20] ^= 1
    driver.reopen()


def test_a_snapshot_in_the_place_of_another_one_is_refused(driver: Driver) -> None:
    """Under the name of a later group it would hide the groups up to that one."""
    other = Driver(new_store_id=b"another store id")
    other.do(ops.CreateSegment(A), ops.CreateSegment(B))
    for one in (driver, other):
        for number in range(6):
            one.do(ops.Append(A, bytes([number]) * 3000))
    contents = driver.disk.contents
    name = max(name for name in contents if name.startswith("snapshot-"))
    sequence = int(name.removeprefix("snapshot-"))
    moved = {f"snapshot-{sequence + more:012d}": bytes(contents[name]) for more in (1, 2, 100)}
    for place, data in {**moved, name: bytes(other.disk.contents[name])}.items():
        driver.disk.contents = {**contents, place: bytearray(data)}
        with pytest.raises(errors.CorruptStoreError, match=f"{place}.* is not the state of this store after"):
            driver.reopen()
        assert name in driver.disk.contents
    driver.disk.contents = contents
    driver.reopen()
    assert driver.storage.read(A, 0, 18_000).data[::3000] == bytes(range(6))


def test_copies_that_a_person_made_are_no_files_of_the_store(driver: Driver) -> None:
    for _ in range(3):
        driver.do(ops.Append(A, bytes(3000)))
    snapshot = max(name for name in driver.disk.files() if name.startswith("snapshot-"))
    copies = [
        f"{snapshot}.bak",
        *(f"{kind}-{name}" for kind in ("log", "snapshot") for name in ("copy", "1", "\xb2")),
    ]
    for copy in copies:
        driver.disk.contents[copy] = bytearray(b"a copy")
    driver.reopen()
    driver.do(ops.Truncate(A, 9000), ops.Append(A, bytes(3000)))
    driver.reopen()
    assert driver.storage.read(A, 9000, 3000).data == bytes(3000)
    assert [bytes(driver.disk.contents[copy]) for copy in copies] == [b"a copy"] * len(copies)


def test_damage_in_an_old_file_is_met_when_it_is_read(driver: Driver) -> None:
    for _ in range(6):
        driver.do(ops.Append(A, bytes(3000)))
    name = logs(driver)[0]
    driver.disk.contents[name][2000] ^= 1
    driver.reopen()
    assert driver.storage.read(A, 15_000, 3000).data == bytes(3000)
    for _ in range(2):
        with pytest.raises(errors.CorruptStoreError, match=name):
            driver.storage.read(A, 0, 3000)


@pytest.mark.parametrize("is_reopened", [False, True])
def test_bits_that_flip_on_the_disk_are_never_returned(driver: Driver, is_reopened: bool) -> None:
    driver.storage._files._recent._max_bytes = 0
    for number in range(9):
        driver.do(ops.Append(A, bytes([number]) * 1000), ops.Append(B, bytes([number]) * 100))
    if is_reopened:
        driver.reopen()
    place = next(driver.storage._synced.get(A).extents.pieces(2000, 2001))
    name, position = f"log-{place[0]:012d}", place[1]
    assert driver.storage.read(A, 5000, 10).data == bytes([5]) * 10
    for is_kept in (False, True):
        driver.disk.contents[name][position + 700] ^= 1
        if is_kept:  # what was verified is kept, and not that it was right
            assert driver.storage.read(A, 2000, 1000).data == bytes([2]) * 1000
            break
        for segment in (A, B):
            offset = 2000 if segment == A else 200
            with pytest.raises(errors.CorruptStoreError, match=f"{name!r} is damaged at offset"):
                driver.storage.read(segment, offset, 10)
        assert driver.storage.read(A, 3000, 6000).data[:1000] == bytes([3]) * 1000
        driver.disk.contents[name][position + 700] ^= 1
        assert driver.storage.read(A, 2000, 1000).data == bytes([2]) * 1000


@pytest.mark.parametrize("fault", ["flip", "missing"])
def test_a_read_returns_what_is_right_before_the_damage(driver: Driver, fault: str) -> None:
    """A reader asks for up to 2 MiB, and would else get nothing of what is right in them."""
    for number in range(9):
        driver.do(ops.Append(A, bytes([number]) * 1000))
    driver.reopen()
    name, position, _ = next(driver.storage._synced.get(A).extents.pieces(5000, 6000))
    before = next(
        n for n in range(6) if next(driver.storage._synced.get(A).extents.pieces(n * 1000, 9000))[0] == name
    )
    if fault == "flip":
        driver.disk.contents[f"log-{name:012d}"][position + 7] ^= 1
        before = 5
    else:
        del driver.disk.contents[f"log-{name:012d}"]
    found = driver.storage.read(A, 0, 9000)
    assert (found.data, found.at_tail) == (b"".join(bytes([n]) * 1000 for n in range(before)), False)
    with pytest.raises((errors.CorruptStoreError, FileNotFoundError)):
        driver.storage.read(A, before * 1000, 9000)
    assert driver.storage.read(A, 8000, 1000).data == bytes([8]) * 1000


def test_a_missing_file_is_named(driver: Driver) -> None:
    for _ in range(4):
        driver.do(ops.Append(A, bytes(3000)))
    for name in (logs(driver)[0], logs(driver)[-2]):  # one that segments live in; the one after the snapshot
        content = driver.disk.contents.pop(name)
        with pytest.raises(errors.CorruptStoreError, match=name):
            driver.reopen()
        driver.disk.contents[name] = content
    driver.reopen()


def test_a_stored_copy_of_the_log_is_no_group(driver: Driver) -> None:
    """An event that holds the bytes of a later group does not look like one, torn or not."""
    other = Driver(new_store_id=b"another store id")
    for _ in range(9):
        other.do(ops.PutRecord("k", b"v"))
    copy = bytes(other.disk.contents[logs(other)[0]])[512:2000]
    driver.submit(ops.Append(A, copy))
    group = driver.take()
    assert group is not None
    keep = iter([False, True, True, True, True])
    driver.disk.tear(group.file, group.offset, group.data, lambda: next(keep))
    driver.reopen()
    assert driver.storage.info(A).length == 0


def test_replay_begins_at_the_snapshot(driver: Driver) -> None:
    for _ in range(20):
        driver.do(ops.Append(A, bytes(1000)))
    left = dict(driver.disk.contents)
    for name in (HISTORY_NAME, *logs(driver)):
        del driver.disk.contents[name]
    with pytest.raises(errors.CorruptStoreError, match="is missing, and the log continues in it after 'snap"):
        driver.reopen()
    driver.disk.contents = left
    driver.reopen()
    assert report(driver).snapshot_sequence > 10
    assert report(driver).groups < 5
    assert driver.storage.info(A).length == 20_000


def test_a_snapshot_is_drawn_in_slices_and_shows_one_moment(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "DRAWN_AT_ONCE", 1)
    storage, moments = driver.storage, []
    begin = storage._begin_snapshot

    def and_keep(sequence: int, name: str, first_file: int) -> None:
        moments.append(
            snapshot.encode_snapshot(storage._synced, storage._snapshot_head(first_file, sequence))
        )
        begin(sequence, name, first_file)

    monkeypatch.setattr(storage, "_begin_snapshot", and_keep)
    driver.do(*(ops.CreateSegment(f"s/many/{n}.#epoch.0", is_table=n == 3) for n in range(20)))
    driver.do(*(ops.PutRecord(f"key{n}", b"value") for n in range(5)))
    while not moments:  # until the log continues in the next file
        driver.do(ops.Append(A, bytes(100)))
    entry = ops.TableUpdate(b"key", b"value")
    for change in (
        ops.Append("s/many/19.#epoch.0", b"later"),
        ops.Delete("s/many/18.#epoch.0"),
        ops.UpdateTable("s/many/3.#epoch.0", (entry,)),
        ops.Merge("s/many/17.#epoch.0", "s/many/16.#epoch.0"),
        ops.PutRecord("key2", b"later"),
        ops.CreateSegment("s/later/0.#epoch.0"),
    ):
        driver.do(change)
        assert storage.draw_snapshot()
        assert storage.snapshot_wanted() is None
    driver.submit(ops.Append(A, bytes(3300)))
    assert driver.take() is None  # the next file follows the next snapshot
    slices = 0
    while storage.draw_snapshot():
        slices += 1
    assert slices > 5
    drawn = storage.snapshot_wanted()
    assert drawn is not None
    assert drawn.data == moments[0]
    assert driver.take() is not None


def test_files_go_when_nothing_lives_in_them(driver: Driver) -> None:
    for _ in range(40):
        driver.do(ops.Append(A, bytes(1000)), ops.PutRecord("kept", b"in snapshots"))
    assert len(logs(driver)) > 10
    driver.do(ops.Truncate(A, 40_000))
    assert len(logs(driver)) <= 3
    driver.reopen()
    assert driver.storage.record("kept") == b"in snapshots"
    assert driver.storage.info(A).start_offset == 40_000
    assert len([name for name in driver.disk.files() if name.startswith("snapshot-")]) == 1


def test_merged_bytes_keep_their_files(driver: Driver) -> None:
    for number in range(10):
        driver.do(ops.Append(B, bytes([number]) * 1000))
    driver.do(ops.Append(A, b"before"), ops.Merge(A, B))
    expected = b"before" + b"".join(bytes([number]) * 1000 for number in range(10))
    for _ in range(5):
        driver.do(ops.CreateSegment(B), ops.Append(B, bytes(3000)), ops.Delete(B))
    assert driver.storage.read(A, 0, 20_000).data == expected
    driver.reopen()
    assert driver.storage.read(A, 0, 20_000).data == expected
    assert driver.storage.read(A, 4000, 3000).data == expected[4000:7000]


def test_an_append_larger_than_a_file(driver: Driver) -> None:
    data = Random(1).randbytes(100_000)
    driver.do(ops.Append(A, b"x"))
    assert driver.do(ops.Append(A, data), ops.Append(B, data)) == [100_001, 100_000]
    driver.do(ops.Append(A, b"y"))
    assert driver.storage.read(A, 0, 200_000).data == b"x" + data + b"y"
    driver.reopen()
    assert driver.storage.read(A, 0, 200_000).data == b"x" + data + b"y"


def test_time_never_goes_back_over_a_restart(driver: Driver) -> None:
    driver.now_ms = 5_000_000
    driver.do(ops.Append(A, b"x"))
    driver.reopen()
    assert driver.storage.last_now_ms == 5_000_001
    assert driver.storage.info(A).last_modified_ms == 5_000_001


# A full disk


def fill(driver: Driver) -> int:
    """Append until refused; the number of bytes taken."""
    for taken in range(0, 1_000_000, 500):
        try:
            driver.do(ops.Append(A, bytes(500)))
        except errors.StoreFull:
            return taken
    raise AssertionError("the disk is never full")


def test_a_full_disk_refuses_what_grows_and_keeps_what_it_has() -> None:
    driver = Driver(TornDisk(capacity=20_000))
    driver.do(ops.CreateSegment(A), ops.CreateSegment(B))
    driver.do(ops.Append(B, bytes(6000)))
    taken = fill(driver)
    assert driver.storage.is_full
    assert driver.storage.is_idle
    assert driver.storage.read(A, 0, 100_000).data == bytes(taken)
    driver.reopen()
    assert driver.storage.info(A).length == taken


def submit_all(driver: Driver) -> int:
    """Submit appends of 300 bytes, and write none of them, until one is refused; the number of bytes."""
    for taken in range(0, 1_000_000, 300):
        try:
            driver.submit(ops.Append(A, bytes(300)))
        except errors.StoreFull:
            return taken
    raise AssertionError("the disk is never full")


def test_on_a_full_disk_what_waits_to_be_written_counts() -> None:
    driver = Driver(TornDisk(capacity=20_000))
    driver.do(ops.CreateSegment(A))
    while not driver.storage.is_full:
        driver.do(ops.Append(A, bytes(500)))
    before, waiting = driver.storage.info(A).length, submit_all(driver)
    driver.sync()
    assert waiting > 1_000
    assert driver.storage.is_idle
    assert driver.storage.info(A).length == before + waiting


def test_a_full_disk_recovers_by_deleting() -> None:
    driver = Driver(TornDisk(capacity=30_000))
    driver.do(ops.CreateSegment(A))
    taken = fill(driver)
    driver.do(ops.Truncate(A, taken))
    driver.make_files()
    assert not driver.storage.is_full
    driver.do(ops.Append(A, b"again"))
    assert driver.storage.read(A, taken, 9).data == b"again"


def test_a_full_disk_recovers_when_there_is_room() -> None:
    driver = Driver(TornDisk(capacity=20_000))
    driver.do(ops.CreateSegment(A))
    taken = fill(driver)
    driver.disk.capacity = 60_000
    driver.make_files()
    driver.do(ops.Append(A, b"again"))
    assert driver.storage.info(A).length == taken + 5


def test_many_writers_and_names_come_back(driver: Driver) -> None:
    writers = [UUID(int=number + 1) for number in range(300)]
    for writer in writers:
        driver.submit(ops.Append(A, b"%d" % writer.int, 1, writer, writer.int))
    driver.sync()
    driver.do(ops.Append(B, bytes(9000)))  # a snapshot
    driver.reopen()
    assert [driver.storage.attribute(A, writer) for writer in writers] == [writer.int for writer in writers]


def test_a_damaged_header_of_a_file_is_refused_in_words(driver: Driver) -> None:
    """Each byte counts: the ids of store and file, the size at its creation, and the file before it."""
    [name] = [name for name in logs(driver) if name.endswith("1")]
    content = driver.disk.contents[name]
    for at in range(64):
        content[at] ^= 0x10
        with pytest.raises((errors.CorruptStoreError, StoreVersionError), match=name):
            driver.reopen()
        content[at] ^= 0x10
    driver.reopen()
