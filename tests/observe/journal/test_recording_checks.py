"""Recordings that no journal has written: refused with the line and the field, and bounded in memory."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.observe.journal.file import LINE_BYTES_MAX
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import BatchDone, Note, kinds
from pravega_lab.observe.journal.records import from_record, to_record
from pravega_lab.observe.journal.spill import Spill

HEADER = {"journal": 1, "source": "s"}
OPENED = {
    "kind": "segment_opened", "time_ms": 1, "seq": 0, "stream": "s/a", "segment_id": 0, "low": 0.0,
    "high": 1.0, "predecessors": [],
}  # fmt: skip
DONE = {
    "kind": "group_checkpoint_done", "time_ms": 1, "seq": 0, "group": "s/g", "checkpoint": "c",
    "positions": [["s/a/0.#epoch.0", -1]],
}  # fmt: skip
VERTEX = {
    "kind": "vertex_seen", "time_ms": 1, "seq": 0, "job": "j", "vertex": "v", "parallelism": 2,
    "operators": ["v"],
}  # fmt: skip
PLANNED = {
    "kind": "checkpoint_planned", "time_ms": 1, "seq": 0, "job": "j", "checkpoint_id": 1,
    "checkpoint_kind": "checkpoint", "to_trigger": ["v[0]"], "to_wait_for": ["v[1]"],
}  # fmt: skip
CHANNEL = {
    "kind": "channel_measured", "time_ms": 1, "seq": 0, "job": "j", "producer": "a[0]", "consumer": "b[0]",
    "channel": 0, "marks": [["records", 3]], "records": 3, "capacity": 8,
}  # fmt: skip
OFFERED = {
    "kind": "segment_offered", "time_ms": 1, "seq": 0, "group": "s/g", "stream": "s/a", "segment_id": 0,
    "offset": 0, "why": "left",
}  # fmt: skip
COUNTED = {
    "kind": "ledger_counted", "time_ms": 1, "seq": 0, "ledger": "l", "witnesses": ["", "", "", ""],
    "judged": "",
}  # fmt: skip


def recording(path: Path, *records: Any, header: Any = HEADER) -> Path:
    lines = [json.dumps(line) for line in (header, *records)]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.mark.parametrize("record", [OPENED, DONE, VERTEX, PLANNED, CHANNEL, OFFERED, COUNTED])
def test_what_the_next_test_damages_loads(record: dict[str, Any], tmp_path: Path) -> None:
    assert len(Journal.load(recording(tmp_path / "a.jsonl", record))) == 1


@pytest.mark.parametrize(
    ("record", "field", "value", "expected"),
    [
        (OPENED, "time_ms", "now", "a whole number"),
        (OPENED, "time_ms", 10**18, "a whole number"),
        (OPENED, "time_ms", True, "a whole number"),
        (OPENED, "segment_id", -1, "a whole number from 0"),
        (OPENED, "segment_id", 2**63, "a whole number from 0"),
        (OPENED, "stream", 7, "text"),
        (OPENED, "stream", "\ud800", "text of whole characters"),
        (OPENED, "low", -0.1, "a number from 0 to 1"),
        (OPENED, "high", float("nan"), "a number from 0 to 1"),
        (OPENED, "high", "1", "a number from 0 to 1"),
        (OPENED, "predecessors", 3, "a list"),
        (OPENED, "predecessors", ["x"], "a whole number"),
        (OPENED, "exact", "yes", "true or false"),
        (OPENED, "kind", None, "text"),
        (DONE, "positions", [["nowhere", 3]], "a segment's full name"),
        (DONE, "positions", [[3]], "a list with 2 values"),
        (DONE, "gaps", [[0, 2]], "a number from 0 to 1"),
        (VERTEX, "parallelism", 10**9, "a whole number from 1 to 32,768"),
        (PLANNED, "to_trigger", ["v"], "a subtask, vertex"),
        (PLANNED, "to_wait_for", ["v[99999]"], "a subtask, vertex"),
        (CHANNEL, "producer", "a", "a subtask, vertex"),
        (CHANNEL, "marks", [["<script>", 1]], "one of 'records'"),
        (OFFERED, "why", "<script>", "one of 'start'"),
        (COUNTED, "judged", "lost", "one of 'written'"),
        (COUNTED, "lost", -1, "a whole number from 0"),
    ],
)
def test_a_wrong_value_is_named_with_its_line(
    record: dict[str, Any], field: str, value: Any, expected: str, tmp_path: Path
) -> None:
    path = recording(tmp_path / "a.jsonl", record, {**record, field: value})
    with pytest.raises(BadInputError) as caught:
        Journal.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, line 3: field {field!r} ")
    assert f"expected {expected}" in message


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    without = {name: value for name, value in OPENED.items() if name != "low"}
    with pytest.raises(BadInputError, match="line 2: field 'low' of 'segment_opened' is missing"):
        Journal.load(recording(tmp_path / "a.jsonl", without))


@pytest.mark.parametrize(
    "record", [{**DONE, "gaps": [[0, 1]], "gap_streams": ["a", "b"]}, {**COUNTED, "witnesses": ["one"]}]
)
def test_fields_that_do_not_fit_together_are_refused(record: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="line 2: "):
        Journal.load(recording(tmp_path / "a.jsonl", record))


@pytest.mark.parametrize("name", ["source", "seed", "until_ms", "observations", "facts_dropped", "reason"])
def test_the_header_is_checked(name: str, tmp_path: Path) -> None:
    path = recording(tmp_path / "a.jsonl", OPENED, header={**HEADER, name: ["?"]})
    with pytest.raises(BadInputError, match=f"line 1: field '{name}'"):
        Journal.load(path)


def test_every_field_of_every_kind_is_checked() -> None:
    """A value of a type that no field has is refused everywhere: no declared type goes without a check."""
    for kind, cls in kinds().items():
        with pytest.raises(BadInputError):
            from_record({"kind": kind, **{field.name: {"a": 1} for field in fields(cls)}})


def test_a_rate_that_is_not_finite_is_not_known() -> None:
    record = to_record(BatchDone(time_ms=1, query="q", batch_id=0, run=1, input_rows_per_s=float("inf")))
    loaded = from_record(json.loads(json.dumps(record)))
    assert isinstance(loaded, BatchDone)
    assert loaded.input_rows_per_s is None


def test_a_record_nested_without_end_is_no_record(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{'[' * 200_000}\n")
    with pytest.raises(BadInputError, match="no recorded journal"):
        Journal.load(path)


def bomb(path: Path, line: bytes, times: int) -> Path:
    """A file that is a thousand times as long when it is unpacked."""
    with gzip.open(path, "wb") as file:
        file.write(json.dumps(HEADER).encode() + b"\n")
        for _ in range(times):
            file.write(line)
    assert path.stat().st_size < 1_000_000
    return path


def test_a_bomb_of_one_line_ends_early(tmp_path: Path) -> None:
    path = bomb(tmp_path / "bomb.gz", b"0" * (1 << 20), 4 * LINE_BYTES_MAX >> 20)
    tracemalloc.start()
    try:
        with pytest.raises(BadInputError, match="a line of more than"):
            Journal.load(path)
        assert tracemalloc.get_traced_memory()[1] < 4 * LINE_BYTES_MAX
    finally:
        tracemalloc.stop()


def test_a_bomb_of_many_lines_ends_at_the_limit(tmp_path: Path) -> None:
    path = bomb(tmp_path / "bomb.gz", json.dumps({"kind": "?"}).encode() + b"\n", 100_000)
    with pytest.raises(BadInputError, match="more than 1,000,000 bytes when it is unpacked"):
        Journal.load(path, bytes_max=1_000_000)
    assert "100,000 observations are of a kind" in str(Journal.load(path).gap)


def test_a_spill_file_that_another_program_changed_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "run.gz"
    spill = Spill(path, {"journal": 1})
    spill.add([Note(time_ms=t, text="x" * 50, seq=t) for t in range(1_000)])
    [block] = spill._blocks
    with path.open("r+b") as file:
        file.seek(block.at)
        larger = gzip.compress(b"\n" * 10_000_000)
        file.write(larger + b"\0" * (block.length - len(larger)))
    with pytest.raises(OSError, match="the spill file was changed"):
        list(spill.since(0, samples=False))
    spill.close()
