"""Show boards in a panel on the right of JupyterLab, and only name them below their cell.

One panel per kernel holds every board that was shown there, the newest at the top. It needs the package
``sidecar`` and a front end that a person uses: where a program runs the cells, in a terminal, and in front
ends that are not JupyterLab, boards stay below their cells.
"""

from __future__ import annotations

import os
import sys
from html import escape
from typing import Any

from pravega_lab.errors import BadInputError
from pravega_lab.portable import is_installed
from pravega_lab.progress import has_kernel, is_run_by_program

from .jupyter import anywidget, ipywidgets

VARIABLE = "PRAVEGA_LAB_VIEWS"
INLINE, RIGHT = "inline", "right"
TITLE = "views"
# JupyterLab gives a new panel the focus, so the next Shift Enter runs no cell: return it to the notebook.
# JupyterLab does not notify the kernel that a person closed the panel, so the panel reports it.
_WATCH = """export default { render({ model, el }) {
  const book = [...document.querySelectorAll(".jp-NotebookPanel .jp-Notebook")].find((e) => e.offsetParent);
  const active = () => book?.querySelector(".jp-Cell.jp-mod-active") ?? book; // a key may move it until then
  setTimeout(() => active()?.focus({ preventScroll: true }), 0);
  let open = false;
  const timer = setInterval(() => {
    if (open && !el.isConnected) {
      clearInterval(timer);
      model.send({ kind: "closed" });
    }
    open ||= el.isConnected;
  }, 250);
  return () => clearInterval(timer);
} };
"""
_WIDE = {"width": "100%", "flex_flow": "column-reverse"}  # the last child is at the top


def refuse_place(where: str | None) -> None:
    """Raise `BadInputError` where ``where`` is no place for views."""
    if where not in (None, INLINE, RIGHT):
        raise BadInputError(f"where={where!r}: views are shown {INLINE!r}, below their cell, or {RIGHT!r}.")


def is_right(where: str | None) -> bool:
    """Return whether a board is shown on the right.

    Args:
        where: "right", "inline", or None for what the variable ``PRAVEGA_LAB_VIEWS`` says. The commands that
            start JupyterLab (``make lab``, Binder) set it to "right".
    """
    wanted = where or os.environ.get(VARIABLE, INLINE)
    others = "VSCODE_PID" in os.environ or "google.colab" in sys.modules
    return (
        wanted == RIGHT
        and has_kernel()
        and not is_run_by_program()
        and not others
        and is_installed("sidecar")
    )


class Panel:
    """The panel of this kernel, with the boards that were shown in it."""

    def __init__(self) -> None:
        self._sidecar: Any = None
        self._watch: Any = None
        self._box: Any = None
        self._boards: list[Any] = []

    def add(self, board: Any) -> None:
        """Show a board at the top of the panel; open the panel if it is not open."""
        if self._sidecar is None:
            self._open()
        self._boards = [*(one for one in self._boards if one is not board), board]
        self._box.children = [self._watch, *self._boards]

    def _open(self) -> None:
        from sidecar import Sidecar

        self._boards = []
        self._watch = anywidget.AnyWidget(_esm=_WATCH)
        self._watch.on_msg(self._heard)
        self._box = ipywidgets.VBox(layout=_WIDE)
        self._sidecar = Sidecar(title=TITLE, anchor="split-right")
        self._sidecar.append_display_data(self._box)

    def _heard(self, watch: Any, content: dict[str, Any], _buffers: object) -> None:
        if content.get("kind") == "closed" and watch is self._watch and self._sidecar is not None:
            self._sidecar.close()
            self._sidecar = None


_panel = Panel()


def shown_right(board: Any, picture: str, words: str) -> dict[str, str]:
    """Show a board in the panel, and return what its cell shows instead: a line and the folded picture."""
    _panel.add(board)
    folded = f"<details><summary>On the right: {escape(words)}</summary>{picture}</details>"
    return {"text/html": folded, "text/plain": repr(board)}
