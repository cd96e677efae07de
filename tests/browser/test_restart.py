"""Views through a restart of the kernel, and what they leave behind when they are taken away: nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.lab import KERNEL_IDLE, RUN_S, run_all, screenshot
from tests.browser.page import (
    SHARED,
    WAIT_MS,
    Errors,
    colours,
    last_output,
    newest,
    run_cell,
    view,
    wait_caught_up,
    wait_drawn,
)

CELLS = [
    "from tests.observe.examples import Story, killed_query, splitting_story\n"
    "from pravega_lab.observe.journal.journal import Journal\n"
    "from pravega_lab.widgets import QueryTimeline, SegmentMap, show\n"
    "recorded, query = splitting_story().journal, Journal('a query')\nkilled_query(query)\n"
    "show(SegmentMap(recorded), QueryTimeline(query))",
    "story = Story(live=True, stream='demo/live')\nstory.begin(2)\nlive = SegmentMap(story.journal)\nlive",
]
MAP, TIMELINE, LIVE = 0, 1, 2
MEASURE = "for _ in range(5): story.measure(lambda low, high: 100.0)\nprint(story.journal.next_seq - 1)"


@pytest.fixture(scope="module")
def page(new_notebook: Any, errors: Errors) -> Iterator[Any]:
    with new_notebook("restart", *CELLS, size=(1400, 1900), errors=errors) as page:
        run_all(page)
        for n in (MAP, TIMELINE, LIVE):
            wait_drawn(page, n)
        yield page


def said(page: Any, n: int) -> str:
    """What a view shows in place of its state; "none" while that is right."""
    style = "(badge) => getComputedStyle(badge, '::after').content"
    return str(view(page, n).locator(".plab-badge").evaluate(style))


def wait_shows(page: Any, n: int, seq: int) -> None:
    page.wait_for_function(
        "([n, seq]) => document.querySelectorAll('.plab')[n].dataset.seq === String(seq)",
        arg=[n, seq],
        timeout=4 * WAIT_MS,
    )


def test_each_view_shows_the_last_observation_of_its_journal(page: Any) -> None:
    wanted = newest(page)
    assert len(wanted) == 3
    wait_caught_up(page, 3, wanted)
    assert view(page, LIVE).locator(".plab-time").get_attribute("title").startswith("observation")


def test_a_live_view_catches_up_with_what_is_added(page: Any) -> None:
    run_cell(page, MEASURE)
    wait_shows(page, LIVE, int(last_output(page)))
    assert said(page, LIVE) == "none"


def test_a_restart_leaves_the_last_picture_and_a_new_run_catches_up(page: Any) -> None:
    for _ in range(2):  # what a first restart left is still there at the second
        page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
        page.wait_for_function(KERNEL_IDLE, timeout=RUN_S * 1000)
        for n in (MAP, TIMELINE, LIVE):
            assert colours(page, n) >= 20
        assert [said(page, n) for n in (MAP, LIVE)] == ["none", '"✕ not live: the kernel was restarted"']
    screenshot(page, "restarted")
    page.evaluate(  # the cells that were added by the tests measure what is gone
        "() => { const { model } = window.jupyterapp.shell.currentWidget.content;"
        " model.sharedModel.deleteCellRange(2, model.cells.length); }"
    )
    run_all(page)
    for n in (MAP, TIMELINE, LIVE):
        wait_drawn(page, n)
    run_cell(page, MEASURE)
    wait_shows(page, LIVE, int(last_output(page)))


def listeners(page: Any) -> list[str]:
    """What modules that came as blobs, which is what views are, listen to outside of their own elements."""
    debugger = page.context.new_cdp_session(page)
    scripts: dict[str, str] = {}
    debugger.on("Debugger.scriptParsed", lambda e: scripts.update({e["scriptId"]: e["url"]}))
    debugger.send("Debugger.enable")
    found = []
    for thing in ("window", "document", "document.body", "document.documentElement"):
        target = debugger.send("Runtime.evaluate", {"expression": thing})["result"]["objectId"]
        told = debugger.send("DOMDebugger.getEventListeners", {"objectId": target})["listeners"]
        found += [f"{thing} {e['type']}" for e in told if scripts[e["scriptId"]].startswith("blob:")]
    debugger.detach()
    return found


def test_taken_away_they_leave_no_listeners(page: Any) -> None:
    assert len(listeners(page)) >= 3, "the views listen to the page, or this test sees nothing"
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    page.wait_for_function(f"() => {SHARED}.views === 0 && {SHARED}.clocks.size === 0", timeout=WAIT_MS)
    assert listeners(page) == []
    assert page.evaluate(f"() => {SHARED}.voices?.size ?? 0") == 0


# anywidget says this of a module that took more than two seconds to load, as on a busy machine. The view
# hears the kernel all the same: test_slow_page.py.
SLOW_TO_LOAD = "[anywidget] Failed to initialize model."
# JupyterLab says this of its debugger, which it restores after a restart, if the next restart comes before.
INTERRUPTED = "Could not restore the debugger state"


def test_the_console_stayed_clean(errors: Errors) -> None:
    known = ("favicon", SLOW_TO_LOAD, INTERRUPTED)
    assert [error for error in errors if not any(words in error for words in known)] == []
