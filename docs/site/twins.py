"""Write the Markdown of each page beside its HTML, and ``llms.txt``, which lists them for programs."""

from __future__ import annotations

from pathlib import Path

import nbformat
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
ABOUT = (
    "pravega_lab is a laboratory for streaming storage in JupyterLab: an embedded Pravega, a client, "
    "a connector to Spark, a checkpointing engine, and live views of them."
)


def notebook_text(path: Path) -> str:
    """Return the text, the code and the printed output of a notebook as Markdown."""
    parts = []
    for cell in nbformat.read(path, nbformat.NO_CONVERT).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        elif cell.cell_type == "code":
            parts.append(f"```python\n{cell.source}\n```")
            printed = "".join(_printed(output) for output in cell.outputs)
            if printed.strip():
                parts.append(f"```text\n{printed.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def _printed(output: nbformat.NotebookNode) -> str:
    if output.output_type == "stream":
        return str(output.text)
    return str(output.get("data", {}).get("text/plain", ""))


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    lines = [f"# {app.config.project}", "", f"> {ABOUT}", ""]
    for page in sorted(app.env.found_docs):
        source = Path(app.env.doc2path(page))
        twin = Path(app.outdir) / f"{page}.md"
        twin.parent.mkdir(parents=True, exist_ok=True)
        twin.write_text(notebook_text(source) if source.suffix == ".ipynb" else source.read_text())
        lines.append(f"- [{app.env.titles[page].astext()}]({page}.md)")
    (Path(app.outdir) / "llms.txt").write_text("\n".join([*lines, ""]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}
