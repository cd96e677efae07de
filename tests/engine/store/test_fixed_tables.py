"""Tables whose keys have one length, driven by hand (pravega.md A13)."""

from __future__ import annotations

from random import Random

import pytest

from pravega_lab.engine.store import errors
from pravega_lab.engine.store.log import operations as ops
from tests.engine.store.storage_driver import Driver

TABLE = "s/t_kvtable/0.#epoch.0"


@pytest.fixture
def driver() -> Driver:
    made = Driver(file_bytes=1 << 16)
    made.do(ops.CreateSegment(TABLE, True, key_length=2))
    return made


def put(driver: Driver, *entries: tuple[bytes, bytes, int]) -> object:
    return driver.do(ops.UpdateTable(TABLE, tuple(ops.TableUpdate(*entry) for entry in entries)))[0]


def remove(driver: Driver, key: bytes, version: int = ops.NO_VERSION) -> None:
    driver.do(ops.RemoveTableKeys(TABLE, (ops.TableRemoval(key, version),)))


def keys(driver: Driver, low: bytes = b"", high: bytes = b"", count: int = 1000) -> list[bytes]:
    return [entry.key for entry in driver.storage.table_range(TABLE, low, high, count)]


def test_a_removal_takes_no_bytes(driver: Driver) -> None:
    assert put(driver, (b"aa", b"v", -1), (b"bb", b"v", -1)) == (0, 20)
    remove(driver, b"aa")
    remove(driver, b"zz", -1)
    assert driver.storage.info(TABLE).length == 40
    assert put(driver, (b"aa", b"v", -1)) == (40,)


def test_every_mismatch_is_a_bad_version(driver: Driver) -> None:
    put(driver, (b"aa", b"v", -1))
    for key, version in ((b"aa", -1), (b"aa", 5), (b"zz", 5)):
        with pytest.raises(errors.BadVersion):
            put(driver, (b"bb", b"v", ops.NO_VERSION), (key, b"w", version))
        with pytest.raises(errors.BadVersion):
            remove(driver, key, version)
    assert keys(driver) == [b"aa"]


def test_keys_are_read_in_order_between_bounds_that_are_included(driver: Driver) -> None:
    for key in (b"cc", b"aa", b"ee", b"bb", b"dd"):
        put(driver, (key, b"v", -1))
    assert keys(driver) == [b"aa", b"bb", b"cc", b"dd", b"ee"]
    assert keys(driver, b"bb", b"dd") == [b"bb", b"cc", b"dd"]
    assert keys(driver, b"b0", count=2) == [b"bb", b"cc"]
    assert keys(driver, high=b"a~") == [b"aa"]
    for low, high in ((b"dd", b"bb"), (b"b", b""), (b"", b"bbb")):
        with pytest.raises(errors.BadTableEntry):
            keys(driver, low, high)


def test_the_order_follows_changes_and_restarts(driver: Driver) -> None:
    chance, expected = Random(5), dict[bytes, bytes]()
    for step in range(600):
        key = b"%02d" % chance.randrange(60)
        if chance.random() < 0.6:
            put(driver, (key, b"%d" % step, ops.NO_VERSION))
            expected[key] = b"%d" % step
        else:
            remove(driver, key)
            expected.pop(key, None)
        if step % 97 == 0:
            driver.reopen()
        if step % 10 == 0:
            found = driver.storage.table_range(TABLE, b"", b"", 1000)
            assert [(e.key, e.value) for e in found] == sorted(expected.items())


def test_what_such_a_table_does_not_have_is_refused(driver: Driver) -> None:
    with pytest.raises(errors.Unsupported):
        driver.storage.table_delta(TABLE, 0, 10)
    with pytest.raises(errors.BadTableEntry):
        driver.storage.table_get(TABLE, [b"long"])
    driver.do(ops.CreateSegment("s/h/0.#epoch.0", True))
    with pytest.raises(errors.BadTableEntry, match="order"):
        driver.storage.table_range("s/h/0.#epoch.0", b"", b"", 10)
