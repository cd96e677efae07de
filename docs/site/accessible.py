"""Put right what axe-core finds in the theme's pages: names of buttons, and empty heads of tables."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

FIXES = (
    # A table whose first column needs no heading has an empty cell there, which is no heading.
    (r'<th(?: class="head[^"]*")?>(?:<p></p>)?</th>', "<td></td>"),
    # The visible text, "Search Ctrl+K", has to be a part of the name.
    ('title="Search" aria-label="Search"', 'title="Search"'),
    (
        '<summary><span class="toctree-toggle"',
        '<summary aria-label="show or hide the pages below"><span class="toctree-toggle"',
    ),
)


def _fix(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        text = fixed = path.read_text()
        for wrong, right in FIXES:
            fixed = re.sub(wrong, right, fixed)
        if fixed != text:
            path.write_text(fixed)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("build-finished", _fix)
    return {"parallel_read_safe": True}
