"""What a page is told about acting on a job: by which variable, or why not."""

from __future__ import annotations

from pravega_lab.widgets.view import RECORDING, View

NOT_SIMULATED = "not a simulated run: only those can be stepped, failed, delayed and forked by hand"


def control_facts(view: View) -> dict[str, str]:
    """``control`` is a variable, ``no_control`` the reason where there is none."""
    if view.control and view.journal.live:
        return {"control": view.control, "no_control": ""}
    return {"control": "", "no_control": NOT_SIMULATED if view.journal.live else RECORDING}
