"""The race of tutorial 12 as a picture: a run of `flow_race`, its lanes, and the lines of code beside it."""

from __future__ import annotations

import inspect
from textwrap import dedent

from pravega_lab.engine.flow.coordinator import CheckpointCoordinator
from pravega_lab.engine.flow.history import Triggering
from pravega_lab.engine.simulation.flow_race import LANES, Race
from pravega_lab.widgets.drawing import Drawing
from pravega_lab.widgets.sequence_picture import SequenceStep, sequence_picture

WRONG = "if pending.tasks_acknowledged"
WORDS = {
    Triggering.LOCK: "until 1.10: a lock",
    Triggering.MAILBOX_1_11_0: "1.11.0: a mailbox",
    Triggering.MENDED: "since 1.11.2: mended",
}


def wrong_lines() -> list[str]:
    """The lines of the engine's coordinator that ask whether a checkpoint is complete."""
    lines = dedent(inspect.getsource(CheckpointCoordinator._maybe_complete)).splitlines()
    first = next(n for n, line in enumerate(lines) if "MAILBOX_1_11_0" in line)
    return [line.removeprefix("    ").split("  #")[0] for line in lines[first:]]


def race_picture(race: Race, checkpoint_id: int | None = None) -> Drawing:
    """Of the checkpoint that failed or, if all went well, of the last one; or of the one that is asked for.

    Beside a failure stands the code that was wrong.
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
