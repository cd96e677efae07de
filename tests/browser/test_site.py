"""The documentation site in a browser. `make docs` runs this after it has built the site."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.page import WAIT_MS, Errors, settle

SITE = Path(os.environ.get("PRAVEGA_LAB_SITE", "build/site")).resolve()
pytestmark = pytest.mark.skipif(
    not SITE.exists(), reason="the site is not built: `make docs` builds and tests it"
)
# One page of each kind: texts, tables, code, tutorials, signatures, options.
PAGES = [
    "docs/index",
    "docs/acting",
    "docs/compare/pravega",
    "docs/glossary",
    "docs/performance",
    "docs/api/pravega_lab",
    "docs/api/command-line",
    "docs/spec/reader-groups",
    "notebooks/03-reader-groups",
]
DARK = ["docs/index", "docs/acting", "notebooks/03-reader-groups"]


@pytest.fixture(scope="module")
def open_page(browser: Any) -> Iterator[Any]:
    contexts: list[Any] = []
    errors = Errors()

    def opened(name: str, scheme: str = "light") -> Any:
        contexts.append(browser.new_context(viewport={"width": 1200, "height": 900}, color_scheme=scheme))
        page = contexts[-1].new_page()
        errors.of(page)
        page.goto((SITE / f"{name}.html").as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert errors == []


@pytest.mark.parametrize(
    ("name", "scheme"), [*((name, "light") for name in PAGES), *((name, "dark") for name in DARK)]
)
def test_a_page_is_accessible(open_page: Any, name: str, scheme: str) -> None:
    assert violations(open_page(name, scheme)) == []


def test_a_tutorial_shows_its_views_and_they_can_be_scrubbed(open_page: Any) -> None:
    page = open_page("notebooks/03-reader-groups")
    place = page.locator(".recorded").first
    place.scroll_into_view_if_needed()
    place.locator(".plab-canvas").first.wait_for(timeout=WAIT_MS)
    assert place.locator("img, .plab-still").count() == 0
    settle(page)
    place.locator(".plab-slider").first.fill("1000")
    settle(page)
    last = place.locator(".plab-canvas").first.get_attribute("aria-label")
    place.locator(".plab-slider").first.fill("0")
    settle(page)
    first = place.locator(".plab-canvas").first.get_attribute("aria-label")
    assert first != last
    assert place.locator(".plab-call").first.inner_text() == "view.at(0.00)"
    # The switch of the site changes the colours of the view, too.
    page.evaluate("() => { document.documentElement.dataset.theme = 'dark'; }")
    page.wait_for_function("() => document.querySelector('.plab').dataset.theme === 'dark'", timeout=WAIT_MS)
    assert violations(page) == []
