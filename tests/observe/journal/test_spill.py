"""What memory has no room for: in a file, in order, and there for `since`, `save` and frames."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.observe import observe
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import Note, Observation, SegmentMeasured
from pravega_lab.observe.journal.spill import Spill


def note(time_ms: int) -> Note:
    return Note(time_ms=time_ms, text=f"at {time_ms}")


def measured(time_ms: int) -> SegmentMeasured:
    return SegmentMeasured(time_ms=time_ms, stream="s/a", segment_id=0, start_offset=0, write_offset=time_ms)


def mixed(n: int) -> list[Observation]:
    return [note(t) if t % 3 == 0 else measured(t) for t in range(n)]


def filled(n: int, capacity: int = 100, spill: bool | Path = True) -> Journal:
    journal = Journal("s/a at home", capacity=capacity, spill=spill, seed=7)
    journal.extend(mixed(n))
    return journal


def test_a_frame_of_facts_reads_no_measurements_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = filled(3_000)
    assert journal.has_spilled_samples
    whole = Spill.since

    def facts_only(spill: Spill, seq: int, *, samples: bool) -> Iterator[Observation]:
        assert not samples
        return whole(spill, seq, samples=samples)

    monkeypatch.setattr(Spill, "since", facts_only)
    assert len(journal.to_pandas("note")) > 100


@pytest.mark.parametrize("n", [10, 126, 1_000, 12_345])
def test_nothing_is_lost_and_the_order_holds(n: int) -> None:
    journal = filled(n)
    assert [(o.seq, o.time_ms) for o in journal.since()] == [(t, t) for t in range(n)]
    assert [type(o) for o in journal.since()] == [type(o) for o in mixed(n)]
    assert len(journal) == n
    assert not journal.gap


@pytest.mark.parametrize("seq", [0, 1, 99, 1_500, 3_999, 4_000, 5_000])
def test_since_reaches_the_file_from_anywhere(seq: int) -> None:
    journal = filled(4_000)
    assert [o.seq for o in journal.since(seq)] == list(range(seq, 4_000))


def test_memory_stays_bounded() -> None:
    journal = filled(20_000)
    assert len(journal._facts) + len(journal._samples) <= 2 * 126


def test_save_has_everything(tmp_path: Path) -> None:
    journal = filled(3_000)
    loaded = Journal.load(journal.save(tmp_path / "all.jsonl.gz"))
    assert loaded.since() == journal.since()
    assert not loaded.gap


def test_frames_have_everything() -> None:
    journal = filled(3_000)
    assert list(journal.to_pandas("note")["time_ms"]) == list(range(0, 3_000, 3))
    assert len(journal.to_pandas()) == 3_000


def test_a_named_file_opens_as_a_recording_of_what_left_memory(tmp_path: Path) -> None:
    """Its program died: what was spilled is there, in order, facts and measurements together."""
    path = tmp_path / "deep" / "run.gz"
    journal = filled(3_000, spill=path)
    del journal
    loaded = Journal.load(path)
    times = [o.time_ms for o in loaded.since()]
    assert times == sorted(times)
    assert len(times) > 2_500
    assert (loaded.source, loaded.seed) == ("s/a at home", 7)


def test_of_a_named_file_cut_short_the_intact_blocks_open(tmp_path: Path) -> None:
    path = tmp_path / "run.gz"
    filled(9_000, spill=path)
    whole = len(Journal.load(path))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert 0 < len(Journal.load(path)) < whole


def test_a_named_file_that_exists_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.gz"
    first, second = Journal(capacity=100, spill=path), Journal(capacity=100, spill=path)
    first.extend(mixed(1_000))
    second.extend(note(t) for t in range(5_000, 6_000))
    assert [o.time_ms for o in first.since()] == list(range(1_000))
    assert "File exists" in second.reason
    assert second.gap.facts + len(second.since()) == 1_000
    kept = path.read_bytes()
    with pytest.raises(BadInputError, match="may be the recording of a program that died"):
        Journal(spill=path)
    with pytest.raises(BadInputError, match="the file exists"):
        observe("tcp://127.0.0.1:1", stream="a/b", spill=str(path))
    assert path.read_bytes() == kept


def test_without_a_file_the_oldest_go_and_it_says_so() -> None:
    journal = filled(3_000, spill=False)
    gap = journal.gap
    assert gap.facts + gap.samples + len(journal.since()) == 3_000
    assert "dropped (the oldest; the journal is full)" in str(gap)


def test_a_disk_that_is_full_is_said_and_the_journal_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_text("in the way")
    journal = filled(1_000, spill=folder / "run.gz")
    assert journal.since()[-1].time_ms == 999
    assert "the spill file cannot be written" in journal.reason
    assert journal.gap.facts + journal.gap.samples + len(journal.since()) == 1_000


def test_a_file_has_an_end() -> None:
    spill = Spill(None, {"journal": 1}, bytes_max=8_000)
    items = [measured(t) for t in range(20_000)]
    kept = spill.add(items)
    assert 0 < kept < len(items)
    assert kept % 1_000 == 0
    assert len(list(spill.since(-1, samples=True))) == kept


def test_a_reader_goes_on_while_somebody_writes() -> None:
    journal = filled(5_000)
    reading = journal.iterate()
    first = [next(reading).seq for _ in range(10)]
    journal.extend(mixed(5_000))
    assert first + [o.seq for o in reading] == list(range(5_000))


def test_the_file_is_packed_lines(tmp_path: Path) -> None:
    path = tmp_path / "run.gz"
    filled(3_000, spill=path)
    lines = gzip.decompress(path.read_bytes()).splitlines()
    assert lines[0].startswith(b'{"journal": 1')
    assert all(line.startswith(b'{"kind":') for line in lines[1:])
