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


class HasContent(Protocol):
    """A view, as far as its content needs it."""

    _settings: dict[str, Any]

    def snapshot(self, *, live: bool | None = None) -> Payload:
        """Return everything that a page needs to draw the view."""


class Recordable(HasContent, Protocol):
    """A view, as far as its recording needs it."""

    script: Any


def content_of(view: HasContent) -> dict[str, Any]:
    """Return what the script of a view draws on a page: its settings and its rows, as JSON values."""
    told = ("journal", "scale")
    settings = {"clock": "page", **{name: view._settings[name] for name in told if name in view._settings}}
    return {"settings": settings, "payload": view.snapshot(live=False).to_json()}


def recording_of(view: Recordable) -> dict[str, Any]:
    """Return what a page needs to draw a view: its script and its content, as JSON values."""
    return {"script": view.script, **content_of(view)}


def keep(views: Sequence[Recordable]) -> None:
    """Write a board to the folder of recordings, if there is one."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    number = len(list(path.glob("*.json")))
    (path / f"{number:03}.json").write_text(json.dumps([recording_of(view) for view in views]))
