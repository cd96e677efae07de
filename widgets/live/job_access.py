"""What a page knows about acting on a job: through which variable, or why it cannot."""

from __future__ import annotations

from .view import RECORDING, View

NOT_SIMULATED = "not a simulated run: only those can be stepped, failed, delayed and forked by hand"


def control_facts(view: View) -> dict[str, str]:
    """Return the variable that acts as ``control``, or the reason why there is none as ``no_control``."""
    if view.control and view.journal.live:
        return {"control": view.control, "no_control": ""}
    return {"control": "", "no_control": NOT_SIMULATED if view.journal.live else RECORDING}
