"""An outline of a long journal says the same of a moment as the whole journal, in far fewer observations."""

from __future__ import annotations

from math import inf

import pytest

from pravega_lab.observe.group.observations import GroupUpdated
from pravega_lab.observe.journal import journal as journals
from pravega_lab.observe.journal import outline, spill
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import Note, Observation, SegmentMeasured, SegmentTiered

STREAMS = ('s/"a","segment_id":7,', "s/b\\", "s/ü")  # text that JSON escapes


def observation(t: int) -> Observation:
    stream = STREAMS[t % 7 % 3]
    match t % 5:
        case 0:
            return Note(time_ms=t, text=f"at {t}")
        case 1:
            return SegmentTiered(time_ms=t, stream=stream, segment_id=t % 4, offset=t)
        case 2:
            return GroupUpdated(time_ms=t, group=stream, update="x", explained=f"at {t}")
    return SegmentMeasured(time_ms=t, stream=stream, segment_id=t % 4, start_offset=0, write_offset=t)


def state_of(observations: list[Observation]) -> dict[object, Observation]:
    """Return the newest observation of each thing, and all facts."""
    return {(o.kind, *(getattr(o, name) for name in type(o).newest_of or ("seq",))): o for o in observations}


@pytest.fixture(params=[800, 10_000], ids=["in the file", "in memory"])
def journal(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Journal:
    monkeypatch.setattr(outline, "WHOLE", 50)
    monkeypatch.setattr(spill, "WHOLE", 50)
    monkeypatch.setattr(outline, "RUN", 200)
    monkeypatch.setattr(spill, "BLOCK", 200)
    filled = Journal("s", capacity=request.param)
    filled.extend(observation(t) for t in range(4_000))
    assert filled.has_spilled_samples == (request.param == 800)
    return filled


@pytest.mark.parametrize("until_ms", [-1, 0, 57, 1_999, 2_000, 3_980, inf])
def test_an_outline_has_all_facts_and_the_newest_measurements_of_a_moment(
    journal: Journal, until_ms: float
) -> None:
    found, whole = list(journal.outline(until_ms)), journal.since()
    assert [o.seq for o in found] == sorted(o.seq for o in found)
    assert set(found) <= set(whole)
    assert state_of([o for o in found if o.time_ms <= until_ms]) == state_of(
        [o for o in whole if o.time_ms <= until_ms]
    )
    later = [[o for o in some if o.sample and o.time_ms > until_ms] for some in (found, whole)]
    assert later[0][:1] == later[1][:1]


def test_an_outline_is_short_and_parses_no_more(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    whole = spill.from_record
    monkeypatch.setattr(spill, "from_record", lambda record: parsed.append(record) or whole(record))
    samples = [o for o in journal.outline() if o.sample]
    assert len(samples) < 1_000
    assert sum(record["kind"] != "note" for record in parsed) < 1_000


def test_of_a_short_journal_nothing_is_left_out() -> None:
    journal = Journal("s")
    journal.extend(observation(t) for t in range(4_000))
    assert list(journal.outline()) == journal.since()
    assert len(journal) < outline.WHOLE < journals.CAPACITY
