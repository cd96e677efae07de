"""A running store without sockets: what it does when its disk takes no more, or gives back no sense."""

from __future__ import annotations

import asyncio
import errno
import itertools
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import UUID

from pravega_lab.engine.server.runner import StoreRunner
from pravega_lab.engine.store.errors import DiskFull
from pravega_lab.engine.store.log.disk import MemoryDisk, Record
from pravega_lab.engine.store.log.operations import Append, CreateSegment

SEGMENT = "scope/stream/0.#epoch.0"


class SmallDisk(MemoryDisk):
    """Has room for as many log files as ``files_left`` says; may fail when it writes."""

    def __init__(self) -> None:
        super().__init__()
        self.files_left = 1
        self.broken = False

    async def create(self, name: str, size: int, header: bytes, record: Record | None = None) -> None:
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


def test_a_write_that_fails_while_it_stops_ends_the_waiting() -> None:
    async def story(runner: StoreRunner, disk: SmallDisk) -> None:
        disk.broken = True
        runner.storage.submit([CreateSegment(SEGMENT)], now_ms=1)
        assert not await runner.drain(5)
        assert not await runner.drain(5)  # also when it had failed before

    running(story)
