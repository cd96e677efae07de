"""A running store without sockets: what it does when its disk takes no more, or gives back no sense."""

from __future__ import annotations

import asyncio
import errno
import itertools
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import UUID

import pytest

from pravega_lab.engine.server import runner as runner_module
from pravega_lab.engine.server.connection import SegmentStoreProtocol
from pravega_lab.engine.server.limits.passes import new_loop
from pravega_lab.engine.server.runner import StoreRunner
from pravega_lab.engine.store.errors import DiskFull, StoreFull
from pravega_lab.engine.store.log.disk import MemoryDisk, Record
from pravega_lab.engine.store.log.operations import Append, CreateSegment
from pravega_lab.protocol.wire import commands as c
from tests.engine.server.test_connection import WRITER, Transport, append, replies, send

SEGMENT = "scope/stream/0.#epoch.0"


class SmallDisk(MemoryDisk):
    """Has room for as many log files as ``files_left`` says; may fail when it writes."""

    def __init__(self) -> None:
        super().__init__()
        self.files_left = 1
        self.tries = 0
        self.broken = False

    async def create(self, name: str, size: int, header: bytes, record: Record | None = None) -> None:
        self.tries += 1
        if not self.files_left:
            raise DiskFull(errno.ENOSPC, "no room", name)
        self.files_left -= 1
        await super().create(name, size, header, record)

    async def write_group(self, name: str, offset: int, data: bytes) -> None:
        if self.broken:
            raise OSError(errno.EIO, "the disk is broken")
        await super().write_group(name, offset, data)


def running(story: Callable[[StoreRunner, SmallDisk], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        disk, ids = SmallDisk(), itertools.count(1)
        loop = asyncio.get_running_loop()
        runner = StoreRunner(disk, loop, lambda: 0, lambda: UUID(int=next(ids)), file_bytes=4096)
        runner.serve_controller("localhost", 1)
        task = loop.create_task(runner.run())
        await story(runner, disk)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())


def test_all_that_was_submitted_is_on_disk_when_it_has_been_drained() -> None:
    async def story(runner: StoreRunner, disk: SmallDisk) -> None:
        ticket = runner.storage.submit([CreateSegment(SEGMENT), Append(SEGMENT, b"x")], now_ms=1)
        assert not ticket.done
        assert await runner.drain(5)
        assert ticket.done
        assert runner.storage.is_idle

    running(story)


def test_a_disk_that_takes_no_more_is_not_waited_for() -> None:
    """A stop would have lasted until somebody made room."""

    async def story(runner: StoreRunner, disk: SmallDisk) -> None:
        disk.files_left = 0
        ticket = runner.storage.submit([CreateSegment(SEGMENT)], now_ms=1)
        assert not await runner.drain(0.05)
        assert not ticket.done

    running(story)


def test_a_full_disk_is_one_line_of_the_log_and_room_again_is_another(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def lines() -> list[str]:
        return [record.event for record in caplog.records]  # type: ignore[attr-defined]

    async def story(runner: StoreRunner, disk: SmallDisk) -> None:
        runner.pump.retry_s = 0.001
        # The second file is made when the first is used.
        runner.storage.submit([CreateSegment(SEGMENT)], now_ms=1)
        await until(lambda: runner.storage.is_full)
        tries = disk.tries
        await until(lambda: disk.tries > tries + 2)
        assert lines() == ["disk_full"]
        assert "no room" in caplog.text
        disk.files_left = 1
        await until(lambda: not runner.storage.is_full)
        await until(lambda: len(lines()) > 1)
        assert lines() == ["disk_full", "disk_has_room"]

    running(story)


def test_what_the_storage_refuses_again_and_again_is_one_line_of_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "RETRY_MS", 1)

    async def story(runner: StoreRunner, disk: SmallDisk) -> None:
        ticks: list[int] = []

        def refuse(now_ms: int) -> None:
            ticks.append(now_ms)
            if len(ticks) != 4:
                raise StoreFull("no room")

        runner._controller.tick = refuse  # type: ignore[method-assign]
        runner._controller.next_deadline_ms = lambda: 0  # type: ignore[method-assign]
        runner._set_timer()
        await until(lambda: len(ticks) > 7)
        refused = [record for record in caplog.records if "refused what was due" in record.getMessage()]
        assert len(refused) == 2

    running(story)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not is_so():
            await asyncio.sleep(0.001)


def test_a_write_that_fails_while_it_stops_ends_the_waiting() -> None:
    async def story(runner: StoreRunner, disk: SmallDisk) -> None:
        disk.broken = True
        runner.storage.submit([CreateSegment(SEGMENT)], now_ms=1)
        assert not await runner.drain(5)
        assert not await runner.drain(5)  # also when it had failed before

    running(story)


@pytest.mark.parametrize("is_alone", [True, False])
def test_an_append_that_arrives_alone_is_answered_in_the_same_turn(
    is_alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If other sockets are ready, their appends join its group first."""

    async def main() -> None:
        loop, disk, ids = asyncio.get_running_loop(), MemoryDisk(), itertools.count(1)
        runner = StoreRunner(disk, loop, lambda: 0, lambda: UUID(int=next(ids)))
        runner.answer_promptly(disk)
        runner.serve_controller("localhost", 1)
        task = loop.create_task(runner.run())
        runner.storage.submit([CreateSegment(SEGMENT)], now_ms=1)
        assert await runner.drain(5)
        transport = Transport(SegmentStoreProtocol(runner.segment_store))
        send(transport, c.SetupAppend(1, WRITER, SEGMENT, ""))
        await asyncio.sleep(0.01)
        assert [type(reply) for reply in replies(transport)] == [c.AppendSetup]
        few = loop.few  # type: ignore[attr-defined]
        monkeypatch.setattr(few, "is_one_ready", is_alone)
        others = Transport(SegmentStoreProtocol(runner.segment_store))
        send(others, c.SetupAppend(1, UUID(int=99), SEGMENT, ""))
        groups = runner.pump.groups
        send(transport, append(1))
        if not is_alone:
            assert replies(transport) == []
            await asyncio.sleep(0)
        assert [reply.event_number for reply in replies(transport)] == [1]  # type: ignore[attr-defined]
        assert runner.pump.groups == groups + 1
        monkeypatch.setattr(few, "is_one_ready", True)
        monkeypatch.setattr(SegmentStoreProtocol, "_work_at_once", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            send(transport, append(2))
        monkeypatch.undo()
        ticket = runner.storage.submit([Append(SEGMENT, b"x")], now_ms=2)
        await asyncio.sleep(0)
        assert ticket.done, "a piece that failed is not waited for"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main())
