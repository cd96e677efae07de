"""Views without a browser: what they send, show, say, and refuse."""

from __future__ import annotations

import json
import math
import re
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.journal.observations import (
    SegmentMeasured,
    SegmentOpened,
    SegmentRead,
    SegmentTiered,
    StreamSeen,
    Trouble,
    TroubleOver,
)
from pravega_lab.observe.watch import Watch
from pravega_lab.protocol.hashing import key_position
from pravega_lab.widgets import (
    Board,
    CheckpointTimeline,
    JobGraph,
    LedgerView,
    QueryTimeline,
    ReaderBoard,
    SegmentMap,
    View,
    bundles,
    show,
)
from pravega_lab.widgets.bundles import BundleMissingError, bundle
from pravega_lab.widgets.bundles.sources import STAMP, digest
from pravega_lab.widgets.live.payload import Payload
from pravega_lab.widgets.live.scrubber_facts import STEP
from pravega_lab.widgets.query_timeline.view import BATCH, FLOW, PHASE
from pravega_lab.widgets.segment_map.picture import BOTTOM, LEFT, RIGHT, TIERED, TOP, drawn
from pravega_lab.widgets.segment_map.rows import CROWD, LINK, NAME, OWNER, RATE, SEGMENT, TIER
from pravega_lab.widgets.svg.palette import COLD, HOT, NONE, TEXT, mix
from pravega_lab.widgets.svg.picture import data_size
from pravega_lab.widgets.svg.text import placed, short_name
from tests.observe.examples import (
    START_MS,
    STREAM,
    QueryStory,
    Story,
    killed_query,
    many_segments,
    splitting_story,
)
from tests.observe.group.examples import busy_group, large_group
from tests.observe.job.examples import both_systems, whole_run
from tests.observe.ledger.examples import judged_run
from tests.widgets.typescript import typescript_of


@pytest.fixture(scope="module")
def journal() -> Journal:
    journal = splitting_story().journal
    killed_query(journal)
    return journal


def views(journal: Journal) -> Iterator[View]:
    yield SegmentMap(journal)
    yield QueryTimeline(journal)


def test_a_view_says_that_it_is_not_live_while_its_source_is_in_trouble() -> None:
    journal = Journal("two streams")
    for name in ("s/a", "s/b"):
        journal.append(SegmentOpened(time_ms=0, stream=name, segment_id=0, low=0.0, high=1.0))
    here, other, ledger = (
        SegmentMap(journal, stream="s/a"),
        SegmentMap(journal, stream="s/b"),
        LedgerView(journal),
    )
    first = here.snapshot()
    assert first.facts["trouble"] == ""
    journal.append(Trouble(time_ms=5, source="s/a", message="no answer."))
    change = here._produce(False)
    assert change is not None
    assert change.facts["trouble"] == here.trouble == ledger.trouble == "no answer"
    assert here.words[1] == "Not live: no answer."
    assert other.trouble == ""
    assert here.snapshot(live=False).facts["trouble"] == ""
    journal.append(TroubleOver(time_ms=6, source="s/a"))
    assert here.snapshot().facts["trouble"] == ""


def test_a_view_of_a_group_says_also_that_its_streams_are_in_trouble() -> None:
    journal = busy_group().journal
    journal.live = True
    board, timeline = ReaderBoard(journal), CheckpointTimeline(journal)
    journal.append(Trouble(time_ms=5, source="another/stream", message="no answer"))
    assert board.trouble == timeline.trouble == "no answer"


def test_a_view_of_a_long_journal_reads_no_old_measurements_from_the_file_and_says_so() -> None:
    """A lab of twelve hours was shown after a minute."""
    journal = Journal("a day", capacity=1_000)
    first = SegmentMap(journal)
    journal.append(StreamSeen(time_ms=0, stream="s/a", policy="fixed"))
    journal.append(SegmentOpened(time_ms=0, stream="s/a", segment_id=0, low=0.0, high=1.0))
    for t in range(1, 2_001):
        journal.append(SegmentMeasured(time_ms=t, stream="s/a", segment_id=0, start_offset=0, write_offset=t))
        if t % 500 == 0:
            first.snapshot()
    assert journal.has_spilled_samples
    late = show(journal).views[0]
    assert isinstance(late, SegmentMap)
    assert late.stream == "s/a"
    assert list(late.frame["start_s"]) == list(first.frame["start_s"]) == [0.0]
    assert late.snapshot().facts["left_out"] == "the oldest rates are left out"
    assert first.snapshot().facts["left_out"] == ""
    kept = journal.since(all_samples=False)
    assert Watch(journal, None).since(all_samples=False) == kept
    assert [o.kind for o in kept[:2]] == ["stream_seen", "segment_opened"]
    assert [o.seq for o in kept[2:]] == list(range(2_002 - len(kept) + 2, 2_002))
    assert 1_000 <= len(kept) - 2 <= 1_250 < len(journal.since()) - 2


def test_active_segments_of_a_young_stream_reach_the_line_of_now() -> None:
    journal = Journal("young", live=False)
    journal.append(SegmentOpened(time_ms=0, stream="s/a", segment_id=0, low=0.0, high=1.0))
    journal.tick(500)
    root = ElementTree.fromstring(SegmentMap(journal).picture()[1])
    now_x = (LEFT + RIGHT) // 2
    lines = [e.get("d", "") for e in root.iter("{http://www.w3.org/2000/svg}path")]
    assert [d.split()[0] for d in lines if f" {TOP - 3}L" in d] == [f"M{now_x}"]
    assert any(d.startswith(f"M{now_x} ") and f"H{LEFT}V" in d for d in lines)  # the edge of the segment


@pytest.mark.parametrize(
    "made", [splitting_story, busy_group, large_group, whole_run, both_systems, judged_run]
)
def test_no_label_of_a_static_picture_is_cut(made: Any) -> None:
    things = made()
    journals = things if isinstance(things, tuple) else [getattr(things, "journal", things)]
    for view in show(*journals).views:
        root = ElementTree.fromstring(view.picture()[1])
        texts = [e.text or "" for e in root.iter("{http://www.w3.org/2000/svg}text")]
        assert [text for text in texts if "…" in text] == []


def test_a_label_is_shortened_or_left_out() -> None:
    assert short_name("reader-0", 8, 7, 1) == "reader-0"
    assert short_name("host-00-reader-7", 8, 8, 3) == "reader-7"
    assert short_name("host-00-reader-17", 6, 5, 4) == "4."
    assert placed([5, 20], "#1 → r1: fair share", "#1 → r1") == (1, "#1 → r1: fair share")
    assert placed([7, 5], "#1 → r1: fair share", "#1 → r1") == (0, "#1 → r1")
    assert placed([3, 5], "#1 → r1: fair share", "#1 → r1") == (0, "")


def test_the_frame_of_a_segment_map(journal: Journal) -> None:
    frame = SegmentMap(journal).frame
    assert list(frame["label"])[:3] == ["#0 e0", "#1 e1", "#2 e1"]
    assert list(frame["end_s"].isna()) == [False] * 7 + [True] * 2
    assert frame.loc[1, "cause"] == "246/s > 2 × 100/s"
    assert frame.loc[0, "cause"] is None
    assert frame["events_per_s"].isna().sum() == 7


def test_the_frame_of_a_query_timeline(journal: Journal) -> None:
    frame = QueryTimeline(journal).frame
    cut, again = frame[frame["batch_id"] == 14].itertuples()
    assert (cut.outcome, again.outcome, again.attempt) == ("killed", "done", 2)
    assert frame["input_rows"].isna().sum() == 1
    assert frame["read_ms"].isna().all()
    assert (frame["work_ms"].dropna() > 1000).all()


def test_a_moment_of_the_past(journal: Journal) -> None:
    view = SegmentMap(journal)
    assert list(view.at(20)["label"]) == ["#0 e0", "#1 e1", "#2 e1", "#3 e2", "#4 e2"]
    assert list(view.at(20)["end_s"].isna()) == [False, False, True, True, True]
    assert view.at(np.int64(20)).equals(view.at(20))
    for moment in ("20", None, math.nan):
        with pytest.raises(BadInputError, match="give a number of seconds after the start"):
            view.at(moment)  # type: ignore[arg-type]


def test_pictures_are_the_same_each_time_and_well_formed(journal: Journal) -> None:
    for one, two in zip(views(journal), views(splitting_and_killed()), strict=True):
        mime, picture = one.picture()
        assert mime == "image/svg+xml"
        assert isinstance(picture, str)
        assert picture == two.picture()[1]
        root = ElementTree.fromstring(picture)
        assert root.get("role") == "img"
        assert root.get("width") == "100%"
        assert root[0].tag.endswith("title")


def splitting_and_killed() -> Journal:
    journal = splitting_story().journal
    killed_query(journal)
    return journal


def test_no_text_of_a_picture_leaves_it(journal: Journal) -> None:
    for view in views(journal):
        _, picture = view.picture()
        assert isinstance(picture, str)
        root = ElementTree.fromstring(picture)
        width, height = (float(v) for v in root.get("viewBox", "").split()[2:])
        for text in root.iter("{http://www.w3.org/2000/svg}text"):
            x, y = float(text.get("x", 0)), float(text.get("y", 0))
            length = 0.62 * float(text.get("font-size", 10)) * len("".join(text.itertext()))
            left = {"end": x - length, "middle": x - length / 2}.get(text.get("text-anchor", ""), x)
            if text.get("transform") is None:
                assert left >= -2, text.text
                assert left + length <= width + 12, text.text
            assert 0 <= y <= height, text.text


def fills(picture: str | bytes) -> list[tuple[str, float]]:
    """Return colour and width of all rectangles on the map."""
    boxes = ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}rect")
    return [
        (box.get("fill", ""), float(box.get("width", 0)))
        for box in boxes
        if float(box.get("x", 0)) >= LEFT and TOP <= float(box.get("y", 0)) < BOTTOM
    ]


def test_a_day_of_rates_is_a_small_picture_of_their_means() -> None:
    story = Story(target=100)
    story.begin(2)
    for tick in range(2_000):
        story.measure(lambda low, high, tick=tick: 80 + 40 * (tick % 2) if tick < 1_000 else 0)
    _, picture = SegmentMap(story.journal).picture()
    assert len(picture) < 60_000
    wide = Counter[str]()
    for colour, width in fills(picture):
        wide[colour] += width  # type: ignore[assignment]
    assert {mix(COLD, HOT, 0.5), mix(COLD, HOT, 0)} <= {colour for colour, _ in wide.most_common(4)}


def test_no_rate_is_shown_of_the_time_before_the_first_look() -> None:
    story = Story(target=100)
    story.begin(1)
    story.now_ms += 90_000
    story.measure(lambda low, high: 150)
    story.now_ms += 9_500
    story.measure(lambda low, high: 150)
    _, picture = SegmentMap(story.journal).picture()
    (unknown, before), (known, since) = fills(picture)[:2]
    assert (unknown, known) == (NONE, mix(COLD, HOT, 0.75))
    assert before == pytest.approx(RIGHT - LEFT)  # all of it, and on it
    assert since == pytest.approx((RIGHT - LEFT) * 12 / 100.5, abs=2)
    assert ">not known<" in str(picture)  # in the legend
    assert ">not known<" not in str(SegmentMap(splitting_story().journal).picture()[1])


def test_no_rate_is_shown_of_the_time_between_two_observers() -> None:
    story = Story(target=100)
    story.begin(1)
    story.measure(lambda low, high: 150, 25_000)
    story.now_ms += 25_000
    looked_again = next(o for o in story.journal.since() if isinstance(o, SegmentMeasured))
    story.journal.append(
        replace(looked_again, time_ms=story.now_ms, bytes_per_s=None, events_per_s=None, events_how="")
    )
    story.measure(lambda low, high: 150, 50_000)
    view = SegmentMap(story.journal)
    known = mix(COLD, HOT, 0.75)
    assert [colour for colour, _ in fills(view.picture()[1])] == [NONE, known, NONE, known]
    assert ">not known<" in str(view.picture()[1])  # in the legend
    rates = next(trace for trace in view.figure().data if trace.name == "busiest segment").y
    assert rates[len(rates) * 3 // 8] == 0


def test_the_legend_of_a_picture_names_the_grey_between_two_observers() -> None:
    story = Story(target=100)
    story.begin(1)
    for _ in range(5):
        story.measure(lambda low, high: 150, 500)
    assert ">not known<" not in str(SegmentMap(story.journal).picture()[1])
    last = next(o for o in reversed(story.journal.since()) if isinstance(o, SegmentMeasured))
    story.journal.append(replace(last, time_ms=last.time_ms + 9_000, bytes_per_s=None, events_per_s=None))
    assert ">not known<" in str(SegmentMap(story.journal).picture()[1])


@pytest.mark.parametrize("capacity", [100_000, 8])
def test_at_a_moment_between_two_observers_no_rate_is_known(capacity: int) -> None:
    story = Story(target=100)
    story.begin(1)
    for _ in range(5):
        story.measure(lambda low, high: 150, 5_000)
    story.now_ms += 25_000
    looked_again = next(o for o in story.journal.since() if isinstance(o, SegmentMeasured))
    story.journal.append(
        replace(looked_again, time_ms=story.now_ms, bytes_per_s=None, events_per_s=None, events_how="")
    )
    for _ in range(10):
        story.measure(lambda low, high: 150, 5_000)
    journal = Journal("s/a", capacity=capacity)
    journal.extend(story.journal.since())
    assert journal.has_spilled_samples == (capacity == 8)
    view = SegmentMap(journal)
    rates = {t_s: view.at(t_s)["events_per_s"][0] for t_s in (1, 6, 24, 26, 49, 52, 58, 99)}
    unknown = [t_s for t_s, rate in rates.items() if rate is pd.NA]
    assert unknown == [1, 26, 49]
    assert set(rates.values()) - {pd.NA} == {150.0}
    assert view.frame["events_per_s"][0] == 150.0


def test_many_segments_become_a_png() -> None:
    mime, picture = SegmentMap(many_segments(1500)).picture()
    assert mime == "image/png"
    assert isinstance(picture, bytes)
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(picture) < 20_000


def test_the_mime_bundle_has_widget_picture_and_words(journal: Journal) -> None:
    for view in views(journal):
        data, _ = view._repr_mimebundle_()
        assert {"application/vnd.jupyter.widget-view+json", "image/svg+xml", "text/plain"} <= set(data)
        assert data["text/plain"] == repr(view)


def test_no_title_is_an_address_by_default(journal: Journal) -> None:
    address = "tcp://127.0.0.1:9090"
    sources = ("demo/flights at {}", "{}", "a at {} + b at {}", "run.jsonl.gz")
    for source, said in zip(sources, ("demo/flights", None, "a + b", "run.jsonl.gz"), strict=True):
        empty = Journal(source.format(*[address] * 2))
        kinds = (SegmentMap, QueryTimeline, ReaderBoard, CheckpointTimeline, JobGraph)
        assert {kind(empty).heading for kind in kinds if said} <= {said}
        assert not any(address in kind(empty).heading for kind in kinds)
        assert LedgerView(empty).heading == "no ledger yet"
    assert [view.heading for view in views(journal)] == ["demo/flights", "delays"]


def test_a_title_can_be_set(journal: Journal, tmp_path: Path) -> None:
    board = show(journal, title="Morning & evening")
    assert [view.heading for view in board.views] == ["Morning & evening", "delays"]
    assert "Morning &amp; evening" in board.picture()
    board.views[1].title = "The query"
    assert "The query" in board.picture()
    page = board.export(tmp_path / "page.html").read_text()
    assert "<title>Morning &amp; evening · The query</title>" in page


def test_reasons_are_in_words_too(journal: Journal) -> None:
    scales, runs = SegmentMap(journal).words, QueryTimeline(journal).words
    assert scales[0] == "SegmentMap: 'demo/flights', 9 segments, 2 active"
    assert scales[1] == "12.5 s: #0 → #1 #2: 246/s > 2 × 100/s (inferred)"
    assert runs[1:] == ["45.1 s: run 1 killed: kill -9 of Python and JVM (done here)"]
    group = busy_group().journal
    [move] = [words for words in ReaderBoard(group).words if words.startswith("12.2 s")]
    assert move.endswith(
        "#1 e0 of demo/flights from r1 to r2: fair share: 1 of 2 segments, 2 readers (inferred)"
    )
    assert CheckpointTimeline(group).words[1].startswith("checkpoint 1, completed: held up by r1: 700 ms")


def test_representations_say_what_is_there(journal: Journal) -> None:
    assert [repr(v) for v in views(journal)] == [
        "SegmentMap('demo/flights', 9 segments, 2 active, recording)",
        "QueryTimeline('delays', 31 batches, 1 replayed, recording)",
    ]
    assert repr(SegmentMap(Journal("x"))) == "SegmentMap('x', live)"


def test_misspelt_arguments_name_the_nearest(journal: Journal) -> None:
    with pytest.raises(TypeError, match=r"no argument 'colr'; did you mean 'colour'"):
        SegmentMap(journal, colr="rate")
    with pytest.raises(BadInputError, match="did you mean 'owner'"):
        SegmentMap(journal, colour="owners")
    with pytest.raises(TypeError, match="did you mean 'scale'"):
        QueryTimeline(journal, scal=2)
    with pytest.raises(BadInputError, match="needs a Journal"):
        SegmentMap([1, 2])


class Page:
    """What the JavaScript keeps of the tables: the rows of keyed ones by index, of others in order."""

    FORMATS = {  # noqa: RUF012
        "segments": SEGMENT, "names": NAME, "links": LINK, "rates": RATE, "batches": BATCH, "phases": PHASE,
        "flow": FLOW, "steps": STEP, "owners": OWNER, "crowd": CROWD, "tiers": TIER,
    }  # fmt: skip
    KEYED = (
        "segments",
        "names",
        "tiers",
        "batches",
        "flow",
        "steps",
        "owners",
    )  # the last row of a moment counts

    def __init__(self) -> None:
        self.tables: dict[str, dict[int, Any]] = {}
        self.facts: dict[str, Any] = {}
        self.lists: dict[str, list[Any]] = {}

    def take(self, payload: Payload) -> None:
        if payload.kind == "snapshot":
            self.__init__()  # type: ignore[misc]
        self.facts |= payload.facts
        for name, items in payload.grown.items():
            self.lists.setdefault(name, []).extend(items)
        for name, table in payload.tables.items():
            rows = self.tables.setdefault(name, {})
            for row in self.FORMATS[name].iter_unpack(table):
                rows[row[0] if name in self.KEYED else len(rows)] = struct.pack("<" + "d" * len(row), *row)


def test_deltas_add_up_to_the_snapshot(journal: Journal) -> None:
    observations = journal.since()
    for make in (SegmentMap, QueryTimeline):
        growing = Journal(journal.source)
        view, page = make(growing), Page()
        page.take(view.snapshot())
        for first in range(0, len(observations), 37):
            growing.extend(observations[first : first + 37])
            payload = view._produce(False)
            if payload is not None:
                page.take(payload)
        whole = Page()
        whole.take(make(growing).snapshot())
        assert page.tables == whole.tables
        in_time = {name: sorted(items, key=str) for name, items in page.lists.items()}
        assert in_time == {name: sorted(items, key=str) for name, items in whole.lists.items()}
        assert page.facts == whole.facts


def test_a_quiet_journal_sends_nothing(journal: Journal) -> None:
    view = SegmentMap(journal)
    view.snapshot()
    assert view._produce(False) is None


def test_one_split_costs_little() -> None:
    story = Story(live=True)
    story.begin(8)
    view = SegmentMap(story.journal)
    view.snapshot()
    story.now_ms += 100
    first = next(iter(story.open))
    low, high = story.open[first]
    story.scale([first], [(low, (low + high) / 2), ((low + high) / 2, high)], "by hand")
    payload = view._produce(False)
    assert payload is not None
    assert len(payload.tables["segments"]) == 3 * 24
    assert payload.n_bytes < 300


def test_formats_agree_with_the_javascript() -> None:
    sizes = {
        "segments": SEGMENT,
        "names": NAME,
        "links": LINK,
        "rates": RATE,
        "owners": OWNER,
        "crowd": CROWD,
        "tiers": TIER,
        "batches": BATCH,
        "phases": PHASE,
    }
    text = typescript_of("segment_map") + typescript_of("query_timeline")
    for name, row in {**sizes, "flow": FLOW}.items():
        (fields,) = re.findall(rf'\b{name}: \{{\s*format: "([^"]+)"', text)
        kinds = "".join(field.split(":")[1] for field in fields.split())
        assert kinds.replace("u", "I") == row.format.removeprefix("<"), name


def test_the_keys_that_the_javascript_is_tested_with_are_placed_as_the_client_places_them() -> None:
    found = json.loads((Path(__file__).parent / "js" / "key_positions.json").read_text())
    assert found == {key: key_position(key) for key in found}
    assert len(found) == 8


def test_a_bundle_is_one_module_with_one_export() -> None:
    kinds = (SegmentMap, ReaderBoard, CheckpointTimeline, JobGraph, QueryTimeline, LedgerView)
    for view in (kind.script for kind in kinds):
        text = bundle(view)
        assert not re.findall(r"^import\b", text, re.MULTILINE), view
        (exported,) = re.findall(r"^export \{(.*?)\};", text, re.MULTILINE | re.DOTALL)
        assert exported.split()[1:] == ["as", "default"], view
        assert len(text) < 100_000, view


def test_bundles_older_than_their_sources_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "widgets" / "bundles"
    folder.mkdir(parents=True)
    monkeypatch.setattr(bundles, "FOLDER", folder)
    with pytest.raises(
        BundleMissingError, match=r"segment_map\.js was not found .* run `python build_backend"
    ):
        bundles._read("segment_map.js")
    (folder / "segment_map.js").write_text("export {};")
    assert bundles._read("segment_map.js") == "export {};"  # installed from a wheel: there are no sources
    (tmp_path / "widgets" / "scale.ts").write_text("export const a = 1;")
    (tmp_path / "package-lock.json").write_text("{}")
    with pytest.raises(BundleMissingError, match="older than their sources: run `python build_backend"):
        bundles._read("segment_map.js")
    (folder / STAMP).write_text(digest(tmp_path / "widgets", tmp_path))
    assert bundles._read("segment_map.js") == "export {};"
    (tmp_path / "widgets" / "scale.ts").write_text("export const a = 2;")
    with pytest.raises(BundleMissingError, match="older than their sources"):
        bundles._read("segment_map.js")


def names(board: Board) -> list[str]:
    return [type(view).__name__ for view in board.views]


def test_show_makes_the_views_that_fit(journal: Journal) -> None:
    board = show(journal)
    assert names(board) == ["SegmentMap", "QueryTimeline"]
    assert len({v._settings["clock"] for v in board.views}) == 1
    assert names(show(splitting_story().journal)) == ["SegmentMap"]
    assert names(show(Journal("live"))) == ["SegmentMap", "QueryTimeline"]
    assert show(SegmentMap(journal), scale=1.5).views[0].frame.shape[0] == 9
    with pytest.raises(BadInputError, match="cannot show str"):
        show("demo/a")
    with pytest.raises(BadInputError, match="something to show"):
        show()


def test_a_query_beside_a_stream_tells_what_is_unread() -> None:
    stream, query = splitting_story().journal, Journal("a query", live=False)
    killed_query(query)
    last = SegmentMap(stream).frame["segment_id"].iloc[-1]
    read = SegmentRead(
        time_ms=START_MS + 119_000, stream=STREAM, segment_id=int(last), reader="q", offset=9000
    )
    query.append(read)
    view = show(stream, query).views[0]
    assert view.frame["unread_bytes"].notna().sum() == 1
    assert view.snapshot().facts["knows"] == ["unread"]
    assert SegmentMap(stream).frame["unread_bytes"].isna().all()


def test_a_board_has_one_picture_of_all(journal: Journal) -> None:
    board = show(journal)
    assert isinstance(board, Board)
    data, _ = board._repr_mimebundle_()
    root = ElementTree.fromstring(data["image/svg+xml"])
    assert [part.tag.split("}")[1] for part in root] == ["style", "svg", "svg"]
    assert data["text/plain"].startswith("Board(SegmentMap('demo/flights'")
    assert data["image/svg+xml"].count(">120 s</text>") == 2  # one time axis
    mixed = ElementTree.fromstring(show(many_segments(1500), journal).picture())
    assert [part.tag.split("}")[1] for part in mixed] == ["style", "svg", "svg", "svg"]


def test_the_exported_page_needs_nothing(journal: Journal, tmp_path: Path) -> None:
    page = show(journal).export(tmp_path / "out" / "run.html").read_text()
    addresses = set(re.findall(r"https?://[^\s\"'<]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert page.count("<noscript><svg") == 2
    assert len(page) < 300_000


def test_plotly_figures_are_plain(journal: Journal) -> None:
    segments, query = (view.figure() for view in views(journal))
    assert type(segments).__name__ == "Figure"
    assert segments.layout.yaxis.title.text == "key space"
    assert [t.name for t in query.data][:4] == [
        "plan", "Spark's offset log", "read, process, write", "Spark's commit log",
    ]  # fmt: skip


def test_the_figure_of_many_batches_has_the_newest() -> None:
    story = QueryStory(Journal("hours"))
    story.start()
    for _ in range(1_500):
        story.batch((60, 30, 1_900, 40), 400, 40_000)
    figure = QueryTimeline(story.journal).figure()
    assert figure.layout.title.text == "delays · the newest 1,000 of 1,500 attempts"
    assert {len(trace.x) for trace in figure.data} == {1_000}


def test_the_view_of_another_stream_leaves_this_one_out() -> None:
    story = Story(stream="demo/other")
    story.begin(3)
    mixed = splitting_story().journal
    mixed.extend(story.journal.since())
    assert SegmentMap(mixed, stream="demo/other").frame.shape[0] == 3
    first = SegmentMap(mixed)
    assert (first.frame.shape[0], first.stream) == (9, STREAM)
    assert [v.stream for v in show(mixed).views if isinstance(v, SegmentMap)] == [STREAM, "demo/other"]


def test_the_bytes_per_tier_are_in_picture_words_frame_and_page() -> None:
    story = splitting_story()
    row = SegmentMap(story.journal)._catch_up().rows[0]
    assert "tier" not in str(SegmentMap(story.journal).picture()[1])
    moved = row.start_offset + (row.write_offset - row.start_offset) // 4
    about = {"stream": STREAM, "segment_id": row.segment_id}
    story.journal.append(SegmentTiered(time_ms=story.now_ms, offset=moved, **about))
    view, page = SegmentMap(story.journal), Page()
    page.take(view.snapshot())
    _, until_s, size = struct.unpack("<ddd", page.tables["tiers"][row.index])
    in_tier2 = moved - row.start_offset
    assert size == pytest.approx(in_tier2)
    assert 0 < until_s <= (row.end_ms or 0) / 1000
    assert "tiers" in page.facts["knows"]
    text = f"{data_size(row.write_offset - moved)} in the log, {data_size(in_tier2)} in tier 2"
    assert f"{row.label}: {text}" in view.words
    picture = str(view.picture()[1])
    assert text in picture
    assert "in tier 2: edge below" in picture
    frame = view.frame
    assert (frame["log_bytes"][0], frame["tier2_bytes"][0]) == (row.write_offset - moved, in_tier2)
    assert frame["tier2_bytes"][1:].isna().all()


def test_the_edge_of_what_is_in_tier_2_is_in_the_png_and_in_the_figure() -> None:
    pixels: list[Any] = []
    story = splitting_story()
    for moved in (False, True):
        row = SegmentMap(story.journal)._catch_up().rows[0]
        if moved:
            about = {"stream": STREAM, "segment_id": row.segment_id, "offset": row.write_offset}
            story.journal.append(SegmentTiered(time_ms=story.now_ms, **about))
        view = SegmentMap(story.journal)
        raster = drawn(view._catch_up(), view._facts())
        pixels.append(raster.pixels[TOP:BOTTOM, LEFT:RIGHT] == raster._index(TEXT))
        [edge] = [trace for trace in view.figure().data if trace.name == TIERED] or [None]
        assert (edge is not None) is moved
    assert not pixels[0].any()
    low, left = BOTTOM - TOP, 0  # the first segment has all keys, so its edge is at the bottom
    assert pixels[1][low - 4 : low, left + 1].all()
    assert not pixels[1][: low - 4].any()
    assert edge is not None
    assert (min(edge.y[:5]), 0 < max(edge.y[:5]) < 0.02, edge.x[0]) == (0.0, True, 0.0)
