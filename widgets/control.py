"""A comm that carries no data, so that pages are heard also while a cell blocks the kernel.

JupyterLab sends what pages say to a subshell of the kernel, which is free while a cell runs. But a comm whose
last message *we* sent from elsewhere (a view's publisher) is routed to the main shell, which is not. So pages
answer on this comm: it says nothing by itself, only greets back, from within the handler, which keeps its
route. Where a front end has no subshells nothing is lost: `Pace` goes on without answers, slower.

Handlers run in another thread than cells. They may set flags of a publisher and nothing else.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import anywidget

if TYPE_CHECKING:
    from pravega_lab.widgets.view import View


class Control(anywidget.AnyWidget):
    """Hands what a page says on to the view that it means. One per process: `control`."""

    _esm = "export default {};"

    def __init__(self) -> None:
        self.views: weakref.WeakValueDictionary[str, View] = weakref.WeakValueDictionary()
        super().__init__()
        self.on_msg(self._heard)

    def __repr__(self) -> str:
        return "Control()"

    def _heard(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        if content.get("kind") == "greeting":
            self.send({"kind": "greeting"})
        view = self.views.get(str(content.get("view")))
        if view is not None:
            view.heard(content)


_control: list[Control] = []


def control() -> Control:
    """The one of this kernel; another when it was closed with all widgets."""
    if not _control or _control[0].comm is None:
        _control[:] = [Control()]
    return _control[0]
