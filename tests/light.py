"""Processes that have the standard library and protobuf, and no other package."""

from __future__ import annotations

from pathlib import Path

import google.protobuf

PROTOBUF = Path(google.protobuf.__file__).parents[1]
"""The folder ``google`` that has protobuf."""


def protobuf_alone(folder: Path) -> Path:
    """Put protobuf into ``folder``, to import from it, and return the folder. Run Python with ``-I -S``."""
    folder.mkdir(exist_ok=True)
    (folder / "google").symlink_to(PROTOBUF)
    return folder
