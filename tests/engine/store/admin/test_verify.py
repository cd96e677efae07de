"""`verify` finds every flipped byte that a reader would notice, and every contradiction of the metadata."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any
from uuid import UUID

import pytest

from pravega_lab.engine.store.admin.findings import Level
from pravega_lab.engine.store.admin.verify import TAIL, verify
from pravega_lab.engine.store.errors import CorruptStoreError
from pravega_lab.engine.store.log import operations as ops
from pravega_lab.engine.store.log.history import HISTORY_NAME, Cut, History, Stop, encode_history
from pravega_lab.engine.store.storage.recovery import open_storage
from pravega_lab.engine.store.storage.snapshot import encode_snapshot
from pravega_lab.engine.store.storage.storage import Storage
from pravega_lab.protocol.names import transient_segment_name
from tests.engine.store.storage_driver import STORES, Driver, TornDisk, stored

EVENTS = "controller/epoch/s/events/000000000"
TRANSACTION = f"controller/transaction/s/events/{1 << 96 | 2:032x}"
COMMITTED = f"controller/transaction/s/events/{1:032x}"


@pytest.fixture
def disk() -> TornDisk:
    return stored(STORES[0])


def test_a_whole_store_is_sound(disk: TornDisk) -> None:
    verdict = verify(disk)
    assert verdict.is_sound
    assert verdict.findings == ()
    assert str(verdict).startswith("sound: 20 groups in 4 log files")


def test_a_segment_that_an_interrupted_writer_left_is_no_damage(disk: TornDisk) -> None:
    """Its stream has truncated the parent, or was deleted and created again, before the store deletes it."""
    name = transient_segment_name("s/events/9.#epoch.9", UUID(int=1), UUID(int=2))
    Driver(disk, file_bytes=16 * 1024).do(ops.CreateSegment(name))
    verdict = verify(disk)
    assert verdict.is_sound
    assert verdict.findings == ()


# -- bytes ---------------------------------------------------------------------------------------------------


def content_of(storage: Storage) -> dict[str, Any]:
    """All that clients and the controller can ask the storage for."""
    segments = {}
    for name in storage.segments():
        info = storage.info(name)
        held: Any = storage.table_entries(name, 0, 99) if info.is_table else None
        held = held or storage.read(name, info.start_offset, info.length).data
        segments[name] = (info, held)
    return {"segments": segments, "records": list(storage.records())}


def test_every_flip_that_a_reader_would_notice_is_found(disk: TornDisk) -> None:
    whole = content_of(open_storage(disk))
    used = {name: len(content.rstrip(b"\0")) for name, content in disk.contents.items()}
    last = max(name for name in used if name.startswith("log-"))
    n_damaged = 0
    for seed in range(300):
        chance = Random(seed)
        damaged = TornDisk()
        damaged.contents = {name: bytearray(content) for name, content in disk.contents.items()}
        name = chance.choice(list(used))
        at = chance.randrange(used[name])
        damaged.contents[name][at] ^= 1 << chance.randrange(8)
        verdict = verify(damaged)
        assert all(finding.next_step or "." in finding.what for finding in verdict.findings)
        n_damaged += not verdict.is_sound
        if not verdict.is_sound:
            assert any(name in str(finding) for finding in verdict.damage), (seed, verdict.damage)
            continue
        if any(finding.rule == TAIL for finding in verdict.findings):
            assert name == last, f"seed {seed}: only the last file can have a torn tail"
            continue
        assert content_of(open_storage(damaged)) == whole, f"seed {seed}: byte {at} of {name}"
    assert n_damaged > 150


def test_damage_names_file_offset_and_next_step(disk: TornDisk) -> None:
    group = open_storage(disk)._synced.names["s/events/1.#epoch.0"].extents
    disk.contents["log-000000000001"][group.positions[0] + 9] ^= 1
    [found] = verify(disk).damage[:1]
    assert (found.where, found.offset) == ("log-000000000001", 5692)
    assert "Restore the store from a backup" in str(found)
    with pytest.raises(CorruptStoreError):
        open_storage(disk).read("s/events/1.#epoch.0", 500, 99)


def test_a_torn_tail_is_a_note_with_its_bytes() -> None:
    driver = Driver()
    driver.do(ops.CreateSegment("a"))
    driver.submit(ops.Append("a", b"x" * 1500))
    group = driver.take()
    assert group is not None
    driver.disk.tear(group.file, group.offset, group.data, iter((True, True, False, False)).__next__)
    [found] = verify(driver.disk).findings
    assert (found.level, found.where, found.offset) == (Level.NOTE, group.file, group.offset)
    assert "bytes were acknowledged to no one" in found.what
    assert verify(driver.disk, is_running=True).findings == ()


@pytest.mark.parametrize("is_last", [True, False])
def test_notes_about_a_store_that_does_not_open_say_only_what_was_found(is_last: bool) -> None:
    driver = Driver()
    driver.do(ops.CreateSegment("a"))
    places = [driver.storage.synced_place()]
    for _ in range(3):
        driver.do(ops.Append("a", b"event"))
        places.append(driver.storage.synced_place())
    place = places[-2 if is_last else 1]
    last = places[-1]
    assert place is not None
    assert last is not None
    history = History(Stop(*last), newest_file=driver.storage.history.newest_file)
    driver.disk.contents[HISTORY_NAME] = bytearray(encode_history(history))
    driver.disk.contents[place[1]][place[2] + 60] ^= 1
    verdict = verify(driver.disk)
    assert [found.rule for found in verdict.damage] == ["the store opens"]
    [found] = [finding for finding in verdict.findings if finding.level is Level.NOTE]
    assert (found.where, found.offset, found.next_step) == (place[1], place[2], "")
    assert "cannot be read" in found.what
    assert "acknowledged to no one" not in found.what


def test_cuts_of_earlier_starts_are_notes(disk: TornDisk) -> None:
    history = History().with_cuts([Cut("log-000000000003", 9000, 77, 16, 5)])
    disk.contents[HISTORY_NAME] = bytearray(encode_history(history))
    verdict = verify(disk)
    assert verdict.is_sound
    [found] = verdict.findings
    assert (found.level, found.where, found.offset) == (Level.NOTE, "log-000000000003", 9000)
    assert "cut 77 bytes after group 16" in found.what


def test_a_head_at_an_open_end_is_a_note(disk: TornDisk) -> None:
    driver = Driver(disk, file_bytes=16 * 1024)
    put("controller/truncation/s/logs", now_ms=1, scope="s", stream="logs", cut=[[0, -1]])(driver)
    verdict = verify(disk)
    assert verdict.is_sound
    [found] = [finding for finding in verdict.findings if finding.rule == "truncations hold"]
    assert (found.level, found.where) == (Level.NOTE, "s/logs/0.#epoch.0")
    assert "Truncate the stream" in found.next_step


# -- metadata ------------------------------------------------------------------------------------------------

Change = Callable[[Driver], None]


def put(key: str, **fields: Any) -> Change:
    """Change fields of a record."""

    def change(driver: Driver) -> None:
        plain = json.loads(driver.storage.record(key) or b"{}")
        driver.do(ops.PutRecord(key, json.dumps(plain | fields).encode()))

    return change


def remove(key: str) -> Change:
    return lambda driver: driver.do(ops.PutRecord(key, None))  # type: ignore[return-value]


def do(*operations: ops.Operation) -> Change:
    return lambda driver: driver.do(*operations)  # type: ignore[return-value]


def inside(change: Callable[[Any], None]) -> Change:
    """Change a segment in the snapshot of the state, as a fault of the store would."""

    def planted(driver: Driver) -> None:
        storage = driver.storage
        change(storage._synced.names)
        sequence = storage._files.sequence
        # The log continues in a file without groups, so that recovery reads nothing but this snapshot.
        file = storage._files.wanted(1 << 20)
        assert file is not None
        driver.disk.contents[file.name] = bytearray(file.header.ljust(file.size, b"\0"))
        state = encode_snapshot(storage._synced, storage._snapshot_head(file.file_id, sequence))
        driver.disk.contents[f"snapshot-{sequence:012d}"] = bytearray(state)

    return planted


EPOCH_1 = {"epoch": [1, 1, [0], [[(1 << 32) + 2, 0.0, 0.25], [(1 << 32) + 3, 0.25, 0.4]], 1_700_000_000_001]}
OTHER = (1 << 32) + 9

CONTRADICTIONS: dict[str, tuple[Change, str]] = {
    "a gap in the keys": (put(f"{EVENTS}1", **EPOCH_1), "epochs cover the key space"),
    "an epoch is gone": (remove(f"{EVENTS}2"), "epochs follow each other"),
    "a number is used twice": (
        put("controller/number/s/events", now_ms=1, scope="s", stream="events", last_number=1),
        "epochs follow each other",
    ),
    "an active segment is deleted": (do(ops.Delete("s/events/2.#epoch.3")), "segments of streams exist"),
    "a sealed stream is open": (put("controller/stream/s/logs", state="SEALED"), "segments of streams exist"),
    "a segment of nothing": (do(ops.CreateSegment("s/events/9.#epoch.9")), "segments belong to something"),
    "an aborted transaction has segments": (put(TRANSACTION, state=5), "segments belong to something"),
    "a transaction lost its segments": (
        do(ops.Delete(f"s/events/3.#epoch.1#transaction.{1 << 96 | 2:032x}")),
        "transactions are whole",
    ),
    "a counter was not reserved": (
        put("controller/counter/transactions", reserved=1),
        "transactions are whole",
    ),
    "a committed transaction has no order": (put(COMMITTED, order=0), "transactions are whole"),
    "truncated further than its segments": (
        put("controller/truncation/s/events", cut=[[0, 2000], [1, 500]]),
        "truncations hold",
    ),
    "truncated at no cut": (put("controller/truncation/s/events", cut=[[0, 2000]]), "truncations hold"),
    "a subscriber that is no group": (remove("controller/group/s/g"), "subscriptions agree"),
    "a group without its state": (remove("controller/stream/s/_RGg"), "groups name known segments"),
    "a writer at an unknown segment": (
        put(
            "controller/writer/s/events/w",
            now_ms=1, scope="s", stream="events", writer="w", timestamp=1, position=[[OTHER, 0]],
        ),
        "positions are known",
    ),
    "a key-value table without its segment": (
        put("controller/table/s/kv", now_ms=1, scope="s", table="kv", config="180120042804", first_number=0),
        "tables have their segments",
    ),
    "no scope": (remove("controller/scope/s"), "records have owners"),
    "no JSON": (do(ops.PutRecord("controller/scope/s", b"{")), "records can be read"),
    "bytes without a place": (
        inside(lambda names: names["s/logs/0.#epoch.0"].extents.drop_below(8000)),
        "lengths add up",
    ),
    "a number of the log twice": (
        inside(lambda names: setattr(names["s/logs/0.#epoch.0"], "id", 1)),
        "lengths add up",
    ),
    "a table longer than itself": (
        inside(lambda names: setattr(names["s/t_kvtable/0.#epoch.0"], "length", 20)),
        "tables are consistent",
    ),
    "a segment outside the log": (
        inside(lambda names: names["s/late/0.#epoch.0"].extents.positions.__setitem__(0, 16_000)),
        "segments are in valid groups",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_contradiction_is_found_by_its_rule(disk: TornDisk, name: str) -> None:
    change, rule = CONTRADICTIONS[name]
    driver = Driver(disk, file_bytes=16 * 1024)
    change(driver)
    verdict = verify(disk)
    assert rule in [finding.rule for finding in verdict.findings], [str(f) for f in verdict.findings]
    assert not verdict.is_sound
