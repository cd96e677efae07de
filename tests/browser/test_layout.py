"""`make lab` and Binder open the first tutorial; its views open a panel beside it (test_side.py)."""

from __future__ import annotations

from typing import Any

from tests.browser.lab import RUN_S, TOKEN, screenshot
from tests.browser.page import Errors


def test_the_first_tutorial_is_open(browser: Any, prepared_lab: str) -> None:
    context = browser.new_context(viewport={"width": 1600, "height": 1000})
    page = context.new_page()
    errors = Errors()
    errors.of(page)
    page.goto(f"{prepared_lab}/lab?token={TOKEN}")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=RUN_S * 1000)
    screenshot(page, "layout")
    assert page.locator(".lm-DockPanel-tabBar .lm-TabBar-tabLabel").all_inner_texts() == [
        "01-quickstart.ipynb"
    ]
    context.close()
    assert [e for e in errors if "favicon" not in e] == []
