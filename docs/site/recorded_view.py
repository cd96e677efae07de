"""Show a recorded run on the first page: a view that can be scrubbed, without a kernel and a network."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

RECORDING = "run-3.jsonl.gz"
NAME = "recorded-run.html"
MARK = "<!-- the site shows a recorded run here -->"


def _write(app: Sphinx) -> None:
    from pravega_lab.observe import Journal
    from pravega_lab.tutorials.recording import recorded
    from pravega_lab.widgets import show

    journal = Journal.load(Path(recorded.__path__[0]) / RECORDING)
    static = Path(app.outdir) / "docs"
    static.mkdir(parents=True, exist_ok=True)
    show(journal).export(static / NAME)


def _insert(app: Sphinx, page: str, source: list[str]) -> None:
    if MARK in source[0]:
        frame = (
            f'<iframe class="recorded-view" title="a recorded run of a reader group" src="{NAME}"></iframe>'
        )
        source[0] = source[0].replace(MARK, f"```{{raw}} html\n{frame}\n```")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", _write)
    app.connect("source-read", _insert)
    return {"parallel_read_safe": True}
