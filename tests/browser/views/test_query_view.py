"""The query timeline with more batches than rows have room, below a map without segments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.observe.journal.journal import Journal
from pravega_lab.widgets import show
from tests.browser.page import canvas, exported_page, point, settle, view
from tests.observe.examples import QueryStory

MAP, TIMELINE = 0, 1
LEFT, GUTTER = 46, 240  # of the picture, in pixels (scale.ts)
BATCHES, SLOW = 200, 60
USUAL_MS, SLOW_MS = 2_000, 10_000


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    journal = Journal("many batches")
    story = QueryStory(journal)
    story.start()
    for n in range(BATCHES):
        story.batch((60, 30, (SLOW_MS if n == SLOW else USUAL_MS) - 100, 10), 400, 40_000)
    return show(journal).export(tmp_path_factory.mktemp("query") / "run.html")


@pytest.fixture
def page(browser: Any, exported: Path) -> Iterator[Any]:
    with exported_page(browser, exported, [TIMELINE]) as page:
        yield page


def test_the_slider_of_a_view_without_data_is_where_the_clock_is(page: Any) -> None:
    slider = view(page, MAP).locator(".plab-bar input[type=range]")
    assert slider.input_value() == "1000"
    canvas(page, MAP).focus()
    page.keyboard.press("Home")
    settle(page)
    assert slider.input_value() == "0"


def test_each_batch_is_a_bar_that_the_pointer_finds(page: Any) -> None:
    width = canvas(page, TIMELINE).bounding_box()["width"]
    middle_ms = SLOW * USUAL_MS + SLOW_MS / 2
    x = LEFT + (width - GUTTER - LEFT) * middle_ms / ((BATCHES - 1) * USUAL_MS + SLOW_MS)
    point(page, TIMELINE, x / width, 0.2)  # above the bars of the others
    settle(page)
    assert f"batch {SLOW}:" in view(page, TIMELINE).locator(".plab-tip").inner_text().replace("\n", "")
