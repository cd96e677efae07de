"""The race of tutorial 12 as a picture: a run of `simulation.flow.race`, its lanes, and the code."""

from __future__ import annotations

import inspect
from textwrap import dedent

from pravega_lab.engine.flow.checkpoint.coordinator import CheckpointCoordinator
from pravega_lab.engine.flow.checkpoint.history import Triggering
from pravega_lab.engine.simulation.flow.race import LANES, Race, find, run_race
from pravega_lab.widgets.drawings.drawing import Drawing
from pravega_lab.widgets.drawings.sequence_picture import SequenceStep, sequence_picture

__all__ = ["WRONG", "find", "race_picture", "run_race", "wrong_lines"]

WRONG = "if pending.tasks_acknowledged"
WORDS = {
    Triggering.LOCK: "until 1.10: a lock",
    Triggering.MAILBOX_1_11_0: "1.11.0: a mailbox",
    Triggering.FIXED: "since 1.11.2: fixed",
}


def wrong_lines() -> list[str]:
    """Return the lines of the engine's coordinator that ask whether a checkpoint is complete."""
    lines = dedent(inspect.getsource(CheckpointCoordinator._maybe_complete)).splitlines()
    first = next(n for n, line in enumerate(lines) if "completes_with_tasks" in line)
    return [line.removeprefix("    ").split("  #")[0] for line in lines[first:]]


def race_picture(race: Race, checkpoint_id: int | None = None) -> Drawing:
    """Draw the steps of a checkpoint: the one asked for, else the one that failed, else the last.

    The code that was wrong is beside a failure.
    """
    happened = race.steps if checkpoint_id is None else race.checkpoints[checkpoint_id]
    steps = [SequenceStep(s.time_us, s.lane, s.what, s.by, s.fails) for s in happened]
    fails = any(step.fails for step in steps)
    return sequence_picture(
        f"Seed {race.seed}, {WORDS[race.triggering]}",
        LANES,
        steps,
        code=wrong_lines() if fails else (),
        wrong=WRONG,
        outcome=race.failure or "" if fails else "The checkpoint is complete.",
    )
