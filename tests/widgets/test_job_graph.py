"""The graph of a job without a browser: rows, picture, words, what it sends, what its controls would call."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pravega_lab.engine.flow.graph.graph import JobGraph as Graph
from pravega_lab.engine.flow.graph.stream import StreamEnvironment
from pravega_lab.engine.flow.observer import JobStateChanged, SubtaskStateChanged
from pravega_lab.engine.flow.source.collections import RowsSource
from pravega_lab.observe import JobObserver, Journal, fold_jobs
from pravega_lab.observe.job.rows import TASK_STATES
from pravega_lab.widgets import JobGraph, show
from pravega_lab.widgets.job_graph import view as job_graph
from pravega_lab.widgets.live.job_access import NOT_SIMULATED
from pravega_lab.widgets.live.view import RECORDING
from tests.observe.job.examples import half_run, whole_run
from tests.widgets.pictures import drawn
from tests.widgets.typescript import typescript_of

VERMILION = "#D55E00"
FORMATS = {
    "tasks": (job_graph.TASK, True), "channels": (job_graph.CHANNEL, True),
    "states": (job_graph.STATE, False), "measures": (job_graph.MEASURE, False),
    "contents": (job_graph.CONTENT, False),
    "marks": (job_graph.MARK, False), "trays": (job_graph.TRAY, False),
}  # fmt: skip


class Page:
    """What the JavaScript keeps."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[int, tuple[Any, ...]]] = {}
        self.lists: dict[str, list[Any]] = {}
        self.facts: dict[str, Any] = {}

    def take(self, payload: Any) -> None:
        if payload.kind == "snapshot":
            self.__init__()  # type: ignore[misc]
        self.facts |= json.loads(json.dumps(payload.facts))
        for name, items in payload.grown.items():
            self.lists.setdefault(name, []).extend(json.loads(json.dumps(items)))
        for name, table in payload.tables.items():
            row, keyed = FORMATS.get(name, (struct.Struct("<fI"), False))
            rows = self.tables.setdefault(name, {})
            for values in row.iter_unpack(table):
                rows[values[0] if keyed else len(rows)] = values


def wide_graph() -> Graph:
    env = StreamEnvironment("wide", parallelism=12)
    source = env.from_source(RowsSource([{"k": 1}], splits=1)).set_parallelism(2)
    source.rebalance().map(lambda row: row).set_parallelism(12)
    return env.job_graph()


def wide_job() -> JobObserver:
    """Two sources into twelve subtasks, which are too many to draw each."""
    graph = wide_graph()
    observer = JobObserver(graph)
    observer.observe(JobStateChanged(0, "running"))
    for n, subtask in enumerate(graph.subtasks()):
        observer.observe(SubtaskStateChanged(n, subtask, 0, "running"))
    return observer


def test_a_row_per_subtask() -> None:
    frame = JobGraph(whole_run()).frame.set_index("task")
    assert list(frame.index) == [
        "lines[0]", "lines[1]", "once[0]", "aggregate[0]", "aggregate[1]", "sink[0]", "sink[1]",
    ]  # fmt: skip
    assert set(frame["state"]) == {"finished"}
    assert frame.loc["aggregate[0]", "watermark_ms"] == 2**63 - 1
    assert frame["committed"].isna().sum() == 5
    assert (frame.loc[["sink[0]", "sink[1]"], "committed"] > 0).all()


def test_any_moment() -> None:
    view = JobGraph(whole_run())
    at = view.at(0.2132).set_index("task")
    assert list(at["state"]) == [
        "running", "running", "waits for final checkpoint", "aligning", "aligning", "running", "running",
    ]  # fmt: skip
    assert view.at(0.31).set_index("task").loc["aggregate[1]", "state"] == "failed"


def test_channels_in_words() -> None:
    channels = JobGraph(half_run()).channels.set_index("channel")
    held = [text for holds in channels["holds"] for text in holds]
    assert "barrier 1" in held
    assert channels["blocked_ms"].notna().sum() == 4
    assert (channels["capacity"] == 8).all()


def test_the_last_twenty_of_a_subtask() -> None:
    view = JobGraph(whole_run())
    said = view.last("aggregate[1]")
    assert len(said) == 20
    assert said[-1] == "aggregate 2/2 is finished (attempt 2)"
    assert view.last("aggregate[1]", 2) == said[-2:]
    assert view.last("nobody[0]") == []


def test_the_picture_says_states_in_words_and_what_channels_hold() -> None:
    _, picture = JobGraph(half_run()).picture()
    assert isinstance(picture, str)
    for text in ("waits for final checkpoint", "aligning", "1 open 1", "lines ×2", "barrier 1", "9 ms"):
        assert text in picture, text
    assert VERMILION not in drawn(picture)
    failed = Journal("until 310 ms", live=False)
    failed.extend(o for o in whole_run().since() if o.time_ms <= 1_000_310)
    assert VERMILION in drawn(str(JobGraph(failed).picture()[1]))


def test_pictures_are_the_same_each_time_and_stay_inside() -> None:
    for journal in (half_run(), whole_run(), wide_job().journal):
        picture = JobGraph(journal).picture()[1]
        assert picture == JobGraph(journal).picture()[1]
        assert isinstance(picture, str)
        root = ElementTree.fromstring(picture)
        width, height = (float(v) for v in root.get("viewBox", "").split()[2:])
        for text in root.iter("{http://www.w3.org/2000/svg}text"):
            length = 0.55 * float(text.get("font-size", 10)) * len("".join(text.itertext()))
            x = float(text.get("x", 0))
            left = {"end": x - length, "middle": x - length / 2}.get(text.get("text-anchor", ""), x)
            assert left >= -8, text.text
            assert left + length <= width + 30, text.text
            assert 0 <= float(text.get("y", 0)) <= height, text.text


def test_more_than_eight_subtasks_are_one_box_with_counts() -> None:
    picture = str(JobGraph(wide_job().journal).picture()[1])
    assert "12 subtasks" in picture
    assert "12 running" in picture
    assert "1/2" in picture


def test_deltas_add_up_to_the_snapshot() -> None:
    observations = whole_run().since()
    growing = Journal("job words")
    view, page = JobGraph(growing), Page()
    page.take(view.snapshot())
    for first in range(0, len(observations), 41):
        growing.extend(observations[first : first + 41])
        payload = view._produce(False)
        if payload is not None:
            page.take(payload)
    whole = Page()
    whole.take(JobGraph(growing).snapshot())
    for name in FORMATS:
        assert str(page.tables.get(name)) == str(whole.tables.get(name)), name
    for name in ("vertices", "lives", "jobs", "said", "why", "trays"):
        assert page.lists[name] == whole.lists[name], name
    assert page.facts == whole.facts


def test_marks_belong_to_their_contents() -> None:
    page = Page()
    page.take(JobGraph(whole_run()).snapshot())
    marks = list(page.tables["marks"].values())
    contents = list(page.tables["contents"].values())
    assert sum(row[-1] for row in contents) == len(marks)
    kept = fold_jobs(whole_run().since()).contents.items
    for row, told in zip(contents, kept, strict=True):
        first, n = row[-2:]
        assert [job_graph.MARKS[what] for what, _, _ in marks[first : first + n]] == [
            w for w, _ in told.marks
        ]


def test_formats_and_words_agree_with_the_javascript() -> None:
    text = typescript_of("job_graph")
    for name, (row, _) in FORMATS.items():
        (fields,) = re.findall(rf'\b{name}: \{{\s*format: "([^"]+)"', text)
        kinds = "".join(field.split(":")[1] for field in fields.split())
        assert kinds.replace("u", "I") == row.format.removeprefix("<"), name
    (states,) = re.findall(r"const STATES = \[(.*)\];", text)
    assert tuple(re.findall(r'"([^"]+)"', states)) == TASK_STATES
    (marks,) = re.findall(r"const MARKS = \[(.*)\];", text)
    assert tuple(re.findall(r'"([^"]+)"', marks)) == job_graph.MARKS
    assert f"const FOLD_ABOVE = {job_graph.FOLD_ABOVE};" in text


def test_a_control_that_cannot_act_says_why() -> None:
    assert JobGraph(whole_run()).snapshot().facts["no_control"] == RECORDING
    assert JobGraph(wide_job()).snapshot().facts["no_control"] == NOT_SIMULATED
    view = JobGraph(wide_job())
    view.control = "run"
    facts = view.snapshot().facts
    assert (facts["control"], facts["no_control"]) == ("run", "")


def test_an_empty_one_says_what_fills_it() -> None:
    view = JobGraph(Journal("nothing"))
    sentence, code = view.snapshot().facts["empty"]
    assert sentence.startswith("No job has begun")
    assert "JobObserver(graph)" in code
    assert "No job has begun" in str(view.picture()[1])
    assert len(view.frame) == 0


def test_a_job_gets_its_two_views(tmp_path: Path) -> None:
    board = show(whole_run())
    assert [type(view).__name__ for view in board.views] == ["JobGraph", "CheckpointTimeline"]
    page = board.export(tmp_path / "job.html").read_text()
    assert page.count("<noscript><svg") == 2
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) == {"http://www.w3.org/2000/svg"}
    assert repr(board.views[0]) == "JobGraph('words', 7 subtasks, finished, recording)"
    assert isinstance(show(wide_job()).views[0], JobGraph)


def test_a_figure_has_a_line_per_subtask() -> None:
    figure = JobGraph(whole_run()).figure()
    assert figure.layout.xaxis2.title.text == "seconds"
    long = Journal("a day")
    long.extend(whole_run().since())
    long.tick((long.start_ms or 0) + 90_000_000)
    assert "12 h" in JobGraph(long).figure().layout.xaxis2.ticktext
    assert {trace.name for trace in figure.data} == {
        "lines 1/2", "lines 2/2", "once 1/1", "aggregate 1/2", "aggregate 2/2", "sink 1/2", "sink 2/2",
    }  # fmt: skip


def test_a_misspelt_argument_names_the_nearest() -> None:
    with pytest.raises(TypeError, match="did you mean 'title'"):
        JobGraph(whole_run(), tilte="x")
