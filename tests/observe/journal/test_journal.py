"""The journal: order, bounds that are told, and recordings that survive being cut short."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import (
    Note,
    SegmentMeasured,
    SegmentOpened,
    kinds,
)
from pravega_lab.observe.journal.records import from_record, to_record
from tests.client.reader_group.logs import session_of_seed
from tests.observe.examples import STREAM, killed_query, splitting_story
from tests.observe.group.logs import log_of, told


def note(time_ms: int) -> Note:
    return Note(time_ms=time_ms, text=f"at {time_ms}")


def measured(time_ms: int) -> SegmentMeasured:
    return SegmentMeasured(time_ms=time_ms, stream="s/a", segment_id=0, start_offset=0, write_offset=time_ms)


def test_since_gives_what_is_new_in_order() -> None:
    journal = Journal()
    journal.extend([note(1), measured(2), note(3)])
    seen = journal.next_seq
    journal.extend([measured(4), note(5)])
    assert [o.seq for o in journal.since()] == [0, 1, 2, 3, 4]
    assert [o.time_ms for o in journal.since(seen)] == [4, 5]


def test_an_observation_with_its_number_is_taken_as_it_is() -> None:
    """A recording that is opened has each observation in memory once."""
    first, second = replace(note(1), seq=0), replace(note(2), seq=7)
    journal = Journal()
    assert journal.append(first) is first
    assert journal.append(second) == replace(second, seq=1)


def test_a_full_journal_drops_measurements_before_facts_and_says_so() -> None:
    journal = Journal(capacity=100, spill=False)
    journal.extend([note(0), *(measured(t) for t in range(1000)), note(1001)])
    kept = journal.since()
    assert [o.text for o in kept if isinstance(o, Note)] == ["at 0", "at 1001"]
    dropped = 1002 - len(kept)
    assert dropped >= 875
    assert journal.gap.samples == dropped
    assert str(journal.gap) == f"{dropped} measurements dropped (the oldest; the journal is full)"


def test_nothing_dropped_is_no_gap() -> None:
    assert not Journal(capacity=10).gap
    assert str(Journal().gap) == ""


@pytest.mark.parametrize("name", ["story.jsonl", "story.jsonl.gz"])
def test_a_recording_is_what_was_recorded(tmp_path: Path, name: str) -> None:
    journal = splitting_story().journal
    killed_query(journal)
    loaded = Journal.load(journal.save(tmp_path / name))
    assert loaded.since() == journal.since()
    assert (loaded.source, loaded.until_ms, loaded.live) == (journal.source, journal.until_ms, False)
    assert not loaded.gap


def test_of_a_file_cut_short_the_intact_part_opens(tmp_path: Path) -> None:
    journal = splitting_story().journal
    path = journal.save(tmp_path / "story.jsonl")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    loaded = Journal.load(path)
    intact = len(loaded)
    assert loaded.since() == journal.since()[:intact]
    assert 0.5 * len(journal) < intact < 0.8 * len(journal)
    assert str(loaded.gap) == f"the file is cut short: {intact:,} of {len(journal):,} observations are intact"


def test_a_packed_file_cut_short_opens_too(tmp_path: Path) -> None:
    journal = splitting_story().journal
    path = journal.save(tmp_path / "story.jsonl.gz")
    path.write_bytes(path.read_bytes()[:-400])
    loaded = Journal.load(path)
    assert 0 < len(loaded) < len(journal)
    assert "cut short" in str(loaded.gap)


@pytest.mark.parametrize("content", [b"", b"\x00\x01\n", b'{"a": 1}\n', b"[]\n", b'{"journal": 99}\n'])
def test_other_files_are_refused_in_words(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadInputError, match=r"x\.jsonl"):
        Journal.load(path)


def test_a_kind_of_a_later_version_is_counted_not_guessed(tmp_path: Path) -> None:
    journal = Journal()
    journal.append(note(1))
    path = journal.save(tmp_path / "x.jsonl")
    path.write_text(path.read_text().replace('"kind":"note"', '"kind":"from_the_future"'))
    loaded = Journal.load(path)
    assert len(loaded) == 0
    assert "1 observations are of a kind" in str(loaded.gap)


def test_every_kind_goes_there_and_back() -> None:
    journal = splitting_story().journal
    killed_query(journal)
    for observation in journal.since():
        assert from_record(to_record(observation)) == observation
    assert {o.kind for o in journal.since()} <= set(kinds())


def test_frames_keep_nulls_and_whole_numbers() -> None:
    journal = Journal()
    journal.append(measured(7))
    frame = journal.to_pandas("segment_measured")
    assert frame["write_offset"].dtype == "int64"
    assert frame["events_per_s"].dtype == "Float64"
    assert frame["events_per_s"].isna().all()
    assert list(journal.to_pandas()["kind"]) == ["segment_measured"]


def test_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(BadInputError, match="'segment_opened'"):
        Journal().to_pandas("segment_open")


def test_a_recording_loads_kinds_with_their_values(tmp_path: Path) -> None:
    loaded = Journal.load(splitting_story().journal.save(tmp_path / "a.jsonl"))
    opened = [o for o in loaded.since() if isinstance(o, SegmentOpened)]
    assert opened[0].stream == STREAM
    assert opened[1].predecessors == (opened[0].segment_id,)


def test_there_is_a_frame_of_every_kind() -> None:
    journal = splitting_story().journal
    killed_query(journal)
    journal.extend(told(log_of([u] for u in session_of_seed(1).log)))
    for kind in kinds():
        found = [o for o in journal.since() if o.kind == kind]
        frame = journal.to_pandas(kind)
        assert list(frame["seq"]) == [o.seq for o in found]
        assert set(to_record(found[0]) if found else frame.columns) - {"kind"} == set(frame.columns)


def test_updates_are_the_entries_of_a_state_log() -> None:
    journal = Journal()
    journal.extend(told(log_of([u] for u in session_of_seed(1).log)))
    frame = journal.to_pandas("updates")
    assert list(frame["update"]) == [type(u).__name__ for u in session_of_seed(1).log]
    assert all(frame["explained"])
