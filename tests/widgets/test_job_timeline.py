"""The checkpoint timeline of a job, and of a job and the reader group whose checkpoints it induces."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from pravega_lab.observe import Journal, fold_jobs
from pravega_lab.observe.job.observations import CheckpointAligned, CheckpointFailed, SourceCut
from pravega_lab.observe.job.words import words_of
from pravega_lab.widgets import CheckpointTimeline, show
from pravega_lab.widgets.checkpoint_timeline import view as checkpoint_timeline
from pravega_lab.widgets.checkpoint_timeline.job_rows import NOTHING
from tests.observe.job.examples import GROUP, AnswersFirst, both_systems, half_run, whole_run
from tests.widgets.test_group_views import Page

ORDER = ["trigger", "align", "snapshot", "acknowledge", "notice"]


def test_a_row_per_checkpoint() -> None:
    frame = CheckpointTimeline(whole_run()).frame
    assert list(frame["number"]) == [1, 2, 3]
    assert set(frame["system"]) == {"job"}
    assert set(frame["source"]) == {"words"}
    assert list(frame["state"]) == ["completed"] * 3
    assert list(frame["done"]) == list(frame["of"]) == [9, 9, 9]
    for sentence in frame["held_up"]:
        assert re.fullmatch(r"held up by sink \d/2: \d+ ms \(\d+ ms of it until its barrier came\)", sentence)


def test_phases_of_each_subtask_follow_each_other() -> None:
    parts = CheckpointTimeline(whole_run()).parts
    for (_, row), phases in parts[parts["phase"].isin(ORDER)].groupby(["number", "row"]):
        names = list(phases["phase"])
        assert names == sorted(names, key=ORDER.index)
        assert ("align" in names) == (row.startswith(("aggregate", "sink")))
        for before, after in pairwise(names):
            if after != "notice":
                rows = phases.set_index("phase")
                assert rows.loc[before, "end_s"] == rows.loc[after, "start_s"]


def test_a_finished_subtask_has_nothing_to_snapshot() -> None:
    view = CheckpointTimeline(whole_run(), checkpoint="checkpoint 3")
    finished = view.parts[view.parts["skipped"] != ""]
    assert list(finished["row"]) == ["once 1/1"]
    _, picture = view.picture()
    assert isinstance(picture, str)
    assert NOTHING in picture
    assert picture.count('text-decoration="line-through"') == 1


def test_a_running_one_says_whom_it_waits_for() -> None:
    frame = CheckpointTimeline(half_run()).frame
    assert frame.iloc[-1]["state"] == "running"
    assert "so far" in frame.iloc[-1]["held_up"]
    assert "barrier of channel" in "\n".join(half_run().explain())


def test_barriers_are_told_channel_by_channel() -> None:
    page = Page(checkpoint_timeline.CHECKPOINT)
    page.formats["ticks"] = (checkpoint_timeline.TICK, False)
    page.take(CheckpointTimeline(whole_run()).snapshot())
    names = dict(page.lists["rows"])
    parts = {row[0]: (row[1], names[row[2]]) for row in page.rows("parts")}
    first = sorted((parts[p][1], channel) for p, _, channel in page.rows("ticks") if parts[p][0] == 0)
    assert first == [
        *[("aggregate 1/2", c) for c in range(3)], *[("aggregate 2/2", c) for c in range(3)],
        *[("sink 1/2", c) for c in range(2)], *[("sink 2/2", c) for c in range(2)],
    ]  # fmt: skip


def test_deltas_add_up_to_the_snapshot() -> None:
    observations = whole_run().since()
    growing = Journal("job words")
    view, page = CheckpointTimeline(growing), Page(checkpoint_timeline.CHECKPOINT)
    page.formats["ticks"] = (checkpoint_timeline.TICK, False)
    page.take(view.snapshot())
    for first in range(0, len(observations), 37):
        growing.extend(observations[first : first + 37])
        payload = view._produce(False)
        if payload is not None:
            page.take(payload)
    whole = Page(checkpoint_timeline.CHECKPOINT)
    whole.formats["ticks"] = page.formats["ticks"]
    whole.take(CheckpointTimeline(growing).snapshot())
    for name in ("checkpoints", "parts", "phases"):
        assert page.bytes_of(name) == whole.bytes_of(name), name
    assert sorted(page.bytes_of("ticks").values()) == sorted(whole.bytes_of("ticks").values())
    for name in ("names", "words", "rows", "where", "about"):
        assert sorted(page.lists[name], key=str) == sorted(whole.lists[name], key=str), name
    assert page.facts == whole.facts


@pytest.fixture(scope="module")
def both() -> CheckpointTimeline:
    job, group = both_systems()
    return CheckpointTimeline(job, beside=group, checkpoint="checkpoint 1")


def test_both_systems_in_one_timeline(both: CheckpointTimeline) -> None:
    second = both.parts[both.parts["number"] == 2]
    assert list(dict.fromkeys(second["row"])) == [
        "coord. flights", "flights 1/2", "flights 2/2", "aggregate → sink 1/2", "aggregate → sink 2/2",
        "r0", "r1",
    ]  # fmt: skip
    assert set(second[second["row"].isin(["r0", "r1"])]["phase"]) == {"read"}
    cut = both.frame.set_index("number").loc[2, "cut"]
    assert len(cut) == 4
    assert both.snapshot().facts["group"] == GROUP


def test_what_the_job_asked_for_is_connected(both: CheckpointTimeline) -> None:
    page = Page(checkpoint_timeline.CHECKPOINT)
    page.take(both.snapshot())
    names = dict(page.lists["rows"])
    parts = {row[0]: names[row[2]] for row in page.rows("parts")}
    assert {(parts[one], parts[other]) for _, one, other in page.lists["links"]} == {
        ("coord. flights", "r0"), ("coord. flights", "r1"),
    }  # fmt: skip


def test_events_between_cut_and_barrier_are_shaded(both: CheckpointTimeline) -> None:
    page = Page(checkpoint_timeline.CHECKPOINT)
    page.take(both.snapshot())
    between = page.lists["between"]
    assert len(between) == 2
    for _, cut_s, barrier_s, n in between:
        assert cut_s < barrier_s
        assert n > 0
    _, picture = both.picture()
    assert isinstance(picture, str)
    assert f"would be read twice: {between[0][3]}" in picture
    assert "reader group demo/readers" in picture


def test_what_lies_behind_the_barrier_and_before_the_cut_would_be_lost() -> None:
    job, group = both_systems(AnswersFirst)
    told = [o for o in job.since() if isinstance(o, SourceCut) and o.checkpoint_id == 1]
    assert [o.subtask for o in sorted(told, key=lambda o: o.subtask)] == [0, 1]
    for cut in told:
        seen = [o.time_ms for o in job.since() if isinstance(o, CheckpointAligned) and _is_same(o, cut)]
        assert seen[0] < cut.cut_ms == cut.time_ms
        assert cut.events < 0
    n = -told[0].events
    picture = CheckpointTimeline(
        job, beside=group, checkpoint=f"checkpoint {told[0].checkpoint_id}"
    ).picture()[1]
    assert f"would be lost: {n}" in picture
    words = words_of(told[0], fold_jobs(job.since()))
    assert words == f"{n} events of flights {told[0].subtask + 1}/2 lie between barrier 1 and the cut"


def _is_same(aligned: CheckpointAligned, cut: SourceCut) -> bool:
    return all(
        getattr(aligned, name) == getattr(cut, name) for name in ("vertex", "subtask", "checkpoint_id")
    )


@pytest.mark.parametrize(
    ("reason", "state", "word"),
    [
        ("CHECKPOINT_SUBSUMED", "cancelled", "subsumed"),
        ("CHECKPOINT_COORDINATOR_SHUTDOWN", "cancelled", "cancelled"),
        ("CHECKPOINT_EXPIRED", "failed", "failed"),
    ],
)
def test_what_became_needless_has_not_failed(reason: str, state: str, word: str) -> None:
    journal = Journal("a job", live=False)
    for observation in half_run().since():  # a checkpoint is on its way
        journal.append(observation)
    last_ms = journal.since()[-1].time_ms
    journal.append(
        CheckpointFailed(time_ms=last_ms + 1, job="words", life=0, checkpoint_id=1, reason=reason, message="")
    )
    [row] = CheckpointTimeline(journal).frame.itertuples()
    assert (row.state, row.word) == (state, word)


def test_without_the_job_it_is_the_groups_timeline() -> None:
    _, group = both_systems()
    frame = CheckpointTimeline(group).frame
    assert set(frame["system"]) == {"reader group"}
    assert list(frame["name"])[:2] == ["PVG-CHK-1", "PVG-CHK-2"]


def test_show_gives_a_job_its_timeline() -> None:
    assert "CheckpointTimeline" in [type(view).__name__ for view in show(whole_run()).views]


def test_a_figure_has_a_trace_per_phase(both: CheckpointTimeline) -> None:
    names = {trace.name for trace in both.figure().data}
    assert {"→ aligned", "commit notice", "completed"} <= names


def test_requests_that_failed_before_they_had_a_number_are_drawn() -> None:
    journal = Journal("a job", live=False)
    for observation in half_run().since():
        journal.append(observation)
    at_ms = journal.since()[-1].time_ms
    reason = "NOT_ALL_REQUIRED_TASKS_RUNNING"
    for later_ms in (200, 400):
        failed = CheckpointFailed(
            time_ms=at_ms + later_ms, job="words", life=0, checkpoint_id=None, reason=reason,
            message="once[0] is finished.",
        )  # fmt: skip
        journal.append(failed)
    view = CheckpointTimeline(journal)
    requests = view.frame[view.frame["number"] == 0]
    assert list(requests["name"]) == ["checkpoint request 1", "checkpoint request 2"]
    assert set(requests["state"]) == {"failed"}
    _, picture = view.picture()
    assert isinstance(picture, str)
    for text in ("2 failed requests", "job checkpoint request 2", reason, "once[0] is finished."):
        assert text in picture
    page = Page(checkpoint_timeline.CHECKPOINT)
    page.take(view.snapshot())
    assert [row[1] for row in page.rows("checkpoints")].count(0) == 2
