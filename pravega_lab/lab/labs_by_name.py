"""The labs of this kernel by name: a cell that runs again replaces its lab instead of adding another one.

Outside of notebooks nothing is replaced: a program decides itself when to close a lab. A forked child
does not replace a lab of its parent.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol

from pravega_lab.progress import in_notebook


class Closable(Protocol):
    """What this module needs of a lab."""

    uri: str
    is_closed: bool

    def close(self) -> None: ...


_labs: weakref.WeakValueDictionary[tuple[int, str], Closable] = weakref.WeakValueDictionary()


def close_namesake(name: str) -> str:
    """Close the lab that has this name in this kernel, and return a sentence that says so.

    Return "" if there is no such lab, or this is no notebook.
    """
    before = _labs.pop((os.getpid(), name), None) if in_notebook() else None
    if before is None or before.is_closed:
        return ""
    address = before.uri
    before.close()
    if name:
        return f"Lab(name={name!r}) takes the place of the one at {address}, which is closed now."
    return (
        f'Lab() takes the place of the one at {address}, which is closed now; Lab(name="other") keeps both.'
    )


def register(name: str, lab: Closable) -> None:
    """Give ``lab`` this name, for as long as it is in use."""
    _labs[os.getpid(), name] = lab
