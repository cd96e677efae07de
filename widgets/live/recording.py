"""Keep what the views of a notebook show, for pages without a kernel, such as the site's.

Where the variable ``PRAVEGA_LAB_RECORDINGS`` names a folder, each board that a cell shows is written there,
if a program runs the cell: ``000.json``, ``001.json`` and so on, in the order in which they are shown.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from .payload import Payload

VARIABLE = "PRAVEGA_LAB_RECORDINGS"


class Recordable(Protocol):
    """A view, as far as its recording needs it."""

    script: Any
    _settings: dict[str, Any]

    def snapshot(self, *, live: bool | None = None) -> Payload:
        """Return everything that a page needs to draw the view."""


def recording_of(view: Recordable, clock: str = "page") -> dict[str, Any]:
    """Return what a page needs to draw a view: its script, its settings and its rows, as JSON values."""
    told = ("journal", "scale")
    settings = {"clock": clock, **{name: view._settings[name] for name in told if name in view._settings}}
    return {
        "script": view.script,
        "settings": settings,
        "payload": view.snapshot(live=False).to_json(),
    }


def keep(views: Sequence[Recordable]) -> None:
    """Write a board to the folder of recordings, if there is one."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    number = len(list(path.glob("*.json")))
    (path / f"{number:03}.json").write_text(json.dumps([recording_of(view) for view in views]))
