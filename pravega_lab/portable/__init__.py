"""Waiting and columns of values that behave the same on every Python, with or without numpy and pyarrow.

Every package may import it; it imports nothing of the project.
"""

from __future__ import annotations

from importlib.util import find_spec


def is_installed(name: str) -> bool:
    """Return whether a package is installed, without importing it."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # from a finder that hides it
        return False


HAVE_ARRAYS = is_installed("numpy") and is_installed("pyarrow")
"""Whether numpy and pyarrow are installed. Asking does not import them."""
