"""The data folder of a store: listed, checked, backed up, restored, compacted (``pravega-lab admin``).

`frame`, `check`, `backup`, `restore` and `compact` are for programs. What decides is in `engine.store.admin`.
This package reads and writes the files. It imports `terminal` and `engine.store`, and only the command line
imports it.
"""

from .backup import Copied, backup, restore
from .compact import Compacted, compact
from .tables import check, frame, rows

__all__ = ["Compacted", "Copied", "backup", "check", "compact", "frame", "restore", "rows"]
