"""Transient segments of writers that were killed go away, and only those."""

from __future__ import annotations

from uuid import UUID

from pravega_lab.engine.server.transient_segments import IDLE_MS, PERIOD_MS, TransientSegments
from pravega_lab.engine.store.errors import StoreFull
from pravega_lab.engine.store.log.operations import Append, CreateSegment
from pravega_lab.protocol.names import transaction_segment_name, transient_segment_name
from tests.engine.store.storage_driver import Driver

STREAM = "s/a/0.#epoch.0"
ID = UUID(int=1)


def test_segments_to_which_nothing_was_appended_for_long_are_deleted_also_after_a_restart() -> None:
    driver = Driver()
    left, used = (transient_segment_name(STREAM, ID, UUID(int=number)) for number in (2, 3))
    others = [STREAM, transaction_segment_name(STREAM, ID), f"{STREAM}#transient.not-one", "s/#transient.b/0"]
    driver.do(*map(CreateSegment, [left, used, *others]), Append(left, b"half of an event"))
    driver.reopen()
    begin_ms, transients = driver.now_ms, TransientSegments(driver.storage)
    for after_ms in range(0, 2 * IDLE_MS, PERIOD_MS // 3):
        driver.now_ms = begin_ms + after_ms
        driver.do(Append(used, b"more"))
        transients.look(driver.now_ms)
        driver.sync()
        if after_ms < IDLE_MS - PERIOD_MS:
            assert left in driver.storage.segments()
    assert driver.storage.segments() == [used, *others]


def test_a_segment_that_cannot_be_deleted_now_is_deleted_later() -> None:
    driver = Driver()
    left = transient_segment_name(STREAM, ID, UUID(int=2))
    driver.do(CreateSegment(left))
    transients, submit = TransientSegments(driver.storage), driver.storage.submit
    driver.storage.submit = refuse  # type: ignore[method-assign]
    transients.look(driver.now_ms + IDLE_MS)
    assert left in driver.storage.segments()
    driver.storage.submit = submit  # type: ignore[method-assign]
    transients.look(driver.now_ms + IDLE_MS + PERIOD_MS)
    driver.sync()
    assert left not in driver.storage.segments()


def refuse(*operations: object, now_ms: int) -> None:
    raise StoreFull("the log is full")
