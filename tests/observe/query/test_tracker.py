"""From what Spark tells to observations. The progress is one that Spark 4.3 sent, shortened."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import (
    BatchDone,
    BatchPhase,
    QueryEnded,
    QueryStarted,
    SegmentRead,
)
from pravega_lab.observe.query.fold import BatchRow, fold_batches
from pravega_lab.observe.query.observer import QueryObserver
from pravega_lab.observe.query.sources import CheckpointFolder, ProgressFile
from pravega_lab.observe.query.tracker import QueryTracker, lag_bytes

START_MS = 1_795_250_000_000
DURATIONS = {
    "latestOffset": 2,
    "walCommit": 18,
    "getBatch": 0,
    "queryPlanning": 5,
    "addBatch": 104,
    "commitOffsets": 30,
    "triggerExecution": 165,
}
SOURCE = {
    "description": "PythonMicroBatchStreamWithAdmissionControl@1f",
    "startOffset": {"demo/a": {"0": 100}},
    "endOffset": {"demo/a": {"0": 300}},
    "latestOffset": {"demo/a": {"0": 450}},
}


def progress(batch_id: int, *, run: str = "run-1", at_ms: int = START_MS, **changes: Any) -> dict[str, Any]:
    from datetime import UTC, datetime

    stamp = datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    return {
        "id": "query-1",
        "runId": run,
        "name": "delays",
        "timestamp": stamp,
        "batchId": batch_id,
        "numInputRows": 20,
        "inputRowsPerSecond": 200.0,
        "processedRowsPerSecond": 121.2,
        "durationMs": DURATIONS,
        "stateOperators": [{"numRowsTotal": 7, "numRowsDroppedByWatermark": 0}],
        "sources": [SOURCE],
        "sink": {"description": "PythonTable@2", "numOutputRows": 6},
        **changes,
    }


def test_progress_becomes_a_batch_with_its_phases() -> None:
    found = QueryTracker("delays").progress(progress(4), now_ms=START_MS + 170)
    assert isinstance(found[0], QueryStarted)
    phases = [o for o in found if isinstance(o, BatchPhase)]
    assert [(p.phase, p.duration_ms) for p in phases] == [
        ("plan", 2),
        ("offsets", 18),
        ("plan", 5),
        ("work", 104),
        ("log", 30),
    ]
    assert phases[1].time_ms == START_MS + 2
    (done,) = [o for o in found if isinstance(o, BatchDone)]
    assert (done.batch_id, done.time_ms, done.duration_ms, done.replayed) == (4, START_MS + 165, 165, False)
    assert (done.input_rows, done.output_rows, done.lag_bytes, done.late_rows, done.state_rows) == (
        20,
        6,
        150,
        0,
        7,
    )
    (read,) = [o for o in found if isinstance(o, SegmentRead)]
    assert (read.stream, read.segment_id, read.offset) == ("demo/a", 0, 300)


def test_an_idle_trigger_is_no_batch() -> None:
    idle = progress(5, numInputRows=0, durationMs={"latestOffset": 1, "triggerExecution": 1})
    assert QueryTracker("delays").progress(idle, now_ms=START_MS) == []


def test_a_batch_whose_end_was_logged_before_is_a_replay() -> None:
    without = {k: v for k, v in DURATIONS.items() if k not in ("walCommit", "latestOffset")}
    found = QueryTracker("delays").progress(progress(4, durationMs=without), now_ms=START_MS)
    assert [o.replayed for o in found if isinstance(o, BatchDone)] == [True]


def test_another_run_ends_the_one_before_at_its_last_word() -> None:
    tracker = QueryTracker("delays")
    tracker.progress(progress(4), now_ms=START_MS + 170)
    found = tracker.progress(progress(5, run="run-2", at_ms=START_MS + 9000), now_ms=START_MS + 9200)
    assert isinstance(found[0], QueryEnded)
    assert (found[0].outcome, found[0].time_ms, found[0].cause_kind) == ("gone", START_MS + 170, "inferred")
    assert isinstance(found[1], QueryStarted)
    assert found[1].run == 2


def test_an_end_is_told_once() -> None:
    tracker = QueryTracker("delays")
    tracker.started("run-1", now_ms=0)
    assert len(tracker.ended("failed", now_ms=1, cause="boom")) == 1
    assert tracker.ended("killed", now_ms=2) == []


@pytest.mark.parametrize(
    ("end", "latest", "lag"),
    [
        ({"s/a": {"0": 10}}, {"s/a": {"0": 10}}, 0),
        ({"s/a": {"0": 10}}, {"s/a": {"1": 5, "2": 7}}, 12),
        ({"s/a": {"0": 10}}, None, None),
        ({"offset": 3}, {"offset": 9}, None),
        ('{"s/a":{"0":1}}', '{"s/a":{"0":4}}', 3),
    ],
)
def test_lag_in_bytes(end: Any, latest: Any, lag: int | None) -> None:
    assert lag_bytes([{"endOffset": end, "latestOffset": latest}]) == lag


def line(kind: str, run: int, at_ms: int, **fields: Any) -> bytes:
    return json.dumps({"kind": kind, "run": run, "at_ms": at_ms, **fields}).encode() + b"\n"


def observed(observer: QueryObserver) -> Journal:
    observer.close()
    assert not [o for o in observer.journal.since() if o.kind == "trouble"]
    return observer.journal


def write_run(path: Path, run: str, pid: int, batches: range, at_ms: int) -> None:
    with path.open("ab") as file:
        file.write(b"\n" + line("started", pid, at_ms, id="query-1", run_id=run, name="delays"))
        for k in batches:
            told = progress(k, run=run, at_ms=at_ms + 1000 * k)
            file.write(line("progress", pid, at_ms + 1000 * k + 200, progress=told))


def test_a_progress_file_of_two_runs(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    write_run(path, "run-1", 11, range(3), START_MS)
    with path.open("ab") as file:
        file.write(b'{"kind": "progress", "ru')  # the kill came in the middle of a line
    write_run(path, "run-2", 12, range(3, 5), START_MS + 60_000)
    journal = observed(QueryObserver(path))
    rows = fold_batches(journal.since()).rows
    assert [(r.query, r.batch_id, r.run, r.outcome) for r in rows] == [
        ("delays", 0, 1, "done"),
        ("delays", 1, 1, "done"),
        ("delays", 2, 1, "done"),
        ("delays", 3, 2, "done"),
        ("delays", 4, 2, "done"),
    ]
    assert [o.outcome for o in journal.since() if isinstance(o, QueryEnded)] == ["gone"]


def test_half_a_line_waits_for_its_other_half(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    whole = line("idle", 1, 5, id="q")
    path.write_bytes(whole + whole[:10])
    file = ProgressFile(path)
    assert len(list(file.news())) == 1
    with path.open("ab") as end:
        end.write(whole[10:])
    assert len(list(file.news())) == 1
    assert list(file.news()) == []


def checkpoint(folder: Path, planned: int, committed: int, at_s: float = START_MS / 1000) -> Path:
    for log, n in (("offsets", planned), ("commits", committed)):
        (folder / log).mkdir(parents=True, exist_ok=True)
        for k in range(n):
            entry = folder / log / str(k)
            entry.write_text(f'v1\n{{"batchWatermarkMs":0}}\n{{"demo/a":{{"0":{100 * k}}}}}\n')
            when = at_s + k + (0.4 if log == "commits" else 0)
            os.utime(entry, (when, when))
        (folder / log / f".{n}.crc").write_text("")
    (folder / "metadata").write_text('{"id":"0123456789abcdef"}')
    return folder


def test_a_checkpoint_folder_tells_of_batches_and_times(tmp_path: Path) -> None:
    journal = observed(QueryObserver(checkpoint(tmp_path / "ck", 4, 3)))
    rows = fold_batches(journal.since()).rows
    assert [(r.batch_id, r.outcome, r.duration_ms) for r in rows] == [
        (0, "done", 400),
        (1, "done", 400),
        (2, "done", 400),
        (3, "running", None),
    ]
    assert rows[0].done is not None
    assert rows[0].done.input_rows is None


def test_file_and_folder_together_show_the_batch_that_a_kill_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    write_run(path, "run-1", 11, range(2), START_MS)
    folder = checkpoint(tmp_path / "ck", 3, 2)
    observer = QueryObserver(path, checkpoint=folder, every_ms=10)
    first: list[BatchRow] = []
    for _ in range(500):
        first = fold_batches(observer.journal.since()).rows
        if len(first) == 3:
            break
        observer._closing.wait(0.01)
    write_run(path, "run-2", 12, range(2, 3), START_MS + 30_000)
    rows = fold_batches(observed(observer).since()).rows
    cut, again = [r for r in rows if r.batch_id == 2]
    assert (cut.run, cut.attempt, cut.outcome) == (1, 1, "gone")
    assert (again.run, again.attempt, again.outcome, again.replayed) == (2, 2, "done", True)


def test_the_folder_says_what_a_batch_would_read(tmp_path: Path) -> None:
    events = list(CheckpointFolder(checkpoint(tmp_path / "ck", 2, 1)).news())
    assert [(e["kind"], e["batch_id"]) for e in events] == [("planned", 0), ("committed", 0), ("planned", 1)]
    assert events[2]["end"] == '{"demo/a":{"0":100}}'


def test_it_says_which_columns_it_can_fill(tmp_path: Path) -> None:
    observer = QueryObserver(tmp_path / "ck")
    columns = observer.columns
    observer.close()
    assert observer.sources == ["checkpoint"]
    assert not columns.loc["lag_bytes", "filled here"]
    assert columns.loc["lag_bytes", "progress file"]
    assert columns.loc["duration_ms", "filled here"]


def test_other_things_are_refused() -> None:
    with pytest.raises(BadInputError, match="int"):
        QueryObserver(7)
