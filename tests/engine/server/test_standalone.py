"""`pravega-lab standalone` as a process: how it starts, how it ends, and what it refuses in words."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.wire import commands as c
from tests.conformance.controller import ControllerStub
from tests.conformance.wire.connection import CLOSED, Wire, endpoint, event
from tests.standalone import ROOT, Standalone, StandaloneFailedError
from tests.waiting import wait_until

SEGMENT = "scope/stream/0.#epoch.0"


@pytest.fixture
def memory() -> Iterator[Standalone]:
    process = Standalone("--memory")
    process.start()
    yield process
    process.stop()


def connect(process: Standalone) -> Wire:
    controller = ControllerStub(process.uri)
    wire = Wire(endpoint(controller))
    controller.close()
    return wire


def refused(*arguments: str, **ports: int) -> str:
    with pytest.raises(StandaloneFailedError) as failed:
        Standalone(*arguments, **ports).start()
    message = str(failed.value)
    assert "exit code 0" not in message
    assert "Traceback" not in message
    return message


def test_one_line_says_that_it_is_ready(memory: Standalone) -> None:
    assert memory.uri.startswith("tcp://127.0.0.1:")
    assert memory.stop() == 0
    assert memory.process.stdout is not None
    assert memory.process.stdout.read() == ""
    assert memory.errors() == ""


def test_an_empty_store_starts_without_the_heavy_modules() -> None:
    code = (
        "import sys, pravega_lab.cli\n"
        "import pravega_lab.engine.server.standalone, pravega_lab.engine.server.grpc\n"
        "print([m for m in ('numpy', 'pandas', 'pyarrow', 'numba', 'pyspark') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(memory: Standalone, number: int) -> None:
    assert memory.stop(number) == 0


def test_it_ends_with_its_parent(memory: Standalone) -> None:
    assert memory.close_input() == 0


def test_it_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    """A killed notebook kernel leaves no orphan."""
    code = (
        "import sys, time; from tests.standalone import Standalone; s = Standalone('--memory'); s.start()\n"
        "print(s.process.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    wait_until(lambda: not Path(f"/proc/{child}").exists() or _state(child) == "Z", "the store ends, too")


def _state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"


def test_held_reads_are_answered_when_it_stops(memory: Standalone) -> None:
    wire = connect(memory)
    wire.create(SEGMENT)
    wire.send(c.ReadSegment(SEGMENT, 0, 100, "", 7))
    assert wire.is_silent()
    assert memory.stop() == 0
    assert wire.receive() == c.SegmentRead(SEGMENT, 0, True, False, b"", 7)
    assert wire.receive() == CLOSED


@pytest.mark.parametrize("option", ["controller_port", "segment_store_port"])
def test_a_port_in_use_is_refused(option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = refused("--memory", **{option: port})
    assert f"127.0.0.1:{port}" in message
    assert f"--{option.replace('_', '-')}" in message


def test_two_stores_do_not_share_a_controller_port(memory: Standalone) -> None:
    assert str(memory.controller_port) in refused("--memory", controller_port=memory.controller_port)


def test_a_second_process_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    first = Standalone("--data", str(tmp_path))
    first.start()
    message = refused("--data", str(tmp_path))
    assert str(first.process.pid) in message
    assert str(tmp_path) in message
    assert first.stop() == 0
    again = Standalone("--data", str(tmp_path))
    again.start()
    assert again.stop() == 0


def test_a_folder_that_cannot_be_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert str(tmp_path / "file") in refused("--data", str(tmp_path / "file"))


def test_a_damaged_log_is_refused_with_file_and_offset(tmp_path: Path) -> None:
    store = Standalone("--data", str(tmp_path))
    store.start()
    wire = connect(store)
    wire.filled(SEGMENT, *(b"event %d" % number for number in range(20)))
    store.kill()
    log = next(path for path in sorted(tmp_path.glob("log-*")) if b"event 5" in path.read_bytes())
    at = log.read_bytes().index(b"event 5")
    with log.open("r+b") as file:
        file.seek(at)
        file.write(b"EVENT")
    message = refused("--data", str(tmp_path))
    assert log.name in message
    assert "offset" in message


@pytest.mark.slow
def test_a_cut_tail_is_reported_once_and_a_stop_in_order_leaves_none(tmp_path: Path) -> None:
    store = Standalone("--data", str(tmp_path))
    store.start()
    connect(store).filled(SEGMENT, b"event")
    store.kill()
    log = min(tmp_path.glob("log-*"))
    end = len(log.read_bytes().rstrip(b"\0"))
    with log.open("r+b") as file:
        file.seek(end)
        file.write(bytes(24) + b"torn" * 5)  # the header of the group is missing
    store.start()
    assert store.stop() == 0
    assert f"{log.name}: the last start of the store did not end in order" in store.errors()
    assert f"was cut off at offset {end}: 44 bytes" in store.errors()
    store.start()
    assert store.stop() == 0
    assert store.errors() == ""
    with log.open("r+b") as file:
        file.seek(end - 20)
        file.write(bytes(20))
    assert f"{log.name!r} is damaged at offset" in refused("--data", str(tmp_path))


@pytest.mark.slow
def test_a_store_whose_log_file_is_removed_stops(tmp_path: Path) -> None:
    store = Standalone("--data", str(tmp_path))
    store.start()
    wire = connect(store)
    wire.filled(SEGMENT, b"event")
    log = min(tmp_path.glob("log-*"))
    log.unlink()
    wire.setup(SEGMENT)
    assert wire.append(2, event(b"lost")) == CLOSED
    assert store.wait() == 3
    assert f"The log file {log.name!r} in {str(tmp_path)!r} was removed" in store.errors()
    assert "Acknowledged data is safe" not in store.errors()


@pytest.mark.slow
def test_a_store_whose_next_log_file_is_removed_stops_soon(tmp_path: Path) -> None:
    """It looks at the files about every second, and at its stop."""
    store = Standalone("--data", str(tmp_path))
    store.start()
    wire = connect(store)
    wire.filled(SEGMENT, b"event")
    next_file, record = tmp_path / "log-000000000002", tmp_path / "history"
    while not (next_file.exists() and record.stat().st_mtime_ns > next_file.stat().st_mtime_ns):
        time.sleep(0.01)
    next_file.unlink()
    assert store.stop() == 3
    assert f"The log file {next_file.name!r} in {str(tmp_path)!r} was removed" in store.errors()
    assert "Traceback" not in store.errors()


@pytest.mark.slow
def test_a_stop_that_cannot_be_recorded_is_no_success(tmp_path: Path) -> None:
    store = Standalone("--data", str(tmp_path / "data"))
    store.start()
    connect(store).filled(SEGMENT, b"event")
    next_file, record = tmp_path / "data/log-000000000002", tmp_path / "data/history"
    while not (next_file.exists() and record.stat().st_mtime_ns > next_file.stat().st_mtime_ns):
        time.sleep(0.01)  # a store whose next file cannot be made stops for that reason
    shutil.rmtree(tmp_path / "data")
    assert store.stop() == 3
    assert "The stop cannot be recorded in the folder of the store" in store.errors()
    assert "Traceback" not in store.errors()


@pytest.mark.slow
@pytest.mark.parametrize("what", ["read", "written"])
def test_files_that_cannot_be_used_are_refused_at_the_start(what: str, tmp_path: Path) -> None:
    store = Standalone("--data", str(tmp_path))
    store.start()
    connect(store).filled(SEGMENT, b"event")
    store.kill()
    if what == "written":
        with min(tmp_path.glob("log-*")).open("r+b") as file:
            file.seek(len(file.read().rstrip(b"\0")))
            file.write(bytes(24) + b"torn" * 5)  # the header of the group is missing
    broken = BrokenStandalone("--data", str(tmp_path))
    broken.command = (sys.executable, "-c", UNUSABLE_DISK.replace("WHAT", what))
    with pytest.raises(StandaloneFailedError) as failed:
        broken.start()
    assert "exit code 1" in str(failed.value)
    assert f"The files of the store in {str(tmp_path)!r} cannot be {what}: " in str(failed.value)
    assert "Traceback" not in str(failed.value)


UNUSABLE_DISK = """
import sys
from pravega_lab import cli
from pravega_lab.engine.server import standalone

class Unusable(standalone.RealDisk):
    def read(self, name, offset, length):
        if "WHAT" == "read" and name == "history":
            raise PermissionError(13, "Permission denied", name)
        return super().read(name, offset, length)

    async def write_file(self, name, data):
        raise OSError(30, "Read-only file system", name)

standalone.RealDisk = Unusable
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_tier_that_fails_is_named_by_a_rebuild(tmp_path: Path) -> None:
    (tmp_path / "tier2").write_text("no folder")
    message = refused("--data", str(tmp_path / "data"), "--tier2", str(tmp_path / "tier2"), "--tier2-rebuild")
    assert "cannot be rebuilt, because tier 2 or the --data folder failed" in message


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    store = Standalone("--data", str(tmp_path))
    store.start()
    wire = connect(store)
    wire.filled(SEGMENT, *(b"%d" % number for number in range(100)))
    store.kill()
    store.start()
    again = connect(store)
    assert again.contents(SEGMENT) == b"".join(event(b"%d" % number) for number in range(100))
    assert again.setup(SEGMENT) == 100
    assert isinstance(again.append(101, event(b"on")), c.DataAppended)
    assert store.stop() == 0


BROKEN_DISK = """
import errno, sys
from pravega_lab import cli
from pravega_lab.engine.server import standalone

class Broken(standalone.RealDisk):
    groups = 0
    def _write_group(self, name, offset, data):
        Broken.groups += 1
        if Broken.groups > 3:
            raise OSError(errno.EIO, "the disk is broken")
        super()._write_group(name, offset, data)

standalone.RealDisk = Broken
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_failed_sync_ends_the_process(tmp_path: Path) -> None:
    """Nothing is acknowledged after it, and what was acknowledged before is there at the next start."""
    process = BrokenStandalone("--data", str(tmp_path))
    process.start()
    wire = connect(process)
    wire.create(SEGMENT)
    wire.setup(SEGMENT)
    stored, reply = 0, wire.append(1, event(b"x"))
    while isinstance(reply, c.DataAppended):
        stored = reply.current_segment_write_offset
        reply = wire.append(reply.event_number + 1, event(b"x"))
    assert reply == CLOSED
    assert process.wait() == 3
    assert "the disk is broken" in process.errors()
    store = Standalone("--data", str(tmp_path))
    store.start()
    assert connect(store).length(SEGMENT) >= stored > 0
    assert store.stop() == 0


class BrokenStandalone(Standalone):
    """A store whose disk fails at the fourth group."""

    command = (sys.executable, "-c", BROKEN_DISK)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 80 MiB: room for one log file of 64 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a file system needs root; tests/engine/store does the same on a disk in memory")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_refuses_appends_and_recovers_when_there_is_room(small_disk: Path) -> None:
    (small_disk / "other").write_bytes(bytes(8 << 20))
    store = Standalone("--data", str(small_disk / "store"))
    store.start()
    wire = connect(store)
    wire.create(SEGMENT)
    wire.setup(SEGMENT)
    number, reply = 0, None
    while not isinstance(reply, c.ErrorMessage):
        number += 1
        reply = wire.append(number, event(b"x" * (4 << 20)))
        assert number < 30, "the disk never filled"
    assert ("full" in reply.message, reply.error_code) == (True, c.ErrorCode.STORE_FULL)
    assert wire.receive() == CLOSED
    reader = connect(store)
    kept = reader.length(SEGMENT)
    assert kept == (number - 1) * (8 + (4 << 20))
    assert isinstance(reader.read(SEGMENT), c.SegmentRead)
    _delete_all(reader)
    _append_until_taken(store)
    assert store.stop() == 0


def _delete_all(wire: Wire) -> None:
    assert isinstance(wire.ask(c.DeleteSegment(1, SEGMENT, "")), c.SegmentDeleted)


def _append_until_taken(store: Standalone) -> None:
    deadline = time.monotonic() + 20
    while True:
        wire = connect(store)
        reply = wire.ask(c.CreateSegment(1, SEGMENT, 0, 0, "", 0))
        if isinstance(reply, c.SegmentCreated):
            return
        assert time.monotonic() < deadline, reply
        time.sleep(0.1)


def test_a_disk_without_room_for_a_store_is_refused(small_disk: Path) -> None:
    (small_disk / "other").write_bytes(bytes(60 << 20))
    assert "room" in refused("--data", str(small_disk / "store"))


def test_a_bad_scaling_clock_is_refused() -> None:
    assert "--scaling-clock" in refused("--memory", "--scaling-clock", "0")


def test_the_scope_of_the_system_is_there_from_the_start(memory: Standalone) -> None:
    controller = ControllerStub(memory.uri)
    assert controller.call("checkScopeExists", pb.ScopeInfo(scope="_system")).exists is True
    controller.close()
