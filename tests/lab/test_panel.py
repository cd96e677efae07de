"""`Lab()` as something to look at, its place in a kernel, and the progress of long work."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from pravega_lab import Lab
from pravega_lab.client.reader_group import reading
from pravega_lab.errors import BadInputError
from pravega_lab.lab.health import ROWS_MAX, Health, parts
from pravega_lab.lab.panel import as_html, as_text


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab() as lab:
        yield lab


def said(lab: Lab) -> dict[str, tuple[Health, str]]:
    return {part.name: (part.health, part.words) for part in parts(lab)}


def test_the_parts_of_a_lab_that_is_well(lab: Lab) -> None:
    lab.create_stream("demo/flights").write(["a", "b"])
    sealed = lab.create_stream("demo/old")
    sealed.seal()
    group = lab.client.create_reader_group("demo/readers", reading(["demo/flights"]))
    with group.create_reader("one"), group.create_reader("two"):
        found = said(lab)
    assert found == {
        "store": (Health.WELL, f"embedded, thrown away at the end, {lab.uri}"),
        "Spark": (Health.RESTING, "not started; lab.spark starts it"),
        "streams": (Health.WELL, "demo/flights (1 segment), demo/old (sealed)"),
        "reader groups": (Health.WELL, "demo/readers (2 readers online)"),
        "observers": (Health.RESTING, "none; lab.show(stream) opens a view"),
    }


def test_trouble_of_an_observer_is_shown_until_it_is_over(lab: Lab) -> None:
    watch = lab.observe(lab.stream("demo/later"))
    assert watch.look()
    health, words = said(lab)["observers"]
    assert health is Health.ILL
    assert "there is no stream demo/later (yet)" in words
    lab.create_stream("demo/later")
    assert watch.look()
    assert said(lab)["observers"][0] is Health.WELL


def test_a_store_that_died_is_said_with_the_next_step(lab: Lab) -> None:
    assert lab.store is not None
    lab.store.kill()
    store, *others = parts(lab)
    assert store.health is Health.ILL
    assert store.words.endswith("its process has ended")
    assert store.remedy == "lab.store.start() brings it back, empty"
    assert [part.name for part in others] == ["Spark", "observers"]  # whom it cannot ask it does not guess
    lab.store.start()
    assert parts(lab)[0].health is Health.WELL


def test_a_joined_store_that_does_not_answer(lab: Lab) -> None:
    with Lab(uri=lab.uri) as joined:
        assert parts(joined)[0].words == f"joined, {lab.uri}"
        assert lab.store is not None
        lab.store.stop()
        [store, *_] = parts(joined)
    assert (store.health, store.remedy) == (Health.ILL, "check that it runs and is reached")


def test_many_streams_are_counted(lab: Lab) -> None:
    for n in range(ROWS_MAX + 3):
        lab.create_stream(f"many/s{n:02}")
    assert said(lab)["streams"][1].endswith("many/s11 (1 segment) and 3 more")


def test_a_closed_lab() -> None:
    lab = Lab()
    lab.close()
    assert [(part.words, part.remedy) for part in parts(lab)] == [("closed", "Lab() starts another")]


def test_names_are_text_and_not_markup(lab: Lab) -> None:
    lab.title = "Lab <b>&"
    found = parts(lab)
    assert "Lab &lt;b&gt;&amp;" in as_html(lab.title, found)
    assert as_text(lab.title, found).splitlines()[1].startswith("● store ")


def test_writing_much_goes_in_slices(lab: Lab) -> None:
    stream = lab.create_stream("demo/many")
    events = [f"{n}" for n in range(45_000)]
    assert lab.write(stream, events, [str(n % 7) for n in range(45_000)]) == 45_000
    assert lab.write(stream, "one", "key") == 1
    frame = pd.DataFrame({"event": events, "routing_key": ["key"] * 45_000})
    assert lab.write(stream, frame) == 45_000
    with pytest.raises(BadInputError, match="found int 5; write bytes or str"):
        lab.write(stream, 5)
    with stream.read() as batches:
        read = [event.decode() for batch in batches for event in batch.column("event").to_pylist()]
    assert read == [*events, "one", *events]


def test_an_unknown_combination_leaves_the_other_lab_alone(lab: Lab) -> None:
    with pytest.raises(BadInputError):
        Lab("folder", uri=lab.uri)
    assert parts(lab)[0].health is Health.WELL


CELLS = [
    "from pravega_lab import Lab\nlab = Lab()\nfirst = lab",
    "lab = Lab()",
    "other = Lab(name='other')\n"
    "print(first.is_closed, first.store.alive, lab.store.alive, other.store.alive)",
    "lab",
    "import time\nfrom pravega_lab.progress import Progress, track\n"
    "with Progress('resting'): time.sleep(1.2)",
    "with Progress('short'): pass",
    "lab.close(); other.close(); print(lab.store.alive, other.store.alive); lab",
    "from pravega_lab.observe import Journal\nfrom pravega_lab.observe.journal.observations import *\n"
    "journal = Journal('demo/flights', live=False)\n"
    "journal.append(StreamSeen(time_ms=1, stream='demo/flights', policy='fixed'))\n"
    "journal.append(SegmentOpened(time_ms=1, stream='demo/flights', segment_id=0, low=0.0, high=1.0))\n"
    "from pravega_lab.widgets import SegmentMap, show\nshow(journal, title='Morning & \"evening\"')",
    "SegmentMap(journal)",
]


@pytest.fixture(scope="module")
def notebook() -> Any:
    """A notebook of `CELLS`, as ``nbconvert --execute`` runs it."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute(env=environ)
    return notebook


@pytest.fixture(scope="module")
def cells(notebook: Any) -> list[Any]:
    """The outputs of `CELLS`."""
    return [cell.outputs for cell in notebook.cells]


@pytest.mark.slow
def test_a_converted_notebook_shows_its_pictures_without_network_and_kernel(notebook: Any) -> None:
    page = HTMLExporter().from_notebook_node(notebook)[0]
    board, view = re.findall(r'<img[^>]*class="plab-still"[^>]*>', page)
    assert 'alt="Morning &amp; &quot;evening&quot;. SegmentMap: ' in board
    assert "alt=\"SegmentMap: 'demo/flights', 1 segment, 1 active\"" in view.replace("&#x27;", "'")
    for image in (board, view):
        data = re.search(r'src="data:image/svg\+xml;base64,([^"]*)"', image)
        assert data is not None
        assert "#0 e0" in base64.b64decode(data[1]).decode()
    assert '<script type="application/vnd.jupyter.widget-view+json">' not in page
    assert "No description has been provided" not in page


@pytest.mark.slow
def test_a_cell_run_again_replaces_its_lab_and_says_so(cells: list[Any]) -> None:
    [told] = cells[1]
    assert told.text.startswith("Lab() takes the place of the one at tcp://127.0.0.1:")
    assert told.text.endswith('which is closed now; Lab(name="other") keeps both.\n')
    [states] = cells[2]
    assert states.text == "True False True True\n"


def test_the_panel_is_live_where_a_person_runs_the_cell(lab: Lab) -> None:
    shown, _ = lab._repr_mimebundle_()
    assert set(shown) == {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}


def test_the_panel_is_a_picture_where_a_program_runs_the_cell(cells: list[Any]) -> None:
    [shown] = cells[3]
    assert set(shown.data) == {"text/html", "text/plain"}
    assert shown.data["text/plain"].startswith("Lab\n● store ")
    assert "thrown away at the end" in shown.data["text/html"]
    closed = cells[6][-1]
    assert cells[6][0].text == "False False\n"
    assert closed.data["text/plain"] == "Lab\n○ lab  closed → Lab() starts another"


def test_long_work_shows_a_bar_and_takes_it_away_and_short_work_shows_none(cells: list[Any]) -> None:
    [bar] = cells[4]
    assert bar.output_type == "display_data"
    assert bar.data["text/plain"] == ""
    assert cells[5] == []


@pytest.mark.slow
def test_neighbours_do_not_collide(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        labs = list(pool.map(lambda n: Lab(tmp_path / f"{n}"), range(4)))
    try:
        assert len({lab.uri for lab in labs}) == 4
        assert all(lab.uri.startswith("tcp://127.0.0.1:") for lab in labs)
        for n, lab in enumerate(labs):
            lab.create_stream(f"demo/mine-{n}").write(f"of {n}")
        # One that is killed comes back at its place, whatever the others do.
        assert labs[0].store is not None
        labs[0].store.kill()
        labs[0].store.start()
        for n, lab in enumerate(labs):
            assert lab.client.list_streams("demo") == [f"mine-{n}"]
    finally:
        for lab in labs:
            lab.close()
