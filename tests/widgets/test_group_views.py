"""The views of reader groups without a browser: rows, pictures, words, and what they send."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.observe.group.fold import fold_groups
from pravega_lab.observe.group.observations import ReaderJoined, SegmentOffered
from pravega_lab.observe.journal import outline
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.protocol.metadata import reader_group as rg
from pravega_lab.widgets import CheckpointTimeline, ReaderBoard, SegmentMap, View, show
from pravega_lab.widgets.checkpoint_timeline import view as checkpoint_timeline
from pravega_lab.widgets.checkpoint_timeline.rows import (
    Checkpoint,
    GroupCheckpoints,
    Part,
    Phase,
    PhaseKind,
    held_up,
)
from pravega_lab.widgets.groups.history import BoardHistory
from pravega_lab.widgets.live.payload import Payload
from pravega_lab.widgets.reader_board import view as reader_board
from pravega_lab.widgets.reader_board.figures import CHECKPOINTS_MAX
from pravega_lab.widgets.reader_board.rows import busiest
from pravega_lab.widgets.segment_map import rows as segment_rows
from pravega_lab.widgets.segment_map.history import short_words
from pravega_lab.widgets.segment_map.rows import SegmentPacker
from tests.observe.examples import START_MS, many_segments_story
from tests.observe.group.examples import GROUP, automatic, busy_group, empty_group, large_group
from tests.observe.group.logs import PASSED, read_up_to, segment, split_journal
from tests.widgets.pictures import drawn
from tests.widgets.typescript import typescript_of

VERMILION = "#D55E00"


@pytest.fixture(scope="module")
def journal() -> Journal:
    return busy_group().journal


@pytest.fixture(scope="module")
def crowd() -> Journal:
    return large_group().journal


def test_a_timeline_keeps_no_lag_that_only_the_board_shows(journal: Journal) -> None:
    board, timeline = ReaderBoard(journal), CheckpointTimeline(journal)
    assert len(board.frame) == len(timeline.parts["row"].unique())
    assert board._history.samples
    assert not timeline._history.samples


def views(journal: Journal) -> Iterator[View]:
    yield SegmentMap(journal)
    yield ReaderBoard(journal)
    yield CheckpointTimeline(journal)


# ReaderBoard


def test_the_frame_of_a_reader_board(journal: Journal) -> None:
    frame = ReaderBoard(journal).frame.set_index("reader")
    assert list(frame.index) == ["r1", "r2", "r3", "r4"]
    assert list(frame["state"]) == ["reading", "reading", "killed", "checkpoint"]
    assert list(frame["segments"]) == [["#4 e2"], ["#6 e3"], [], ["#5 e2"]]
    assert frame.loc["r3", "left_s"] == 58.0
    assert frame.loc["r3", "cause_kind"] == "done here"
    assert frame["unread_bytes"].isna()["r3"]
    assert frame.loc["r1", "fair_share"] == 1.0


def test_a_moment_in_which_a_slow_reader_owes_a_checkpoint(journal: Journal) -> None:
    frame = ReaderBoard(journal).at(43.5).set_index("reader")
    assert frame.loc["r2", "state"] == "checkpoint"
    assert frame.loc["r2", "unread_bytes"] > 100_000
    assert frame.loc["r2", "behind_s"] > 3
    assert frame.loc["r4", "state"] == "idle"


def test_bars_and_moves_say_how_long_nobody_had_a_segment(journal: Journal) -> None:
    board = ReaderBoard(journal)
    bars = board.bars
    free = bars[(bars["reader"] == "") & (bars["why"] == "left")]
    assert list((1000 * (free["end_s"] - free["start_s"])).round()) == [1300.0]
    moves = board.moves
    dead = moves[moves["kind"] == "left"].iloc[0]
    assert (dead["label"], dead["from_reader"], dead["to_reader"], dead["gap_ms"]) == (
        "#2 e1",
        "r3",
        "r1",
        1300,
    )
    assert (dead["reason"], dead["reason_kind"]) == ("fair share: 1 of 4 segments, 3 readers", "inferred")


def test_of_forty_readers_the_busiest_thirty_are_drawn_and_said(crowd: Journal) -> None:
    board = ReaderBoard(crowd)
    _, picture = board.picture()
    assert isinstance(picture, str)
    assert "the busiest 30 drawn, +10" in picture
    history = BoardHistory()
    for observation in crowd.since():
        history.apply(observation)
    drawn = busiest(history, GROUP, 30)
    assert len(drawn) == 30
    assert {r.reader for r in history.lanes(GROUP) if not r.is_online} <= {r.reader for r in drawn}
    assert [r.index for r in drawn] == sorted(r.index for r in drawn)
    assert [r.reader for r in busiest(history, GROUP, 30, only="host-03")] == [
        f"host-03-reader-{n}" for n in range(4)
    ]
    by_lag = busiest(history, GROUP, 5, sort="lag")
    lags = [r.unread_bytes or 0 for r in by_lag]
    assert lags == sorted(lags, reverse=True)
    assert lags[0] > 0


def test_only_a_killed_reader_gets_a_vermilion_cross(journal: Journal, crowd: Journal) -> None:
    killed, left = (ReaderBoard(j).picture()[1] for j in (journal, crowd))
    assert isinstance(killed, str)
    assert isinstance(left, str)
    assert "killed at 48.0 s, declared offline (done here)" in killed
    assert VERMILION in drawn(killed)
    assert VERMILION not in drawn(left)
    assert "the log does not say (logged)" in left


# CheckpointTimeline


def test_the_frame_of_a_checkpoint_timeline(journal: Journal) -> None:
    frame = CheckpointTimeline(journal).frame
    assert list(frame["state"]) == [
        *["completed"] * 5, "cancelled", "failed", "completed", "completed", "cancelled", "running",
    ]  # fmt: skip
    assert frame.loc[3, "held_up"] == "held up by r2: 4.7 s in segments #3 #5, until its next read"
    assert frame.loc[4, "held_up"] == "held up by r3: 6.0 s, until it went offline"
    assert frame.loc[5, "held_up"] == "cancelled after 2.0 s; r1, r2 had not passed"
    assert frame.loc[9, "word"] == "dropped by reset"
    assert frame.loc[10, "held_up"] == "held up by r4: 2.0 s so far in segment #5, waits for its next read"
    assert frame["duration_ms"].isna().sum() == 1


def test_a_cut_and_what_it_leaves_out(journal: Journal) -> None:
    view = CheckpointTimeline(journal, checkpoint="savepoint-1")
    row = view.frame.set_index("name").loc["savepoint-1"]
    assert row["gaps"] == [("demo/flights", 0.5, 0.75)]
    assert row["cut"]["demo/flights/3.#epoch.1"] == -1
    assert len(row["cut"]) == 3
    _, picture = view.picture()
    assert isinstance(picture, str)
    assert "gap 0.5–0.75: in no position" in picture
    assert "#3 read to its end" in picture
    assert view.frame["gaps"].map(len).sum() == 1


def test_the_parts_of_checkpoints(journal: Journal) -> None:
    parts = CheckpointTimeline(journal).parts
    fifth = parts[parts["number"] == 5].set_index("row")
    assert list(fifth.index) == ["r1", "r2", "r3", "r4"]
    assert list(fifth["duration_ms"]) == [200, 800, 6000, 400]
    assert fifth.loc["r3", "skipped"] == "went offline"
    assert set(parts["phase"]) == {"whole"}


def test_a_timeline_at_a_moment_says_whom_it_waits_for(journal: Journal) -> None:
    frame = CheckpointTimeline(journal).at(55)
    assert frame.iloc[-1]["word"] == "3 of 4"
    assert frame.iloc[-1]["held_up"] == "held up by r3: 3.0 s so far in segment #2, waits for its next read"


def test_phases_of_another_system_fit_the_same_sentences() -> None:
    kinds = (PhaseKind("barrier", "barrier", "#000000", "waits for the barrier"),
             PhaseKind("snapshot", "snapshot", "#111111", "writes its snapshot"))  # fmt: skip
    done = Part(0, "map 1/2", [Phase(0, 0, 200), Phase(1, 200, 900)], "with 3 channels")
    late = Part(1, "map 2/2", [Phase(0, 0, 400), Phase(1, 400)], "with 2 channels")
    running = Checkpoint(0, 7, "7", 0, None, "running", "1 of 2", [done, late])
    said = held_up(running, kinds, now_ms=1_500)
    assert said == "held up by map 2/2: 1.5 s so far with 2 channels, writes its snapshot"
    assert (running.done, [p.name for p in running.waiting]) == (1, ["map 2/2"])


def test_silent_checkpoints_are_left_out_and_counted() -> None:
    story = busy_group()
    story.ask("positions_SILENT_", is_silent=True)
    view = CheckpointTimeline(story.journal)
    assert len(view.frame) == 11
    assert view.snapshot().facts["left_out"] == "1 silent left out"


def test_of_very_many_checkpoints_a_page_gets_the_newest(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_timeline, "CHECKPOINTS_MAX", 4)
    view, page = CheckpointTimeline(journal), Page(checkpoint_timeline.CHECKPOINT)
    page.take(view.snapshot())
    assert [row[1] for row in page.rows("checkpoints")] == [8, 9, 10, 11]
    assert page.facts["left_out"] == "the oldest 7 left out"
    assert len(view.frame) == 11


# SegmentMap with owners


def test_the_map_tells_who_owned_a_segment_when(journal: Journal) -> None:
    view = SegmentMap(journal)
    page = Page()
    page.take(view.snapshot())
    names = {row[0]: row[1] for row in page.rows("names")}
    facts = page.facts["readers"]
    words = dict(page.lists["waits"])
    told: dict[int, list[str]] = {}
    for place, slot, who, _, _ in page.rows("owners"):
        owner = {0: "nobody", segment_rows.WAITS: words.get(place)}.get(
            who, facts[who - 1] if who <= len(facts) else "?"
        )
        told.setdefault(names[slot], []).append(str(owner))
    assert told[0] == ["nobody", "r1"]
    assert told[2] == ["waits for a checkpoint, due at 20 s", "nobody", "r3", "nobody", "r1"]
    assert told[6][:3] == ["waits for a checkpoint, due at 72 s", "nobody", "r2"]
    assert view.frame.set_index("label").loc["#6 e3", "reader"] == "r2"


def test_the_picture_of_a_map_dots_what_waits(journal: Journal) -> None:
    past = Journal("until 72 s", live=False)
    past.extend(o for o in journal.since() if o.time_ms <= START_MS + 72_000)
    _, picture = SegmentMap(past).picture()
    assert isinstance(picture, str)
    assert "waits for #2 #3" in picture  # before readers had read them to their ends: inferred
    assert "waits for a checkpoint, due at 72 s" in picture
    assert "stroke-dasharray" in picture
    assert ">waits<" in picture  # the gutter
    assert short_words("waits for #3") == "waits #3"


def test_a_map_says_that_successors_wait_for_a_checkpoint() -> None:
    """When their predecessor was read to its end, they wait for nothing else."""
    page, view = Page(), SegmentMap(split_journal([PASSED, *read_up_to(-1, 70)]))
    page.take(view.snapshot())
    words = dict(page.lists["waits"])
    waits = [words[place] for place, _, who, _, _ in page.rows("owners") if who == segment_rows.WAITS]
    assert waits == ["waits for a checkpoint, due at 31 s"] * 2
    _, picture = view.picture()
    assert "waits for a checkpoint, due at 31 s" in str(picture)
    assert ">waits<" in str(picture)  # the gutter
    late = Journal("the stream before the group")
    told = split_journal([PASSED, *read_up_to(-1, 70)]).since()
    late.extend(sorted(told, key=lambda o: o.kind != "segment_opened"))
    late.tick(20_000)
    assert "waits for a checkpoint, due at 31 s" in str(SegmentMap(late).picture()[1])
    _, before = SegmentMap(split_journal([PASSED, *read_up_to(500, 70)])).picture()
    assert "waits for #0" in str(before)
    assert "for a checkpoint," not in str(before)


def test_a_board_says_that_successors_wait_for_a_checkpoint() -> None:
    view = ReaderBoard(split_journal([PASSED, *read_up_to(-1, 70)]))
    waits = [value for name, value in view.snapshot().facts.items() if name.startswith("wait ")]
    assert [(number, words) for _, number, _, _, words in waits] == [
        (2, "waits for a checkpoint, due at 31 s"),
        (3, "waits for a checkpoint, due at 31 s"),
    ]
    _, picture = view.picture()
    assert "#2 waits for a checkpoint, due at 31 s" in str(picture)


@pytest.mark.parametrize("kind", [SegmentMap, ReaderBoard])
def test_the_words_and_the_figure_of_a_long_journal_have_hours(kind: type[Any]) -> None:
    journal = split_journal([PASSED, *read_up_to(-1, 70)], interval_ms=86_400_000)
    axis = figure_axis_of(kind(journal))
    assert axis.title.text == "seconds"
    assert axis.ticktext is None
    journal.tick((journal.start_ms or 0) + 90_000_000)
    view = kind(journal)
    assert "waits for a checkpoint, due at 24:00:01 h" in str(view.picture()[1])
    axis = figure_axis_of(view)
    assert axis.title.text == "time"
    assert dict(zip(axis.tickvals, axis.ticktext, strict=True))[43_200] == "12 h"
    assert 5 < len(axis.ticktext) < 15


def figure_axis_of(view: View) -> Any:
    layout = view.figure().layout
    return layout.xaxis2 if isinstance(view, SegmentMap) else layout.xaxis


def test_waits_end_when_the_predecessor_is_completed() -> None:
    """The bar keeps its words: it has waited for a checkpoint until then."""
    completed = rg.SegmentCompleted("a", segment(0), {segment(2, 1): (0,), segment(3, 1): (0,)})
    history = fold_groups(split_journal([PASSED, *read_up_to(-1, 70), completed]).since())
    assert [(w.words, w.end_ms) for w in history.waits] == [("waits for a checkpoint", 2_000)] * 2
    page, view = Page(), SegmentMap(split_journal([PASSED, *read_up_to(-1, 70), completed]))
    page.take(view.snapshot())
    assert [row[2] for row in page.rows("owners")][-2:] == [0, 0]  # nobody has the successors


@pytest.mark.slow
def test_above_a_hundred_thousand_segments_the_oldest_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_rows, "SEGMENTS_MAX", 400)
    monkeypatch.setattr(segment_rows, "KEPT", 300)
    story = many_segments_story(1_000)
    view, page = SegmentMap(story.journal), Page()
    page.take(view.snapshot())
    for _ in range(120):
        story.tick()
        payload = view._produce(False)
        assert payload is not None
        page.take(payload)
    history: Any = view._history
    counted = sum(row[4] for row in page.rows("crowd"))
    kept = page.rows("segments")
    assert len(kept) <= 400
    assert counted + len(kept) == len(history.rows)
    assert sum(row[2] == float("inf") for row in kept) == len(history.active)
    assert re.fullmatch(r"\d+ of 1,\d+ segments drawn, the oldest \d+ only together", page.facts["left_out"])
    assert SegmentPacker().left_out == 0


# What all of them share


class Page:
    """What the JavaScript keeps: keyed rows by index, others in order."""

    FORMATS = {  # noqa: RUF012
        "lags": (reader_board.LAG, False), "bars": (reader_board.BAR, True),
        "owed": (reader_board.OWED, False), "passes": (reader_board.PASS, False),
        "parts": (checkpoint_timeline.PART, True), "phases": (checkpoint_timeline.PHASE, True),
        "pieces": (checkpoint_timeline.PIECE, False), "readers": (reader_board.READER, True),
        "segments": (segment_rows.SEGMENT, True), "names": (segment_rows.NAME, True),
        "links": (segment_rows.LINK, False), "rates": (segment_rows.RATE, False),
        "owners": (segment_rows.OWNER, True), "crowd": (segment_rows.CROWD, False),
        "tiers": (segment_rows.TIER, True),
        "steps": (struct.Struct("<If"), False),
    }  # fmt: skip

    def __init__(self, checkpoints: struct.Struct = reader_board.CHECKPOINT) -> None:
        self.formats = {**self.FORMATS, "checkpoints": (checkpoints, True)}
        self.tables: dict[str, dict[int, tuple[Any, ...]]] = {}
        self.facts: dict[str, Any] = {}
        self.lists: dict[str, list[Any]] = {}

    def take(self, payload: Payload) -> None:
        if payload.kind == "snapshot":
            self.tables, self.facts, self.lists = {}, {}, {}
        self.facts |= json.loads(json.dumps(payload.facts))  # a page shares nothing with the kernel
        for name, items in payload.grown.items():
            self.lists.setdefault(name, []).extend(items)
        for name, table in payload.tables.items():
            if name not in self.formats:
                continue
            row, is_keyed = self.formats[name]
            rows = self.tables.setdefault(name, {})
            for values in row.iter_unpack(table):
                rows[values[0] if is_keyed else len(rows)] = values

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        return list(self.tables.get(name, {}).values())

    def bytes_of(self, name: str) -> dict[int, str]:
        """Rows that compare equal when they are: not a number is."""
        return {key: repr(values) for key, values in self.tables.get(name, {}).items()}


@pytest.mark.parametrize("make", [ReaderBoard, CheckpointTimeline, SegmentMap])
def test_deltas_add_up_to_the_snapshot(journal: Journal, make: Any) -> None:
    checkpoints = checkpoint_timeline.CHECKPOINT if make is CheckpointTimeline else reader_board.CHECKPOINT
    observations = journal.since()
    growing = Journal(journal.source)
    view, page = make(growing), Page(checkpoints)
    page.take(view.snapshot())
    for first in range(0, len(observations), 23):
        growing.extend(observations[first : first + 23])
        payload = view._produce(False)
        if payload is not None:
            page.take(payload)
    whole = Page(checkpoints)
    whole.take(make(growing).snapshot())
    for name in page.formats:
        if name not in ("steps", "pieces"):
            assert page.bytes_of(name) == whole.bytes_of(name), name
    assert sorted(page.bytes_of("pieces").values()) == sorted(whole.bytes_of("pieces").values())
    in_time = {name: sorted(items, key=str) for name, items in page.lists.items() if items}
    assert in_time == {name: sorted(items, key=str) for name, items in whole.lists.items() if items}
    assert page.facts == whole.facts
    assert whole.facts.get("readers", ["r1"])[0] == "r1"


def test_formats_agree_with_the_javascript() -> None:
    board = {
        "readers": reader_board.READER, "lags": reader_board.LAG, "bars": reader_board.BAR,
        "checkpoints": reader_board.CHECKPOINT, "owed": reader_board.OWED, "passes": reader_board.PASS,
    }  # fmt: skip
    timeline = {
        "checkpoints": checkpoint_timeline.CHECKPOINT, "parts": checkpoint_timeline.PART,
        "phases": checkpoint_timeline.PHASE, "pieces": checkpoint_timeline.PIECE,
        "ticks": checkpoint_timeline.TICK,
    }  # fmt: skip
    for file, formats in (("reader_board", board), ("checkpoint_timeline", timeline)):
        text = typescript_of(file)
        for name, row in formats.items():
            (fields,) = re.findall(rf'\b{name}: \{{\s*format: "([^"]+)"', text)
            kinds = "".join(field.split(":")[1] for field in fields.split())
            assert kinds.replace("u", "I") == row.format.removeprefix("<"), (file, name)


def test_states_agree_with_the_javascript() -> None:
    (states,) = re.findall(r"const STATES = \[(.*)\];", typescript_of("reader_board"))
    assert tuple(re.findall(r'"(\w*)"', states)) == reader_board.STATES
    (states,) = re.findall(r"const STATES = \[(.*)\];", typescript_of("checkpoint_timeline"))
    assert tuple(re.findall(r'"(\w*)"', states))[1:] == checkpoint_timeline.STATES


def test_a_group_without_readers_says_what_fills_the_views() -> None:
    journal = empty_group()
    for view, word in (
        (ReaderBoard(journal), "No readers yet"),
        (CheckpointTimeline(journal), "No checkpoints yet"),
    ):
        sentence, code = view.snapshot().facts["empty"]
        assert sentence.startswith(word)
        assert "group." in code
        _, picture = view.picture()
        assert isinstance(picture, str)
        assert word in picture
        assert len(view.frame) == 0


def test_the_picture_without_readers_says_so_below_the_segments_that_nobody_has() -> None:
    journal = empty_group()
    for number in range(3):
        where = {"group": GROUP, "stream": "s/x", "segment_id": number, "offset": 0}
        journal.append(SegmentOffered(time_ms=START_MS, revision=0, why="start", **where))
    journal.tick(START_MS + 9_000)
    _, picture = ReaderBoard(journal).picture()
    assert isinstance(picture, str)
    bars = re.findall(r'y="([\d.]+)" width="[\d.]+" height="([\d.]+)" fill="url\(#plab-hatch\)"', picture)[1:]
    [text] = re.findall(r'y="([\d.]+)" font-size="14"[^>]*>No readers yet', picture)
    assert len(bars) == 3
    assert all(float(y) + float(height) < float(text) - 14 for y, height in bars)


def test_pictures_are_the_same_each_time_and_their_texts_stay_inside(
    journal: Journal, crowd: Journal
) -> None:
    for one, two in zip(views(journal), views(busy_group().journal), strict=True):
        assert one.picture() == two.picture()
    for view in [*views(journal), *views(crowd)]:
        _, picture = view.picture()
        assert isinstance(picture, str)
        root = ElementTree.fromstring(picture)
        assert root.get("role") == "img"
        assert root[0].tag.endswith("title")
        width, height = (float(v) for v in root.get("viewBox", "").split()[2:])
        for text in root.iter("{http://www.w3.org/2000/svg}text"):
            if text.get("transform"):
                continue
            length = 0.62 * float(text.get("font-size", 10)) * len("".join(text.itertext()))
            x = float(text.get("x", 0))
            left = {"end": x - length, "middle": x - length / 2}.get(text.get("text-anchor", ""), x)
            assert left >= -8, text.text
            assert left + length <= width + 60, text.text
            assert 0 <= float(text.get("y", 0)) <= height, text.text


def test_vermilion_means_failure_and_nothing_else(crowd: Journal) -> None:
    for view in views(crowd):
        picture = view.picture()[1]
        assert isinstance(picture, str)
        assert VERMILION not in drawn(picture)


def test_representations_say_what_is_there(journal: Journal) -> None:
    assert [repr(view) for view in views(journal)][1:] == [
        "ReaderBoard('demo/readers', 4 readers, 3 online, recording)",
        "CheckpointTimeline('demo/readers', 11 checkpoints, 7 completed, recording)",
    ]


def test_misspelt_arguments_name_the_nearest(journal: Journal) -> None:
    with pytest.raises(TypeError, match="did you mean 'group'"):
        ReaderBoard(journal, grop="a/b")
    with pytest.raises(BadInputError, match="did you mean 'lag'"):
        ReaderBoard(journal, sort="lags")
    with pytest.raises(TypeError, match="did you mean 'checkpoint'"):
        CheckpointTimeline(journal, chekpoint="1")


def test_show_gives_a_group_its_three_views(journal: Journal, tmp_path: Path) -> None:
    board = show(journal)
    assert [type(view).__name__ for view in board.views] == [
        "SegmentMap",
        "ReaderBoard",
        "CheckpointTimeline",
    ]
    assert len({view._settings["clock"] for view in board.views}) == 1
    page = board.export(tmp_path / "group.html").read_text()
    assert page.count("<noscript><svg") == 3
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) == {"http://www.w3.org/2000/svg"}
    assert len(page) < 450_000


def test_two_groups_of_one_journal_keep_apart(journal: Journal) -> None:
    both = Journal("two groups", live=False)
    both.extend(journal.since())
    both.extend(large_group(4, 4).journal.since())
    other = ReaderJoined(time_ms=START_MS + 1, group="demo/others", reader="x1")
    both.append(other)
    assert ReaderBoard(both, group="demo/others").frame.shape[0] == 1
    assert ReaderBoard(both).group is None
    assert set(ReaderBoard(both).frame["group"]) == {GROUP}


@pytest.fixture(scope="module")
def hours() -> Journal:
    """Return the journal of two readers that restart in turns, in a group with many checkpoints."""
    group = large_group(2, 4)
    now_s = (group.story.now_ms - START_MS) / 1000
    for k in range(600):
        name, other = group.held
        group.story.now_ms = START_MS + round(1000 * (now_s + 30 * k))
        group.leave(name, was_killed=False)
        group.join(name)
        for segment_id in list(group.free):
            group.acquire(other, segment_id)
        group.ask(automatic(1_000 + k))
        group.passed(automatic(1_000 + k), *group.held)
    group.story.journal.tick(group.story.now_ms)
    return group.journal


def test_the_figure_of_hours_has_the_newest_bars_and_checkpoints(hours: Journal) -> None:
    figure = ReaderBoard(hours).figure()
    assert len(figure.to_json()) < 150_000
    assert len(figure.layout.shapes) == CHECKPOINTS_MAX
    assert f"the newest {CHECKPOINTS_MAX} of 600 checkpoints" in figure.layout.title.text
    assert "the newest 1,000 of " in figure.layout.title.text


def test_the_picture_of_hours_is_small_and_names_what_it_leaves_out(hours: Journal) -> None:
    picture = str(ReaderBoard(hours).picture()[1])
    assert len(picture) < 120_000
    assert re.search(r"the newest 400 of [0-9,]+ bars", picture)


def test_the_reasons_of_hours_have_readable_times(hours: Journal) -> None:
    assert any(re.match(r"4:\d\d:\d\d h: #\d e0 of ", text) for text in ReaderBoard(hours).words)


@pytest.mark.slow
def test_plotly_figures_are_plain(journal: Journal) -> None:
    board, timeline = ReaderBoard(journal).figure(), CheckpointTimeline(journal).figure()
    assert [trace.name for trace in board.data] == ["nobody", "r1", "r2", "r3", "r4", "passed a checkpoint"]
    assert type(timeline).__name__ == "Figure"
    assert {trace.name for trace in timeline.data} >= {"completed", "failed", "cancelled", "running"}


def test_the_source_of_a_timeline_is_named(journal: Journal) -> None:
    history = BoardHistory()
    for observation in journal.since():
        history.apply(observation)
    source = GroupCheckpoints(history)
    assert (source.name, source.system) == (GROUP, "reader group")
    assert [c.number for c in source.checkpoints()] == list(range(1, 12))


@pytest.mark.parametrize("kind", [SegmentMap, ReaderBoard, CheckpointTimeline])
def test_a_moment_of_the_past_is_the_same_by_an_outline(
    kind: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With hundreds of thousands of observations, `at` reads an outline of the journal."""
    journal = busy_group().journal
    view = kind(journal)
    moments = np.linspace(0, (journal.since()[-1].time_ms - (journal.start_ms or 0)) / 1000, 12)
    whole = [view.at(t_s) for t_s in moments]
    monkeypatch.setattr(outline, "WHOLE", 100)
    monkeypatch.setattr(outline, "RUN", 50)
    assert len(list(journal.outline())) < len(journal)
    for t_s, frame in zip(moments, whole, strict=True):
        assert view.at(t_s).equals(frame), t_s
