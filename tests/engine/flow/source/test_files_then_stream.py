"""Parquet files as a source, and files and then a stream as one source, through failures and in order."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pravega_lab.engine.flow.batch import Row
from pravega_lab.engine.flow.errors import DamagedCheckpointError, JobFailedError, RestoreError
from pravega_lab.engine.flow.files import Files, FsspecFiles, MemoryFiles
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.master.job import run
from pravega_lab.engine.flow.master.restart import NoRestart
from pravega_lab.engine.flow.sink.file_sink import TwoPhaseFileSink, committed_rows
from pravega_lab.engine.flow.source.collections import RowsSource, RowsSplit
from pravega_lab.engine.flow.source.hand_over import HandOver, HybridSplit
from pravega_lab.engine.flow.source.hybrid import HybridSource, HybridState
from pravega_lab.engine.flow.source.parquet import ParquetSource
from pravega_lab.engine.flow.source.sources import Boundedness
from pravega_lab.engine.flow.state import plain_values as plain
from pravega_lab.engine.simulation.flow.files_then_stream import run_history
from pravega_lab.engine.simulation.kernel.traffic import Size
from pravega_lab.errors import BadInputError
from tests.engine.flow.jobs import CHECKPOINTED, Virtual, collect

SMALL = Size(messages=1_000, failures=1)
ROWS = [{"n": n, "at": at} for n, at in enumerate([30, 31, 10, 11, 20, 21])]


def files_of(rows: list[Row], folder: Path, *, group_rows: int = 2, **options: Any) -> Path:
    path = folder / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=group_rows, **options)
    return path


WITHOUT_RESTART = replace(CHECKPOINTED, restart=NoRestart())


def read_all(source: ParquetSource, parallelism: int = 1) -> list[int]:
    env, found = StreamEnvironment("files", parallelism=parallelism), []
    collect(env.from_source(source), found)
    run(env.job_graph(), WITHOUT_RESTART, files=MemoryFiles())
    return [row["n"] for row, _ in found]


def test_files_then_stream() -> None:
    assert run_history(3, size=SMALL).problems == []  # this seed also shows three planted bugs


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2])
def test_more_files_then_stream(seed: int) -> None:
    result = run_history(seed)
    assert result.problems == []
    assert result.traffic.failures is not None
    assert result.traffic.failures >= 2


def test_no_row_of_the_stream_is_read_before_the_last_of_the_files() -> None:
    virtual, found = Virtual(), []
    pauses = iter([0, 500] + [1] * 1000)  # one reader of the files is slow
    files = RowsSource([{"n": n} for n in range(6)], splits=2, batch_rows=1, pause_ms=lambda: next(pauses))
    stream = RowsSource([{"n": n} for n in range(6, 12)], splits=2, batch_rows=1)
    env = StreamEnvironment("both", parallelism=2)
    collect(env.from_source(HybridSource(files, stream)), found)
    virtual.finish(env)
    read = [row["n"] for row, _ in found]
    assert sorted(read) == list(range(12))
    assert sorted(read[:6]) == list(range(6))


def test_a_reader_that_waits_keeps_its_restored_splits() -> None:
    rows = RowsSource([{"n": 1}])
    told: list[Any] = []
    context: Any = SimpleNamespace(
        send_source_event=told.append, cut_passed=None, now_ms=None, subtask_index=0
    )
    reader = HybridSource(rows, rows).create_reader(context)
    splits = [HybridSplit(1, RowsSplit("b", 0, 1)), HybridSplit(0, RowsSplit("a", 0, 1))]
    reader.add_splits(splits)
    reader.start()
    assert told == [("arrived", 0)]
    assert reader.snapshot_state(1) == splits


def test_a_reader_set_back_to_the_files_reads_what_came_back_and_then_the_stream() -> None:
    hand_over, back = HandOver(), HybridSplit(0, RowsSplit("a", 0, 1))
    assert [hand_over.arrived(n, None) for n in (0, 1)] == [0, 0]
    assert not hand_over.finished(0, 0, readers=2)
    hand_over.restarted(0)  # it failed after it had finished: it does not count any more
    assert not hand_over.finished(1, 0, readers=2)
    assert hand_over.arrived(0, 0) == 0
    assert hand_over.finished(0, 0, readers=2)
    assert [hand_over.arrived(n, None) for n in (0, 1)] == [1, 1]
    hand_over.returned.append(back)
    hand_over.restarted(1)
    assert hand_over.arrived(1, 1) == 0
    assert hand_over.take_returned(0) == [back]
    assert 1 not in hand_over.present
    assert not hand_over.finished(1, 0, readers=2)
    assert hand_over.arrived(1, None) == 1
    assert sorted(hand_over.present) == [0, 1]


def test_row_groups_come_in_the_order_of_their_times(tmp_path: Path) -> None:
    path = files_of(ROWS, tmp_path)
    assert read_all(ParquetSource(path)) == [0, 1, 2, 3, 4, 5]
    assert read_all(ParquetSource(path, order_by="at", batch_rows=1)) == [2, 3, 4, 5, 0, 1]
    assert sorted(read_all(ParquetSource(path, columns=["n"]), parallelism=3)) == [0, 1, 2, 3, 4, 5]


def test_a_folder_as_spark_writes_it(tmp_path: Path) -> None:
    files_of(ROWS, tmp_path)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".rows.parquet.crc").touch()
    assert read_all(ParquetSource(tmp_path)) == [0, 1, 2, 3, 4, 5]


def _folder_without_files(folder: Path) -> ParquetSource:
    (folder / "notes.txt").touch()
    return ParquetSource(folder)


def _no_parquet(folder: Path) -> ParquetSource:
    (folder / "rows.parquet").write_bytes(b"n,at\n1,2\n")
    return ParquetSource(folder)


def _cut_short(folder: Path) -> ParquetSource:
    path = files_of(ROWS, folder)
    path.write_bytes(path.read_bytes()[:-9])
    return ParquetSource(path)


def _other_columns(folder: Path) -> ParquetSource:
    paths = [folder / "a.parquet", folder / "b.parquet"]
    pq.write_table(pa.table({"n": [1]}), paths[0])
    pq.write_table(pa.table({"n": ["1"]}), paths[1])
    return ParquetSource(paths)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: ParquetSource(folder / "gone.parquet"), r"there is no file '.*gone.parquet'"),
        (_folder_without_files, r"no file in the folder .* it has \['notes.txt'\]"),
        (_no_parquet, "'.*rows.parquet' cannot be read as a Parquet file"),
        (_cut_short, "'.*rows.parquet' cannot be read as a Parquet file"),
        (_other_columns, r"a.parquet' has \{'n': 'int64'\} and '.*b.parquet' has \{'n': 'string'\}"),
        (lambda f: ParquetSource(files_of(ROWS, f), columns=["m"]), "has no column 'm'; its columns are"),
        (lambda f: ParquetSource(files_of(ROWS, f), order_by="m"), "no column 'm' to order by; its columns"),
        (
            lambda f: ParquetSource(files_of(ROWS, f, write_statistics=False), order_by="at"),
            "row group 0 of .* does not say the lowest value of 'at': write the file with statistics",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_named(make: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=words):
        asyncio.run(make(tmp_path).find_splits())


def test_a_job_fails_with_the_name_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(JobFailedError, match=r"gone.parquet"):
        read_all(ParquetSource(tmp_path / "gone.parquet"))


def test_a_file_that_changed_since_the_checkpoint_is_refused(tmp_path: Path) -> None:
    source = ParquetSource(files_of(ROWS, tmp_path))
    [split, *_] = asyncio.run(source.find_splits())
    files_of(ROWS * 2, tmp_path)
    with pytest.raises(RestoreError, match=r"rows.parquet' has [\d,]+ bytes and had [\d,]+ when"):
        asyncio.run(source.opened.read(split))


def test_a_file_that_was_written_again_with_the_same_size_is_refused(tmp_path: Path) -> None:
    source = ParquetSource(files_of(ROWS, tmp_path, compression=None, use_dictionary=False))
    [split, *_] = asyncio.run(source.find_splits())
    assert asyncio.run(source.opened.read(split)).num_rows == 2
    files_of(ROWS[::-1], tmp_path, compression=None, use_dictionary=False)
    with pytest.raises(RestoreError, match=r"rows.parquet' was written again after the source began"):
        asyncio.run(source.opened.read(split))


def test_a_split_of_an_older_savepoint_is_still_read(tmp_path: Path) -> None:
    path = files_of(ROWS, tmp_path)
    source, stored = ParquetSource(path), (str(path), 1, 2, path.stat().st_size, 1)
    split = source.split_serializer().from_bytes(1, plain.to_bytes(stored))
    [waiting] = source.enumerator_serializer().from_bytes(1, plain.to_bytes([stored]))
    assert split == waiting
    assert asyncio.run(source.opened.read(split)).column("n").to_pylist() == [2, 3]


def test_a_savepoint_among_the_files_resumes_at_its_row(tmp_path: Path) -> None:
    virtual = Virtual()
    virtual.files.data["in/rows.parquet"] = files_of([{"n": n} for n in range(40)], tmp_path).read_bytes()

    def copying(parallelism: int) -> StreamEnvironment:
        env = StreamEnvironment("copying", parallelism=parallelism)
        history = ParquetSource("in", batch_rows=1, pause_ms=lambda: 10, files=virtual.files)
        live = RowsSource([{"n": n} for n in range(40, 50)], boundedness=Boundedness.CONTINUOUS_UNBOUNDED)
        both = env.from_source(HybridSource(history, live), uid="source")
        both.sink_to(TwoPhaseFileSink("out", virtual.files), uid="sink")
        return env

    async def story() -> list[int]:
        for number, parallelism in enumerate((1, 2, 3)):
            restored = f"sp/{number - 1}" if number else None
            job = virtual.job(copying(parallelism), restore_from=restored)
            await job.start()
            await asyncio.sleep((0.15, 0.06, 2)[number])
            await job.stop_with_savepoint(f"sp/{number}")
        return sorted(row["n"] for row in await committed_rows("out", virtual.files))

    assert virtual.run(story) == list(range(50))


def test_bad_sources_are_refused() -> None:
    rows, endless = RowsSource([]), RowsSource([], boundedness=Boundedness.CONTINUOUS_UNBOUNDED)
    with pytest.raises(BadInputError, match="at least two sources"):
        HybridSource(rows)
    with pytest.raises(BadInputError, match=r"source 1 of 2 \(RowsSource\) never ends"):
        HybridSource(endless, rows)
    with pytest.raises(BadInputError, match="nothing to read"):
        ParquetSource([])
    with pytest.raises(BadInputError, match="batch_rows=0"):
        ParquetSource("x", batch_rows=0)
    assert HybridSource(rows, endless).boundedness is Boundedness.CONTINUOUS_UNBOUNDED


def test_a_checkpoint_of_more_sources_is_refused() -> None:
    rows = RowsSource([{"n": 1}])
    three, two = HybridSource(rows, rows, rows), HybridSource(rows, rows)
    state = HybridState(2, [RowsSplit("a", 0, 1)], (HybridSplit(1, RowsSplit("b", 0, 1)),))
    data = three.enumerator_serializer().to_bytes(state)
    assert three.enumerator_serializer().from_bytes(1, data) == state
    with pytest.raises(RestoreError, match="is of source 3 of a hybrid source, which now has 2"):
        two.enumerator_serializer().from_bytes(1, data)
    with pytest.raises(DamagedCheckpointError):
        two.split_serializer().from_bytes(1, data[:-3])


def test_a_store_that_opens_files_reads_only_what_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"0123456789")
    stores: list[Files] = [FsspecFiles(), Virtual().files]
    asyncio.run(stores[1].write(str(path), b"0123456789"))
    for files in stores:
        assert asyncio.run(files.read_with(str(path), lambda file: (file.seek(4), file.read(2)))) == (
            4,
            b"45",
        )
        with pytest.raises(FileNotFoundError):
            asyncio.run(files.read_with(str(path) + "y", lambda file: file.read()))
