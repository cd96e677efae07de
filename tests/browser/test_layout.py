"""`make lab` opens with a layout: the first tutorial on the left, its views on the right."""

from __future__ import annotations

from typing import Any

from tests.browser.lab import RUN_S, TOKEN, screenshot
from tests.browser.page import Errors


def test_the_tutorial_is_on_the_left_and_its_views_on_the_right(browser: Any, prepared_lab: str) -> None:
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    page = context.new_page()
    errors = Errors()
    errors.of(page)
    page.goto(f"{prepared_lab}/lab?token={TOKEN}")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=RUN_S * 1000)
    page.wait_for_function(
        "() => document.querySelectorAll('.jp-LinkedOutputView').length === 2", timeout=RUN_S * 1000
    )
    page.wait_for_selector(".jp-LinkedOutputView .jp-OutputArea", state="attached", timeout=RUN_S * 1000)
    screenshot(page, "layout")
    title = page.locator(".lm-DockPanel-tabBar .lm-TabBar-tabLabel").first.inner_text()
    assert title == "01-quickstart.ipynb"
    tutorial = page.locator(".jp-NotebookPanel").bounding_box()
    upper, lower = [view.bounding_box() for view in page.locator(".jp-LinkedOutputView").all()]
    assert tutorial["x"] + tutorial["width"] <= upper["x"]
    assert upper["x"] == lower["x"]
    assert upper["y"] + upper["height"] <= lower["y"]
    assert min(tutorial["width"], upper["width"]) > 600
    assert min(upper["height"], lower["height"]) > 300
    # What they showed when the tutorial was written, in words, until it runs here.
    assert page.locator(".jp-LinkedOutputView").first.inner_text().startswith("Board(")
    context.close()
    assert [e for e in errors if "favicon" not in e] == []
