"""The data folder of a store: listed, checked, backed up, restored, compacted (``pravega-lab admin``).

`frame`, `check`, `backup`, `restore` and `compact` are for programs. What decides is in `engine.store.admin`.
This package reads and writes the files. It imports `terminal`, `engine.store` and the file systems of
`engine.server.tiers`. The command line imports it, and `pravega_lab.admin` is its name for programs.
"""

from .backup import Copied, backup, restore
from .compact import Compacted, compact
from .tables import check, frame, rows

__all__ = ["Compacted", "Copied", "backup", "check", "compact", "frame", "restore", "rows"]
