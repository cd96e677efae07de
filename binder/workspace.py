"""Write ``binder/workspace.json``: the first tutorial is open, and the file browser shows the others.

Views open a panel on the right by themselves once their cell has run (``PRAVEGA_LAB_VIEWS=right``). Run by
``make pins``; a test compares.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "binder/workspace.json"
NAME = "default"


def first_tutorial() -> str:
    """Path of the first tutorial from the root of the checkout."""
    return min((ROOT / "notebooks").glob("[0-9][0-9]-*.ipynb")).relative_to(ROOT).as_posix()


def workspace(notebook: str) -> dict[str, Any]:
    """JupyterLab's own format, as ``jupyter lab workspaces export`` writes it."""
    document = f"notebook:{notebook}"
    restored = {
        "main": {"dock": {"type": "tab-area", "currentIndex": 0, "widgets": [document]}, "current": document},
        "down": {"size": 0, "widgets": []},
        "left": {"collapsed": True, "visible": True, "widgets": ["filebrowser", "running-sessions"]},
        "right": {"collapsed": True, "visible": True, "widgets": []},
        "relativeSizes": [0, 1, 0],
    }
    opened = {document: {"data": {"path": notebook, "factory": "Notebook"}}}
    folder = {"file-browser-filebrowser:cwd": {"path": Path(notebook).parent.as_posix()}}
    return {"data": {"layout-restorer:data": restored, **opened, **folder}, "metadata": {"id": NAME}}


def text() -> str:
    """What the file says."""
    return json.dumps(workspace(first_tutorial()), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
    print(f"{FILE.relative_to(ROOT)}: {first_tutorial()}")
