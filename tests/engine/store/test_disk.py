"""Disks: what every disk does, the real folder, and a process that is killed while it writes."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.engine.server.pump import Pump
from pravega_lab.engine.store import errors
from pravega_lab.engine.store.log import disk as disks
from pravega_lab.engine.store.log import folder_lock, unfinished_file
from pravega_lab.engine.store.log import operations as ops
from pravega_lab.engine.store.log.disk import MemoryDisk, RealDisk
from pravega_lab.engine.store.log.format import file_header, file_name
from pravega_lab.engine.store.storage.recovery import open_storage
from pravega_lab.errors import BadInputError
from tests.engine.store.storage_driver import TornDisk, run

A = "s/a/0.#epoch.0"


@pytest.fixture(params=["memory", "folder", "torn"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "folder":
        made = RealDisk(tmp_path)
        yield made
        made.close()
    else:
        yield MemoryDisk() if request.param == "memory" else TornDisk()


def test_what_is_written_is_read(disk: Any) -> None:
    async def write() -> None:
        await disk.create("log-1", 4096, b"header".ljust(512, b"\0"))
        await disk.write_group("log-1", 512, b"one")
        await disk.write_group("log-1", 515, b"three")
        await disk.write_file("snapshot", b"whole")
        await disk.write_file("snapshot", b"again")

    run(write())
    assert disk.files() == {"log-1": 4096, "snapshot": 5}
    assert disk.read("log-1", 0, 6) == b"header"
    assert disk.read("log-1", 510, 12) == b"\0\0onethree\0\0"
    assert disk.read("log-1", 515, 5) == b"three"
    assert disk.read("log-1", 4090, 100) == bytes(6)
    assert disk.read("snapshot", 0, 100) == b"again"
    disk.delete("log-1")
    disk.delete("log-1")
    assert list(disk.files()) == ["snapshot"]
    with pytest.raises(FileNotFoundError):
        disk.read("log-1", 0, 1)


@pytest.mark.parametrize("is_quick", [True, False])
def test_only_small_groups_for_a_quick_disk_are_written_by_the_caller(
    is_quick: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disks, "QUICK_S_MAX", 60.0 if is_quick else -1.0)
    writers: list[str] = []
    pwrite = os.pwrite
    monkeypatch.setattr(
        os, "pwrite", lambda *args: writers.append(threading.current_thread().name) or pwrite(*args)
    )

    async def write() -> None:
        await disk.create("log-1", 256 * 1024, b"")
        writers.clear()
        for n_bytes in (10, 10, disks.SMALL_BYTES_MAX + 1, disks.SMALL_BYTES_MAX):
            await disk.write_group("log-1", 0, bytes(n_bytes))

    disk = RealDisk(tmp_path)
    with contextlib.closing(disk):
        run(write())
    other = "store-sync_0"  # its first write says whether the disk is quick
    mine = threading.current_thread().name if is_quick else other
    assert writers == [other, mine, other, mine]


async def pumped(disk: Any, steps: Any) -> None:
    storage = open_storage(disk, file_bytes=64 * 1024)
    loop = asyncio.ensure_future(Pump(storage, disk, retry_s=0.01).run())
    try:
        await steps(storage)
    finally:
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)


async def done(ticket: Any) -> Any:
    synced = asyncio.get_running_loop().create_future()
    ticket.add_done(lambda ticket: synced.done() or synced.set_result(ticket.results))
    return await asyncio.wait_for(synced, 30)


def test_the_pump_carries_rotations_and_a_restart(disk: Any) -> None:
    async def write(storage: Any) -> None:
        storage.submit([ops.CreateSegment(A)], now_ms=1)
        for number in range(20):
            await done(storage.submit([ops.Append(A, bytes([number]) * 20_000)], now_ms=2))

    run(pumped(disk, write))
    assert any(name.startswith("snapshot-") for name in disk.files())
    data = open_storage(disk).read(A, 0, 1_000_000).data
    assert data == b"".join(bytes([number]) * 20_000 for number in range(20))


class PartlyQuick(TornDisk):
    """Writes small groups at once, and remembers how it wrote each group."""

    def __init__(self) -> None:
        super().__init__()
        self.at_once: list[bool] = []
        self.is_broken = False

    async def write_group(self, name: str, offset: int, data: bytes) -> None:
        await asyncio.sleep(0.001)
        self.at_once.append(False)
        await super().write_group(name, offset, data)

    def write_at_once(self, name: str, offset: int, data: bytes) -> bool:
        if self.is_broken:
            raise OSError(5, "the sync failed")
        if len(data) > 1000:
            return False
        self.at_once.append(True)
        self.contents[name][offset : offset + len(data)] = data
        return True


def prompt(disk: Any, story: Callable[[Any, Pump], Any]) -> None:
    """Tell a story with a pump that writes without its task."""

    async def main() -> None:
        storage = open_storage(disk, file_bytes=64 * 1024)
        pump = Pump(storage, disk, retry_s=0.01)
        pump.write_without_task(disk, asyncio.get_running_loop())
        await story(storage, pump)

    asyncio.run(main())


def test_groups_that_take_no_time_are_written_without_the_task_in_the_order_of_all() -> None:
    disk = PartlyQuick()

    async def story(storage: Any, pump: Pump) -> None:
        created = storage.submit([ops.CreateSegment(A)], now_ms=1)
        await asyncio.sleep(0.01)
        assert not created.done, "nothing is written before the pump runs"
        running = asyncio.ensure_future(pump.run())
        await done(created)
        disk.at_once.clear()
        first = storage.submit([ops.Append(A, b"1")], now_ms=2)
        assert not first.done
        await asyncio.sleep(0)
        assert first.done
        tickets = [storage.submit([ops.Append(A, data)], now_ms=3) for data in (b"2" * 2000, b"3")]
        await asyncio.sleep(0)
        late = storage.submit([ops.Append(A, b"4")], now_ms=4)
        await asyncio.sleep(0)
        assert not any(ticket.done for ticket in (*tickets, late)), "the task writes their group"
        for ticket in (*tickets, late):
            await done(ticket)
        assert disk.at_once == [True, False, False]
        for number in range(20):  # rotations
            await done(storage.submit([ops.Append(A, b"5" * 20_000)], now_ms=number))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    prompt(disk, story)
    data = open_storage(disk).read(A, 0, 1_000_000).data
    assert data == b"1" + b"2" * 2000 + b"34" + b"5" * 400_000


def test_a_caller_that_moves_groups_itself_is_not_moved_for() -> None:
    async def story(storage: Any, pump: Pump) -> None:
        running = asyncio.ensure_future(pump.run())
        await done(storage.submit([ops.CreateSegment(A)], now_ms=1))
        while storage.has_file_work:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.001)  # nothing is scheduled any more
        pump.is_about_to_move = lambda: True
        ticket = storage.submit([ops.Append(A, b"1")], now_ms=2)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not ticket.done
        pump.move_due()
        assert ticket.done
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    prompt(PartlyQuick(), story)


def test_a_failure_without_the_task_ends_the_pump_and_is_not_tried_again() -> None:
    disk = PartlyQuick()

    async def story(storage: Any, pump: Pump) -> None:
        running = asyncio.ensure_future(pump.run())
        await done(storage.submit([ops.CreateSegment(A)], now_ms=1))
        disk.is_broken = True
        ticket = storage.submit([ops.Append(A, b"1")], now_ms=2)
        await asyncio.sleep(0)
        disk.is_broken = False
        late = storage.submit([ops.Append(A, b"2")], now_ms=3)
        with pytest.raises(OSError, match="the sync failed"):
            await running
        assert isinstance(ticket.failure, OSError)
        assert isinstance(late.failure, OSError)
        with pytest.raises(errors.StoreFailed):
            storage.submit([ops.Append(A, b"3")], now_ms=4)

    prompt(disk, story)
    assert open_storage(disk).read(A, 0, 100).data == b""


@pytest.mark.parametrize("is_reopened", [True, False])
def test_memory_is_given_back(is_reopened: bool) -> None:
    disk = MemoryDisk(is_reopened=is_reopened)

    async def write(storage: Any) -> None:
        for number in range(30):
            await done(storage.submit([ops.CreateSegment(A), ops.Append(A, bytes(60_000))], now_ms=number))
            await done(storage.submit([ops.Delete(A)], now_ms=number))

    run(pumped(disk, write))
    assert len(disk.files()) <= 5
    assert any(name.startswith("snapshot-") for name in disk.files()) is is_reopened


def test_a_failed_sync_is_not_tried_again() -> None:
    class Failing(TornDisk):
        tries = 0

        async def write_group(self, name: str, offset: int, data: bytes) -> None:
            self.tries += 1
            raise OSError(5, "the sync failed")

    disk = Failing()

    async def scenario() -> None:
        storage = open_storage(disk)
        ticket = storage.submit([ops.CreateSegment(A)], now_ms=1)
        with pytest.raises(OSError, match="the sync failed"):
            await Pump(storage, disk).run()
        assert isinstance(ticket.failure, OSError)
        with pytest.raises(errors.StoreFailed):
            storage.submit([ops.CreateSegment(A)], now_ms=1)

    run(scenario())
    assert disk.tries == 1


def test_appends_go_on_when_a_full_disk_has_room_again() -> None:
    disk = TornDisk(capacity=200 * 1024)

    async def write(storage: Any) -> None:
        await done(storage.submit([ops.CreateSegment(A)], now_ms=1))
        append = [ops.Append(A, bytes(10_000))]
        with contextlib.suppress(errors.StoreFull):
            for _ in range(100):
                await done(storage.submit(append, now_ms=1))
        with pytest.raises(errors.StoreFull):
            storage.submit(append, now_ms=1)
        disk.capacity *= 4
        while storage.is_full:
            await asyncio.sleep(0.005)
        await done(storage.submit([ops.Append(A, b"again")], now_ms=1))

    run(pumped(disk, write))


# The real folder


def test_a_folder_belongs_to_one_process(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path)
    with pytest.raises(errors.StoreInUse, match=r"in use by another store .* another folder"):
        RealDisk(tmp_path)
    disk.close()
    RealDisk(tmp_path).close()


def test_a_backup_is_no_folder_of_a_store(tmp_path: Path) -> None:
    (tmp_path / "backup.json").write_text("{}")
    with pytest.raises(BadInputError, match=r"is a backup, .* Restore it into a new folder"):
        RealDisk(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["backup.json"]


def test_a_folder_in_which_no_file_can_be_made_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store would serve, and stop when its log needs the next file."""
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)  # root may write everywhere
    with pytest.raises(PermissionError, match="No permission to create files in it"):
        RealDisk(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_deleting_the_lock_file_admits_no_second_store(tmp_path: Path) -> None:
    for folder, mode in ((tmp_path / "own", 0o700), (tmp_path / "seen", 0o755)):
        disk = RealDisk(folder)
        folder.chmod(mode)
        run(write_two_groups(disk))
        (folder / "lock").unlink()
        with pytest.raises(errors.StoreInUse):
            RealDisk(folder)
        disk.close()
        RealDisk(folder).close()


def test_a_program_that_asks_for_the_lock_keeps_no_store_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    RealDisk(tmp_path).close()
    asking = os.open(tmp_path / "lock", os.O_RDONLY)
    fcntl.flock(asking, fcntl.LOCK_SH)
    monkeypatch.setattr(folder_lock.time, "sleep", lambda _: fcntl.flock(asking, fcntl.LOCK_UN))
    RealDisk(tmp_path).close()
    os.close(asking)


async def write_two_groups(disk: RealDisk) -> None:
    for name in ("log-1", "log-2"):
        await disk.create(name, 4096, b"header")
        await disk.write_group(name, 512, b"x" * 100)


def test_the_process_that_holds_the_lock_is_named(tmp_path: Path) -> None:
    RealDisk(tmp_path).close()
    (tmp_path / "lock").write_text("1\n")
    code = "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, 2); print(flush=True); sys.stdin.read()"
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", code, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(errors.StoreInUse, match=f"process {holder.pid}: {sys.executable}"):
            RealDisk(tmp_path)


@pytest.mark.parametrize("mask", [0, 0o777])
def test_other_users_can_open_nothing(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        disk = RealDisk(tmp_path / "store")
        run(write_two_groups(disk))
        run(disk.write_file("snapshot-1", b"state"))
        disk.close()
    finally:
        os.umask(before)
    folder = tmp_path / "store"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == dict.fromkeys(
        ("lock", "log-1", "log-2", "snapshot-1"), 0o600
    )
    (folder / "log-1").chmod(0o644)  # as an earlier release created it
    RealDisk(folder).close()
    assert (folder / "log-1").stat().st_mode & 0o777 == 0o600


def _unlink(path: Path) -> None:
    path.unlink()


def _replace(path: Path) -> None:
    copy = path.with_suffix(".copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


@pytest.mark.parametrize(
    ("harm", "words"),
    [(_unlink, "was removed"), (_replace, "was replaced"), (lambda path: os.truncate(path, 600), "was cut")],
)
def test_a_log_file_that_vanishes_is_noticed_after_the_sync(
    tmp_path: Path, harm: Callable[[Path], None], words: str
) -> None:
    disk = RealDisk(tmp_path)
    run(write_two_groups(disk))
    harm(tmp_path / "log-2")
    with pytest.raises(OSError, match=f"'log-2' .*{words}.* restore the file"):
        run(disk.write_group("log-2", 700, b"y" * 100))
    disk.close()


@pytest.mark.parametrize("is_log", [True, False])
def test_a_file_in_a_folder_that_vanished_is_refused_as_harm(tmp_path: Path, is_log: bool) -> None:
    """The next file of the log may be made before a check of the others finds that they are gone."""
    disk = RealDisk(tmp_path / "store")
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    with contextlib.closing(disk), pytest.raises(OSError, match="may be lost with it") as caught:
        run(disk.create("log-1", 4096, b"header") if is_log else disk.write_file("snapshot-1", b"whole"))
    assert caught.value.errno == errno.ESTALE


def _zero(path: Path) -> None:
    size = path.stat().st_size
    path.unlink()
    path.touch()
    os.truncate(path, size)


def _overwrite(path: Path) -> None:
    other = next(log for log in path.parent.glob("log-*") if log != path)
    path.write_bytes(other.read_bytes())  # in the same file, as `cp` does it


HARMS = [
    (Path.unlink, "was removed"),
    (_zero, "was replaced or overwritten"),
    (_overwrite, "was replaced or overwritten"),
    (lambda path: os.truncate(path, 512), "was cut to 512 bytes"),
    (lambda path: os.truncate(path, 0), "was cut to 0 bytes"),
]


@contextlib.contextmanager
def disk_with_logs(folder: Path, count: int = 3) -> Iterator[tuple[RealDisk, list[str]]]:
    names = [file_name(file_id) for file_id in range(1, count + 1)]
    with contextlib.closing(RealDisk(folder)) as disk:
        for file_id, name in enumerate(names, 1):
            run(disk.create(name, 4096, file_header(bytes(16), file_id, 4096)))
        yield disk, names


@pytest.mark.parametrize("is_found", [False, True])
@pytest.mark.parametrize(("harm", "words"), HARMS)
def test_a_spare_that_was_harmed_takes_no_group(
    tmp_path: Path, harm: Callable[[Path], None], words: str, is_found: bool
) -> None:
    with disk_with_logs(tmp_path) as (made, names):
        disk = made
        if is_found:  # by the next life
            made.close()
            disk = RealDisk(tmp_path)
        run(disk.write_group(names[0], 512, b"x" * 100))
        harm(tmp_path / names[1])
        for _ in range(2):
            with pytest.raises(OSError, match=f"{names[1]!r} .*{words}.* restore the file") as caught:
                run(disk.write_group(names[1], 512, b"y" * 100))
            assert caught.value.errno == errno.ESTALE
        disk.close()  # each descriptor once


@pytest.mark.parametrize(("harm", "words"), HARMS)
def test_a_full_log_file_that_was_harmed_is_noticed_by_a_check(
    tmp_path: Path, harm: Callable[[Path], None], words: str
) -> None:
    with disk_with_logs(tmp_path) as (disk, names):
        for name in names[:2]:
            run(disk.write_group(name, 512, b"x" * 100))
            run(disk.check_logs())
        os.utime(tmp_path / names[0])  # which changes nothing in it
        run(disk.check_logs())
        disk.delete(names[2])
        run(disk.check_logs())
        harm(tmp_path / names[0])
        run(disk.write_group(names[1], 612, b"y" * 100))
        with pytest.raises(OSError, match=f"{names[0]!r} .*{words}.* restore the file"):
            run(disk.check_logs())
        with pytest.raises(OSError, match=f"{names[0]!r} .*{words}"):
            run(disk.write_group(names[1], 712, b"z" * 100))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_real_disk_without_room_raises_its_own_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, "Kein Platz auf dem Datenträger")

    disk = RealDisk(tmp_path / "store")
    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(errors.DiskFull):
        run(disk.create("log-1", 4096, b"header"))
    disk.close()
    monkeypatch.undo()
    monkeypatch.setattr(os, "pwrite", refuse)
    with pytest.raises(errors.DiskFull):  # the lock of the folder names its owner
        RealDisk(tmp_path / "other")
    monkeypatch.undo()
    RealDisk(tmp_path / "other").close()  # the lock was released


def test_every_write_of_a_group_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bool] = []
    pwrite = os.pwrite

    def noting(handle: int, data: memoryview, offset: int) -> int:
        written.append(bool(fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_DSYNC))
        return pwrite(handle, data[:1000], offset)

    async def write(disk: RealDisk) -> None:
        for name in ("log-1", "log-2"):
            await disk.create(name, 4096, b"header")
        monkeypatch.setattr(os, "pwrite", noting)
        for name in ("log-1", "log-2", "log-1"):
            await disk.write_group(name, 512, b"x" * 1500)

    disk = RealDisk(tmp_path)
    asyncio.run(write(disk))
    assert written == [True] * 6  # also the second part of a write that the system cut
    assert disk.read("log-2", 512, 4096) == (b"x" * 1500).ljust(4096 - 512, b"\0")
    disk.close()


def test_a_new_file_reaches_the_disk_a_piece_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 5 << 20
    unsynced = [0]
    pwrite, fdatasync = os.pwrite, os.fdatasync

    def noting(handle: int, data: memoryview, offset: int) -> int:
        unsynced[-1] += len(data)
        return pwrite(handle, data, offset)

    def syncing(handle: int) -> None:
        fdatasync(handle)
        unsynced.append(0)

    async def create() -> None:
        await disk.create("log-1", 4096, b"header")  # the first one is not filled
        monkeypatch.setattr(os, "pwrite", noting)
        monkeypatch.setattr(os, "fdatasync", syncing)
        await disk.create("log-2", size, b"header")

    disk = RealDisk(tmp_path)
    with contextlib.closing(disk):
        run(create())
    assert sum(unsynced) == size
    assert max(unsynced) <= unfinished_file.LARGE_PIECE_BYTES + len(b"header")


@pytest.mark.parametrize(
    ("filled", "written", "idle_s", "waits"),
    [
        (0.0, 0.0, 0.0, True),  # a file that was just begun has time
        (0.5, 0.25, 0.0, True),
        (0.5, 0.26, 0.0, False),  # the present file would be full first
        (0.99, 0.5, 0.0, False),
        (0.0, 0.0, 10.0, False),  # nobody uses the disk, or the store waits for this file
    ],
)
def test_a_piece_of_a_new_file_waits_while_groups_are_written_and_there_is_time(
    filled: float, written: float, idle_s: float, waits: bool
) -> None:
    assert unfinished_file.may_pause(filled, written, idle_s) is waits


class Filling:
    """A disk that fills its second log file while groups are written to the first."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.disk = RealDisk(folder)
        self.temporary = folder / "log-2.tmp"
        self.size = 3 * unfinished_file.LARGE_PIECE_BYTES
        self.n_pieces = 0
        fdatasync = os.fdatasync

        def syncing(handle: int) -> None:
            fdatasync(handle)
            self.n_pieces += 1

        monkeypatch.setattr(os, "fdatasync", syncing)
        monkeypatch.setattr(unfinished_file, "RECENT_S", 60.0)  # one group is enough

    async def begin(self) -> asyncio.Task[None]:
        """Fill until the first pause."""
        await self.disk.create("log-1", 1 << 20, b"header")
        await self.disk.write_group("log-1", 512, b"x")
        filling = asyncio.ensure_future(self.disk.create("log-2", self.size, b"header"))
        while not self.n_pieces:
            await asyncio.sleep(0.001)
        return filling


@pytest.fixture
def filling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Filling]:
    made = Filling(tmp_path, monkeypatch)
    with contextlib.closing(made.disk):
        yield made


def test_other_files_are_written_in_the_pauses_of_a_file_that_is_filled(filling: Filling) -> None:
    async def write() -> None:
        task = await filling.begin()
        await filling.disk.check_logs()
        await filling.disk.write_file("snapshot", b"state")
        assert filling.temporary.exists()
        await filling.disk.write_group("log-1", 600_000, b"y")  # beyond its half: there is no time any more
        await task

    run(write())
    assert filling.disk.files() == {"log-1": 1 << 20, "log-2": filling.size, "snapshot": 5}
    assert filling.n_pieces < filling.size / unfinished_file.PIECE_BYTES
    assert not filling.temporary.exists()


def test_a_file_whose_filling_is_cancelled_leaves_nothing(filling: Filling) -> None:
    async def cancel() -> None:
        task = await filling.begin()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await filling.disk.check_logs()

    run(cancel())
    assert filling.disk.files() == {"log-1": 1 << 20}
    assert not filling.temporary.exists()


def test_a_cancellation_ends_the_filling_of_a_file_after_the_present_piece(
    filling: Filling, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without groups there are no pauses, in which it would end."""
    monkeypatch.setattr(unfinished_file, "RECENT_S", 0.0)
    fdatasync, may_end = os.fdatasync, threading.Event()

    def syncing(handle: int) -> None:
        fdatasync(handle)
        may_end.wait(60)

    async def cancel() -> None:
        monkeypatch.setattr(os, "fdatasync", syncing)
        task = await filling.begin()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        may_end.set()
        await filling.disk.check_logs()

    run(cancel())
    assert filling.n_pieces == 1
    assert not filling.temporary.exists()


def test_a_disk_that_is_closed_does_not_wait_for_a_file_that_is_filled(
    filling: Filling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disks, "PAUSE_S", 3600.0)

    async def close() -> None:
        task = await filling.begin()
        await asyncio.sleep(0)
        filling.disk.close()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(close())
    assert filling.temporary.exists()  # the next start deletes it
    again = RealDisk(filling.disk.folder)
    assert list(again.files()) == ["log-1"]
    assert not filling.temporary.exists()
    again.close()


def test_leftovers_of_a_crash_are_removed(tmp_path: Path) -> None:
    (tmp_path / "log-000000000001.tmp").write_bytes(b"half")
    (tmp_path / "thesis.tmp").write_bytes(b"somebody else's")
    disk = RealDisk(tmp_path)
    assert disk.files() == {}
    assert [path.name for path in tmp_path.glob("*.tmp")] == ["thesis.tmp"]
    disk.close()


WRITER = """
import asyncio, sys
from pravega_lab.engine.server.pump import Pump
from pravega_lab.engine.store.log import disk as disks
from pravega_lab.engine.store.log import folder_lock
from pravega_lab.engine.store.log import operations as ops
from pravega_lab.engine.store.log.disk import RealDisk
from pravega_lab.engine.store.storage.recovery import open_storage

async def main():
    disk = RealDisk(sys.argv[1])
    storage = open_storage(disk, file_bytes=256 * 1024)
    pump = asyncio.ensure_future(Pump(storage, disk).run())
    storage.submit([ops.CreateSegment(sys.argv[2])], now_ms=1)
    waiting = asyncio.Semaphore(8)
    for number in range(1, 10**9):
        await waiting.acquire()
        ticket = storage.submit([ops.Append(sys.argv[2], number.to_bytes(4, "big") * 1000)], now_ms=number)
        ticket.add_done(lambda _, number=number: (print(number, flush=True), waiting.release()))

asyncio.run(main())
"""


def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path), A]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = 0
    for line in process.stdout:
        told = int(line)
        if told == 150:  # beyond two rotations
            break
    process.kill()
    told = max([told, *(int(line) for line in process.stdout.read().split("\n")[:-1])])
    process.wait()
    disk = RealDisk(tmp_path)
    storage = open_storage(disk)
    data = storage.read(A, 0, 1 << 30).data
    disk.close()
    count = len(data) // 4000
    assert count >= told
    assert data == b"".join(number.to_bytes(4, "big") * 1000 for number in range(1, count + 1))
