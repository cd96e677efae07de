"""A compaction keeps everything, frees what no segment needs, and may be interrupted anywhere."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from pravega_lab.engine.store.admin.verify import verify
from pravega_lab.engine.store.log import operations as ops
from pravega_lab.engine.store.storage.recovery import open_storage
from pravega_lab.terminal.admin.compact import carry_out
from tests.engine.store.admin.test_verify import content_of
from tests.engine.store.storage_driver import STORES, Driver, TornDisk, now, stored

FILE_BYTES = 16 * 1024


class _Crash(Exception):
    pass


class CrashingDisk(TornDisk):
    """Ends before its n-th change."""

    def __init__(self, contents: dict[str, bytearray], changes: int) -> None:
        super().__init__()
        self.contents = {name: bytearray(content) for name, content in contents.items()}
        self.left = changes

    def _make(self, name: str, data: bytearray) -> None:
        self._count()
        super()._make(name, data)

    def delete(self, name: str) -> None:
        self._count()
        super().delete(name)

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise _Crash


def test_it_may_be_interrupted_anywhere() -> None:
    disk = stored(STORES[0])
    whole = content_of(open_storage(disk))
    for changes in range(30):
        crashing = CrashingDisk(disk.contents, changes)
        try:
            now(carry_out(crashing, FILE_BYTES))
        except _Crash:
            pass
        else:
            break
        after = TornDisk()
        after.contents = crashing.contents
        assert verify(after).is_sound, changes
        assert content_of(open_storage(after)) == whole, changes
        now(carry_out(after, FILE_BYTES))
        assert content_of(open_storage(after)) == whole, changes
    else:
        pytest.fail("it never ended")
    assert changes >= 6
    assert verify(crashing).findings == ()


@pytest.mark.parametrize("seed", range(4))
def test_it_keeps_everything_and_the_store_continues(seed: int) -> None:
    chance = Random(seed)
    driver = Driver(file_bytes=FILE_BYTES)
    names = [f"s/a/{n}.#epoch.0" for n in range(3)]
    driver.do(*(ops.CreateSegment(name) for name in names), ops.CreateSegment("t", is_table=True))
    for number in range(200):
        driver.do(ops.Append(chance.choice(names), chance.randbytes(chance.randrange(1200))))
        if number % 50 == 0:
            driver.do(ops.UpdateTable("t", (ops.TableUpdate(b"k", bytes([number])),)))
    length = driver.storage.info(names[0]).length
    driver.do(ops.Truncate(names[0], length // 2), ops.Delete(names[1]))
    driver.reopen()
    whole = content_of(driver.storage)
    used = sum(driver.disk.files().values())
    live = now(carry_out(driver.disk, FILE_BYTES))
    after = driver.disk.files()
    assert sum(after.values()) < used
    assert live == length - length // 2 + driver.storage.info(names[2]).length
    assert verify(driver.disk).is_sound
    driver.reopen()
    assert content_of(driver.storage) == whole
    driver.do(ops.Append(names[2], b"more"))
    more: Any = content_of(driver.storage)
    driver.reopen()
    assert content_of(driver.storage) == more
    assert verify(driver.disk).is_sound
