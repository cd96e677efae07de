"""Views in a pane of 450 pixels: columns are a table below the picture, and no text on the canvas is cut.

The same pages are accessible: axe-core finds no violation, and every reason is reached by keyboard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.observe import Journal
from pravega_lab.observe.journal.observations import Trouble
from pravega_lab.widgets import CheckpointTimeline, LedgerView, ReaderBoard, show
from pravega_lab.widgets.live.view import STILL
from tests.browser.axe import violations
from tests.browser.narrow import CLIPPED, CUT, OUTSIDE, OVERLAPPING, RECORD
from tests.browser.page import SHARED, WAIT_MS, Errors, canvas, seek, settle, view, wait_painted
from tests.observe.examples import Story, killed_query, segment, splitting_story
from tests.observe.group.examples import GroupStory, automatic, busy_group, large_group
from tests.observe.job.examples import both_systems, whole_run
from tests.observe.ledger.examples import judged_run

SPAN_S = f"() => {{ const [c] = [...{SHARED}.clocks.values()]; return (c.span[1] - c.start) / 1000; }}"
MOMENTS = 5


def a_stream_and_a_query() -> Journal:
    journal = splitting_story().journal
    killed_query(journal)
    return journal


def hours_of_checkpoints() -> Journal:
    """A group whose first checkpoint is late, and that has had more than a thousand at the end."""
    story = Story()
    story.begin(1)
    group = GroupStory(story)
    group.join("one")
    group.acquire("one", segment(0, 0))
    group.at(1_000, lambda low, high: 10 * (high - low))
    for n in range(1_200):
        story.now_ms += 2_000
        group.ask(automatic(n))
        story.now_ms += 400
        group.passed(automatic(n), "one")
    return story.journal


THINGS: dict[str, Callable[[], Any]] = {
    "stream and query": a_stream_and_a_query,
    "group": lambda: busy_group().journal,
    "large group": lambda: large_group().journal,
    "hours": hours_of_checkpoints,
    "job": whole_run,
    "job and group": both_systems,
    "ledger": lambda: LedgerView(judged_run()),
    "nothing": lambda: Journal(live=False),
}
NAMES = {
    "stream and query": ["segment", "keys", "rows/s arriving", "together"],
    "group": ["held/fair", "unread", "1. r1", "the cut, when all passed"],
    "large group": ["host-00-reader-0", "+19", "up to 42 KiB"],
    "job": ["subtask", "stored state", "largest part"],
}
#: What is painted, where the name of an operator is too long.
PAINTED = {"job and group": ["aggregate 1/2", "aggregate 2/2"], "hours": ["1180", "1190"]}


@pytest.fixture(params=THINGS)
def narrow(request: pytest.FixtureRequest, browser: Any, tmp_path: Path) -> Iterator[tuple[str, Any]]:
    made = THINGS[request.param]()
    path = show(*(made if isinstance(made, tuple) else [made])).export(tmp_path / "page.html")
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
    for moment in range(1, MOMENTS + 1 if what != "nothing" else 1):
        seek(page, page.evaluate(SPAN_S) * moment / MOMENTS)
        assert page.evaluate(CUT) == []
        assert page.evaluate(OVERLAPPING) == []
        assert page.evaluate(OUTSIDE) == []
    texts = page.evaluate("() => [...painted.values()].flat().map(([text]) => text)")
    assert [text for text in PAINTED.get(what, []) if text not in texts] == []
    assert page.evaluate(CLIPPED) == []
    said = "\n".join(page.locator(".plab-folded").all_inner_texts())
    for words in NAMES.get(what, []):
        assert words in said
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        settle(page)
        assert violations(page) == []


def test_a_timeline_before_its_first_checkpoint_says_that_there_is_none_yet(
    browser: Any, tmp_path: Path
) -> None:
    page = browser.new_page(viewport={"width": 450, "height": 900})
    page.add_init_script(f"({RECORD})()")
    page.goto(show(CheckpointTimeline(hours_of_checkpoints())).export(tmp_path / "page.html").as_uri())
    wait_painted(page, 0)
    texts = "() => [...painted.values()].flat().map(([text]) => text)"
    assert "No checkpoint yet at this time." not in page.evaluate(texts)
    seek(page, 500)
    assert "No checkpoint yet at this time." in page.evaluate(texts)
    assert page.evaluate(CUT) == []
    page.close()


def test_a_view_in_trouble_says_why_it_is_not_live(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = busy_group().journal
    journal.live = True
    why = "read demo/flights: no success within 2 s, last: 127.0.0.1:12345 refuses the connection"
    journal.append(Trouble(time_ms=journal.until_ms or 0, source="demo/readers", message=why))
    monkeypatch.setitem(STILL, "live", True)  # a page that no kernel corrects
    monkeypatch.setitem(STILL, "trouble", why)
    page = browser.new_page(viewport={"width": 450, "height": 900})
    page.goto(show(journal).export(tmp_path / "page.html").as_uri())
    for n in range(page.locator(".plab").count()):
        wait_painted(page, n)
        head = view(page, n).locator(".plab-head")
        assert head.locator(".plab-badge").inner_text() == "✕ not live"
        assert head.locator(".plab-badge").get_attribute("title") == why
        assert view(page, n).locator(".plab-trouble").text_content() == why
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        settle(page)
        assert page.evaluate(CLIPPED) == []
        assert violations(page) == []
    page.close()


def test_a_button_of_the_ledger_keeps_the_focus(browser: Any, tmp_path: Path) -> None:
    """The tables are filled again when the clock moves, and a user of the keyboard then had no focus."""
    page = browser.new_page(viewport={"width": 450, "height": 900})
    page.goto(show(LedgerView(judged_run())).export(tmp_path / "page.html").as_uri())
    wait_painted(page, 0)
    before = view(page, 0).locator(".plab-tables").inner_text()
    page.locator("[data-go]").first.focus()
    page.keyboard.press("Enter")
    settle(page)
    assert view(page, 0).locator(".plab-tables").inner_text() != before
    assert page.evaluate("() => document.activeElement.dataset.go") is not None
    page.close()


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
