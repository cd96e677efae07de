"""The views inside JupyterLab: live, also while a cell blocks; after a reload; in another theme; and gone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.lab import run_all
from tests.browser.page import (
    SHARED,
    WAIT_MS,
    Errors,
    canvas,
    clock,
    draws,
    last_output,
    point,
    run_cell,
    settle,
    view,
    wait_drawn,
    wait_more_draws,
)

SETUP = """
from threading import Event, Thread
from tests.observe.examples import Story, killed_query, splitting_story
from pravega_lab.observe import Journal
from pravega_lab.widgets import SegmentMap, show

recorded = splitting_story().journal
killed_query(recorded)
board = show(recorded)
board
"""
LIVE = """
story, stop = Story(live=True, stream="demo/live"), Event()
story.begin(2)

def drive():
    k = 0
    while not stop.wait(0.05):
        k += 1
        story.measure(lambda low, high: 300 * (high - low) * min(1, k / 40), 100)

Thread(target=drive, daemon=True).start()
live = SegmentMap(story.journal)
live
"""
EMPTY = "SegmentMap(Journal('a stream to be'))"
BLOCK = """
import asyncio, time
from pravega_lab.widgets.live.comm import control

while getattr(control().comm, "_reply_subshell_id", None) is None:
    await asyncio.sleep(0.05)  # until the page has been greeted, and is heard beside the cell
print("blocking", flush=True)
began = time.monotonic()
while time.monotonic() < began + 6: time.sleep(0.1)
"""
MAP, TIMELINE, LIVE_MAP, EMPTY_MAP = 0, 1, 2, 3


@pytest.fixture(scope="module")
def page(new_notebook: Any, errors: Errors) -> Iterator[Any]:
    with new_notebook("views", SETUP, LIVE, EMPTY, size=(1400, 1900), errors=errors) as page:
        run_all(page)
        yield page


def test_recorded_and_live_views_are_drawn(page: Any) -> None:
    for n in (MAP, TIMELINE, LIVE_MAP):
        wait_drawn(page, n)
    assert view(page, LIVE_MAP).locator(".plab-badge").inner_text() == "● live"
    assert view(page, MAP).locator(".plab-badge").inner_text() == "■ recording"


def test_an_empty_view_says_what_fills_it(page: Any) -> None:
    empty = view(page, EMPTY_MAP).locator(".plab-empty")
    empty.wait_for(timeout=WAIT_MS)
    assert "No segments yet" in empty.inner_text()
    assert 'lab.create_stream("demo/flights")' in empty.inner_text()
    assert empty.locator("button").inner_text() == "copy"


def test_hover_and_keys_work_and_stay_in_the_view(page: Any) -> None:
    cells = page.locator(".jp-Cell").count()
    point(page, MAP, 0.25, 0.2)
    settle(page)
    assert "demo/flights" in view(page, MAP).locator(".plab-tip").inner_text()
    canvas(page, MAP).focus()
    for key in ("Home", ".", "ArrowRight", "a"):
        page.keyboard.press(key)
    settle(page)
    assert clock(page, "at") is not None
    assert "1 active segment," not in view(page, MAP).locator(".plab-aloud").inner_text()
    page.keyboard.press("End")
    assert page.locator(".jp-Cell").count() in (cells, cells + 1)  # "a" is not ours: JupyterLab has it


def test_keys_in_a_list_of_a_view_do_nothing_to_the_notebook(page: Any) -> None:
    cells = page.locator(".jp-Cell").count()
    for chooser in (view(page, MAP).locator(".plab-controls select"), view(page, MAP).locator(".plab-speed")):
        chooser.focus()
        for key in ("x", "a", "ArrowLeft"):  # JupyterLab would cut a cell, add one, and fold the notebook
            page.keyboard.press(key)
        settle(page)
        assert page.locator(".jp-Cell").count() == cells
    view(page, MAP).locator(".plab-speed").select_option("1")


def test_a_live_view_goes_on_while_a_cell_blocks(page: Any) -> None:
    run_cell(page, BLOCK)
    page.get_by_text("blocking", exact=True).wait_for(timeout=WAIT_MS)
    before = draws(page, LIVE_MAP)
    began = time.monotonic()
    wait_more_draws(page, LIVE_MAP, before + 15)
    # Without answers it would be two a second: the page is heard while the cell blocks.
    assert time.monotonic() - began < 5


def test_pausing_holds_a_live_view_and_now_follows_again(page: Any) -> None:
    canvas(page, LIVE_MAP).scroll_into_view_if_needed()
    canvas(page, LIVE_MAP).focus()
    page.keyboard.press("ArrowLeft")
    settle(page)
    held = view(page, LIVE_MAP).locator(".plab-time").inner_text()
    wait_more_draws(page, LIVE_MAP, draws(page, LIVE_MAP) + 2)
    assert view(page, LIVE_MAP).locator(".plab-time").inner_text() == held
    view(page, LIVE_MAP).locator(".plab-newest").click()
    page.wait_for_function(
        "([n, held]) => document.querySelectorAll('.plab-time')[n].textContent !== held",
        arg=[LIVE_MAP, held],
        timeout=WAIT_MS,
    )


def test_the_theme_is_the_labs(page: Any) -> None:
    for theme, word in (("JupyterLab Dark", "dark"), ("JupyterLab Light", "light")):
        if word == "light":  # views that are made in a dark lab are dark from the start
            n = page.locator(".plab").count()
            run_cell(page, "show(recorded)")
            wait_drawn(page, n + 1)
            assert view(page, n).get_attribute("data-theme") == "dark"
            assert view(page, n + 1).get_attribute("data-theme") == "dark"
        page.evaluate(
            "(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme
        )
        page.wait_for_function(
            "(word) => [...document.querySelectorAll('.plab')].every((v) => v.dataset.theme === word)",
            arg=word,
            timeout=WAIT_MS,
        )


def test_a_reload_brings_the_views_back(page: Any, lab: str) -> None:
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function(
        "() => !window.jupyterapp.shell.currentWidget.context.model.dirty", timeout=WAIT_MS
    )
    page.evaluate("() => { window.onbeforeunload = null; }")
    page.reload()
    page.wait_for_selector(".plab", timeout=4 * WAIT_MS)
    for n in (MAP, TIMELINE, LIVE_MAP):
        wait_drawn(page, n)
    wait_more_draws(page, LIVE_MAP, draws(page, LIVE_MAP) + 3)


def take_away(page: Any) -> None:
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    page.wait_for_function(f"() => {SHARED}.views === 0 && {SHARED}.clocks.size === 0", timeout=WAIT_MS)


def test_taken_away_they_leave_nothing(page: Any) -> None:
    page.evaluate("() => { window.old = document.querySelectorAll('.plab')[0]; }")
    take_away(page)
    before = page.evaluate("() => window.old.dataset.draws")
    page.evaluate("() => { document.body.dataset.touched = 1; window.dispatchEvent(new Event('resize')); }")
    page.evaluate(
        "() => window.old.querySelector('canvas')"
        ".dispatchEvent(new KeyboardEvent('keydown', { key: 'Home' }))"
    )
    settle(page)
    assert page.evaluate("() => window.old.dataset.draws") == before


def test_a_view_whose_journal_ends_becomes_a_recording(page: Any) -> None:
    take_away(page)
    run_cell(page, "ending = Story(live=True); ending.begin(2); SegmentMap(ending.journal)")
    wait_drawn(page, 0)
    badge = view(page, 0).locator(".plab-badge")
    assert badge.inner_text() == "● live"
    run_cell(page, "ending.measure(lambda low, high: 1.0); ending.journal.live = False")
    page.wait_for_function(
        "() => document.querySelector('.plab-badge').textContent === '■ recording'", timeout=WAIT_MS
    )
    assert view(page, 0).locator(".plab-time").inner_text().startswith("0.50 s")


def test_the_kernels_threads_end_with_the_views(page: Any) -> None:
    take_away(page)
    run_cell(
        page,
        "import time\n"
        "from pravega_lab.widgets.live.pace import SILENT_MS\n"
        "until = time.monotonic() + 2 * SILENT_MS / 1000\n"
        "while live.publisher.running and time.monotonic() < until: time.sleep(0.05)\n"
        "stop.set()\n"
        "print(live.publisher.running, live.errors, board.errors)",
    )
    assert last_output(page).strip() == "False [] []"


def test_the_console_stayed_clean(errors: Errors) -> None:
    assert [e for e in errors if "favicon" not in e] == []
