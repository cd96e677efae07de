"""`Lab()` in JupyterLab: a panel that is live, follows what happens, and fits both themes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.lab import run_all, screenshot
from tests.browser.page import WAIT_MS, Errors, last_output, run_cell

CELLS = ["from pravega_lab import Lab\nlab = Lab(name='panel')", "lab"]
PANEL = ".plab-lab"


@pytest.fixture(scope="module")
def page(new_notebook: Any, errors: Errors) -> Iterator[Any]:
    with new_notebook("panel", *CELLS, size=(1200, 700), errors=errors) as page:
        run_all(page)
        yield page
        run_cell(page, "lab.close()")


def wait_for_row(page: Any, *words: str) -> None:
    """Until the panel has a row with all these words."""
    page.wait_for_function(
        f"(words) => [...document.querySelectorAll('{PANEL} tr')]"
        ".some((row) => words.every((word) => row.textContent.includes(word)))",
        arg=list(words),
        timeout=4 * WAIT_MS,
    )


def test_it_shows_the_parts(page: Any) -> None:
    wait_for_row(page, "●", "store", "embedded, thrown away at the end")
    wait_for_row(page, "○", "Spark", "not started")
    wait_for_row(page, "○", "streams", "none yet")
    assert page.locator(PANEL).inner_text().startswith("Lab panel")
    assert page.locator(PANEL).get_attribute("role") == "status"


def test_it_follows_what_other_cells_do(page: Any) -> None:
    run_cell(page, "flights = lab.create_stream('demo/flights')\nflights.split(0)")
    wait_for_row(page, "●", "streams", "demo/flights (2 segments)")


def test_it_is_live_while_a_cell_blocks(page: Any) -> None:
    run_cell(page, "import time\nlab.create_stream('demo/busy')\ntime.sleep(12)\nprint('over')")
    wait_for_row(page, "demo/busy (1 segment)")
    assert page.get_by_text("over", exact=True).count() == 0
    page.get_by_text("over", exact=True).wait_for(timeout=4 * WAIT_MS)


@pytest.mark.parametrize("theme", ["Dark", "Light"])
def test_its_colours_are_the_labs(page: Any, theme: str) -> None:
    change = "(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"
    page.evaluate(change, f"JupyterLab {theme}")
    page.wait_for_function(
        "(light) => document.body.dataset.jpThemeLight === light",
        arg=str(theme == "Light").lower(),
        timeout=WAIT_MS,
    )
    # JupyterLab covers the page meanwhile; a second change would have it take the cover away twice.
    page.wait_for_selector("#jupyterlab-splash", state="detached", timeout=WAIT_MS)
    screenshot(page, f"panel-{theme.lower()}")
    ground, text = page.evaluate(
        f"""() => {{
          const style = getComputedStyle(document.querySelector('{PANEL} > div'));
          const light = (c) => c.match(/[0-9.]+/g).slice(0, 3).reduce((sum, n) => sum + Number(n), 0);
          return [light(style.backgroundColor), light(style.color)];
        }}"""
    )
    assert (ground > text) is (theme == "Light")


def test_a_part_that_dies_is_shown_with_the_next_step(page: Any) -> None:
    run_cell(page, "lab.store.kill()")
    wait_for_row(page, "✕", "store", "its process has ended", "lab.store.start() brings it back")
    screenshot(page, "panel-ill")
    run_cell(page, "lab.store.start()")
    wait_for_row(page, "●", "store")


def test_a_cell_run_again_says_that_it_replaces(page: Any) -> None:
    run_cell(page, CELLS[0])
    wait_for_row(page, "○", "lab", "closed")
    assert last_output(page).startswith("Lab(name='panel') takes the place of the one at tcp://127.0.0.1:")


def test_the_console_stayed_clean(errors: Errors) -> None:
    assert [e for e in errors if "favicon" not in e] == []
