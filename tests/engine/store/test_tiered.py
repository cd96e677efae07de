"""Snapshots that are taken inside a log file, as those in tier 2 are."""

from __future__ import annotations

import pytest

from pravega_lab.engine.store.log.chunks import Chunk
from pravega_lab.engine.store.log.operations import Append, CreateSegment, Delete, Merge, MoveToTier, Truncate
from pravega_lab.engine.store.storage import snapshot as snapshots
from pravega_lab.engine.store.storage.tiered import Tiered
from tests.engine.store.storage_driver import Driver, now


def rebuilt(driver: Driver) -> Driver:
    """Write a snapshot of the present state to the disk, as a rebuild does, and open it."""
    snapshot = Tiered(driver.storage).begin_snapshot()
    data = snapshot.draw()
    assert data is not None
    now(driver.disk.write_file(f"snapshot-{snapshot.sequence:012d}", data))
    driver.reopen()
    return driver


def test_groups_before_a_snapshot_inside_a_file_are_not_replayed_again() -> None:
    driver = Driver()
    driver.do(CreateSegment("a"), Append("a", b"once"))
    rebuilt(driver)
    assert driver.storage.read("a", 0, 99).data == b"once"
    driver.do(Append("a", b", more"))
    driver.reopen()
    assert driver.storage.read("a", 0, 99).data == b"once, more"


def test_a_rebuilt_store_that_begins_a_file_at_once_keeps_its_snapshot() -> None:
    """The snapshot of the full file has the name of the one that the store was rebuilt from. It used to be
    deleted as the older of the two, and with it everything in deleted log files. Seed 112 of `tiers`.
    """
    driver = Driver()
    driver.do(CreateSegment("a"), Append("a", b"x" * 2000))
    rebuilt(driver)
    driver.do(Append("a", b"y" * 3000))  # the rest of the file has no room for this
    assert [name for name in driver.disk.files() if name.startswith("snapshot-")]
    driver.reopen()
    assert driver.storage.read("a", 0, 5000).data == b"x" * 2000 + b"y" * 3000


def test_the_log_that_a_rebuilt_store_needs_is_kept_until_a_snapshot_is_in_tier_2() -> None:
    driver = Driver()
    tiered = Tiered(driver.storage)
    driver.do(CreateSegment("a"), Append("a", b"x" * 3000))
    for _ in range(3):  # each fills a file, and nothing in it is needed after the next
        driver.do(CreateSegment("b"), Append("b", b"y" * 3000))
        driver.do(Delete("b"))
    assert "log-000000000002" in driver.disk.files()
    assert tiered.files_to_free()
    tiered.snapshot_stored(tiered.begin_snapshot().first_file)
    assert "log-000000000002" not in driver.disk.files()
    assert "log-000000000001" in driver.disk.files()  # it has bytes of a segment


def test_a_reader_learns_up_to_where_a_segment_is_in_tier_2() -> None:
    driver = Driver()
    driver.do(CreateSegment("a"), CreateSegment("t", is_table=True), Append("a", b"x" * 100))
    assert driver.storage.tiered_offset("a") is None, "there is no tier 2"
    tiered = Tiered(driver.storage)
    assert driver.storage.tiered_offset("a") == 0
    pieces = [piece for number in tiered.unmoved() for piece in tiered.ranges(number, None)]
    assert [(piece.offset, piece.length) for piece in pieces] == [(0, 100)]
    driver.do(MoveToTier(Chunk(tiered.next_chunk, "chunk", 60, bytes(4)), (pieces[0]._replace(length=60),)))
    assert driver.storage.tiered_offset("a") == 60
    driver.do(Truncate("a", 80))
    assert driver.storage.tiered_offset("a") == 80
    driver.do(Append("a", b"y"), Truncate("a", 101))
    assert driver.storage.tiered_offset("a") == 101, "nothing of it is in the log"
    assert driver.storage.tiered_offset("t") is None
    assert [chunk.name for chunk in tiered.take_dead()] == ["chunk"], "no segment has bytes in it"
    assert tiered.take_dead() == []


def test_a_snapshot_that_is_being_drawn_is_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that rests with a snapshot half drawn would keep the log files that it replaces."""
    monkeypatch.setattr(snapshots, "DRAWN_AT_ONCE", 1)
    driver = Driver()
    driver.do(*(CreateSegment(f"s/many/{n}.#epoch.0") for n in range(30)))
    for _ in range(30):
        driver.submit(Append("s/many/0.#epoch.0", b"x" * 900))
        driver.take()
        driver.finish()
        driver.make_files()
        if driver.storage.draw_snapshot():
            break
    assert driver.storage.is_idle
    while driver.storage.draw_snapshot():
        assert driver.storage.has_file_work
    assert driver.storage.has_file_work, "the snapshot is to be written"
    driver.write_snapshot()
    driver.make_files()
    assert not driver.storage.has_file_work


def test_a_snapshot_for_tier_2_is_drawn_in_slices_and_shows_one_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(snapshots, "DRAWN_AT_ONCE", 1)
    driver = Driver()
    driver.do(*(CreateSegment(f"s/many/{n}.#epoch.0") for n in range(20)))
    storage = driver.storage
    tiered = Tiered(storage)
    begun = tiered.begin_snapshot()
    moment = snapshots.encode_snapshot(
        storage._synced, storage._snapshot_head(begun.first_file, begun.sequence)
    )
    drawn = []
    for change in (
        Append("s/many/19.#epoch.0", b"later"),
        Delete("s/many/18.#epoch.0"),
        Merge("s/many/17.#epoch.0", "s/many/16.#epoch.0"),
        CreateSegment("s/later/0.#epoch.0"),
    ):
        drawn.append(begun.draw())
        driver.do(change)
    while drawn[-1] is None:
        drawn.append(begun.draw())
    assert len(drawn) > 5
    assert drawn[-1] == moment
