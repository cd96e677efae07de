"""One lab of a name per kernel: a cell that is run again takes its lab's place, instead of adding one.

Outside of notebooks nothing is replaced: there a program says itself what it wants.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from pravega_lab.progress import in_notebook

if TYPE_CHECKING:
    from pravega_lab.lab import Lab

_labs: weakref.WeakValueDictionary[str, Lab] = weakref.WeakValueDictionary()


def take(name: str) -> str:
    """Close the lab that has this name in this kernel; the sentence that says so, or nothing."""
    before = _labs.pop(name, None) if in_notebook() else None
    if before is None or before.is_closed:
        return ""
    address = before.uri
    before.close()
    if name:
        return f"Lab(name={name!r}) takes the place of the one at {address}, which is closed now."
    return (
        f'Lab() takes the place of the one at {address}, which is closed now; Lab(name="other") keeps both.'
    )


def keep(name: str, lab: Lab) -> None:
    """``lab`` has this name now."""
    _labs[name] = lab
