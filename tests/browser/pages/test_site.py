"""The documentation site in a browser. `make docs` runs this after it has built the site."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pravega_lab import __version__
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

    def opened(name: str, scheme: str = "light", width: int = 1200) -> Any:
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme))
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


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_phone(open_page: Any, name: str) -> None:
    page = open_page(name, width=390)
    for place in page.locator(".recorded").all()[:1]:
        place.scroll_into_view_if_needed()
        place.locator(".plab-canvas").first.wait_for(timeout=WAIT_MS)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    title, buttons = page.locator(".navbar-brand .title"), page.locator(".navbar-persistent--mobile button")
    assert (title.inner_text(), buttons.count()) == ("pravega_lab", 1)
    left = buttons.bounding_box()["x"]
    assert title.bounding_box()["x"] + title.bounding_box()["width"] <= left


def test_the_header_has_the_version(open_page: Any) -> None:
    assert open_page("docs/index").locator(".navbar-version").first.inner_text() == __version__


def test_every_page_has_its_markdown_and_llms_txt_lists_it(open_page: Any) -> None:
    pages = {path.relative_to(SITE).with_suffix("") for path in SITE.glob("docs/**/*.html")}
    pages |= {path.relative_to(SITE).with_suffix("") for path in SITE.glob("notebooks/*.html")}
    assert len(pages) > 80
    listed = (SITE / "llms.txt").read_text()
    assert [str(page) for page in sorted(pages) if f"]({page}.md)" not in listed] == []
    for page in pages:
        assert (SITE / f"{page}.md").read_text().startswith("# "), page
    client = (SITE / "docs/api/client.md").read_text()
    assert "## `class Stream(" in client
    assert ">>> with connect(uri) as client:" in client
    assert ".. autoclass" not in client
    twin = open_page("docs/install").locator("link[rel=alternate][type='text/markdown']")
    address = str(twin.get_attribute("href"))
    assert (SITE / "docs" / address).samefile(SITE / "docs/install.md")


def test_no_sentence_of_the_reference_is_taken_for_a_type() -> None:
    """The sphinx extension napoleon takes the words before the first colon of an attribute for its type."""
    texts = {path.name: path.read_text() for path in SITE.glob("docs/api/*.md")}
    assert "How it connects: what was passed as `access`." in texts["client.md"]
    assert [name for name, text in texts.items() if "**Type**" in text] == []


def test_the_first_page_shows_a_run_whole(open_page: Any) -> None:
    page = open_page("docs/index")
    for n in (0, 1):
        page.locator(".recorded .plab-canvas").nth(n).wait_for(timeout=WAIT_MS)
    assert page.locator("iframe").count() == 0
    page.locator(".recorded .plab-slider").first.fill("200")
    settle(page)
    assert page.locator(".recorded .plab-call").first.inner_text().startswith("view.at(")
    assert violations(page) == []


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


@pytest.mark.parametrize(
    ("name", "what"),
    [("notebooks/08-the-flip-27-gap", ".plab-still"), ("notebooks/03-reader-groups", ".recorded")],
)
def test_a_picture_on_a_dark_page_is_dark_and_has_no_light_frame(
    open_page: Any, name: str, what: str
) -> None:
    picture = open_page(name, "dark").locator(what).first
    assert (
        picture.evaluate("(it) => getComputedStyle(it.closest('.text_html')).backgroundColor")
        == "rgba(0, 0, 0, 0)"
    )
    assert picture.evaluate("(it) => getComputedStyle(it).colorScheme") == "dark"
