"""`command_of`: the command line that repeats a run of the page."""

from __future__ import annotations

import shlex

from pravega_lab.tutorials.play.spec import RunSpec


def command_of(spec: RunSpec) -> str:
    """Return the command that repeats the run on any machine."""
    words = ["pravega-lab", "simulate", "--seeds", str(spec.seed), "--scenario", spec.scenario]
    words += ["--bug", spec.bug] if spec.bug else []
    for name, value in sorted(spec.switches.items()):
        words += ["--set", f"{name}={value}"]
    if spec.acts is not None:
        for act in spec.acts or [""]:
            words += ["--act", str(act)]
    return shlex.join(words)
