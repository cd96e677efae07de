"""A storage driven by hand, on a disk that forgets: no loop, no waiting, every crash point reachable."""

from __future__ import annotations

import asyncio
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from pravega_lab.engine.store.errors import DiskFull
from pravega_lab.engine.store.log.disk import Record
from pravega_lab.engine.store.log.files import NewFile
from pravega_lab.engine.store.log.history import HISTORY_NAME, encode_history
from pravega_lab.engine.store.log.operations import Operation
from pravega_lab.engine.store.storage.recovery import open_storage
from pravega_lab.engine.store.storage.storage import Group, Storage, Ticket

SECTOR = 512


class TornDisk:
    """Implements Disk in memory; ``tear`` keeps any subset of the sectors of a write that was not synced."""

    caches_reads = False
    is_reopened = True

    def __init__(self, capacity: int = 1 << 40) -> None:
        self.contents: dict[str, bytearray] = {}
        self.capacity = capacity

    def _make(self, name: str, data: bytearray) -> None:
        used = sum(len(content) for other, content in self.contents.items() if other != name)
        if used + len(data) > self.capacity:
            raise DiskFull(28, "no room", name)
        self.contents[name] = data

    async def create(self, name: str, size: int, header: bytes, record: Record | None = None) -> None:
        self._make(name, bytearray(header.ljust(size, b"\0")))
        if record is not None:
            self._make(record[0], bytearray(record[1]))

    async def write_file(self, name: str, data: bytes) -> None:
        self._make(name, bytearray(data))

    async def write_group(self, name: str, offset: int, data: bytes) -> None:
        assert offset + len(data) <= len(self.contents[name]), "a group leaves its file"
        self.contents[name][offset : offset + len(data)] = data

    def tear(self, name: str, offset: int, data: bytes, keep: Callable[[], bool]) -> None:
        content, end = self.contents[name], offset + len(data)
        for sector in range(offset - offset % SECTOR, end, SECTOR):
            if keep():
                low, high = max(sector, offset), min(sector + SECTOR, end)
                content[low:high] = data[low - offset : high - offset]

    def read(self, name: str, offset: int, length: int) -> bytes:
        if name not in self.contents:
            raise FileNotFoundError(name)
        return bytes(self.contents[name][offset : offset + length])

    def files(self) -> dict[str, int]:
        return {name: len(self.contents[name]) for name in sorted(self.contents)}

    def delete(self, name: str) -> None:
        self.contents.pop(name, None)


STORES = sorted((Path(__file__).parent / "stores").glob("*.tar.xz"))
"""Stores as earlier releases left them; see ``test_versions``."""


def stored(path: Path) -> TornDisk:
    """One of `STORES`, on a disk."""
    disk = TornDisk()
    with tarfile.open(path) as archive:
        for member in archive:
            content = archive.extractfile(member)
            assert content is not None
            disk.contents[member.name] = bytearray(content.read())
    return disk


def now(awaitable: Any) -> Any:
    """The result of something that never really waits."""
    try:
        awaitable.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")


class Driver:
    """Steps of the pump, one at a time."""

    def __init__(self, disk: Any = None, **options: Any) -> None:
        self.disk = TornDisk() if disk is None else disk
        self.options = {"file_bytes": 4096, **options}
        self.group: Group | None = None
        self.now_ms = 1000
        self.storage: Storage = open_storage(self.disk, **self.options)

    def submit(self, *operations: Operation) -> Ticket:
        self.now_ms += 1
        return self.storage.submit(operations, now_ms=self.now_ms)

    def do(self, *operations: Operation) -> Sequence[Any]:
        """Submit, sync, and give the results."""
        ticket = self.submit(*operations)
        self.sync()
        assert ticket.done
        return ticket.results

    def make_files(self) -> None:
        while (file := self.storage.file_wanted()) is not None:
            try:
                if not file.exists:
                    now(self.disk.create(file.name, file.size, file.header))
                self.record_file(file)
            except DiskFull:
                self.storage.file_refused(file)
                break
            self.storage.file_created(file)

    def record_file(self, file: NewFile | None) -> None:
        history = self.storage.history_wanted(file)
        if history is not None:
            now(self.disk.write_file(HISTORY_NAME, encode_history(history)))
            self.storage.history = history

    def write_snapshot(self) -> None:
        while (snapshot := self.storage.snapshot_wanted()) is not None:
            try:
                now(self.disk.write_file(snapshot.name, snapshot.data))
            except DiskFull:
                break
            self.storage.snapshot_written(snapshot)

    def take(self) -> Group | None:
        if self.group is None:
            self.make_files()
            self.group = self.storage.take_group()
        return self.group

    def finish(self) -> None:
        """Sync the group in flight."""
        group, self.group = self.group, None
        if group is not None:
            if group.data:
                now(self.disk.write_group(group.file, group.offset, group.data))
            self.storage.group_synced(group)

    def sync(self) -> None:
        while self.take() is not None:
            self.finish()
            self.write_snapshot()

    def crash(self, chance: Random) -> None:
        """The power goes: any sectors of the group in flight may be there."""
        if self.group is not None and self.group.data:
            share = chance.choice((0.0, 0.5, 0.9, 1.0))
            group = self.group
            self.disk.tear(group.file, group.offset, group.data, lambda: chance.random() < share)
        self.reopen()

    def reopen(self) -> None:
        self.group = None
        self.storage = open_storage(self.disk, **self.options)
        for cut in self.storage.recovery.cuts:  # as the runner does before it writes groups
            now(self.disk.write_group(cut.file, cut.offset, bytes(cut.length)))


def run(coroutine: Any) -> Any:
    """An event loop for one test."""
    return asyncio.run(coroutine)
