"""Show recorded runs as views that can be scrubbed, without a kernel and a network.

The first page has one view in a frame. In the tutorials, each stored picture of a view gives way to the view
itself: ``docs/site/recordings/`` holds the rows that the views of a tutorial had when `record_views` ran it.
All pages share one script with the views' code, and a tutorial has one script with its rows. Both are classic
scripts, because a browser loads no modules and no JSON from a file.
"""

from __future__ import annotations

import gzip
import json
from html import escape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

RECORDING = "run-3.jsonl.gz"
NAME = "recorded-run.html"
MARK = "<!-- the site shows a recorded run here -->"
FOLDER = Path(__file__).resolve().parent / "recordings"
VIEWS = (
    "Board(", "RunBoard(", "SegmentMap(", "ReaderBoard(", "CheckpointTimeline(", "QueryTimeline(",
    "JobGraph(", "LedgerView(",
)  # fmt: skip
START = """
globalThis.pravegaLabStart = async (place) => {
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const { run, number } = place.dataset;
  const board = globalThis.pravegaLabRecorded[run][Number(number)];
  const modules = await Promise.all(board.map(({ script }) => {
    const text = globalThis.pravegaLabModules[script];
    return import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
  }));
  place.replaceChildren();
  board.forEach(({ settings, payload }, k) => {
    const heard = [];
    const model = {
      get: (name) => (name === "_settings" ? { ...settings, clock: `${run} ${number}` } : undefined),
      on: (name, callback) => heard.push(callback),
      off: (name, callback) => heard.splice(heard.indexOf(callback), 1),
      send: ({ kind }) => kind === "hello" && heard.forEach((f) => f(payload, payload.buffers.map(bytes))),
    };
    const el = place.appendChild(document.createElement("div"));
    const view = modules[k].default();
    view.initialize({ model });
    view.render({ model, el });
  });
};
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    globalThis.pravegaLabStart(target);
  }
}, { rootMargin: "400px" });
for (const place of document.querySelectorAll(".recorded")) seen.observe(place);
"""


def recorded(name: str) -> list[list[dict[str, Any]]]:
    """Return the boards of a tutorial in the order of its cells; none if nobody has recorded it."""
    path = FOLDER / f"{name}.json.gz"
    return list(json.loads(gzip.decompress(path.read_bytes()))) if path.exists() else []


def is_view(output: dict[str, Any]) -> bool:
    """Return whether an output of a cell is the stored picture of a view."""
    return "".join(output.get("data", {}).get("text/plain", "")).startswith(VIEWS)


def with_views(name: str, notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook whose stored pictures of views are places for the recorded views.

    Raises:
        ValueError: The tutorial shows another number of views than were recorded.
    """
    boards = recorded(name)
    outputs = [o for cell in notebook["cells"] for o in cell.get("outputs", []) if is_view(o)]
    if not boards:
        return notebook
    if len(boards) != len(outputs):
        raise ValueError(
            f"{name} shows {len(outputs)} views and has {len(boards)} recordings: "
            f"python docs/site/record_views.py {name}"
        )
    for number, output in enumerate(outputs):
        data = output["data"]
        still = "".join(data.get("text/html") or data.get("image/svg+xml") or "")
        said = escape("".join(data["text/plain"]))
        still = still.replace('role="img"', f'role="img" aria-label="{said}"', 1)
        of_run = f'data-run="{name}" data-number="{number}"'
        place = f'<div class="recorded" role="group" aria-label="{said}" {of_run}>'
        scripts = (
            f'<script defer src="../views/{name}.js"></script><script defer src="../views/views.js"></script>'
        )
        style = '<link rel="stylesheet" href="../views/style.css">'
        head = "" if number else style + scripts
        output["data"] = {"text/html": f"{head}{place}{still}</div>"}
    return notebook


def _write(app: Sphinx) -> None:
    from pravega_lab.observe import Journal
    from pravega_lab.tutorials.recording import recorded as runs
    from pravega_lab.widgets import show
    from pravega_lab.widgets.bundles import bundle, style

    journal = Journal.load(Path(runs.__path__[0]) / RECORDING)
    docs, views = Path(app.outdir) / "docs", Path(app.outdir) / "views"
    docs.mkdir(parents=True, exist_ok=True)
    show(journal).export(docs / NAME)
    views.mkdir(parents=True, exist_ok=True)
    scripts: set[str] = set()
    for path in sorted(FOLDER.glob("*.json.gz")):
        name = path.name.removesuffix(".json.gz")
        boards = recorded(name)
        scripts |= {view["script"] for board in boards for view in board}
        rows = f"(globalThis.pravegaLabRecorded ??= {{}})[{json.dumps(name)}] = {json.dumps(boards)};"
        (views / f"{name}.js").write_text(rows)
    modules = json.dumps({script: bundle(script) for script in sorted(scripts)})
    (views / "views.js").write_text(f"globalThis.pravegaLabModules = {modules};\n{START}")
    (views / "style.css").write_text(style())


def _insert(app: Sphinx, page: str, source: list[str]) -> None:
    if page.startswith("notebooks/"):
        name = page.removeprefix("notebooks/")
        if recorded(name):
            source[0] = json.dumps(with_views(name, json.loads(source[0])))
    elif MARK in source[0]:
        frame = (
            f'<iframe class="recorded-view" title="a recorded run of a reader group" src="{NAME}"></iframe>'
        )
        source[0] = source[0].replace(MARK, f"```{{raw}} html\n{frame}\n```")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", _write)
    app.connect("source-read", _insert)
    return {"parallel_read_safe": True}
