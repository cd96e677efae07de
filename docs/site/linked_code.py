"""Links from a page to a line of code lead to a page with that file: the site is whole without a repository.

Pages link to code as ``[words](../engine/store/storage/storage.py#L12 "what the line says")``.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(
    r"(?<!!)\]\((\.{0,2}[\w./-]+\.(?:py|ts|txt|toml|yml|sh)|[\w./-]*Makefile)(?:#L(\d+)(?:-L\d+)?)?"
)
FOLDER = "code"
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 1rem; font: 14px/1.4 system-ui, sans-serif; }}
pre {{ overflow-x: auto; }}
:target {{ background: Highlight; }}
{light}
@media (prefers-color-scheme: dark) {{ {dark} }}
</style>
</head>
<body><main><h1>{name}</h1>{body}</main></body>
</html>
"""


def place(target: Path, line: str) -> tuple[str, str] | None:
    """Return the name of a file of code in the repository, and the anchor of a line on its page.

    Args:
        target: The file.
        line: The number of the line, or nothing.

    Returns:
        None if the file is not there, or is not in the repository.
    """
    target = target.resolve()
    if not target.is_file() or ROOT not in target.parents:
        return None
    return target.relative_to(ROOT).as_posix(), f"L-{line}" if line else "top"


def _link_to_pages(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace the links of a page to files of code by links to the pages of these files."""
    here = (ROOT / page).parent
    up = "../" * page.count("/")

    def replace(found: re.Match[str]) -> str:
        placed = place(here / found[1], found[2])
        if placed is None:
            return found[0]
        app.env.linked_code.add(placed[0])  # type: ignore[attr-defined]
        return f"](code:{up}{FOLDER}/{placed[0]}.html#{placed[1]}"

    source[0] = LINK.sub(replace, source[0])


def _write_pages(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    light = HtmlFormatter(style="default").get_style_defs(".highlight")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".highlight")
    for name in sorted(app.env.linked_code):  # type: ignore[attr-defined]
        text = (ROOT / name).read_text()
        try:
            lexer = get_lexer_for_filename(name)
        except ClassNotFound:
            lexer = TextLexer()
        body = highlight(text, lexer, HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True))
        page = Path(app.outdir) / FOLDER / f"{name}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(
            PAGE.format(name=escape(name), light=light, dark=dark, body=f'<div id="top">{body}</div>')
        )


def _prepare(app: Sphinx) -> None:
    app.env.linked_code = set()  # type: ignore[attr-defined]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx. The build always reads all pages, so the set of links is whole."""
    app.connect("builder-inited", _prepare)
    app.connect("source-read", _link_to_pages)
    app.connect("build-finished", _write_pages)
    return {"parallel_read_safe": False}
