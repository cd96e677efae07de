"""The views of a job: as an exported page, with no network, and in JupyterLab, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.widgets import show
from tests.browser.lab import run_all
from tests.browser.page import (
    SHARED,
    WAIT_MS,
    Errors,
    canvas,
    clock,
    exported_page,
    label,
    last_output,
    run_cell,
    seek,
    settle,
    view,
    wait_drawn,
)
from tests.observe.job.examples import both_systems, whole_run
from tests.widgets.test_job_graph import wide_job

GRAPH, TIMELINE = 0, 1


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return show(whole_run()).export(tmp_path_factory.mktemp("job") / "job.html")


@pytest.fixture
def page(browser: Any, exported: Path) -> Iterator[Any]:
    with exported_page(browser, exported, (GRAPH, TIMELINE)) as page:
        yield page


def test_they_say_what_they_show_at_every_moment(page: Any) -> None:
    assert label(page, GRAPH).startswith("job words is finished: 7 finished; ")
    seek(page, 0.2132)
    said = "job words is running: 4 running, 1 waits for final checkpoint, 2 aligning; "
    assert label(page, GRAPH) == said + "aggregate 1/2 took barrier 1 on channel 2, waits for channel 0"
    assert "checkpoint 1: 13 ms so far, waits for lines 1/2, once 1/1, aggregate 1/2" in label(page, TIMELINE)
    seek(page, 0.31)
    assert "1 failed" in label(page, GRAPH)


def test_a_box_is_pinned_and_tells_its_last_twenty(page: Any) -> None:
    seek(page, 0.31)
    box = canvas(page, GRAPH).bounding_box()
    page.mouse.click(box["x"] + 0.51 * box["width"], box["y"] + 0.45 * box["height"])
    settle(page)
    pin = clock(page, "pin")
    assert (pin["kind"], pin["id"]) == ("task", "aggregate[1]")
    tip = view(page, GRAPH).locator(".plab-tip")
    assert tip.locator(".plab-said tr").count() == 20
    assert "failed here, by hand" in tip.inner_text()
    assert "a recording: nothing can be done to it" in tip.inner_text()


def test_what_is_forked_is_the_run_and_no_stream(page: Any) -> None:
    canvas(page, GRAPH).focus()
    page.keyboard.press("f")
    settle(page)
    said = "no fork here: a recording: nothing can be done to it"
    assert view(page, GRAPH).locator(".plab-call").inner_text() == said
    button = view(page, GRAPH).locator(".plab-fork")
    assert button.is_disabled()
    assert button.get_attribute("title") == said
    canvas(page, TIMELINE).focus()
    page.keyboard.press("f")
    settle(page)
    assert view(page, TIMELINE).locator(".plab-call").inner_text() == said


def test_what_cannot_be_done_is_greyed_and_says_why(page: Any) -> None:
    assert view(page, GRAPH).locator(".plab-act").count() == 0
    seek(page, 0.31)
    box = canvas(page, GRAPH).bounding_box()
    page.mouse.click(box["x"] + 0.51 * box["width"], box["y"] + 0.45 * box["height"])
    settle(page)
    button = view(page, GRAPH).locator(".plab-act-fail")
    assert (button.inner_text(), button.is_disabled()) == ("fail here", True)
    assert button.get_attribute("title") == "a recording: nothing can be done to it"


def test_a_mark_on_a_channel_is_picked(page: Any) -> None:
    seek(page, 0.2132)
    canvas(page, GRAPH).focus()
    page.keyboard.press("ArrowDown")  # the last mark: what lies last in the last channel
    settle(page)
    hover = clock(page, "hover")
    assert (hover["kind"], hover["what"]) == ("mark", "records")
    assert "1 record on aggregate[" in view(page, GRAPH).locator(".plab-aloud").inner_text()


def test_both_systems_are_drawn_with_what_lies_between(browser: Any, tmp_path: Path) -> None:
    job, group = both_systems()
    path = show(job, group).export(tmp_path / "both.html")
    with exported_page(browser, path, scheme="dark") as page:
        page.locator(".plab-title", has_text="checkpoints of from a group").wait_for(timeout=WAIT_MS)
        n = page.locator(".plab").count()
        titles = [page.locator(".plab-title").nth(k).inner_text() for k in range(n)]
        place = titles.index("checkpoints of from a group")
        wait_drawn(page, place)
        assert view(page, place).get_attribute("data-theme") == "dark"
        canvas(page, place).focus()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")  # the first checkpoint
        settle(page)
        assert "between cut and barrier" in view(page, place).locator(".plab-legend").inner_text()


def test_more_than_eight_subtasks_are_one_box(browser: Any, tmp_path: Path) -> None:
    path = show(wide_job()).export(tmp_path / "wide.html")
    with exported_page(browser, path) as page:
        wait_drawn(page, GRAPH, least=4)
        canvas(page, GRAPH).focus()
        for _ in range(3):
            page.keyboard.press("ArrowUp")
        settle(page)
        assert view(page, GRAPH).locator(".plab-aloud").inner_text() == "map, 12 subtasks"


# In JupyterLab, step by step.

SETUP = """
from pravega_lab.lab.stepping import StepByStep
from tests.observe.job.examples import words_job

run = StepByStep(words_job, seed=3)
board = run.show()
board
"""

COUNTS = """
newest = max(run.journal.since(), key=lambda o: (o.time_ms, o.seq)).seq
print(newest, len(board.views[1].frame), board.errors)
"""


@pytest.fixture(scope="module")
def lab_page(new_notebook: Any, errors: Errors) -> Iterator[Any]:
    with new_notebook("job", SETUP, size=(1400, 1600), errors=errors) as page:
        run_all(page)
        yield page


def test_steps_are_seen_and_the_views_catch_up(lab_page: Any) -> None:
    wait_drawn(lab_page, GRAPH, least=4)
    run_cell(lab_page, "said = run.step(200)")
    lab_page.wait_for_function(
        "() => document.querySelector('.plab canvas').getAttribute('aria-label').includes('is running')",
        timeout=4 * WAIT_MS,
    )
    for n in (GRAPH, TIMELINE):
        wait_drawn(lab_page, n, least=4)
    run_cell(lab_page, COUNTS)
    seq, checkpoints, said = last_output(lab_page).strip().split(" ", 2)
    assert said == "[]"
    # The first view of a journal tells its observations' numbers; the other says how many checkpoints it has.
    lab_page.wait_for_function(
        "([seq, n]) => { const all = [...document.querySelectorAll('.plab')];"
        " const said = all[1].querySelector('canvas').getAttribute('aria-label');"
        " return Number(all[0].dataset.seq) === seq && said.startsWith(`words: ${n} checkpoint`); }",
        arg=[int(seq), int(checkpoints)],
        timeout=4 * WAIT_MS,
    )
    assert view(lab_page, GRAPH).locator(".plab-badge").inner_text() == "● live"


def test_going_back_moves_the_clock_of_the_page(lab_page: Any) -> None:
    run_cell(lab_page, "run.back(60)")
    at = f"() => [...{SHARED}.clocks.values()][0].at !== null"
    lab_page.wait_for_function(at, timeout=4 * WAIT_MS)
    run_cell(lab_page, "run.step(60)")
    lab_page.wait_for_function(at.replace("!==", "==="), timeout=4 * WAIT_MS)


def test_a_fork_is_made_by_the_page_with_a_fault_and_the_run_comes_back(lab_page: Any) -> None:
    run_cell(lab_page, "run.back(30); print(run.position)")
    here = int(last_output(lab_page).split()[-1])
    lab_page.wait_for_function(f"() => [...{SHARED}.clocks.values()][0].at !== null", timeout=WAIT_MS)
    box = canvas(lab_page, GRAPH).bounding_box()
    canvas(lab_page, GRAPH).click(position={"x": 0.51 * box["width"], "y": 0.45 * box["height"]})
    settle(lab_page)
    button = view(lab_page, GRAPH).locator(".plab-act-fail")
    assert button.inner_text() == "fork and fail here"
    assert button.get_attribute("title") == 'fork = run.fork(); fork.fail("aggregate[1]")'
    button.click()
    said = f"run.forks[0]: run as far as step {here}, then its own way: aggregate[1] raises at its next turn"
    lab_page.get_by_text(said).wait_for(timeout=4 * WAIT_MS)
    run_cell(lab_page, "said = board.run.until('failure'); print(board.run.name)")
    assert last_output(lab_page).strip() == "run.forks[0]"
    lab_page.wait_for_function(
        "() => document.querySelector('.plab canvas')?.getAttribute('aria-label')?.includes('1 failed')",
        timeout=4 * WAIT_MS,
    )
    lab_page.locator(".widget-toggle-button").get_by_text("run", exact=True).click()
    lab_page.wait_for_function(
        "() => document.querySelector('.plab canvas')?.getAttribute('aria-label')?.includes('is running')",
        timeout=4 * WAIT_MS,
    )
    is_back = f"() => [...{SHARED}.clocks.values()].some((c) => c.views.length && c.at !== null)"
    lab_page.wait_for_function(is_back, timeout=4 * WAIT_MS)
    run_cell(lab_page, "print(board.run.name, run.position, len(run.forks), board.errors)")
    assert last_output(lab_page).strip() == f"run {here} 1 []"


def test_the_bar_forks_at_the_step_that_is_shown(lab_page: Any) -> None:
    view(lab_page, GRAPH).locator(".plab-fork").click()
    lab_page.get_by_text("run.forks[1]: run as far as step").first.wait_for(timeout=4 * WAIT_MS)
    run_cell(lab_page, "print(board.run.name, board.run.position == run.position)")
    assert last_output(lab_page).strip() == "run.forks[1] True"


def test_the_console_stayed_clean(errors: Errors) -> None:
    assert [error for error in errors if "favicon" not in error] == []
