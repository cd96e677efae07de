"""A hint for a cell that fails after a cell ran again.

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
    """Prints a hint after a failure if a cell that had succeeded ran again, unchanged.

    A cell that failed, or that was changed, as in an exercise, may run as often as it takes.
    """

    def __init__(self) -> None:
        self._succeeded: set[tuple[str | None, str]] = set()
        self._is_any_repeated = False

    def after_cell(self, result: Any) -> None:
        """Note a cell that has run. ``result`` is IPython's ``ExecutionResult``."""
        cell = result.info.cell_id, result.info.raw_cell
        self._is_any_repeated |= cell in self._succeeded
        if result.success:
            self._succeeded.add(cell)
        elif self._is_any_repeated:
            print(HINT)


def watch_cells() -> None:
    """Watch the cells of this notebook. Outside of IPython this does nothing."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    if shell is not None:
        shell.events.register("post_run_cell", Reruns().after_cell)
