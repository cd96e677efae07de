"""A comm without data, through which pages are heard also while a cell blocks the kernel.

JupyterLab sends messages of pages to a subshell of the kernel, which is free while a cell runs. But it routes
a comm to the main shell, which is busy, if the last message on it was sent from another thread, as a view's
publisher does. Pages therefore answer on this comm. It never sends by itself; it only greets back from within
its handler, which keeps the route. In a front end without subshells nothing is lost: `Pace` continues without
answers, slower.

Handlers run in another thread than cells. They may set flags of a publisher and nothing else.
"""

from __future__ import annotations

import weakref
from typing import Any, Protocol

from .jupyter import anywidget


class Listener(Protocol):
    """A view, as far as pages talk to it."""

    def heard(self, content: dict[str, Any]) -> None:
        """Receive a message of the page. It comes in another thread than cells, and may only set flags."""


class Control(anywidget.AnyWidget):
    """Passes messages of pages to the views that they name. A process has one: `control`."""

    _esm = "export default {};"

    def __init__(self) -> None:
        self.views: weakref.WeakValueDictionary[str, Listener] = weakref.WeakValueDictionary()
        super().__init__()
        self.on_msg(self._heard)

    def __repr__(self) -> str:
        return "Control()"

    def _heard(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        if content.get("kind") == "greeting":
            self.send({"kind": "greeting"})
        if content.get("kind") == "acks":  # of several views, with the number of the newest update by view
            for name, seq in content["seqs"].items():
                self._pass_on(name, {"kind": "ack", "seq": seq})
        self._pass_on(str(content.get("view")), content)

    def _pass_on(self, name: str, content: dict[str, Any]) -> None:
        view = self.views.get(name)
        if view is not None:
            view.heard(content)


_control: list[Control] = []


def control() -> Control:
    """Return the comm of this kernel; make another one if the last was closed together with all widgets."""
    if not _control or _control[0].comm is None:
        _control[:] = [Control()]
    return _control[0]
