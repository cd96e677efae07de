"""The documentation site in a browser. `make docs` runs this after it has built the site."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.page import Errors

SITE = Path(os.environ.get("PRAVEGA_LAB_SITE", "build/site")).resolve()
# One page of each kind: texts, tables, code, tutorials, signatures, options.
PAGES = [
    "docs/index",
    "docs/acting",
    "docs/compare-pravega",
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
