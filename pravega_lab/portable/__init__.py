"""Waiting, columns of values, frames, words: the same on every Python, with or without arrays.

Every package may import it; it imports only the errors.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec


def is_installed(name: str) -> bool:
    """Return whether a package is installed, without importing it."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # from a finder that hides it
        return False


ARRAYS_VARIABLE = "PRAVEGA_LAB_ARRAYS"
"""An environment variable. With ``off``, a process works as if numpy and pyarrow were not installed."""

HAVE_ARRAYS = os.environ.get(ARRAYS_VARIABLE) != "off" and is_installed("numpy") and is_installed("pyarrow")
"""Whether numpy and pyarrow are installed and may be used. Asking does not import them."""


def few(n: int) -> int:
    """Return up to how many items plain Python is used: ``n``, or any number where there are no arrays.

    Below ``n`` plain Python is as fast as arrays, and starts faster.
    """
    return n if HAVE_ARRAYS else sys.maxsize
