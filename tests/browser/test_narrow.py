"""Views in a pane of 450 pixels: columns are a table below the picture, and no text on the canvas is cut.

The same pages are accessible: axe-core finds no violation, and every reason is reached by keyboard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.observe import Journal
from pravega_lab.widgets import LedgerView, ReaderBoard, show
from tests.browser.axe import violations
from tests.browser.page import WAIT_MS, Errors, canvas, settle, view, wait_painted
from tests.observe.examples import killed_query, splitting_story
from tests.observe.group.examples import busy_group, large_group
from tests.observe.job.examples import whole_run
from tests.observe.ledger.examples import judged_run

# Every text that is painted on a canvas, with its left and right end.
RECORD = """() => {
  globalThis.painted = [];
  const paint = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const width = this.measureText(text).width;
    const at = { left: 0, right: -width, center: -width / 2 }[this.textAlign] ?? 0;
    const { a, b, e } = this.getTransform(); // text that is turned is not looked at
    const left = (e + (x + at) * a) / devicePixelRatio;
    const right = left + (width * a) / devicePixelRatio;
    if (!b) painted.push([text, left, right, this.canvas.width / devicePixelRatio]);
    return paint.apply(this, arguments);
  };
}"""
# The elements around a canvas that hide a part of their text.
CLIPPED = """() => [...document.querySelectorAll(".plab-head, .plab-head *, .plab-legend *, .plab-folded *")]
  .filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflow !== "visible")
  .map((e) => e.outerHTML)"""


def a_stream_and_a_query() -> Journal:
    journal = splitting_story().journal
    killed_query(journal)
    return journal


THINGS: dict[str, Callable[[], Any]] = {
    "stream and query": a_stream_and_a_query,
    "group": lambda: busy_group().journal,
    "large group": lambda: large_group().journal,
    "job": whole_run,
    "ledger": lambda: LedgerView(judged_run()),
    "nothing": lambda: Journal(live=False),
}
NAMES = {
    "stream and query": ["segment", "keys", "rows/s arriving", "together"],
    "group": ["held/fair", "unread", "1. r1", "the cut, when all passed"],
    "large group": ["host-00-reader-0", "+19", "up to 42 KiB"],
    "job": ["subtask", "stored state", "largest part"],
}


@pytest.fixture(params=THINGS)
def narrow(request: pytest.FixtureRequest, browser: Any, tmp_path: Path) -> Iterator[tuple[str, Any]]:
    path = show(THINGS[request.param]()).export(tmp_path / "page.html")
    context = browser.new_context(viewport={"width": 450, "height": 900}, offline=True)
    page, errors = context.new_page(), Errors()
    errors.of(page)
    page.add_init_script(f"({RECORD})()")
    page.goto(path.as_uri())
    for n in range(page.locator(".plab").count()):
        wait_painted(page, n)
    yield request.param, page
    context.close()
    assert errors == []


def test_nothing_is_cut_and_nothing_inaccessible(narrow: tuple[str, Any]) -> None:
    what, page = narrow
    settle(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 450
    cut = [
        row
        for row in page.evaluate("() => painted")
        if row[1] < -1 or row[2] > row[3] + 1 or "…" in row[0][1:]
    ]
    assert cut == []
    assert page.evaluate(CLIPPED) == []
    said = "\n".join(page.locator(".plab-folded").all_inner_texts())
    for words in NAMES.get(what, []):
        assert words in said
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        settle(page)
        assert violations(page) == []


def test_axe_core_finds_what_is_wrong(browser: Any) -> None:
    page = browser.new_page()
    page.set_content("<!doctype html><title>x</title><input><p style='color:#ccc'>pale</p>")
    found = {line.split(":")[0] for line in violations(page)}
    assert {"html-has-lang", "label", "color-contrast", "page-has-heading-one", "landmark-one-main"} <= found
    page.close()


def test_reasons_are_read_on_hover_and_by_keyboard(browser: Any, tmp_path: Path) -> None:
    journal = busy_group().journal
    moves = list(
        ReaderBoard(journal).moves[["t_s", "from_reader", "to_reader"]].itertuples(index=False, name=None)
    )
    path = show(journal).export(tmp_path / "page.html")
    page = browser.new_page(viewport={"width": 450, "height": 900})
    page.goto(path.as_uri())
    wait_painted(page, 1)
    reason = "fair share: 1 of 4 segments, 3 readers"
    canvas(page, 1).focus()
    aloud, tip = view(page, 1).locator(".plab-aloud").first, view(page, 1).locator(".plab-tip")
    for _ in range(5):  # four readers, and then the newest move
        page.keyboard.press("ArrowUp")
    page.wait_for_function(
        "(e) => e.innerText.includes('r3 → r1')", arg=aloud.element_handle(), timeout=WAIT_MS
    )
    assert reason in aloud.inner_text()
    assert reason in tip.inner_text()  # on focus
    page.keyboard.press("Escape")
    settle(page)
    assert not tip.is_visible()
    # The time axis goes from 46 pixels to 14 before the right end.
    canvas(page, 1).scroll_into_view_if_needed()
    box, [at_s] = canvas(page, 1).bounding_box(), [m[0] for m in moves if m[1:] == ("r3", "r1")]
    across = 46 + (box["width"] - 60) * at_s / 108
    page.mouse.move(box["x"] + across, box["y"] + box["height"] - 40)
    settle(page)
    assert reason in tip.inner_text()
    page.close()
