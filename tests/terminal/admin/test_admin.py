"""`pravega-lab admin` on folders, and on a store that is running."""

from __future__ import annotations

import errno
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pravega_lab import admin
from pravega_lab.cli import main
from pravega_lab.client import connect
from pravega_lab.engine.server.store_process import StoreProcess
from pravega_lab.engine.simulation.store.world import events_in
from pravega_lab.engine.store.log import operations as ops
from pravega_lab.engine.store.log.chunks import MARKER, Chunk, checksums_of, marker
from pravega_lab.engine.store.storage.recovery import open_storage
from pravega_lab.engine.store.storage.tiered import Tiered
from pravega_lab.errors import BadInputError, CorruptStoreError, StoreUnavailableError, StoreVersionError
from pravega_lab.terminal.admin import tier_copies
from tests.engine.store.storage_driver import STORES, Driver, stored
from tests.standalone import ROOT


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data folder of a stopped store."""
    folder = tmp_path / "store"
    folder.mkdir()
    for name, content in stored(STORES[0]).contents.items():
        (folder / name).write_bytes(content)
    return folder


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_list_inspect_and_dump_print_tables(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["admin", "list", "--data", str(data)]) == 0
    lines = said(capsys)
    assert lines[0].split()[:3] == ["scope", "stream", "state"]
    assert next(line for line in lines if " logs " in line).split()[:6] == [
        "s",
        "logs",
        "ACTIVE",
        "1",
        "1",
        "17000",
    ]
    assert "s/events" in lines[-1]
    assert main(["admin", "inspect", "s/events", "--data", str(data)]) == 0
    assert any("#transaction." in line for line in said(capsys))
    assert main(["admin", "inspect", "s/late/0.#epoch.0", "--data", str(data)]) == 0
    assert said(capsys)[1].split()[-1] == "100"
    assert main(["admin", "dump", "log-000000000001", "--data", str(data)]) == 0
    assert any("controller/scope/s" in line for line in said(capsys))


def test_dump_shows_moves_to_tier_2_and_changes_of_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    driver = Driver()
    driver.do(ops.CreateSegment("a"), ops.CreateSegment("t", is_table=True), ops.Append("a", bytes(100)))
    driver.do(ops.UpdateTable("t", (ops.TableUpdate(b"key", b"value"), ops.TableUpdate(b"k2", b""))))
    driver.do(ops.RemoveTableKeys("t", (ops.TableRemoval(b"key"),)))
    tiered = Tiered(driver.storage)
    pieces = tuple(piece for number in tiered.unmoved() for piece in tiered.ranges(number, None))
    driver.do(ops.MoveToTier(Chunk(tiered.next_chunk, "chunk-1", 100, bytes(4)), pieces))
    for name, content in driver.disk.contents.items():
        (tmp_path / name).write_bytes(content)
    assert main(["admin", "dump", "--json", "--data", str(tmp_path)]) == 0
    details = {row["operation"]: row["detail"] for row in map(json.loads, said(capsys))}
    assert details["MoveToTier"] == "chunk=chunk-1 of 100 bytes pieces=1 of 100 bytes"
    assert "entries=2 of 10 bytes" in details["UpdateTable"]
    assert "keys=1 of 3 bytes" in details["RemoveTableKeys"]


def test_json_and_frames_have_the_same_rows(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["admin", "list", "--json", "--data", str(data)]) == 0
    printed = [json.loads(line) for line in said(capsys)]
    streams = [{k: v for k, v in row.items() if k != "kind"} for row in printed if row["kind"] == "stream"]
    assert streams == admin.rows(data)
    assert admin.frame(data, "segments", "s/logs")["length"].tolist() == [17_000]
    assert set(admin.frame(data, "operations")["operation"]) >= {"Append", "Merge", "PutRecord"}


def test_verify_prints_a_verdict(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["admin", "verify", "--data", str(data)]) == 0
    assert ": sound: 20 groups" in said(capsys)[-1]
    path = data / "log-000000000002"
    content = bytearray(path.read_bytes())
    content[5000] ^= 1
    path.write_bytes(content)
    assert main(["admin", "verify", "--data", str(data)]) == 1
    lines = said(capsys)
    assert lines[0].startswith("damage in log-000000000002 at offset 512:")
    assert ": DAMAGED: " in lines[-1]
    assert main(["admin", "verify", "--json", "--data", str(data)]) == 1
    assert json.loads(said(capsys)[-1])["verdict"] == "damaged"
    with pytest.raises(CorruptStoreError, match="not copied"):
        admin.backup(data, data.parent / "backup")
    with pytest.raises(CorruptStoreError, match="not compacted"):
        admin.compact(data)


@pytest.fixture
def tiered(tmp_path: Path) -> tuple[Path, Path]:
    """The data folder of a stopped store, and its folder in tier 2, which has all bytes of two segments."""
    folder, objects = tmp_path / "store", tmp_path / "objects"
    driver = Driver(stored(STORES[0]))
    store = Tiered(driver.storage)
    for folder_made in (folder, objects):
        folder_made.mkdir()
    for number in store.unmoved()[:2]:
        pieces = tuple(store.ranges(number, None))
        data = b"".join(store.read(piece) or b"" for piece in pieces)
        chunk = store.next_chunk
        name = f"chunk-{chunk:012d}-0a"
        checksums = checksums_of(data, store.store_id, chunk)
        driver.do(ops.MoveToTier(Chunk(chunk, name, len(data), checksums), pieces))
        (objects / name).write_bytes(data)
    (objects / MARKER).write_bytes(marker(store.store_id))
    for name, content in driver.disk.contents.items():
        (folder / name).write_bytes(content)
    return folder, objects


def test_verify_checks_chunks_with_tier2_and_says_how_many_it_did_not(
    tiered: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, objects = tiered
    words = ["admin", "verify", "--data", str(folder)]
    assert main(words) == 0
    assert re.search(r": sound: .*; 2 chunks \(\d+ bytes\) in tier 2 not checked$", said(capsys)[-1])
    assert main([*words, "--tier2", str(objects)]) == 0
    assert re.search(r": sound: .* 2 chunks in tier 2, .* 0 damaged$", said(capsys)[-1])
    first, second = sorted(objects.glob("chunk-*"))
    first.write_bytes(b"?" + first.read_bytes()[1:])
    second.unlink()
    assert main([*words, "--json", "--tier2", str(objects)]) == 1
    *found, end = map(json.loads, said(capsys))
    assert [row["where"] for row in found] == [first.name, second.name]
    assert [row["offset"] for row in found] == [0, None]
    assert (end["verdict"], end["chunks"], end["unchecked_chunks"]) == ("damaged", 2, 0)
    (objects / MARKER).write_bytes(marker(bytes(16)))
    with pytest.raises(BadInputError, match="belongs to another store"):
        admin.check(folder, tier2=str(objects))


@pytest.mark.parametrize("fault", ["chunk flipped", "chunk missing", "file missing", "file flipped"])
def test_verify_compares_a_backup_with_its_list(tiered: tuple[Path, Path], fault: str) -> None:
    folder, objects = tiered
    backup = folder.parent / "backup"
    assert "not checked" not in str(admin.backup(folder, backup, tier2=str(objects)).verdict)
    verdict = admin.check(backup)
    assert (verdict.is_sound, verdict.chunks, verdict.unchecked_chunks) == (True, 2, 0)
    with pytest.raises(BadInputError, match="Leave --tier2 out"):
        admin.check(backup, tier2=str(objects))
    kind, harm = fault.split()
    name = next((backup / "tier2").iterdir()).name if kind == "chunk" else "history"
    path = backup / ("tier2" if kind == "chunk" else "") / name
    content = bytearray(path.read_bytes())
    content[10] ^= 1
    path.unlink() if harm == "missing" else path.write_bytes(content)
    [found] = [found for found in admin.check(backup).damage if found.where == name]
    assert found.what.endswith("Use another backup.")
    assert found.next_step == ""
    with pytest.raises(CorruptStoreError):
        admin.restore(backup, folder.parent / "restored", tier2=str(folder.parent / "elsewhere"))


def test_a_missing_tier2_is_noticed_before_anything_is_copied(
    tiered: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, objects = tiered
    backup = folder.parent / "backup"
    admin.backup(folder, backup, tier2=str(objects))
    monkeypatch.setattr(Path, "mkdir", lambda *_, **__: pytest.fail("a folder was made"))
    with pytest.raises(BadInputError, match=r"in 2 chunks in tier 2\. Give the --tier2 that it uses"):
        admin.backup(folder, folder.parent / "second")
    with pytest.raises(BadInputError, match=r"has 2 chunks of tier 2\. Give --tier2 a new folder"):
        admin.restore(backup, folder.parent / "restored")


@pytest.mark.parametrize("name", ["log-000000000002", "snapshot"])
@pytest.mark.parametrize("action", ["backup --to {here}/backup", "compact"])
def test_a_store_of_a_newer_release_is_refused_for_its_version_alone(
    data: Path, name: str, action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written = next(path for path in sorted(data.iterdir(), reverse=True) if path.name.startswith(name))
    content = bytearray(written.read_bytes())
    content[15 if name.startswith("log") else 7] += 2
    written.write_bytes(content)
    assert main(["admin", *action.format(here=data.parent).split(), "--data", str(data)]) == 1
    said = capsys.readouterr().err
    assert re.search(f"The file '{written.name}' has version .* a newer release wrote it", said)
    assert "is damaged" not in said.replace("or the file is damaged", "")
    assert not (data.parent / "backup").exists()
    with pytest.raises(StoreVersionError):
        admin.compact(data)


def test_a_backup_is_restored_and_the_restored_store_serves(data: Path) -> None:
    backup, restored = data.parent / "backup", data.parent / "restored"
    admin.backup(data, backup)
    shutil.rmtree(data)
    assert admin.restore(backup, restored).verdict.findings == ()
    with StoreProcess(restored) as store, connect(store.uri) as client:
        assert client.list_streams("s") == ["events", "late", "logs"]
    assert admin.check(restored).is_sound


@pytest.mark.parametrize("fault", ["flip", "missing", "escape", "no list"])
def test_a_damaged_backup_is_refused(data: Path, fault: str) -> None:
    backup, restored = data.parent / "backup", data.parent / "restored"
    admin.backup(data, backup)
    listed: dict[str, Any] = json.loads((backup / "backup.json").read_text())
    path = backup / listed["files"][0]["name"]
    if fault == "flip":
        content = bytearray(path.read_bytes())
        content[700] ^= 1
        path.write_bytes(content)
    elif fault == "missing":
        path.unlink()
    elif fault == "escape":
        listed["files"][0]["name"] = "../log-000000000001"
        (backup / "backup.json").write_text(json.dumps(listed))
    else:
        (backup / "backup.json").unlink()
    with pytest.raises((CorruptStoreError, BadInputError)):
        admin.restore(backup, restored)
    assert sorted(data.parent.iterdir()) == [backup, data]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"format": 3, "files": None},
            "admin: The backup .* has version 3, .* reads version 2",
        ),
        ({"format": "x"}, "its format is no number"),
        ({"files": [{"name": "log-000000000001"}]}, "is no backup: .*KeyError"),
        ({"files": [{"name": 5, "size": 1, "bytes": 1, "crc32": 1}]}, "a file needs a name and numbers"),
        ({"files": [{"name": "a", "size": "1", "bytes": 1, "crc32": 1}]}, "a file needs a name and numbers"),
        ({"files": [{"name": "a", "size": 1, "bytes": -1, "crc32": 1}]}, "'a' cannot have -1 of 1 bytes"),
        ({"files": [{"name": "a", "size": 1 << 70, "bytes": 1, "crc32": 1}]}, "'a' cannot have 1 of"),
        ({"chunks": [{"name": "chunk"}]}, "is no backup: .*KeyError"),
        ({"chunks": 7}, "is no backup: .*TypeError"),
    ],
)
def test_a_list_that_says_nonsense_is_refused_in_words(
    data: Path, change: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    backup, restored = data.parent / "backup", data.parent / "restored"
    admin.backup(data, backup)
    listed = json.loads((backup / "backup.json").read_text())
    (backup / "backup.json").write_text(json.dumps(listed | change))
    assert main(["admin", "restore", "--from", str(backup), "--data", str(restored)]) == 1
    assert re.search(message, capsys.readouterr().err)
    assert not restored.exists()


@pytest.mark.parametrize("words", ["list", "verify", "backup --to {here}/b", "compact"])
def test_a_folder_that_cannot_be_used_is_named(
    data: Path, words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may read everything, so the system's refusal is put in the way."""
    real = os.open

    def refuse(path: Any, *arguments: Any, **options: Any) -> int:
        if str(path).endswith("log-000000000002"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", refuse)
    assert main(["admin", *words.format(here=data.parent).split(), "--data", str(data)]) == 1
    assert re.search("cannot use '.*log-000000000002': Permission denied. Look at", capsys.readouterr().err)


@pytest.mark.parametrize("action", ["backup", "restore"])
def test_a_copy_for_which_the_disk_has_no_room_leaves_nothing(
    data: Path, action: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    backup, restored = data.parent / "backup", data.parent / "restored"
    words, target = ["backup", "--data", str(data), "--to", str(backup)], backup
    if action == "restore":
        admin.backup(data, backup)
        words, target = ["restore", "--from", str(backup), "--data", str(restored)], restored

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    before = sorted(data.parent.iterdir())
    assert main(["admin", *words]) == 1
    assert f"There is no room for {str(target)!r} (" in capsys.readouterr().err
    assert sorted(data.parent.iterdir()) == before


@pytest.mark.parametrize("action", ["list", "dump", "verify"])
def test_an_output_that_has_no_room_is_no_fault_of_the_store(data: Path, action: str) -> None:
    """It said "list cannot use: No space left on device. Look at the owner and the mode of the files"."""
    command = [sys.executable, "-m", "pravega_lab.cli", "admin", action, "--data", str(data)]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, cwd=ROOT, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (
        1,
        "pravega-lab admin: the output: No space left on device\n",
    )


def test_a_name_that_is_no_text_is_spelled_out(data: Path) -> None:
    odd = os.fsencode(data.parent) + b"/\xff\n"
    os.rename(data, odd)
    command = [sys.executable, "-m", "pravega_lab.cli", "admin", "verify", "--data", odd]
    done = subprocess.run(command, capture_output=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\udcff\\n: sound" in done.stdout


def test_a_file_in_the_place_of_an_unfinished_backup_is_left_alone(data: Path) -> None:
    mine = data.parent / "backup.unfinished"
    mine.write_text("mine")
    with pytest.raises(BadInputError, match=r"backup\.unfinished' is in the way: .* Move that file away"):
        admin.backup(data, data.parent / "backup")
    assert mine.read_text() == "mine"


def test_two_backups_of_one_name_do_not_disturb_each_other(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, before = data.parent / "backup", set(data.parent.iterdir())
    module = importlib.import_module("pravega_lab.terminal.admin.backup")
    copy_chunks = module.copy_chunks

    def begin_another(*arguments: Any) -> Any:
        with pytest.raises(BadInputError, match=r"Another command is making .*backup' at this moment"):
            admin.backup(data, target)
        return copy_chunks(*arguments)

    monkeypatch.setattr(module, "copy_chunks", begin_another)
    assert admin.backup(data, target).verdict.is_sound
    assert admin.check(target).is_sound
    assert set(data.parent.iterdir()) - before == {target}


def test_a_copy_is_not_made_in_the_place_of_a_mount_point(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin.backup(data, data.parent / "backup")
    (data.parent / "mount").mkdir()
    monkeypatch.setattr(Path, "is_mount", lambda path: path.name == "mount")
    with pytest.raises(BadInputError, match=r"is a mount point.* Give --to a new folder inside it"):
        admin.backup(data, data.parent / "mount")
    with pytest.raises(BadInputError, match=r"is a mount point.* Give --data a new folder inside it"):
        admin.restore(data.parent / "backup", data.parent / "mount")


def test_chunks_are_restored_where_a_failed_restore_has_left_some_and_no_store_uses_them(
    tiered: tuple[Path, Path],
) -> None:
    folder, objects = tiered
    backup, elsewhere = folder.parent / "backup", folder.parent / "elsewhere"
    admin.backup(folder, backup, tier2=str(objects))
    elsewhere.mkdir()
    shutil.copy(next((backup / "tier2").iterdir()), elsewhere)
    admin.restore(backup, folder.parent / "restored", tier2=str(elsewhere))
    with pytest.raises(BadInputError, match=r"is not empty: it has 'store'\. Give a new folder"):
        admin.restore(backup, folder.parent / "again", tier2=str(elsewhere))


@pytest.mark.parametrize(
    ("tier2", "what"),
    [("backup/tier2", "backup"), ("restored/tier2", "new data folder"), ("restored", "new data folder")],
)
def test_chunks_are_not_restored_into_the_backup_or_the_data_folder(
    tiered: tuple[Path, Path], tier2: str, what: str
) -> None:
    """The restored store deleted chunks of the backup, or was not made because its folder was not empty."""
    folder, objects = tiered
    backup, restored = folder.parent / "backup", folder.parent / "restored"
    admin.backup(folder, backup, tier2=str(objects))
    with pytest.raises(BadInputError, match=f"is in the {what}"):
        admin.restore(backup, restored, tier2=f"file://{folder.parent / tier2}")
    assert not restored.exists()
    assert admin.check(backup).is_sound


def test_a_backup_is_not_compacted(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    backup = data.parent / "backup"
    admin.backup(data, backup)
    before = {path.name: path.read_bytes() for path in backup.iterdir()}
    assert main(["admin", "compact", "--data", str(backup)]) == 1
    assert "is a backup, and a change would make it useless" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in backup.iterdir()} == before


def test_a_store_of_another_user_is_not_compacted(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root could, but the files that it makes are closed to the user who runs the store."""
    me = os.geteuid()
    before = sorted(data.iterdir())
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.raises(BadInputError, match=rf"belong to the user with the id {me}, .* sudo -u '#{me}'"):
        admin.compact(data)
    assert sorted(data.iterdir()) == before


def test_a_backup_can_be_backed_up(data: Path) -> None:
    first, second = data.parent / "first", data.parent / "second"
    admin.backup(data, first)
    admin.backup(first, second)
    assert sorted(path.name for path in first.iterdir()) == sorted(path.name for path in second.iterdir())
    assert admin.restore(second, data.parent / "restored").verdict.is_sound


class BrokenObjects:
    """A folder in tier 2 whose file system raises an error of its own."""

    async def read(self, name: str = "", start: int = 0, end: int | None = None) -> bytes:
        raise RuntimeError("no route to the bucket")

    names = read

    def close(self) -> None:
        """Nothing is open."""


def test_a_tier_that_fails_is_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tier_copies, "FsspecObjects", lambda url, options: BrokenObjects())
    with pytest.raises(
        StoreUnavailableError, match=r"Tier 2 failed \(RuntimeError: no route to the bucket\)"
    ):
        tier_copies.restore_chunks(data, [{"name": "chunk"}], bytes(16), "s3://bucket/x", {})
    with pytest.raises(StoreUnavailableError, match="Check --tier2 and --tier2-options"):
        tier_copies._read(BrokenObjects(), "chunk")  # type: ignore[arg-type]


def test_a_bucket_that_does_not_exist_is_a_failing_tier(
    tiered: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no objects, and cannot be written to."""
    folder, objects = tiered
    admin.backup(folder, folder.parent / "backup", tier2=str(objects))

    async def write(*_: object) -> None:
        raise FileNotFoundError("The specified bucket does not exist")

    monkeypatch.setattr(tier_copies.FsspecObjects, "write", write)
    with pytest.raises(StoreUnavailableError, match=r"bucket does not exist\)\. Check --tier2 and"):
        admin.restore(folder.parent / "backup", folder.parent / "restored", tier2=str(folder.parent / "new"))
    assert not (folder.parent / "restored").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["list", "--data", "nowhere"], "is not the data folder of a store: it does not exist"),
        (["list", "--data", "{data}/log-000000000001"], "is not the data folder of a store: it is a file"),
        (["backup", "--data", "{data}"], "backup needs --to DIR"),
        (["list", "--data", "{data}", "--to", "x"], "list takes no --to DIR"),
        (["backup", "--data", "{data}", "--to", "{data}"], "exists and is not empty"),
        (["backup", "--data", "{data}", "--to", "{data}/backup"], "is inside the data folder"),
        (["inspect", "s/nothing", "--data", "{data}"], "there is no stream 's/nothing'"),
        (["dump", "log-9", "--data", "{data}"], "there is no log file 'log-9'"),
        (["verify", "s/a", "--data", "{data}"], "verify takes no name"),
    ],
)
def test_bad_input_is_refused_in_words(
    data: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["admin", *(word.format(data=data) for word in words)]) == 1
    assert message in capsys.readouterr().err


# -- a running store -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[int]]]:
    """The folder of a running store to which a writer adds numbered events, and the number acknowledged."""
    folder = tmp_path_factory.mktemp("busy") / "store"
    acknowledged, stop = [0], threading.Event()
    with StoreProcess(folder) as store, connect(store.uri) as client:
        stream = client.create_stream("s/numbers")

        def write() -> None:
            while not stop.wait(0.005):
                first = acknowledged[0]
                stream.write([b"%d" % n for n in range(first, first + 20)], ["k"] * 20)
                acknowledged[0] = first + 20

        writer = threading.Thread(target=write)
        writer.start()
        try:
            yield folder, acknowledged
        finally:
            stop.set()
            writer.join()


@pytest.mark.slow
def test_a_backup_of_a_running_store_is_consistent(busy: tuple[Path, list[int]], tmp_path: Path) -> None:
    folder, acknowledged = busy
    for number in range(2):
        while acknowledged[0] < 200 * number + 20:
            time.sleep(0.01)
        least = acknowledged[0]
        admin.backup(folder, tmp_path / f"backup-{number}")
        restored = tmp_path / f"restored-{number}"
        admin.restore(tmp_path / f"backup-{number}", restored)
        with admin.folder.FrozenFolder(restored) as copy:
            data = open_storage(copy).read("s/numbers/0.#epoch.0", 0, 1 << 30).data
        events = [event for _, event in events_in(data, 0)]
        assert events == [str(n) for n in range(len(events))]
        assert len(events) >= least


@pytest.mark.slow
def test_a_running_store_is_checked_and_listed_and_not_changed(busy: tuple[Path, list[int]]) -> None:
    folder, _ = busy
    for _ in range(2):
        verdict = admin.check(folder)
        assert verdict.findings == ()
        assert verdict.is_running
    assert "numbers" in [row["stream"] for row in admin.rows(folder)]
    with pytest.raises(Exception, match="in use by another store"):
        admin.compact(folder)


@pytest.mark.slow
def test_a_running_store_without_its_lock_file_is_no_stopped_one(busy: tuple[Path, list[int]]) -> None:
    folder, _ = busy
    (folder / "lock").unlink()
    for mode in (0o700, 0o755):  # by the lock on the folder, and by the one on the log
        folder.chmod(mode)
        assert admin.folder.is_in_use(folder)
        verdict = admin.check(folder)
        assert verdict.findings == ()
        assert verdict.is_running
    folder.chmod(0o700)


def test_a_stopped_store_is_not_in_use(data: Path) -> None:
    for mode in (0o700, 0o755):
        data.chmod(mode)
        assert not admin.folder.is_in_use(data)
    assert not admin.folder.is_in_use(data / "nothing")


@pytest.mark.slow
def test_a_backup_with_tier_2_is_consistent_and_restored_elsewhere_after_a_kill(tmp_path: Path) -> None:
    def tier(folder: Path) -> tuple[str, ...]:
        return ("--tier2", str(folder), "--tier2-chunk-bytes", "4096", "--tier2-after-s", "0.02")

    folder, objects, backup = tmp_path / "store", tmp_path / "objects", tmp_path / "backup"
    written = 0
    with StoreProcess(folder, options=tier(objects)) as store, connect(store.uri) as client:
        stream = client.create_stream("s/numbers")
        while len(list(objects.glob("chunk-*"))) < 5:
            stream.write([b"%d" % n for n in range(written, written + 100)], ["k"] * 100)
            written += 100
        with pytest.raises(BadInputError, match="Give the --tier2 that it uses"):
            admin.backup(folder, backup)
        assert (
            main(["admin", "backup", "--data", str(folder), "--to", str(backup), "--tier2", str(objects)])
            == 0
        )
        stream.write([b"after the backup"], "k")
        store.kill()
    shutil.rmtree(folder)
    shutil.rmtree(objects)
    restored, elsewhere = tmp_path / "restored", tmp_path / "elsewhere"
    with pytest.raises(BadInputError, match="Give --tier2 a new folder"):
        admin.restore(backup, restored)
    assert list(tmp_path.glob("restored*")) == []
    admin.restore(backup, restored, tier2=str(elsewhere))
    assert admin.check(restored).is_sound
    [row] = [row for row in admin.rows(restored) if row["stream"] == "numbers"]
    assert row["tier2_bytes"] > 0  # type: ignore[operator]
    assert row["log_bytes"] + row["tier2_bytes"] == row["bytes"]  # type: ignore[operator]
    with StoreProcess(restored, options=tier(elsewhere)) as store, connect(store.uri) as client:
        with client.stream("s/numbers").read() as batches:
            events = [event for batch in batches for event in batch.column("event").to_pylist()]
        assert events == [b"%d" % n for n in range(written)]
        client.stream("s/numbers").write([b"it serves"], "k")
    with pytest.raises(BadInputError, match="is not empty"):
        admin.restore(backup, tmp_path / "again", tier2=str(elsewhere))


@pytest.mark.slow
def test_a_backup_without_one_of_its_chunks_is_refused(tmp_path: Path) -> None:
    folder, objects = tmp_path / "store", tmp_path / "objects"
    options = ("--tier2", str(objects), "--tier2-chunk-bytes", "4096", "--tier2-after-s", "0.02")
    with StoreProcess(folder, options=options) as store, connect(store.uri) as client:
        stream = client.create_stream("s/a")
        while not any(row["tier2_bytes"] for row in admin.rows(folder)):
            stream.write([bytes(1000)] * 10, "k")
    admin.backup(folder, tmp_path / "backup", tier2=str(objects))
    next((tmp_path / "backup" / "tier2").iterdir()).unlink()  # each of them is needed
    with pytest.raises(CorruptStoreError, match="is missing or damaged"):
        admin.restore(tmp_path / "backup", tmp_path / "restored", tier2=str(tmp_path / "elsewhere"))
    assert not (tmp_path / "restored").exists()
    shutil.rmtree(objects)
    with pytest.raises(CorruptStoreError, match="is missing in tier 2"):
        admin.backup(folder, tmp_path / "second", tier2=str(objects))
