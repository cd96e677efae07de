"""``pd``: pandas, or in a browser, where it cannot be installed, a plain stand-in that shows the same rows.

    from pravega_lab.portable.frames import pd

What makes frames imports it in the function that makes them, as pandas takes half a second to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pravega_lab.errors import require

from . import is_installed
from .alone import IS_BROWSER

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["pd", "require_frames"]

HAVE_NO_PANDAS = IS_BROWSER and not is_installed("pandas")
"""Whether this is a browser without pandas. Elsewhere a missing pandas is an error that names the extra."""


def __getattr__(name: str) -> Any:
    if name != "pd":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if HAVE_NO_PANDAS:
        from .plain import frames

        return frames
    import pandas

    return pandas


def require_frames() -> None:
    """Make sure that ``pd`` can be imported: pandas, or its stand-in in a browser.

    Raises:
        MissingExtraError: pandas is not installed, and this is no browser.
    """
    if not HAVE_NO_PANDAS:
        require("pandas")
