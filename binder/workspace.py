"""Write ``binder/workspace.json``: the first tutorial on the left, its views on the right.

The views are the outputs of the cells tagged ``view`` (JupyterLab's "Create New View for Cell Output"), which
JupyterLab knows by their numbers; so the file is written from the notebook. Run by ``make pins``; a test
compares.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "binder/workspace.json"
NAME = "default"
TAG = "view"


def first_tutorial() -> str:
    """Path of the first tutorial from the root of the checkout."""
    return min((ROOT / "notebooks").glob("[0-9][0-9]-*.ipynb")).relative_to(ROOT).as_posix()


def view_cells(notebook: str) -> list[int]:
    """Numbers of the cells that are tagged as views."""
    cells = json.loads((ROOT / notebook).read_text())["cells"]
    return [n for n, cell in enumerate(cells) if TAG in cell["metadata"].get("tags", [])]


def workspace(notebook: str, views: list[int]) -> dict[str, Any]:
    """JupyterLab's own format, as ``jupyter lab workspaces export`` writes it."""
    document = f"notebook:{notebook}"
    left: dict[str, Any] = {"type": "tab-area", "currentIndex": 0, "widgets": [document]}
    outputs = {f"cloned-outputs:{notebook}:{n}": {"path": notebook, "index": n} for n in views}
    areas = [{"type": "tab-area", "currentIndex": 0, "widgets": [name]} for name in outputs]
    right = {"type": "split-area", "orientation": "vertical", "sizes": [1] * len(areas), "children": areas}
    dock = {"type": "split-area", "orientation": "horizontal", "sizes": [0.5, 0.5], "children": [left, right]}
    restored = {
        "main": {"dock": dock, "current": document},
        "down": {"size": 0, "widgets": []},
        "left": {"collapsed": True, "visible": True, "widgets": ["filebrowser", "running-sessions"]},
        "right": {"collapsed": True, "visible": True, "widgets": []},
        "relativeSizes": [0, 1, 0],
    }
    opened = {document: {"data": {"path": notebook, "factory": "Notebook"}}}
    shown = {name: {"data": data} for name, data in outputs.items()}
    folder = {"file-browser-filebrowser:cwd": {"path": Path(notebook).parent.as_posix()}}
    return {
        "data": {"layout-restorer:data": restored, **opened, **shown, **folder},
        "metadata": {"id": NAME},
    }


def text() -> str:
    """What the file says."""
    notebook = first_tutorial()
    return json.dumps(workspace(notebook, view_cells(notebook)), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
    print(f"{FILE.relative_to(ROOT)}: {first_tutorial()}")
