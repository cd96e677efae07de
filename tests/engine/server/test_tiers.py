"""Segments move to tier 2 in a local folder: reads, restarts, deletion, damage, throttle, a rebuilt store."""

from __future__ import annotations

import asyncio
import errno
import logging
import shutil
import subprocess
import sys
import threading
import time
import uuid
from argparse import ArgumentParser
from array import array
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from pravega_lab import admin
from pravega_lab.engine.server.connection import SegmentStoreProtocol
from pravega_lab.engine.server.monitoring.health import health_of
from pravega_lab.engine.server.runner import StoreRunner
from pravega_lab.engine.server.tiers import loop as tier_loop
from pravega_lab.engine.server.tiers import options as tier_options
from pravega_lab.engine.server.tiers import reads
from pravega_lab.engine.server.tiers.objects import FsspecObjects
from pravega_lab.engine.server.tiers.rebuild import rebuild, refuse_other_store
from pravega_lab.engine.simulation.store.tier import read_whole
from pravega_lab.engine.store.errors import CorruptStoreError, DiskFull, StoreFull, TierMismatch
from pravega_lab.engine.store.log.chunks import (
    BLOCK_BYTES,
    Chunk,
    checksums_of,
    chunk_name,
    marker,
    owner_in,
    snapshot_name,
    snapshot_sequence,
)
from pravega_lab.engine.store.log.disk import RealDisk
from pravega_lab.engine.store.log.format import file_name
from pravega_lab.engine.store.log.operations import Append, CreateSegment, Delete, Truncate
from pravega_lab.engine.store.storage.recovery import open_storage
from pravega_lab.engine.store.storage.segment import Segment
from pravega_lab.engine.store.storage.snapshot import SnapshotHead, encode_snapshot, identity_of
from pravega_lab.engine.store.storage.synced_state import Synced
from pravega_lab.engine.store.storage.tiered import Tiered, bytes_by_tier
from pravega_lab.engine.store.tiers.settings import TierSettings
from pravega_lab.errors import BadInputError
from pravega_lab.protocol.wire import commands as c
from pravega_lab.protocol.wire.codec import encode
from tests.engine.server.test_connection import Transport

SETTINGS = TierSettings(chunk_bytes=20_000, after_ms=20, backlog_bytes=200_000, sweep_ms=100)
PATIENCE_S = 20.0


class Folder(FsspecObjects):
    """A local folder that can be made to fail, and whose reads can be held up."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.is_down = self.is_unread = False
        self.failure = OSError("tier 2 is down")  # what a write raises then
        self.unheard = 0  # the next so many writes of a snapshot succeed, and raise nevertheless
        self.late: list[list[str]] = []  # what the next lists show, in place of what there is
        self.gate: asyncio.Event | None = None
        self.answers = asyncio.Event()  # while it is not set, writes hang
        self.answers.set()
        self.room = 1 << 30  # bytes of all objects together
        self.refused: list[str] = []  # objects that cannot be deleted

    async def write(self, name: str, data: bytes) -> None:
        await self.answers.wait()
        if self.is_down:
            raise self.failure
        room = self.room - sum(path.stat().st_size for path in Path(self._folder).glob("*"))
        if len(data) > room:
            await super().write(name, data[:room])
            raise OSError(errno.ENOSPC, "No space left on device")
        await super().write(name, data)
        if self.unheard and name.startswith("snapshot"):
            self.unheard -= 1
            raise OSError("tier 2 did not answer")

    async def delete(self, name: str) -> None:
        if name in self.refused:
            raise PermissionError(name)
        await super().delete(name)

    async def names(self) -> list[str]:
        return self.late.pop(0) if self.late else await super().names()

    async def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        if self.is_unread:
            raise self.failure
        if self.gate is not None and name.startswith("chunk"):
            await self.gate.wait()
        return await super().read(name, start, end)


class Life:
    """One life of a store on a folder, with tier 2 in another."""

    def __init__(
        self, runner: StoreRunner, objects: Folder, disk: RealDisk, running: asyncio.Task[None]
    ) -> None:
        self.runner, self.objects, self.disk, self.running = runner, objects, disk, running

    async def submit(self, *operations: Any) -> None:
        done = asyncio.get_running_loop().create_future()
        ticket = self.runner.storage.submit(operations, now_ms=self.runner.now_ms())
        ticket.add_done(lambda _: done.set_result(None))
        await done

    async def until(self, condition: Callable[[], Any]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, (bytes_by_tier(self.runner.storage), self.names())
            await asyncio.sleep(0.01)

    async def until_moved(self) -> None:
        await self.until(lambda: not self.tiered.log_bytes)

    @property
    def tiered(self) -> Any:
        assert self.runner.tier is not None
        return self.runner.tier.tiered

    @property
    def failures(self) -> int:
        assert self.runner.tier is not None
        return self.runner.tier.mover.failures

    @property
    def is_attached(self) -> bool:
        assert self.runner.tier is not None
        return self.runner.tier.mover.is_attached

    def names(self) -> list[str]:
        return self.objects._names()

    def read(self, segment: str) -> Any:
        return read_whole(self.runner, segment)


@asynccontextmanager
async def store(folder: Path, settings: TierSettings = SETTINGS) -> AsyncIterator[Life]:
    disk, objects = RealDisk(folder / "data"), Folder(str(folder / "tier2"))
    running: asyncio.Task[None] | None = None
    try:
        loop = asyncio.get_running_loop()
        clock = lambda: time.time_ns() // 1_000_000  # noqa: E731
        options: dict[str, Any] = {"file_bytes": 64 << 10, "objects": objects, "tier_settings": settings}
        runner = StoreRunner(disk, loop, clock, uuid.uuid4, **options)
        await runner.begin()
        running = loop.create_task(runner.run())
        yield Life(runner, objects, disk, running)
    finally:
        if running is not None:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        disk.close()
        objects.close()


def test_segments_move_and_are_read_from_both_tiers_also_after_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        content = bytes(range(256)) * 300
        async with store(tmp_path) as life:
            await life.submit(CreateSegment("a"), CreateSegment("b"), CreateSegment("a#1"))
            for start in range(0, len(content), 8000):
                await life.submit(Append("a", content[start : start + 8000]), Append("b", b"b" * 100))
            await life.submit(Append("a#1", b"merged"))
            await life.until_moved()
            assert {found.segment: found.tier_bytes for found in bytes_by_tier(life.runner.storage)} == {
                "a": len(content), "b": 1000, "a#1": 6,
            }  # fmt: skip
            await life.submit(Append("a", b"tail"))
            assert life.runner.storage.tiered_offset("a") == len(content)
            assert await life.read("a") == content + b"tail"
            # The log is gone, but for the current file, the next one and a snapshot.
            await life.until(lambda: len([n for n in life.disk.files() if n.startswith("log-")]) <= 2)
        async with store(tmp_path) as life:
            assert await life.read("a") == content + b"tail"
            await life.until_moved()
            before = len([name for name in life.names() if name.startswith("chunk")])
            await life.submit(Truncate("a", 50_000))
            await life.until(lambda: len([n for n in life.names() if n.startswith("chunk")]) < before)
            assert await life.read("a") == content[50_000:] + b"tail"
            await life.submit(Delete("a"), Delete("b"), Delete("a#1"))
            await life.until(lambda: not any(name.startswith("chunk") for name in life.names()))

    asyncio.run(story())


def test_an_unfinished_upload_is_swept_and_other_objects_are_left_alone(tmp_path: Path) -> None:
    async def story() -> None:
        async with store(tmp_path) as life:
            await life.submit(CreateSegment("a"), Append("a", b"kept"))
            await life.until_moved()
            await life.until(lambda: "store" in life.names())
            unfinished, others = (chunk_name(99, tag) for tag in (life.tiered.lives[-1], "deadbeef"))
            await life.objects.write(others, b"of another store with the same id")
            await life.objects.write("notes.txt", b"of another program")
            await life.objects.write(unfinished, b"half")
            await life.until(lambda: unfinished not in life.names())
            assert {others, "notes.txt"} <= set(life.names())
            assert await life.read("a") == b"kept"

    asyncio.run(story())


def test_damage_and_loss_in_tier_2_are_reported_and_never_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "RETRY_S_MIN", 0.001)

    async def story() -> None:
        async with store(tmp_path) as life:
            await life.submit(CreateSegment("a"), CreateSegment("b"), Append("a", b"x" * 15_000))
            await life.submit(Append("b", b"y" * 15_000))
            await life.until_moved()
            first, second = sorted(chunk.name for chunk in life.tiered.chunks())
            at = tmp_path / "tier2" / first
            data = bytearray(at.read_bytes())
            data[7000] ^= 1
            at.write_bytes(data)
            with pytest.raises(CorruptStoreError, match=f"{first}.*damaged at offset 0"):
                await life.read("a")
            assert await life.read("b") == b"y" * 15_000  # everything else is served
            shutil.copyfile(tmp_path / "tier2" / second, at)
            with pytest.raises(CorruptStoreError, match="damaged"):  # a chunk in the place of another
                await life.read("a")
            at.unlink()
            with pytest.raises(CorruptStoreError, match="missing in tier 2"):
                await life.read("a")

    asyncio.run(story())


def test_a_failing_tier_holds_writers_back_and_releases_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with store(tmp_path) as life:
            life.objects.is_down = True
            protocol = SegmentStoreProtocol(life.runner.segment_store)
            transport = Transport(protocol)
            await life.submit(CreateSegment("a"))
            writer = uuid.UUID(int=1)
            protocol.data_received(encode(c.SetupAppend(1, writer, "a", "")))
            number = 0
            while not protocol.is_throttled:
                number += 1
                event = bytes(10_000)
                protocol.data_received(
                    encode(c.ConditionalAppend(writer, number, (number - 1) * 10_008, event, number))
                )
                await asyncio.sleep(0.001)
            assert life.tiered.log_bytes > SETTINGS.backlog_bytes
            assert not transport.is_reading
            await life.until(lambda: "tier 2 is down" in caplog.text)
            assert life.runner.tier is not None
            whole = (life.runner.storage, life.runner.segment_store, life.runner.tier.mover)
            await life.until(lambda: health_of(*whole).reasons[-2:] == ("tier2_failing", "tier2_behind"))
            life.objects.is_down = False
            await life.until(lambda: not protocol.is_throttled and transport.is_reading)
            await life.until(lambda: health_of(*whole).status == "ready")
            assert await life.read("a") == (bytes(4) + (10_000).to_bytes(4, "big") + bytes(10_000)) * number

    with caplog.at_level(logging.WARNING):
        asyncio.run(story())


def test_a_full_disk_of_the_store_is_no_failure_of_tier_2(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log has no room for the record of a move."""
    create, is_full = RealDisk.create, True
    submit_move, refused = Tiered.submit_move, 0

    async def in_little_room(self: RealDisk, *file: Any) -> None:
        if is_full:
            raise DiskFull(OSError(errno.ENOSPC, "No space left on device"))
        await create(self, *file)

    def counted(self: Tiered, *move: Any, now_ms: int) -> Any:
        nonlocal refused
        try:
            return submit_move(self, *move, now_ms=now_ms)
        except StoreFull:
            refused += 1
            raise

    async def story() -> None:
        nonlocal is_full
        async with store(tmp_path) as life:
            life.objects.is_down = True
            await life.submit(CreateSegment("a"))
            monkeypatch.setattr(RealDisk, "create", in_little_room)
            life.runner.pump.retry_s = 0.01
            for operation in (Append("a", bytes(1000)), Truncate("a", 0)):
                with suppress(StoreFull):
                    while True:
                        await life.submit(operation)
            await life.until(lambda: life.failures)
            caplog.clear()
            life.objects.is_down = False
            await life.until(lambda: refused > 1)
            assert life.runner.tier is not None
            whole = (life.runner.storage, life.runner.segment_store, life.runner.tier.mover)
            assert health_of(*whole).reasons == ("disk_full",)
            is_full = False
            await life.until_moved()
            await life.until(lambda: health_of(*whole).status == "ready")

    monkeypatch.setattr(Tiered, "submit_move", counted)
    monkeypatch.setattr("pravega_lab.engine.store.tiers.mover.RETRY_MS_MIN", 10)
    with caplog.at_level(logging.WARNING):
        asyncio.run(story())
    assert "tier 2 failed" not in caplog.text
    assert caplog.text.count("tier 2 works again") == 1


def test_damage_in_the_log_that_keeps_bytes_from_moving_is_not_blamed_on_tier_2(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with store(tmp_path) as life:
            life.objects.is_down = True
            await life.submit(CreateSegment("a"), Append("a", b"damaged"))
            await life.until(lambda: life.failures)
            with (tmp_path / "data" / file_name(1)).open("r+b") as log_file:
                log_file.seek(log_file.read().index(b"damaged"))
                log_file.write(b"D")
            caplog.clear()
            life.objects.is_down = False
            await life.until(lambda: "nothing moves to tier 2" in caplog.text)

    monkeypatch.setattr("pravega_lab.engine.store.log.files.CACHE_BYTES", 0)
    asyncio.run(story())
    assert "is damaged at offset" in caplog.text
    assert "tier 2 failed" not in caplog.text


def test_a_new_tier_that_refuses_writes_stays_failing_and_the_log_says_why_and_when_it_works_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder can be read, but the id of the store cannot be written there."""

    def lines(kind: str) -> int:
        return sum(kind in record.getMessage() for record in caplog.records)

    async def story() -> None:
        async with store(tmp_path) as life:
            life.objects.is_down = True
            await life.submit(CreateSegment("a"), Append("a", b"waits"))
            await life.until(lambda: life.failures == 3)
            life.objects.failure = PermissionError("Forbidden")
            await life.until(lambda: life.failures == 6)
            assert lines("(WriteMarker: OSError): tier 2 is down") == 1
            assert lines("(WriteMarker: PermissionError): Forbidden") == 1
            assert lines("start the store again") == 2
            assert not lines("works again")
            life.objects.is_down = False
            await life.until_moved()
            assert lines("tier 2 works again") == 1

    monkeypatch.setattr(tier_loop, "POLL_S", 0.01)
    monkeypatch.setattr("pravega_lab.engine.store.tiers.mover.RETRY_MS_MIN", 10)
    with caplog.at_level(logging.WARNING):
        asyncio.run(story())


def test_a_full_tier_gets_room_when_segments_are_truncated_while_bytes_wait_to_move(tmp_path: Path) -> None:
    async def story() -> None:
        async with store(tmp_path) as life:
            life.objects.room = 90_000
            await life.submit(CreateSegment("a"))
            size = 0
            assert life.runner.tier is not None
            mover = life.runner.tier.mover
            while not mover.failures:  # full log files wait to be moved from now on
                await life.submit(Append("a", size.to_bytes(4, "big") * 2_500))
                size += 10_000
                await asyncio.sleep(0.01)
            await life.submit(Append("a", size.to_bytes(4, "big") * 5_000))
            await life.submit(Truncate("a", size - 30_000))
            await life.until_moved()
            await life.until(lambda: not mover.failures)
            content = await life.read("a")
        async with store(tmp_path) as life:
            assert await life.read("a") == content
            assert len(content) == 50_000

    asyncio.run(story())


def test_an_object_that_cannot_be_deleted_does_not_keep_others(tmp_path: Path) -> None:
    async def story() -> None:
        async with store(tmp_path) as life:
            await life.submit(CreateSegment("a"), *(Append("a", bytes(10_000)) for _ in range(10)))
            await life.until_moved()
            chunks = [name for name in life.names() if name.startswith("chunk")]
            life.objects.refused = chunks[:1]
            await life.submit(Delete("a"))
            await life.until(lambda: [n for n in life.names() if n.startswith("chunk")] == chunks[:1])
            life.objects.refused = []
            await life.until(lambda: not any(name.startswith("chunk") for name in life.names()))
            assert len(chunks) > 2

    asyncio.run(story())


@pytest.mark.parametrize("in_its_place", ["nothing", "an empty folder", "the folder of another store"])
def test_a_folder_that_is_no_longer_mounted_is_a_failing_tier(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, in_its_place: str
) -> None:
    """What moved into the folder in its place would be hidden when the file system is mounted again."""
    tier2, mounted = tmp_path / "tier2", tmp_path / "mounted"
    other = {"store": marker(b"o" * 16), "chunk-000000000099-deadbeef": b"of another store"}

    async def story() -> None:
        async with store(tmp_path) as life:
            await life.submit(CreateSegment("a"))
            for n in range(10):
                await life.submit(Append("a", bytes([n]) * 10_000))
            await life.until_moved()
            assert life.runner.tier is not None
            mover = life.runner.tier.mover
            whole = (life.runner.storage, life.runner.segment_store, mover)
            await life.until(lambda: mover._stored_sequence == life.tiered.sequence and not mover._doomed)
            tier2.rename(mounted)
            if in_its_place != "nothing":
                tier2.mkdir()
            if in_its_place == "the folder of another store":
                for name, content in other.items():
                    (tier2 / name).write_bytes(content)
            before = life.names()
            reading = asyncio.create_task(life.read("a"))
            for n in range(10, 40):
                await life.submit(Append("a", bytes([n]) * 10_000))
            logs = _logs(life)
            await life.until(lambda: "is missing there" in caplog.text)
            await life.until(lambda: mover.failures > 2)
            assert health_of(*whole).reasons[-2:] == ("tier2_failing", "tier2_behind")
            assert life.tiered.log_bytes == 300_000
            assert _logs(life) >= logs
            assert life.names() == before
            assert tier2.exists() == (in_its_place != "nothing")
            assert not reading.done()  # it waits, as it does while tier 2 does not answer
            shutil.rmtree(tier2, ignore_errors=True)
            mounted.rename(tier2)
            await life.until_moved()
            await life.until(lambda: health_of(*whole).status == "ready")
            assert await reading == b"".join(bytes([n]) * 10_000 for n in range(10))
            assert await life.read("a") == b"".join(bytes([n]) * 10_000 for n in range(40))
        async with store(tmp_path) as life:
            assert await life.read("a") == b"".join(bytes([n]) * 10_000 for n in range(40))

    with caplog.at_level(logging.WARNING):
        asyncio.run(story())


def _logs(life: Life) -> set[str]:
    return {name for name in life.disk.files() if name.startswith("log-")}


def test_a_hanging_tier_does_not_keep_the_process_from_ending() -> None:
    program = """
import asyncio, threading
from pravega_lab.engine.server.tiers import objects
objects._CLOSE_S = 0.01
tier2 = objects.FsspecObjects("memory://hangs")
has_begun, never = threading.Event(), threading.Event()
tier2._fs.pipe_file = lambda *_: has_begun.set() or never.wait()
async def story():
    writing = asyncio.create_task(tier2.write("store", b""))
    later = asyncio.create_task(tier2.size("store"))
    while not has_begun.is_set():
        await asyncio.sleep(0.001)
    tier2.close()
    writing.cancel()
    await asyncio.gather(writing, later, return_exceptions=True)
    print(later.cancelled())
asyncio.run(story())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
    assert "stops without waiting for the call that is under way" in done.stderr


def test_a_tier_that_does_not_answer_is_a_failing_tier(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with store(tmp_path) as life:
            life.objects.answers.clear()
            await life.submit(CreateSegment("a"), Append("a", b"waits"))
            assert life.runner.tier is not None
            whole = (life.runner.storage, life.runner.segment_store, life.runner.tier.mover)
            await life.until(lambda: health_of(*whole).reasons == ("tier2_failing",))
            assert "has not finished a step for 0.05 s (WriteMarker)" in caplog.text
            life.objects.answers.set()
            await life.until_moved()
            await life.until(lambda: health_of(*whole).status == "ready")

    monkeypatch.setattr(tier_loop, "SILENT_S", 0.05)
    with caplog.at_level(logging.WARNING):
        asyncio.run(story())


def test_a_slow_read_of_tier_2_stalls_neither_its_connection_nor_others(tmp_path: Path) -> None:
    async def story() -> None:
        async with store(tmp_path) as life:
            await life.submit(CreateSegment("cold"), Append("cold", b"c" * 100), CreateSegment("warm"))
            await life.until_moved()
            await life.submit(Append("warm", b"w" * 100))
            life.objects.gate = asyncio.Event()
            protocol = SegmentStoreProtocol(life.runner.segment_store)
            transport = Transport(protocol)
            for request_id, segment in ((1, "cold"), (2, "warm")):
                protocol.data_received(encode(c.ReadSegment(segment, 0, 1000, "", request_id)))
            await life.until(lambda: b"w" * 100 in transport.written)
            assert b"c" * 100 not in transport.written
            life.objects.gate.set()
            await life.until(lambda: b"c" * 100 in transport.written)

    asyncio.run(story())


def test_a_store_is_rebuilt_from_tier_2_and_what_is_left_of_its_log(tmp_path: Path) -> None:
    async def story(lose_log: bool) -> None:
        folder = tmp_path / ("alone" if lose_log else "with-log")
        async with store(folder) as life:
            await life.submit(CreateSegment("a"))
            for n in range(30):
                await life.submit(Append("a", bytes([n]) * 10_000))
            await life.until_moved()
            at = life.tiered.sequence
            newest = lambda: max((int(n.split("-")[1]) for n in life.names() if "snapshot" in n), default=0)  # noqa: E731
            await life.until(lambda: newest() >= at)
            if not lose_log:
                await life.until(lambda: "log-000000000001" not in life.disk.files())
                life.objects.is_down = True
                await life.submit(Append("a", b"only in the log"))
        for path in (folder / "data").iterdir():
            if lose_log or path.name.startswith("snapshot"):
                path.unlink()
        disk, objects = RealDisk(folder / "data"), Folder(str(folder / "tier2"))
        if lose_log:
            with pytest.raises(TierMismatch, match="--tier2-rebuild"):
                await refuse_other_store(disk, objects)
        else:
            with pytest.raises(CorruptStoreError, match="--tier2-rebuild takes the snapshot from there"):
                open_storage(disk)
        await rebuild(disk, objects)
        disk.close()
        async with store(folder) as life:
            found = await life.read("a")
            expected = b"".join(bytes([n]) * 10_000 for n in range(30))
            assert found == expected + (b"" if lose_log else b"only in the log")
            await life.submit(Append("a", b"more"))
            await life.until_moved()
        with closing(RealDisk(folder / "data")) as disk, pytest.raises(BadInputError, match="has its own"):
            await rebuild(disk, objects)

    asyncio.run(story(lose_log=False))
    asyncio.run(story(lose_log=True))


def test_no_store_begins_where_a_rebuild_found_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with store(tmp_path) as life:
            await life.submit(CreateSegment("a"), Append("a", b"x"))
            await life.until(lambda: _has_latest_snapshot(life))
        write = RealDisk.write_file

        async def in_little_room(self: RealDisk, name: str, data: bytes) -> None:
            if name.startswith("snapshot"):
                raise DiskFull(OSError(errno.ENOSPC, "No space left on device"))
            await write(self, name, data)

        monkeypatch.setattr(RealDisk, "write_file", in_little_room)
        disk, objects = RealDisk(tmp_path / "other"), Folder(str(tmp_path / "tier2"))
        with closing(disk), closing(objects):
            with pytest.raises(DiskFull):
                await rebuild(disk, objects)
            assert list(disk.files()) == ["history"]
            with pytest.raises(TierMismatch, match="or --tier2-rebuild to rebuild it"):
                await refuse_other_store(disk, objects)

    asyncio.run(story())


def test_a_snapshot_stays_when_an_upload_of_the_same_state_failed_before(tmp_path: Path) -> None:
    """The failed upload is deleted. It had the name of the second one, and took the only snapshot with it."""

    async def story() -> None:
        async with store(tmp_path) as life:
            life.objects.unheard = 1
            await life.submit(CreateSegment("a"), Append("a", b"x"))
            await life.until_moved()
            mover = life.runner.tier.mover  # type: ignore[union-attr]
            await life.until(lambda: mover._stored_sequence == life.tiered.sequence and not mover._doomed)
            assert life.objects.unheard == 0
            assert len(_snapshots(life.names())) == 1

    asyncio.run(story())


def test_a_rebuild_waits_for_a_list_that_goes_with_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pravega_lab.engine.server.tiers.rebuild.LISTS", 3)
    monkeypatch.setattr("pravega_lab.engine.server.tiers.rebuild.LIST_AGAIN_S", 0.01)

    async def story() -> None:
        async with store(tmp_path) as life:
            await life.submit(CreateSegment("a"), Append("a", b"first"))
            await life.until(lambda: _snapshots(life.names()))
            old = _snapshots(life.names())[0]
            content = await life.objects.read(old)
            for n in range(30):
                await life.submit(Append("a", bytes([n]) * 10_000))
            await life.until(lambda: "log-000000000001" not in life.disk.files())
            await life.until(lambda: old not in life.names())
            await life.until_moved()
        for path in (tmp_path / "data").glob("snapshot-*"):
            path.unlink()
        disk, objects = RealDisk(tmp_path / "data"), Folder(str(tmp_path / "tier2"))
        await objects.write(old, content)
        objects.late = [["store", old]] * 3
        with pytest.raises(CorruptStoreError, match="'log-000000000001' after it, and that file is missing"):
            await rebuild(disk, objects)
        assert not _snapshots(disk.files())  # so that it can be tried again
        await objects.delete(old)
        objects.late = [["store", old]]
        await rebuild(disk, objects)
        objects.close()
        disk.close()
        async with store(tmp_path) as life:
            expected = b"first" + b"".join(bytes([n]) * 10_000 for n in range(30))
            assert await life.read("a") == expected

    asyncio.run(story())


def test_a_rebuild_without_a_log_names_a_later_snapshot_that_cannot_be_read(tmp_path: Path) -> None:
    """The store was rebuilt from an earlier one, and then its start called the folder older than tier 2."""

    async def story() -> None:
        async with store(tmp_path) as life:
            await life.submit(CreateSegment("a"), Append("a", b"moved"))
            await life.until_moved()
            await life.until(lambda: _snapshots(life.names()))
        later = tmp_path / "tier2" / snapshot_name(10_000, "0a.1")
        later.write_bytes(b"")
        shutil.rmtree(tmp_path / "data")
        disk, objects = RealDisk(tmp_path / "data"), Folder(str(tmp_path / "tier2"))
        with closing(disk), closing(objects):
            with pytest.raises(CorruptStoreError, match=f"The snapshot '{later.name}' in tier 2 cannot be"):
                await rebuild(disk, objects)
            assert not _snapshots(disk.files())
            later.unlink()
            await rebuild(disk, objects)
        async with store(tmp_path) as life:
            assert await life.read("a") == b"moved"

    asyncio.run(story())


def _snapshots(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith("snapshot")]


def test_the_tier_of_another_store_and_a_newer_tier_are_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with store(tmp_path / "one") as life:
            await life.submit(CreateSegment("a"), Append("a", b"x"))
            await life.until(lambda: "store" in life.names())
            await life.until_moved()
        without = pytest.raises(TierMismatch, match="Give the --tier2 that it used")
        with closing(RealDisk(tmp_path / "one" / "data")) as disk, without:
            StoreRunner(disk, asyncio.get_running_loop(), lambda: 1, uuid.uuid4)
        shutil.copytree(tmp_path / "one" / "tier2", tmp_path / "two" / "tier2")
        async with store(tmp_path / "two") as life:
            await life.submit(CreateSegment("b"))
            with pytest.raises(TierMismatch, match="belongs to store"):
                await life.running
        (tmp_path / "one" / "tier2" / snapshot_name(10_000, "00000000")).write_bytes(b"")
        async with store(tmp_path / "one") as life:
            with pytest.raises(TierMismatch, match="the folder is older than tier 2"):
                await life.running

    asyncio.run(story())


@pytest.mark.parametrize("has_moved", [True, False])
def test_a_copy_of_a_store_that_has_gone_on_is_refused(tmp_path: Path, has_moved: bool) -> None:
    """Each would delete chunks of the other, which belong to nothing that it knows."""

    async def story() -> None:
        async with store(tmp_path / "one") as one:
            await one.submit(CreateSegment("a"), Append("a", b"x"))
            await one.until_moved()
        _copy(tmp_path, "one", "two")
        async with store(tmp_path / "one") as one:
            await one.until(lambda: one.is_attached)
            if has_moved:
                await one.submit(Append("a", b"y"))
                await one.until_moved()
            async with store(tmp_path / "two") as two:
                with pytest.raises(TierMismatch, match=r"the one that took it last|is older than tier 2"):
                    await two.running
            assert await one.read("a") == (b"xy" if has_moved else b"x")

    asyncio.run(story())


@pytest.mark.parametrize("is_rebuilt", [False, True])
def test_a_running_store_stops_when_a_copy_of_it_has_taken_tier_2(tmp_path: Path, is_rebuilt: bool) -> None:
    async def story() -> None:
        async with store(tmp_path / "one") as one:
            await one.submit(CreateSegment("a"), Append("a", b"x"))
            await one.until_moved()
            latest = lambda: [snapshot_sequence(name) for name in _snapshots(one.names())]  # noqa: E731
            await one.until(lambda: latest() == [one.tiered.sequence])
            _copy(tmp_path, "one", "two")
            if is_rebuilt:
                shutil.rmtree(tmp_path / "two" / "data")
                with closing(RealDisk(tmp_path / "two" / "data")) as disk:
                    await rebuild(disk, one.objects)
            async with store(tmp_path / "two") as two:
                await two.until(lambda: two.is_attached)
                await one.submit(Append("a", b"kept in the log"))
                with pytest.raises(TierMismatch, match="the one that took it last"):
                    await one.running
                await two.submit(Append("a", b"y"))
                await two.until_moved()
        async with store(tmp_path / "two") as two:
            await two.until(lambda: two.is_attached)
            assert await two.read("a") == b"xy"
        with closing(RealDisk(tmp_path / "one" / "data")) as disk:
            storage = open_storage(disk)
            assert storage.read("a", 1, 15).data == b"kept in the log"

    asyncio.run(story())


def test_a_copy_whose_tier_2_was_down_as_the_original_went_on_is_refused(tmp_path: Path) -> None:
    """The groups that it has taken in the meantime do not make it newer than tier 2."""

    async def story() -> None:
        async with store(tmp_path / "one") as one:
            await one.submit(CreateSegment("a"), Append("a", b"x"))
            await one.until_moved()
            _copy(tmp_path, "one", "two")
            await one.submit(Append("a", b"y" * 20_000))
            await one.until(lambda: _has_latest_snapshot(one))
        async with store(tmp_path / "two") as two:
            two.objects.is_unread = True
            for _ in range(10):
                await two.submit(Append("a", b"z"))
            two.objects.is_unread = False
            await two.until(lambda: two.is_attached or two.running.done())
            with pytest.raises(TierMismatch, match="is older than tier 2"):
                two.running.result()
        async with store(tmp_path / "one") as one:
            assert await one.read("a") == b"x" + b"y" * 20_000

    asyncio.run(story())


def _has_latest_snapshot(life: Life) -> bool:
    return [snapshot_sequence(name) for name in _snapshots(life.names())] == [life.tiered.sequence]


def test_a_restored_store_cannot_take_the_tier_2_of_the_store_that_still_runs(tmp_path: Path) -> None:
    async def story() -> None:
        async with store(tmp_path / "one") as one:
            await one.submit(CreateSegment("a"), Append("a", b"x"))
            await one.until(lambda: _has_latest_snapshot(one))
            await asyncio.to_thread(_back_up_and_restore, tmp_path)
            for tier2, is_refused in (("one/tier2", True), ("new", False)):
                (tmp_path / "two" / "tier2").unlink(missing_ok=True)
                (tmp_path / "two" / "tier2").symlink_to(tmp_path / tier2)
                async with store(tmp_path / "two") as two:
                    await two.until(lambda two=two: two.is_attached or two.running.done())  # type: ignore[misc]
                    if is_refused:
                        with pytest.raises(TierMismatch, match="that it was restored with"):
                            two.running.result()
                    else:
                        assert await two.read("a") == b"x"
            await one.submit(Append("a", b"y"))
            await one.until_moved()
            assert await one.read("a") == b"xy"

    asyncio.run(story())


def _back_up_and_restore(tmp_path: Path) -> None:
    admin.backup(tmp_path / "one" / "data", tmp_path / "backup", tier2=str(tmp_path / "one" / "tier2"))
    admin.restore(tmp_path / "backup", tmp_path / "two" / "data", tier2=str(tmp_path / "new"))


def test_a_store_without_its_history_continues_when_the_owner_is_deleted_too(tmp_path: Path) -> None:
    async def story() -> None:
        async with store(tmp_path) as life:
            await life.submit(CreateSegment("a"), Append("a", b"x" * 20_000))
            await life.until_moved()
            await life.submit(Append("a", b"in the log"))
        (tmp_path / "data" / "history").unlink()
        async with store(tmp_path) as life:
            with pytest.raises(TierMismatch, match=r"no other store, delete the object 'owner'"):
                await life.running
        (tmp_path / "tier2" / "owner").unlink()
        async with store(tmp_path) as life:
            await life.until_moved()
            assert await life.read("a") == b"x" * 20_000 + b"in the log"

    asyncio.run(story())


def test_a_tier_that_was_replaced_by_an_older_copy_is_reported_and_has_a_snapshot_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tier2, older = tmp_path / "tier2", tmp_path / "older"

    async def story() -> None:
        async with store(tmp_path) as life:
            await life.submit(CreateSegment("a"), Append("a", b"x" * 20_000))
            await life.until(lambda: _has_latest_snapshot(life))
            shutil.copytree(tier2, older)
        async with store(tmp_path) as life:
            await life.submit(Append("a", b"y" * 20_000))
            await life.until(lambda: _has_latest_snapshot(life))
            lost = sorted({path.name for path in tier2.glob("chunk-*")} - {p.name for p in older.iterdir()})
            tier2.rename(tmp_path / "newer")
            older.rename(tier2)
            await life.until(lambda: f"are missing in tier 2, {lost[0]!r} for example" in caplog.text)
            await life.until(lambda: _has_latest_snapshot(life))
            caplog.clear()
        async with store(tmp_path) as life:
            await life.until(lambda: lost[0] in caplog.text)
            for name in lost:
                shutil.copyfile(tmp_path / "newer" / name, tier2 / name)
            assert await life.read("a") == b"x" * 20_000 + b"y" * 20_000

    with caplog.at_level(logging.ERROR):
        asyncio.run(story())


def test_segments_move_while_readers_wait_for_tier_2(tmp_path: Path) -> None:
    async def story() -> None:
        async with store(tmp_path) as life:
            await life.submit(CreateSegment("a"), Append("a", b"x"))
            await life.until_moved()
            answer = threading.Event()
            try:
                for _ in range(10):
                    life.objects._reads.submit(answer.wait)
                await life.submit(Append("a", b"y"))
                await life.until_moved()
            finally:
                answer.set()

    asyncio.run(story())


def test_a_marker_that_was_cut_is_written_again_where_the_owner_is_this_store(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "tier2" / "store"
        async with store(tmp_path) as life:
            await life.submit(CreateSegment("a"), Append("a", b"x"))
            await life.until_moved()
            whole = path.read_bytes()
        path.write_bytes(whole[:20])
        async with store(tmp_path) as life:
            await life.until(lambda: life.is_attached)
            assert path.read_bytes() == whole

    asyncio.run(story())


def test_an_owner_that_an_earlier_life_wrote_late_or_that_is_gone_is_written_again(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "tier2" / "owner"
        async with store(tmp_path) as life:
            await life.submit(CreateSegment("a"), Append("a", b"x"))
            await life.until_moved()
            first = path.read_bytes()
        async with store(tmp_path) as life:
            await life.until(lambda: life.is_attached)
            for damage in (lambda: path.write_bytes(first), path.unlink, lambda: path.write_bytes(first[:9])):
                damage()
                await life.submit(Append("a", b"x"))
                await life.until_moved()
                assert owner_in(path.read_bytes()) == (life.tiered.store_id, life.tiered.lives[-1])

    asyncio.run(story())


def _copy(tmp_path: Path, name: str, copy: str) -> None:
    """Copy the folder of a store. Both have one folder in tier 2."""
    shutil.copytree(tmp_path / name / "data", tmp_path / copy / "data")
    (tmp_path / copy / "tier2").symlink_to(tmp_path / "one" / "tier2")


def test_a_folder_that_another_store_took_while_the_marker_could_not_be_written_is_left_to_it(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with store(tmp_path / "late") as late:
            late.objects._folder = str(tmp_path / "shared")
            late.objects.is_down = True
            await late.submit(CreateSegment("b"), Append("b", b"late"))
            await late.until(lambda: late.failures)
            async with store(tmp_path / "first") as first:
                first.objects._folder = str(tmp_path / "shared")
                await first.submit(CreateSegment("a"), Append("a", b"first"))
                await first.until_moved()
                late.objects.is_down = False
                await late.until(lambda: late.running.done() or late.is_attached)
                assert marker(first.tiered.store_id) == (tmp_path / "shared" / "store").read_bytes()
                with pytest.raises(TierMismatch, match="belongs to store"):
                    late.running.result()
                assert await first.read("a") == b"first"

    asyncio.run(story())


@pytest.mark.parametrize("is_cut", [False, True])
def test_an_object_in_the_place_of_the_marker_is_overwritten_only_if_it_is_a_cut_marker(
    tmp_path: Path, is_cut: bool
) -> None:
    async def story() -> None:
        path = tmp_path / "tier2" / "store"
        path.parent.mkdir()
        path.write_bytes(marker(bytes(16))[:20] if is_cut else b"keys of the store")
        async with store(tmp_path) as life:
            await life.submit(CreateSegment("a"), Append("a", b"x"))
            if is_cut:
                await life.until_moved()
            else:
                await life.until(lambda: life.running.done() or life.is_attached)
                with pytest.raises(TierMismatch, match="an object 'store' that no store has written"):
                    life.running.result()
                assert path.read_bytes() == b"keys of the store"
        if not is_cut:
            disk, objects = RealDisk(tmp_path / "empty"), Folder(str(tmp_path / "tier2"))
            with closing(disk), closing(objects), pytest.raises(TierMismatch, match="no store has written"):
                await refuse_other_store(disk, objects)

    asyncio.run(story())


GIB = 1 << 30


@pytest.mark.parametrize("size", [1 * GIB, 100 * GIB])
def test_recovery_reads_the_log_and_not_what_is_in_tier_2(tmp_path: Path, size: int) -> None:
    """A store with 100 GiB in tier 2, of which every chunk is zeros that a simulated folder makes up."""
    chunk_bytes, store_id = 16 << 20, bytes(range(16))
    synced = Synced()
    segment = Segment(1, "big", None)
    segment.length = size
    for number in range(1, size // chunk_bytes + 1):
        segment.own_extents().add((number - 1) * chunk_bytes, -number, 0, chunk_bytes)
        name = f"chunk-{number:012d}-00000000"
        synced.chunks[number] = Chunk(number, name, chunk_bytes, bytes(4 * chunk_bytes // BLOCK_BYTES))
    synced.adopt(segment)
    last = size // chunk_bytes
    zeros = checksums_of(bytes(chunk_bytes), store_id, last)
    synced.chunks[last] = synced.chunks[last]._replace(checksums=zeros)
    synced.next_chunk = last + 1
    snapshot = encode_snapshot(synced, SnapshotHead(2, 1000, 0, store_id, identity_of(store_id, 7)))
    assert len(snapshot) < 2_500_000  # 100 GiB of data are 2 MB of metadata

    class Zeros(Folder):
        async def read(self, name: str, start: int = 0, end: int | None = None) -> bytes:
            if name.startswith("chunk"):
                assert end is not None
                assert end - start <= 2 << 20
                return bytes(end - start)
            return await super().read(name, start, end)

    async def story() -> None:
        disk, objects = RealDisk(tmp_path / "data"), Zeros(str(tmp_path / "tier2"))
        await disk.write_file("snapshot-000000000007", snapshot)
        fetched: list[int] = []
        read = disk.read
        disk.read = lambda name, at, n: fetched.append(n) or read(name, at, n)  # type: ignore[method-assign, func-returns-value]
        runner = StoreRunner(disk, asyncio.get_running_loop(), lambda: 1, uuid.uuid4, objects=objects)
        assert sum(fetched) == len(snapshot)  # nothing but the snapshot, and nothing of tier 2
        assert runner.storage.info("big").length == size
        start = size - 1000
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        try:
            runner.storage.read("big", start, 1000)
        except Exception as need:
            assert runner.segment_store.chunk_reader is not None
            runner.segment_store.chunk_reader.fetch(need, done.set_result)  # type: ignore[arg-type]
        assert await done is None
        assert runner.storage.read("big", start, 1000).data == bytes(1000)
        disk.close()
        objects.close()

    asyncio.run(story())


def test_bytes_move_inside_the_extents_of_a_segment() -> None:
    """Any range may move, also one that begins and ends inside runs, and one that was truncated in part."""
    segment = Segment(1, "s", None)
    for n in range(10):
        segment.own_extents().add(n * 100, 1 + n // 5, 512 + n * 300, 100)
    before = list(segment.extents.pieces(0, 1000))
    gone, now, in_log = segment.extents.move(150, 700, -9, 40)
    assert (gone, now, in_log) == (array("q", [1] * 4 + [2] * 4), array("q", [1, -9, 2]), 700)
    assert list(segment.extents.pieces(0, 1000)) == [
        before[0], (1, before[1][1], 50), (-9, 40, 700), (2, before[8][1] + 50, 50), before[9],
    ]  # fmt: skip
    segment.extents.drop_below(900)
    assert segment.extents.move(800, 150, -10, 0) == (array("q", [2]), array("q", [-10, 2]), 50)
    assert list(segment.extents.pieces(900, 1000)) == [(-10, 100, 50), (2, before[9][1] + 50, 50)]
    assert segment.extents.move(0, 900, -11, 0) == (array("q"), array("q"), 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--tier2=", "--tier2 '' is not a folder"),
        ("--tier2 t --tier2-after-s nan", "--tier2-after-s nan: give a number of seconds from 0.001 to"),
        ("--tier2 t --tier2-after-s inf", "--tier2-after-s inf: give"),
        ("--tier2 t --tier2-after-s 1e308", "--tier2-after-s 1e+308: give"),
        ("--tier2 t --tier2-after-s 0", "--tier2-after-s 0: give"),
        (f"--tier2 t --tier2-backlog-bytes {10**40}", f"--tier2-backlog-bytes {10**40}: give at least"),
        (f"--tier2 t --tier2-cache-bytes {10**40}", f"--tier2-cache-bytes {10**40}: give a number from"),
        ("--tier2 data", "--tier2 data and --data data are one folder"),
        ("--tier2 file://{here}/x/../link", "are one folder: give tier 2 a folder of its own"),
        ("--tier2 data/tier2", ""),
        ("--tier2 s3://data", ""),
    ],
)
def test_options_that_cannot_work_are_refused_in_words(
    words: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "x").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    parser = ArgumentParser()
    parser.add_argument("--data", type=Path)
    tier_options.add_arguments(parser)
    args = parser.parse_args(["--data", "data", *words.replace("{here}", str(tmp_path)).split()])
    if not said:
        assert tier_options.settings_of(args) is not None
        return
    with pytest.raises(BadInputError) as refused:
        tier_options.settings_of(args)
    assert said in str(refused.value)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[" * 100_000, b"", b"[1]"])
def test_options_of_a_file_system_that_are_no_object_are_refused_in_words(
    content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "options"
    path.write_bytes(content)
    with pytest.raises(BadInputError, match="--tier2-options"):
        tier_options.storage_options(str(path))
