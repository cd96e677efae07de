"""Show recorded runs as views that can be scrubbed, without a kernel and a network.

The first page has the views of a run of the package. In the tutorials, each stored picture of a view gives
way to the view itself: ``docs/site/recordings/`` holds the rows that the views of a tutorial had when
`record_views` ran it. All pages share one script with the views' code, and a page has one script with its
rows. Both are classic scripts, because a browser loads no modules and no JSON from a file.
"""

from __future__ import annotations

import gzip
import json
from html import escape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

RECORDING = "run-3.jsonl.gz"
INDEX = "index"  # the first page's run
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
      on: (name, callback) => name === "msg:custom" && heard.push(callback),
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
    """Return the boards of a tutorial in the order of its cells; none if it was not recorded."""
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
        output["data"] = {"text/html": place(name, number, still, "".join(data["text/plain"]))}
    return notebook


def place(name: str, number: int, still: str, words: str) -> str:
    """Return the HTML of a board of a run: its picture, until the script of the page has drawn the views.

    Args:
        name: The run, whose rows are in ``views/<name>.js``.
        number: Which of its boards; the first one of a page loads the scripts.
        still: The picture, as SVG or HTML.
        words: What the picture shows.
    """
    said = escape(words)
    still = still.replace('role="img"', f'role="img" aria-label="{said}"', 1)
    of_run = f'data-run="{name}" data-number="{number}"'
    scripts = "".join(f'<script defer src="../views/{script}.js"></script>' for script in (name, "views"))
    head = "" if number else f'<link rel="stylesheet" href="../views/style.css">{scripts}'
    return f'{head}<div class="recorded" role="group" aria-label="{said}" {of_run}>{still}</div>'


def first_views() -> list[Any]:
    """Return the views of the first page: the stream and the reader group of a recorded run, on one clock."""
    from pravega_lab.observe import Journal
    from pravega_lab.tutorials.recording import recorded as runs
    from pravega_lab.widgets import show

    journal = Journal.load(Path(runs.__path__[0]) / RECORDING)
    return list(show(journal).views[:2])


def _write(app: Sphinx) -> None:
    from pravega_lab.widgets.bundles import bundle, style
    from pravega_lab.widgets.live.recording import recording_of

    views = Path(app.outdir) / "views"
    views.mkdir(parents=True, exist_ok=True)
    scripts: set[str] = set()
    names = [path.name.removesuffix(".json.gz") for path in sorted(FOLDER.glob("*.json.gz"))]
    all_boards = {name: recorded(name) for name in names}
    all_boards[INDEX] = [[recording_of(view) for view in first_views()]]
    for name, boards in all_boards.items():
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
        views = first_views()
        words = "; ".join(view.alternative for view in views)
        shown = place(INDEX, 0, str(views[0].picture()[1]), words)
        source[0] = source[0].replace(MARK, f"```{{raw}} html\n{shown}\n```")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", _write)
    app.connect("source-read", _insert)
    return {"parallel_read_safe": True}
