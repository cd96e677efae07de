"""Files that grow piece by piece, and the sink that writes its rows beside the subtask."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pravega_lab.engine.flow.batch import Batch
from pravega_lab.engine.flow.files import Files, FsspecFiles, GrowingFile, MemoryFiles, join
from pravega_lab.engine.flow.sink.file_sink import BLOCK_BYTES, TwoPhaseFileSink, committed_rows

Made = Callable[[], tuple[Files, str]]


@pytest.fixture(params=["memory", "disk", "memory of fsspec"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Files, str]:
    """Files of each kind, and a folder."""
    if request.param == "memory":
        return MemoryFiles(), "folder"
    if request.param == "disk":
        return FsspecFiles(), str(tmp_path)
    return FsspecFiles(), f"memory://{tmp_path}"


def test_a_growing_file_is_there_when_it_is_complete(made: tuple[Files, str]) -> None:
    files, folder = made

    async def run() -> None:
        path = join(folder, "below", "file")
        file = await files.begin(path)
        await file.append([b"one ", b"two "])
        await file.append([b"three"])
        assert "file" not in await files.names(join(folder, "below"))
        await file.complete()
        assert await files.read(path) == b"one two three"
        await file.discard()  # too late
        assert await files.read(path) == b"one two three"

    asyncio.run(run())


def test_a_discarded_file_leaves_nothing(made: tuple[Files, str]) -> None:
    files, folder = made

    async def run() -> None:
        file = await files.begin(join(folder, "file"))
        await file.append([b"one"])
        await file.discard()
        await file.discard()
        assert await files.names(folder) == []

    asyncio.run(run())


def test_delete_removes_what_a_dead_writer_left(tmp_path: Path) -> None:
    async def run() -> None:
        files = FsspecFiles()
        file = await files.begin(str(tmp_path / "file"))
        await file.append([b"one"])
        assert [path.name for path in tmp_path.iterdir()] == ["file.tmp"]
        await files.delete(str(tmp_path / "file"))
        await file.discard()
        assert list(tmp_path.iterdir()) == []

    asyncio.run(run())


def test_a_relative_path_stays_where_it_was_when_the_program_changes_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a job whose program changes its folder would not find its checkpoint after a failure."""

    async def run() -> None:
        files = FsspecFiles()
        await files.write("state/one", b"1")
        monkeypatch.chdir("other")
        await files.rename("state/one", "state/two")
        assert await files.read("state/two") == b"1"
        assert await files.names("state") == ["two"]

    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    asyncio.run(run())
    assert (tmp_path / "state/two").exists()


# ---- the sink ---------------------------------------------------------------------------------------------


class Context:
    """A `SinkContext` with numbered transactions."""

    subtask_index, parallelism, task_name, is_checkpointing = 0, 1, "sink[0]#0", True

    def __init__(self) -> None:
        self._n = 0

    def now_ms(self) -> int:
        return 0

    def unique_id(self) -> str:
        self._n += 1
        return f"t{self._n}"


ROWS = 20_000
BLOCK = Batch.of_arrow(pa.record_batch({"word": ["x" * 40] * ROWS}))  # more than a block of lines


def opened(folder: str, files: Files) -> TwoPhaseFileSink:
    sink = TwoPhaseFileSink(folder, files)
    sink.open(Context())
    return sink


async def written(sink: TwoPhaseFileSink, transaction: dict[str, Any], batches: Sequence[Batch]) -> None:
    for batch in batches:
        waits: Awaitable[None] | None = sink.write(transaction, batch)
        if waits is not None:
            await waits


def test_rows_of_many_blocks_are_committed_in_order(made: tuple[Files, str]) -> None:
    files, folder = made
    small = [Batch.of_rows([{"n": n}]) for n in range(5)]

    async def run() -> None:
        sink = opened(folder, files)
        transaction = sink.begin()
        await written(sink, transaction, [small[0], BLOCK, small[1], BLOCK, BLOCK, small[2]])
        await sink.pre_commit(transaction)
        assert await committed_rows(folder, files) == []
        await sink.commit(transaction)
        await sink.commit(transaction)
        word = {"word": "x" * 40}
        found = await committed_rows(folder, files)
        assert found == [{"n": 0}, *[word] * ROWS, {"n": 1}, *[word] * 2 * ROWS, {"n": 2}]

    asyncio.run(run())


def test_blocks_are_on_disk_before_the_checkpoint_and_an_abort_removes_them(tmp_path: Path) -> None:
    async def run() -> None:
        sink = opened(str(tmp_path), FsspecFiles())
        transaction = sink.begin()
        await written(sink, transaction, [BLOCK, BLOCK])
        [part] = tmp_path.glob(".pending/*.tmp")
        async with asyncio.timeout(60):
            while part.stat().st_size < BLOCK_BYTES:
                await asyncio.sleep(0.01)
        await sink.abort(transaction)
        assert list(tmp_path.glob(".pending/*")) == []

    asyncio.run(run())


class FailingFile(GrowingFile):
    """A file on a full disk."""

    async def append(self, pieces: Sequence[bytes]) -> None:
        raise OSError(28, "the disk is full")

    async def complete(self) -> None:
        raise AssertionError("what was not written cannot be complete")

    async def discard(self) -> None:
        return


class FullDisk(MemoryFiles):
    """Accepts small files only."""

    async def begin(self, path: str) -> GrowingFile:
        return FailingFile()


def test_a_block_that_cannot_be_written_fails_the_pre_commit() -> None:
    async def run() -> None:
        sink = opened("out", FullDisk())
        transaction = sink.begin()
        await written(sink, transaction, [BLOCK])
        with pytest.raises(OSError, match="the disk is full"):
            await sink.pre_commit(transaction)
        await sink.abort(transaction)

    asyncio.run(run())


def test_the_lines_are_json(tmp_path: Path) -> None:
    async def run() -> None:
        sink = opened(str(tmp_path), FsspecFiles())
        transaction = sink.begin()
        await written(sink, transaction, [BLOCK])
        await sink.pre_commit(transaction)
        [pending] = tmp_path.glob(".pending/*")
        assert len([json.loads(line) for line in pending.read_text().splitlines()]) == ROWS

    asyncio.run(run())


@pytest.mark.parametrize("mask", [0, 0o777])
def test_only_their_user_can_open_private_files(tmp_path: Path, mask: int) -> None:
    path = tmp_path / "job" / "checkpoint-1" / "metadata"
    before = os.umask(mask)
    try:
        asyncio.run(FsspecFiles(private=True).write(str(path), b"state"))
    finally:
        os.umask(before)
    folders = [path.parent.parent, path.parent]
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700, 0o700]
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_umask_decides_who_can_open_other_files(tmp_path: Path) -> None:
    path = tmp_path / "out" / "part-0"
    before = os.umask(0o022)
    try:
        asyncio.run(FsspecFiles().write(str(path), b"row"))
    finally:
        os.umask(before)
    assert (path.parent.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o755, 0o644)
