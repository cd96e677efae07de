"""The recorded runs of the tutorials: the command makes the same ones again, with the same verdicts."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from zipfile import ZipFile

import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.observe import Journal
from pravega_lab.observe.landmarks import FAILURE, moments
from pravega_lab.observe.ledger.fold import sentence
from pravega_lab.observe.ledger.observations import Acted, LedgerCounted
from pravega_lab.tutorials.recording import recordings
from pravega_lab.tutorials.recording.recorder import Recorder
from pravega_lab.tutorials.recording.recordings import RUNS, packed, record, recorded

VERDICTS = {
    "desk": "20 doubled",
    "run-1": "8 doubled",
    "run-2": "exact",
    "run-3": "30 out of order",
    "run-4": "33 doubled",
    "run-5": "31 lost",
}
again = cache(record)  # of each name once: it takes seconds


def loaded(name: str) -> Journal:
    return Journal.load(recorded(f"{name}.jsonl.gz"))


def test_each_run_has_its_files_and_no_file_is_left_over() -> None:
    wanted = {f"{name}.jsonl.gz" for name in RUNS}
    wanted |= {f"{name}-store.zip" for name, run in RUNS.items() if run.keeps_store}
    wanted |= {"flip-27-table.json"}  # of `connector_table`
    assert {path.name for path in recordings.FOLDER.iterdir() if not path.name.startswith("__")} == wanted
    assert list(RUNS) == list(VERDICTS)


@pytest.mark.parametrize("name", RUNS)
def test_a_recording_can_be_made_again(name: str) -> None:
    run, kept = again(name), loaded(name)
    assert run.journal.since() == kept.since()
    assert (kept.seed, kept.source, bool(kept.gap)) == (RUNS[name].seed, run.journal.source, False)
    assert run.ledger.verdict().sentence == VERDICTS[name]


@pytest.mark.parametrize("name", RUNS)
def test_a_recording_says_its_verdict(name: str) -> None:
    counts = [o for o in loaded(name).since() if isinstance(o, LedgerCounted)]
    assert sentence(counts[-1]) == VERDICTS[name]


@pytest.mark.parametrize("name", RUNS)
def test_what_was_done_stands_in_no_recording(name: str) -> None:
    seen = loaded(name).since()
    assert not [o for o in seen if isinstance(o, Acted)]
    assert not [m for m in moments(seen) if m.kind == FAILURE]


def test_the_store_is_the_one_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "again.zip").write_bytes(packed(again("desk").disk))
    with ZipFile(tmp_path / "again.zip") as made, ZipFile(recorded("desk-store.zip")) as kept:
        assert made.namelist() == kept.namelist()
        assert [made.read(name) for name in made.namelist()] == [kept.read(name) for name in kept.namelist()]


def test_another_seed_is_another_run() -> None:
    from pravega_lab.tutorials.recording import incidents

    other = Recorder(RUNS["run-2"].seed + 1, incidents.KEYS)
    other.run(incidents.held_up, segments=RUNS["run-2"].segments)
    assert other.journal.since() != loaded("run-2").since()
    assert other.ledger.verdict().is_exact


@pytest.mark.parametrize("name", ["run-6.jsonl.gz", "../book.py", ""])
def test_an_unknown_recording_names_those_that_there_are(name: str) -> None:
    with pytest.raises(BadInputError, match=r"there are desk-store\.zip, desk\.jsonl\.gz"):
        recorded(name)


def test_the_command_writes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recordings, "RUNS", {"desk": RUNS["desk"]})
    monkeypatch.setattr(recordings, "record", again)
    recordings.main([str(tmp_path / "new")])
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["desk-store.zip", "desk.jsonl.gz"]
    assert re.fullmatch(r"desk: \d+ observations, 20 doubled\n", capsys.readouterr().out)
