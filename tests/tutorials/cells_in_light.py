"""Run the cells of tutorials as a browser would: with plain frames, and without the packages it lacks.

    python -m tests.tutorials.cells_in_light NOTEBOOK…

Prints JSON: for each notebook and each of its cells, the words in the frames that it showed, and its text.
"""

from __future__ import annotations

import asyncio
import json
import sys
from html.parser import HTMLParser
from importlib.abc import MetaPathFinder
from pathlib import Path
from threading import Thread
from typing import Any

#: What Pyodide's kernel in the site does not have.
ABSENT = {
    "pandas",
    "numpy",
    "pyarrow",
    "numba",
    "grpc",
    "uvloop",
    "plotly",
    "pyspark",
    "fsspec",
    "rich",
    "tqdm",
}

sys.path.insert(0, str(Path(__file__).parents[2] / "build_backend"))
from build_lite import ABSENT as WITHOUT  # noqa: E402
from build_lite import cells_for_browser  # noqa: E402


class _Absent(MetaPathFinder):
    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        parts = name.removeprefix("pravega_lab.").replace(".", "/")
        if name.partition(".")[0] in ABSENT or (parts != name and parts.startswith(WITHOUT)):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


class _Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._is_in = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._is_in = tag in ("td", "th")
        if self._is_in:
            self.words.append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_in = False

    def handle_data(self, data: str) -> None:
        if self._is_in:
            self.words[-1] += data


def words_of(html: str) -> list[str]:
    """Return the words in the cells of a table, in order; empty ones are left out."""
    cells = _Cells()
    cells.feed(html)
    return [word for word in cells.words if word]


def shown(outputs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what outputs of a cell show: the words of its frames, and its text."""
    found: dict[str, Any] = {"frames": [], "text": ""}
    for output in outputs:
        data = output.get("data", {})
        html = "".join(data.get("text/html", ""))
        if 'class="dataframe"' in html:
            found["frames"].append(words_of(html))
        elif output["output_type"] == "stream" and output.get("name") == "stdout":
            found["text"] += "".join(output["text"])
    return found


def cells_of(path: Path) -> list[dict[str, Any]]:
    """Return the cells with code that a browser has."""
    cells = cells_for_browser(json.loads(path.read_text())["cells"])
    return [cell for cell in cells if cell["cell_type"] == "code"]


def run(path: Path) -> list[dict[str, Any]]:
    """Run a notebook's cells in a new shell, and return what each of them shows; raise what a cell raises."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    InteractiveShell.clear_instance()
    shell, found, results = InteractiveShell.instance(), [], []
    shell.display_trap.hook = results.append
    Thread.start = _no_thread  # type: ignore[method-assign]

    async def cells() -> None:  # in a running loop, as a kernel's cells are
        for cell in cells_of(path):
            results.clear()
            source = "".join(cell["source"])
            with capture_output() as captured:
                ran = await shell.run_cell_async(source, transformed_cell=shell.transform_cell(source))
            ran.raise_error()
            outputs = [{"output_type": "stream", "name": "stdout", "text": captured.stdout}]
            for result in results:
                html = result._repr_html_() if hasattr(result, "_repr_html_") else ""
                outputs.append({"output_type": "execute_result", "data": {"text/html": html}})
            found.append(shown(outputs))

    asyncio.run(cells())
    return found


def _no_thread(thread: Thread) -> None:
    raise RuntimeError("can't start new thread")


def main() -> None:
    """Run the command."""
    sys.meta_path.insert(0, _Absent())
    from pravega_lab.portable import alone

    alone.IS_BROWSER = True
    print(json.dumps({path: run(Path(path)) for path in sys.argv[1:]}))


if __name__ == "__main__":
    main()
