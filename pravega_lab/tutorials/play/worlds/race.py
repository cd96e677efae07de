"""The race of FLINK-18641: three checkpoints of a job with two subtasks and a master hook."""

from __future__ import annotations

from pravega_lab.engine.flow.checkpoint.history import Triggering
from pravega_lab.engine.simulation.flow.race import Race, run_race
from pravega_lab.tutorials.coordinator_race import race_picture
from pravega_lab.tutorials.play.catalogue import Scenario
from pravega_lab.tutorials.play.spec import RunSpec
from pravega_lab.tutorials.play.worlds.played import EXACT, Played
from pravega_lab.widgets.drawings.drawing import Drawing


def play(scenario: Scenario, spec: RunSpec) -> Played:
    """Run a scenario of this world."""
    triggering = Triggering.MAILBOX_1_11_0 if spec.bug else Triggering.FIXED
    return _PlayedRace(run_race(spec.seed, triggering))


class _PlayedRace(Played):
    """The result of `run_race`."""

    def __init__(self, race: Race) -> None:
        problems = [] if race.failure is None else [f"complete: {race.failure}"]
        verdict = EXACT if race.failure is None else "A checkpoint failed."
        super().__init__(verdict=verdict, problems=problems, steps=race.loop_steps, virtual_s=race.virtual_s)
        self._race = race

    def drawings(self) -> list[Drawing]:
        """Return the steps of the checkpoint in lanes."""
        return [race_picture(self._race)]

    def at(self, at_ms: float) -> tuple[str, list[str]]:
        """Return the verdict, and the steps as sentences; the moment does not matter."""
        completed = ", ".join(map(str, self._race.completed)) or "none"
        said = [f"Completed checkpoints: {completed}."]
        return self.verdict, [*said, *([self._race.failure] if self._race.failure else [])]

    def journal_lines(self) -> str:
        """Return the steps as JSON lines."""
        return self._race.journal.to_bytes().decode()
