"""The JavaScript of each view as one ES module, and the style sheet of all views: made by `build_backend`.

A module that the page loads from a blob cannot import its neighbour, so esbuild bundles the TypeScript of a
view (``widgets/<view>/index.ts``) into one file. Anything in `widgets` may import this package.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pravega_lab.errors import PravegaError

from .sources import are_fresh, sources

# Resolved, because a strict editable install is a farm of links to the checkout.
FOLDER = Path(__file__).resolve().parent
COMMAND = "python build_backend/bundle_views.py"


class BundleMissingError(PravegaError):
    """Raised when the JavaScript of a view is absent, or older than its sources."""


@cache
def bundle(view: str) -> str:
    """Return the ES module of a view, for example ``"segment_map"``.

    Raises:
        BundleMissingError: The bundle is absent, or older than the TypeScript sources of this checkout.
    """
    return _read(f"{view}.js")


@cache
def style() -> str:
    """Return the style sheet of all views.

    Raises:
        BundleMissingError: The bundle is absent, or older than the CSS sources of this checkout.
    """
    return _read("style.css")


def _read(name: str) -> str:
    widgets = FOLDER.parent
    if not (FOLDER / name).is_file():
        raise BundleMissingError(f"{name} was not found in {FOLDER}: run `{COMMAND}` in the checkout")
    if sources(widgets) and (root := _checkout()) and not are_fresh(widgets, root):
        raise BundleMissingError(
            f"the bundles of the views are older than their sources: run `{COMMAND}` in {root}"
        )
    return (FOLDER / name).read_text(encoding="utf-8")


def _checkout() -> Path | None:
    """Return the folder of the checkout with the sources, or None where only the package is installed."""
    for folder in FOLDER.parents[1:3]:  # a source archive has this folder in pravega_lab/widgets/
        if (folder / "package-lock.json").is_file():
            return folder
    return None
