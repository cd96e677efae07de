"""Which sources the bundles were made from: the one rule that the build and the loader share.

This module imports only the standard library and nothing of the package, because the build backend loads it
before the package can be imported.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

STAMP = "sources.sha256"  # beside the bundles: the digest of the sources that they were made from
SUFFIXES = {".ts", ".css"}
LOCK = "package-lock.json"


def sources(widgets: Path) -> list[Path]:
    """Return the TypeScript and CSS files below the folder `widgets`, by path; none in an installed wheel."""
    bundles = widgets / "bundles"
    return sorted(
        path for path in widgets.rglob("*") if path.suffix in SUFFIXES and not path.is_relative_to(bundles)
    )


def digest(widgets: Path, root: Path) -> str:
    """Return the digest of the sources below `widgets` and of the lock file in `root`."""
    total = sha256()
    for path in sources(widgets):
        total.update(f"{path.relative_to(widgets).as_posix()}\n".encode())
        total.update(sha256(path.read_bytes()).digest())
    total.update((root / LOCK).read_bytes())
    return total.hexdigest()


def are_fresh(widgets: Path, root: Path) -> bool:
    """Return whether the bundles below `widgets` were made from the sources that are there now."""
    stamp = widgets / "bundles" / STAMP
    return stamp.is_file() and stamp.read_text().strip() == digest(widgets, root)
