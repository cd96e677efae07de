"""``anywidget``, ``ipywidgets`` and ``traitlets``, or stand-ins where they are not installed.

Without them a view can be made, exported as a page and asked for its picture, its words and its rows, in a
browser without a kernel for example. Only what shows it in a notebook needs them, and says so (`needed`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pravega_lab.errors import require
from pravega_lab.portable import is_installed

NAMES = ("anywidget", "ipywidgets", "traitlets")


HAVE_JUPYTER = all(map(is_installed, NAMES))

if TYPE_CHECKING or HAVE_JUPYTER:
    import anywidget
    import ipywidgets
    import traitlets
else:

    class _Widget:
        """Stands in for a widget: it has no page, so it receives nothing and sends nothing."""

        comm = object()
        model_id = ""

        def __init__(self, *_: object, **values: object) -> None:
            vars(self).update(values)

        def on_msg(self, _heard: object) -> None:
            """Do nothing: no message comes."""

        def send(self, _content: object, _buffers: object = None) -> None:
            """Do nothing: there is no page."""

    class _Trait:
        """Stands in for the declaration of a trait."""

        def tag(self, **_: object) -> None:
            """Do nothing: nothing is synchronized."""

    class anywidget:
        AnyWidget = _Widget

    class ipywidgets:
        VBox = _Widget

    class traitlets:
        Dict = _Trait


__all__ = ["HAVE_JUPYTER", "anywidget", "ipywidgets", "needed", "traitlets"]


def needed() -> None:
    """Raise `MissingExtraError` where nothing can be shown, because Jupyter's packages are not installed."""
    for name in () if HAVE_JUPYTER else NAMES:
        require(name)
