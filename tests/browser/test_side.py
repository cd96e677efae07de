"""Views go to a panel on the right of JupyterLab, and the notebook keeps the focus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.lab import screenshot
from tests.browser.page import WAIT_MS, Errors, run_cell, wait_painted

SETUP = """
from pravega_lab.widgets import SegmentMap, show
from tests.observe.examples import splitting_story
from tests.observe.group.examples import busy_group
"""
BY_ARGUMENT = 'show(busy_group().journal, where="right")'
BY_DEFAULT = """
import os
os.environ["PRAVEGA_LAB_VIEWS"] = "right"
SegmentMap(splitting_story().journal, title="the newest")
"""
INLINE = 'show(splitting_story().journal, where="inline", title="below its cell")'
PANEL = ".jupyterlab-sidecar .plab"
FOCUSED = "() => document.querySelector('.jp-Notebook').contains(document.activeElement)"
SELECT_FIRST = """() => {
  const content = window.jupyterapp.shell.currentWidget?.content;
  if (!content?.node) return false;
  content.activeCellIndex = 0; content.mode = 'command'; content.node.focus();
  return content.node.contains(document.activeElement);
}"""
UNTIL_CLOSED = """
import asyncio
from pravega_lab.widgets.live import side
while side._panel._sidecar is not None: await asyncio.sleep(0.05)  # the page reports it
"""


def run_next(page: Any, views: int, where: str = PANEL) -> None:
    """Run the selected cell as a person does, until so many views are there."""
    page.wait_for_function(FOCUSED, timeout=WAIT_MS)
    page.keyboard.press("Shift+Enter")
    condition = "([where, views]) => document.querySelectorAll(where).length === views"
    page.wait_for_function(condition, arg=[where, views], timeout=4 * WAIT_MS)


@pytest.fixture
def page(new_notebook: Any, errors: Errors) -> Iterator[Any]:
    cells = (SETUP, BY_ARGUMENT, BY_DEFAULT, INLINE)
    with new_notebook("side", *cells, size=(1600, 1000), errors=errors) as page:
        yield page


def test_views_appear_on_the_right_and_the_notebook_keeps_the_focus(page: Any, errors: Errors) -> None:
    page.wait_for_function(SELECT_FIRST, timeout=WAIT_MS)
    run_next(page, 0)
    run_next(page, 3)
    run_next(page, 4)  # the keys still reach the notebook
    run_next(page, 1, ".jp-NotebookPanel .jp-Cell .plab")
    for n in range(5):
        wait_painted(page, n)
    screenshot(page, "side")
    notebook = page.locator(".jp-NotebookPanel").bounding_box()
    boxes = {v.locator(".plab-title").inner_text(): v.bounding_box() for v in page.locator(PANEL).all()}
    assert all(box["x"] >= notebook["x"] + notebook["width"] - 1 for box in boxes.values())
    assert min(boxes, key=lambda title: boxes[title]["y"]) == "the newest"
    folded = page.locator(".jp-Cell details summary").all_inner_texts()
    assert [text.split(":")[0] for text in folded] == ["On the right", "On the right"]
    # A panel that was closed opens again, with what is shown next.
    page.locator(".lm-TabBar-tab", has_text="views").locator(".lm-TabBar-tabCloseIcon").click()
    page.wait_for_function(f"() => !document.querySelector('{PANEL}')", timeout=WAIT_MS)
    run_cell(page, UNTIL_CLOSED + BY_DEFAULT)
    page.wait_for_function(f"() => document.querySelectorAll('{PANEL}').length === 1", timeout=WAIT_MS)
    assert [e for e in errors if "favicon" not in e] == []
