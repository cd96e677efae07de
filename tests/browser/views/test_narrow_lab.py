"""Views in a panel of 450 pixels on the right of JupyterLab, in its light and its dark theme.

Nothing is cut, axe-core finds no violation in them, and the keyboard reaches what the pointer does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.lab import run_all, screenshot
from tests.browser.narrow import CLIPPED, CUT, OUTSIDE, OVERLAPPING, RECORD
from tests.browser.page import WAIT_MS, Errors, settle, wait_painted

PANE = ".jupyterlab-sidecar"
PANE_PX = 450
CELLS = [
    "from pravega_lab.observe.journal.journal import Journal\n"
    "from pravega_lab.widgets import LedgerView, QueryTimeline, show\n"
    "from tests.observe.examples import killed_query\n"
    "from tests.observe.group.examples import busy_group\n"
    "from tests.observe.job.examples import both_systems\n"
    "from tests.observe.ledger.examples import judged_run",
    # Each is shown above what was there before.
    "show(*both_systems(), where='right')",
    "query = Journal('a query', live=False)\nkilled_query(query)\n"
    "show(QueryTimeline(query), LedgerView(judged_run()), where='right')",
    "show(busy_group().journal, where='right')",
]
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
PANE_WIDTH = f"() => document.querySelector('{PANE}').clientWidth"
THEMED = """(wanted) => document.body.dataset.jpThemeLight === String(wanted === "light")
  && [...document.querySelectorAll(".plab")].every((v) => !v.dataset.theme || v.dataset.theme === wanted)"""


@pytest.fixture(scope="module")
def page(new_notebook: Any, errors: Errors) -> Iterator[Any]:
    with new_notebook("narrow", *CELLS, size=(1100, 1000), errors=errors, script=RECORD) as page:
        page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
        run_all(page)
        page.wait_for_selector(f"{PANE} .plab", timeout=WAIT_MS)
        for _ in range(5):  # the panel has half of what the sidebars leave
            width = page.evaluate(PANE_WIDTH)
            if width == PANE_PX:
                break
            size = page.viewport_size
            page.set_viewport_size({**size, "width": size["width"] + 2 * (PANE_PX - width)})
            settle(page)
        for n in range(page.locator(".plab").count()):
            wait_painted(page, n)
        yield page


@pytest.mark.parametrize("theme", THEMES)
def test_nothing_is_cut_and_nothing_inaccessible_beside_a_notebook(page: Any, theme: str) -> None:
    assert abs(page.evaluate(PANE_WIDTH) - PANE_PX) <= 1
    page.evaluate(
        "(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", THEMES[theme]
    )
    page.wait_for_function(THEMED, arg=theme, timeout=WAIT_MS)
    settle(page)
    for n, view in enumerate(page.locator(f"{PANE} .plab").all()):
        view.scroll_into_view_if_needed()
        settle(page)
        screenshot(page, f"narrow-{theme}-{n}")
    assert page.evaluate(CUT) == []
    assert page.evaluate(OVERLAPPING) == []
    assert page.evaluate(CLIPPED) == []
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate("(pane) => document.querySelector(pane).scrollWidth", PANE) <= PANE_PX
    assert violations(page, f"{PANE} .plab") == []


def test_the_keyboard_reaches_what_the_pointer_does(page: Any) -> None:
    for view in page.locator(f"{PANE} .plab:has(.plab-canvas)").all():
        view.locator(".plab-canvas").focus()
        page.keyboard.press("ArrowUp")
        page.wait_for_function(
            "(e) => e.innerText.trim().length > 0",
            arg=view.locator(".plab-aloud").first.element_handle(),
            timeout=WAIT_MS,
        )
        assert view.locator(".plab-tip").is_visible()
        page.keyboard.press("Escape")


def test_the_console_stayed_clean(errors: Errors) -> None:
    assert [e for e in errors if "favicon" not in e and "Failed to initialize model" not in e] == []
