"""Spans in lanes: what is in the picture is in the words, and bars are to scale."""

from __future__ import annotations

import re

import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.widgets.drawings.line_picture import Mark
from pravega_lab.widgets.drawings.span_picture import Span, span_picture
from pravega_lab.widgets.svg.palette import NONE, READERS, VERMILION
from tests.widgets.pictures import drawn

LANES = {"source": [Span(0, 100, "works"), Span(100, 400, "waits")], "sink": [Span(0, 400, "works")]}


def test_it_says_what_it_draws() -> None:
    made = span_picture("Waiting", LANES, x="virtual ms", marks=[Mark(400, "checkpoint 1")])
    assert repr(made).splitlines() == [
        "Waiting",
        "source: works from 0 to 100, waits from 100 to 400",
        "sink: works from 0 to 400",
        "Moments: checkpoint 1 at 400",
        "Times: virtual ms",
    ]


def test_bars_are_to_scale_and_kinds_have_colours() -> None:
    svg = span_picture("Waiting", LANES, x="ms", marks=[Mark(250, "dies", fails=True)]).svg
    widths = {
        title: float(width)
        for width, title in re.findall(r'width="([\d.]+)" height="20" [^>]*><title>(.*?)</title>', svg)
    }
    assert widths["waits: 100 to 400"] == pytest.approx(3 * widths["works: 0 to 100"], rel=0.01)
    assert drawn(svg).count(f'fill="{READERS[0]}"') == 3  # two bars and the legend
    assert drawn(svg).count(f'fill="{READERS[1]}"') == 2
    assert drawn(svg).count(VERMILION) == 2  # the line and its word
    assert "× dies" in svg


@pytest.mark.parametrize(
    ("lanes", "said"),
    [
        ({}, "got no spans"),
        ({"a": [Span(n, n + 1, f"kind {n}") for n in range(7)]}, "has 6 colours, and the spans have 7"),
        ({"a": [Span(2, 1, "works")]}, "ends before it begins"),
    ],
)
def test_what_cannot_be_drawn_is_refused(lanes: dict[str, list[Span]], said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        span_picture("Waiting", lanes, x="ms")


def test_words_of_moments_do_not_cover_each_other() -> None:
    marks = [Mark(100, "a long word"), Mark(101, "another word"), Mark(400, "at the very end")]
    svg = span_picture("Waiting", LANES, x="ms", marks=marks, pale=["waits"]).svg
    places = {word: y for y, word in re.findall(r'y="([\d.]+)" font-size="10"[^>]*>([^<]+)<', svg)}
    assert float(places["another word"]) < float(places["a long word"]) == float(places["at the very end"])
    assert f'fill="{NONE}"' in svg
    assert READERS[1] not in drawn(svg)
