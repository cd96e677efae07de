"""`run_story` runs a world of any kind from its seed, with the loop, the journal and the collection of
errors.
"""

from __future__ import annotations

import gc
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from .faults import EVERYTHING, Happened, Plan
from .journal import Journal
from .loop import START_US, SimulationLoop
from .planted import Bug
from .traffic import Traffic

LOGGER = "pravega_lab"


@dataclass
class Result:
    """The result of one run. The run passed if there are no ``problems``."""

    seed: int
    scenario: str
    bug: str | None = None
    problems: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    journal: Journal = field(default_factory=Journal)
    journal_steps: list[int] = field(default_factory=list)  # at which step each line of the journal was added
    steps: int = 0
    virtual_s: float = 0.0
    traffic: Traffic = field(default_factory=Traffic)
    plan: Plan = EVERYTHING
    cast: list[str] = field(default_factory=list)  # the applications that took part
    reseeded_us: int | None = None  # when the generators changed, by the plan
    happened: list[Happened] = field(default_factory=list)  # the faults that happened, in order
    cpu_s: float = 0.0  # CPU time of the machine, which is not a function of the seed

    @property
    def command(self) -> str:
        """The command line that repeats this run."""
        bug = f" --bug {self.bug}" if self.bug else ""
        plan = f" --plan '{text}'" if (text := self.plan.to_text()) else ""
        return f"pravega-lab simulate --seeds {self.seed} --scenario {self.scenario}{bug}{plan}"

    def without_journal(self) -> Result:
        """Return a copy without the journal, to send to another process. The seed reproduces the journal."""
        return replace(self, journal=Journal(), journal_steps=[])

    def summary(self) -> str:
        """Return one line with seed, scenario, size and faults."""
        drawn = ", ".join(f"{kind} {n}" for kind, n in sorted(self.faults.items()) if n) or "no faults"
        return (
            f"seed {self.seed} ({self.scenario}, {self.virtual_s:.1f} virtual s, {self.steps} steps, "
            f"{self.traffic.words()}): {drawn}"
        )


Story = Callable[[Result, SimulationLoop], None]


def run_story(
    seed: int, scenario: str, story: Story, plan: Plan = EVERYTHING, bug: Bug | None = None
) -> Result:
    """Run ``story`` in a loop of ``seed``. Errors are recorded in ``problems`` and not raised.

    Args:
        scenario: The name of the scenario, for the result.
        story: Builds a world in the loop, runs and checks it. It fills in ``problems``, ``faults`` and the
            journal of the result. Faults and the last lines of the journal are also there when it raises.
        plan: What happens of that which the seed draws.
        bug: Planted for this run.
    """
    if bug is not None:
        with bug.planted():
            return replace(run_story(seed, scenario, story, plan), bug=bug.name)
    loop = SimulationLoop(seed, plan)  # type: ignore[abstract]  # the missing methods do not exist in here
    journal_steps: list[int] = []

    def now_us() -> int:
        journal_steps.append(loop.steps)  # the journal asks once for each line
        return loop.now_us

    journal = Journal(now_us)
    result = Result(seed, scenario, journal=journal, traffic=loop.network.traffic, plan=plan)
    result.journal_steps = journal_steps
    result.happened, result.cast = loop.faults.happened, loop.faults.cast
    began_s = time.process_time()
    with contained(loop) as errors:
        try:
            story(result, loop)
        except Exception as error:
            result.problems.append(f"{type(error).__name__}: {error}")
        result.problems += loop.errors + errors.messages
        result.reseeded_us = loop.faults.reseeded_us
        result.steps, result.virtual_s = loop.steps, (loop.now_us - START_US) / 1e6
    result.cpu_s = time.process_time() - began_s
    return result


@contextmanager
def contained(loop: SimulationLoop) -> Iterator[LoggedErrors]:
    """Collect logged errors and pause the garbage collector during a run, then dispose of the loop."""
    errors, gc_was_on = LoggedErrors(), gc.isenabled()
    gc.disable()  # what the collector closes, and when, is not a function of the seed
    logging.getLogger(LOGGER).addHandler(errors)
    try:
        yield errors
    finally:
        loop.dispose()
        logging.getLogger(LOGGER).removeHandler(errors)
        if gc_was_on:
            gc.enable()


class LoggedErrors(logging.Handler):
    """Collects logged errors. An error that the program logs and survives is still a problem."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the message and the exception of a record."""
        error = record.exc_info[1] if record.exc_info else None
        self.messages.append(f"logged: {record.getMessage()}" + (f" ({error!r})" if error else ""))
