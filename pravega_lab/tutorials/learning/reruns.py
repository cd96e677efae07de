"""A hint for a cell that fails after cells ran more than once.

A tutorial runs from the top, each cell once. A cell that creates a stream or kills a reader may fail when it
runs again, and so may the cells below it.
"""

from __future__ import annotations

import sys
from typing import Any

HINT = (
    "Hint: a cell of this notebook ran more than once. A tutorial runs from the top, each cell once, so a "
    "cell that ran again may have changed what this one needs.\nTo begin again, restart the kernel and run "
    "the notebook from the top (Kernel > Restart Kernel and Run All Cells)."
)


class Reruns:
    """Counts the runs of each cell, and prints a hint after a failure if one ran more than once."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._is_any_repeated = False

    def after_cell(self, result: Any) -> None:
        """Note a cell that has run. ``result`` is IPython's ``ExecutionResult``."""
        cell = result.info.cell_id or result.info.raw_cell
        self._is_any_repeated |= cell in self._seen
        self._seen.add(cell)
        if self._is_any_repeated and not result.success:
            print(HINT)


def watch_cells() -> None:
    """Watch the cells of this notebook. Outside of IPython this does nothing."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    if shell is not None:
        shell.events.register("post_run_cell", Reruns().after_cell)
