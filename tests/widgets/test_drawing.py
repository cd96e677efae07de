"""Pictures that are made once: what is drawn, and the same in words."""

from __future__ import annotations

import re
from html import escape
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.widgets import LedgerView, show
from pravega_lab.widgets.boards.board import stacked
from pravega_lab.widgets.drawings.drawing import Drawing
from pravega_lab.widgets.drawings.line_figure import LineFigure
from pravega_lab.widgets.drawings.line_picture import Line, Mark, line_picture
from pravega_lab.widgets.live.still import still
from pravega_lab.widgets.svg.palette import GROUND, STYLE, TEXT, THEMED, VERMILION, on_dark, rgb
from pravega_lab.widgets.svg.picture import time_steps, time_text
from tests.observe.examples import splitting_story
from tests.observe.group.examples import busy_group
from tests.observe.job.examples import whole_run
from tests.observe.ledger.examples import judged_run

SVG = "{http://www.w3.org/2000/svg}"


def lines() -> Drawing:
    return line_picture(
        "Up <and> down",
        [Line("up", [(0, 0), (2, 10)]), Line("down", [(0, 10), (2, 0)], dots=True)],
        x="seconds",
        y="events",
        marks=[Mark(1, "begins"), Mark(1.5, "breaks", fails=True)],
        words=["up goes up,", "down goes down."],
    )


def test_it_is_a_picture_and_the_same_in_words() -> None:
    drawn = lines()
    bundle = drawn._repr_mimebundle_()
    assert bundle["text/plain"] == repr(drawn) == "Up <and> down\nup goes up,\ndown goes down."
    assert f'alt="{escape(repr(drawn))}"' in bundle["text/html"]
    root = ElementTree.fromstring(drawn.svg)
    assert root.findtext(f"{SVG}title") == "Up <and> down"
    assert root.findtext(f"{SVG}desc") == repr(drawn)
    assert drawn.svg == lines().svg


def test_a_figure_has_the_same_lines_and_a_picture_for_pages_without_plotly() -> None:
    lines = [Line("up", [(0, 0), (2, 10)]), Line("down", [(0, 5)])]
    words, marks = ["up goes up."], [Mark(1.5, "breaks", fails=True)]
    shown = LineFigure("Compared", lines, x="seconds", y="events", words=words, marks=marks)
    figure = shown.figure()
    assert [(line.name, list(line.x), list(line.y)) for line in figure.data] == [
        ("up", [0, 2], [0, 10]),
        ("down", [0], [5]),
    ]
    assert [note.text for note in figure.layout.annotations] == ["× breaks"]
    bundle = shown._repr_mimebundle_()
    assert bundle["text/html"] == still(shown.drawing.svg, repr(shown))
    assert bundle["application/vnd.plotly.v1+json"]["data"][0]["name"] == "up"
    assert repr(shown) == bundle["text/plain"] == "Compared\nup goes up."


def test_lines_go_from_left_to_right_and_only_a_failure_is_vermilion() -> None:
    root = ElementTree.fromstring(lines().svg)
    texts = {text.text: text for text in root.iter(f"{SVG}text")}
    assert {"up", "down", "seconds", "events", "begins", "× breaks"} <= set(texts)
    assert texts["× breaks"].get("fill") == VERMILION
    assert texts["begins"].get("fill") != VERMILION
    strokes = [path.get("stroke") for path in root.iter(f"{SVG}path") if path.get("fill") == "none"]
    assert len(strokes) == 2
    assert VERMILION not in strokes


def test_names_at_the_ends_do_not_lie_on_each_other() -> None:
    drawn = line_picture(
        "Close", [Line(name, [(0, 0), (1, 5)]) for name in ("one", "two", "three")], x="x", y="y", words=[]
    )
    root = ElementTree.fromstring(drawn.svg)
    found = {text.text: float(text.get("y", 0)) for text in root.iter(f"{SVG}text")}
    places = sorted(found[name] for name in ("one", "two", "three"))
    assert min(b - a for a, b in pairwise(places)) >= 12


def test_it_can_be_kept_as_a_file(tmp_path: Path) -> None:
    path = lines().save(tmp_path / "in" / "lines.svg")
    assert path.read_text() == lines().svg


def test_without_points_it_says_what_is_wanted() -> None:
    with pytest.raises(BadInputError, match="no points: give each Line"):
        line_picture("Empty", [Line("none", [])], x="x", y="y", words=[])


def test_stacked_pictures_say_once_what_they_are_on_a_dark_ground() -> None:
    svg = stacked([lines().svg, lines().svg])
    assert svg.count("<style>") == 1
    style = ElementTree.fromstring(svg).find(f"{SVG}style")
    assert style is not None
    assert f'.{THEMED} [fill="{TEXT}"]{{fill:light-dark({TEXT},#e6e6e6)}}' in (style.text or "")
    assert "svg:root{color-scheme:light dark}" in (style.text or "")


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    parts = [part / 255 for part in rgb(colour)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_label_can_be_read_on_a_dark_ground() -> None:
    pictures = [
        show(busy_group().journal).picture(),
        show(splitting_story().journal).picture(),
        LedgerView(judged_run()).picture()[1],
        show(whole_run()).picture(),
        lines().svg,
    ]
    on_colours = {"#ffffff", "#000000"}  # chosen by `ink`
    for picture in pictures:
        fills = set(re.findall(r'<(?:text|tspan)[^>]* fill="(#\w+)"', str(picture))) - on_colours
        assert len(fills) >= 2
        for fill in fills:
            assert contrast(on_dark(fill), on_dark(GROUND)) >= 4.5, fill
    assert contrast(on_dark(VERMILION), on_dark("#fbe5d8")) >= 4.5  # code that is wrong


def test_stored_outputs_may_be_older_than_the_themes() -> None:
    older = lines().svg.replace(f'class="{THEMED}" ', "").replace(f"{STYLE}\n", "")
    assert older != lines().svg
    rules = Path(__file__).parents[1].joinpath("notebooks", "nbval.ini").read_text()
    newer = lines().svg
    for regex, replace in re.findall(r"^regex: (.*)$\n^replace: (.*)$", rules, re.MULTILINE):
        older, newer = re.sub(regex, replace, older), re.sub(regex, replace, newer)
    assert newer == older


def test_a_time_axis_has_seconds_and_minutes_and_hours_where_it_is_long() -> None:
    def labels(end_s: float, n: float) -> list[str]:
        return [label for _, label in time_steps(end_s, n)]

    assert labels(120, 8) == ["0 s", "20 s", "40 s", "60 s", "80 s", "100 s", "120 s"]
    assert labels(3600, 6) == ["0 s", "10 min", "20 min", "30 min", "40 min", "50 min", "1 h"]
    assert labels(6000, 4) == ["0 s", "30 min", "1 h", "1:30 h"]
    assert labels(43_261, 7) == ["0 s", "2 h", "4 h", "6 h", "8 h", "10 h", "12 h"]
    assert labels(900, 8) == ["0 s", "2 min", "4 min", "6 min", "8 min", "10 min", "12 min", "14 min"]
    assert labels(40 * 86_400, 4) == ["0 s", "240 h", "480 h", "720 h", "960 h"]
    assert time_text(43_261) == "12:01:01 h"
    assert time_text(700) == "11:40 min"
    assert time_text(90.25) == "90.25 s"
