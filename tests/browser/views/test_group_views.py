"""The views of a reader group: as an exported page, from a file and with no network, and in JupyterLab."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.widgets import show
from tests.browser.lab import run_all
from tests.browser.page import (
    WAIT_MS,
    Errors,
    canvas,
    clock,
    draws,
    exported_page,
    label,
    last_output,
    point,
    run_cell,
    seek,
    settle,
    view,
    wait_drawn,
    wait_more_draws,
)
from tests.observe.group.examples import busy_group, large_group

MAP, BOARD, TIMELINE = 0, 1, 2
VERMILION = (0xD5 << 16) | (0x5E << 8)
# How many pixels of a canvas are of this very colour.
PIXELS = """([n, colour]) => {
  const canvas = document.querySelectorAll('.plab-canvas')[n];
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let found = 0;
  for (let i = 0; i < data.length; i += 4)
    if (((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]) === colour) found += 1;
  return found;
}"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return show(busy_group().journal).export(tmp_path_factory.mktemp("group") / "group.html")


@pytest.fixture
def page(browser: Any, exported: Path) -> Iterator[Any]:
    with exported_page(browser, exported, (MAP, BOARD, TIMELINE)) as page:
        yield page


def test_they_say_what_they_show_at_every_moment(page: Any) -> None:
    assert label(page, BOARD) == "demo/readers: 3 of 4 readers online, 0 segments that nobody has"
    assert label(page, TIMELINE).startswith(
        "demo/readers: 11 checkpoints, 7 completed; checkpoint 11: held up by r4"
    )
    seek(page, 55)
    said = "checkpoint 5: held up by r3: 3.0 s so far in segment #2, waits for its next read"
    assert label(page, TIMELINE) == f"demo/readers: 5 checkpoints, 4 completed; {said}"
    seek(page, 58.5)
    assert label(page, BOARD) == "demo/readers: 3 of 4 readers online, 1 segment that nobody has"


def test_hovering_a_bar_outlines_the_segment_in_the_map(page: Any) -> None:
    before = draws(page, MAP)
    point(page, BOARD, 0.5, 0.41)  # r1 holds #4 at 66 s
    settle(page)
    hover = clock(page, "hover")
    assert (hover["kind"], hover["number"], hover["stream"]) == ("segment", 4, "demo/flights")
    assert draws(page, MAP) > before
    assert "demo/flights #4" in view(page, BOARD).locator(".plab-tip").inner_text()


def test_readers_are_selected_by_key_and_read_aloud(page: Any) -> None:
    canvas(page, BOARD).focus()
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    settle(page)
    aloud = view(page, BOARD).locator(".plab-aloud").inner_text()
    assert aloud == "reader r3, killed, killed at 48.0 s, declared offline"
    page.keyboard.press("ArrowUp")
    settle(page)
    assert "reader r4, checkpoint, holds #5" in view(page, BOARD).locator(".plab-aloud").inner_text()


def test_a_checkpoint_is_pinned_and_let_go(page: Any) -> None:
    box = canvas(page, TIMELINE).bounding_box()
    page.mouse.click(box["x"] + 0.31 * box["width"], box["y"] + 50)  # the fourth of eleven bars
    settle(page)
    assert clock(page, "pin")["kind"] == "checkpoint"
    assert "held up by r2: 4.7 s in segments #3 #5" in view(page, TIMELINE).locator(".plab-tip").inner_text()
    view(page, TIMELINE).locator(".plab-follow").click()
    settle(page)
    assert clock(page, "pin") is None


def test_a_click_draws_the_cut_across_the_map(page: Any) -> None:
    seek(page, 79)
    assert page.evaluate(PIXELS, [MAP, VERMILION]) == 0
    box = canvas(page, TIMELINE).bounding_box()
    page.mouse.click(box["x"] + 0.84 * box["width"], box["y"] + 0.65 * box["height"])
    settle(page)
    pin = clock(page, "pin")
    assert (pin["kind"], pin["name"], pin["number"]) == ("cut", "savepoint-1", 8)
    assert sorted(piece["number"] for piece in pin["pieces"]) == [3, 4, 5]
    assert [(gap["low"], gap["high"]) for gap in pin["gaps"]] == [(0.5, 0.75)]
    page.mouse.move(2, 2)
    settle(page)
    assert page.evaluate(PIXELS, [MAP, VERMILION]) > 100  # the keys that the cut leaves out


def test_lanes_are_filtered_and_sorted(page: Any) -> None:
    tall = canvas(page, BOARD).bounding_box()["height"]
    view(page, BOARD).locator(".plab-only").fill("R2")
    settle(page)
    assert canvas(page, BOARD).bounding_box()["height"] < tall
    assert (
        view(page, BOARD).locator(".plab-call").inner_text()
        == 'ReaderBoard(journal, only="R2", sort="joined")'
    )
    view(page, BOARD).locator(".plab-only").fill("")
    view(page, BOARD).locator(".plab-sort").select_option("lag")
    settle(page)
    assert view(page, BOARD).locator(".plab-call").inner_text() == 'ReaderBoard(journal, only="", sort="lag")'


def test_legends_have_at_most_seven_entries(page: Any) -> None:
    for n in (MAP, BOARD, TIMELINE):
        entries = view(page, n).locator(".plab-legend [role=listitem]")
        assert entries.count() <= 8  # the eighth says how many more there are


def test_of_forty_readers_thirty_are_drawn_and_it_is_said(browser: Any, tmp_path: Path) -> None:
    path = show(large_group().journal).export(tmp_path / "many.html")
    with exported_page(browser, path, (BOARD,), scheme="dark") as page:
        legend = view(page, BOARD).locator(".plab-legend")
        assert "the busiest 30 of 40 readers drawn, +10" in legend.inner_text()
        assert view(page, BOARD).get_attribute("data-theme") == "dark"
        view(page, BOARD).locator(".plab-only").fill("host-09")
        settle(page)
        assert "drawn" not in legend.inner_text()


# In JupyterLab, while the group lives.

SETUP = """
from threading import Event, Thread
from tests.observe.examples import Story
from tests.observe.group.examples import GroupStory, rate
from pravega_lab.widgets import show

story, stop = Story(live=True), Event()
story.begin(4)
group = GroupStory(story)
board = show(story.journal)
board
"""
LIVE = """
def drive():
    group.join("one"), group.join("two")
    for segment_id in list(group.free): group.acquire("one", segment_id)
    k, t = 0, 0.0
    while not stop.wait(0.05):
        t += 0.5
        group.at(t, rate)
        if k % 6 == 0: group.ask(f"checkpoint-{k // 6}")
        if k % 6 == 1: group.passed(f"checkpoint-{k // 6}", "two")
        if k % 6 == 3: group.passed(f"checkpoint-{k // 6}", "one")
        k += 1

driver = Thread(target=drive, daemon=True)
driver.start()
"""
END = """
stop.set()
driver.join()
newest = max(story.journal.since(), key=lambda o: (o.time_ms, o.seq)).seq
print(newest, len(board.views[2].frame), board.errors)
"""


@pytest.fixture(scope="module")
def lab_page(new_notebook: Any, errors: Errors) -> Iterator[Any]:
    with new_notebook("group", SETUP, size=(1400, 1900), errors=errors) as page:
        run_all(page)
        yield page


def wait_caught_up(page: Any, seq: int, checkpoints: int) -> None:
    """Until the views show the journal up to this observation: the first says it, the last counts."""
    page.wait_for_function(
        "([seq, n]) => { const all = [...document.querySelectorAll('.plab')];"
        " const said = all.at(-1)?.querySelector('canvas').getAttribute('aria-label') ?? '';"
        " const counted = said.includes(`: ${n} checkpoint`);"
        " return all.length === 3 && counted && Number(all[0].dataset.seq) === seq; }",
        arg=[seq, checkpoints],
        timeout=4 * WAIT_MS,
    )
    assert label(page, BOARD).startswith("demo/readers: 2 of 2 readers online")


def test_an_empty_group_says_what_fills_it(lab_page: Any) -> None:
    for n, sentence in ((BOARD, "No readers yet"), (TIMELINE, "No checkpoints yet")):
        empty = view(lab_page, n).locator(".plab-empty")
        empty.wait_for(timeout=WAIT_MS)
        assert sentence in empty.inner_text()
        assert empty.locator("button").inner_text() == "copy"


def test_live_views_follow_the_group(lab_page: Any) -> None:
    run_cell(lab_page, LIVE)
    for n in (MAP, BOARD, TIMELINE):
        wait_drawn(lab_page, n)
        wait_more_draws(lab_page, n, draws(lab_page, n) + 3)
    assert view(lab_page, BOARD).locator(".plab-badge").inner_text() == "● live"


# Blocks the kernel, which hears of it nevertheless.
SIGHT = """
import time
def wait_until(in_sight):
    while [view.publisher._pace.is_seen for view in board.views] != [in_sight] * 3:
        time.sleep(0.05)
    return in_sight
wait_until({in_sight})
"""


@pytest.mark.parametrize("in_sight", [False, True])
def test_the_kernel_hears_whether_views_are_in_sight(lab_page: Any, in_sight: bool) -> None:
    for n in (MAP, BOARD, TIMELINE):
        view(lab_page, n).evaluate(
            "(v, display) => { v.style.display = display; }", "" if in_sight else "none"
        )
    run_cell(lab_page, SIGHT.format(in_sight=in_sight))
    assert last_output(lab_page).strip() == str(in_sight)


def test_they_show_all_that_the_journal_has_also_after_a_reload(lab_page: Any) -> None:
    run_cell(lab_page, END)
    newest, checkpoints, said = last_output(lab_page).strip().split(" ", 2)
    assert said == "[]"
    assert int(checkpoints) > 0
    wait_caught_up(lab_page, int(newest), int(checkpoints))
    lab_page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    dirty = "() => !window.jupyterapp.shell.currentWidget.context.model.dirty"
    lab_page.wait_for_function(dirty, timeout=WAIT_MS)
    lab_page.evaluate("() => { window.onbeforeunload = null; }")
    lab_page.reload()
    lab_page.wait_for_selector(".plab", timeout=4 * WAIT_MS)
    for n in (MAP, BOARD, TIMELINE):
        wait_drawn(lab_page, n)
    wait_caught_up(lab_page, int(newest), int(checkpoints))


def test_the_console_stayed_clean(errors: Errors) -> None:
    assert [error for error in errors if "favicon" not in error] == []
