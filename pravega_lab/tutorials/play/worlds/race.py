"""The race of FLINK-18641: three checkpoints of a job with two subtasks and a master hook."""

from __future__ import annotations

from pravega_lab.engine.flow.checkpoint.history import Triggering
from pravega_lab.engine.flow.graph.graph import JobGraph
from pravega_lab.engine.simulation.flow.race import Race, run_race
from pravega_lab.engine.simulation.kernel.loop import START_US
from pravega_lab.observe.job.observer import JobObserver
from pravega_lab.tutorials.coordinator_race import race_picture
from pravega_lab.tutorials.play.catalogue import Scenario
from pravega_lab.tutorials.play.spec import RunSpec
from pravega_lab.tutorials.play.worlds.played import EXACT, Played, numbered_views
from pravega_lab.widgets.checkpoint_timeline.view import CheckpointTimeline
from pravega_lab.widgets.drawings.drawing import Drawing
from pravega_lab.widgets.job_graph.view import JobGraph as JobGraphView
from pravega_lab.widgets.live.view import View


def play(scenario: Scenario, spec: RunSpec) -> Played:
    """Run a scenario of this world."""
    triggering = Triggering.MAILBOX_1_11_0 if spec.bug else Triggering.FIXED
    observers: list[JobObserver] = []

    def watched_by(graph: JobGraph) -> JobObserver:
        observers.append(JobObserver(graph, seed=spec.seed, simulated=True))
        return observers[-1]

    forks = [(round(1e6 * act.at_s), f"{spec.seed}/{act.text}") for act in spec.acts or ()]
    race = run_race(spec.seed, triggering, watched_by, forks)
    observers[0].close()
    return _PlayedRace(race, observers[0])


class _PlayedRace(Played):
    """The result of `run_race`."""

    def __init__(self, race: Race, observer: JobObserver) -> None:
        problems = [] if race.failure is None else [f"complete: {race.failure}"]
        super().__init__(
            journals=[observer.journal],
            verdict=EXACT if race.failure is None else "A checkpoint failed.",
            problems=problems,
            zero_ms=START_US // 1000,
            targets={"chances": [str(n) for n in range(1, 10)]},
            steps=race.loop_steps,
            virtual_s=race.virtual_s,
        )
        self._race = race

    def views(self) -> list[View]:
        """Return job graph and checkpoint timeline."""
        [journal] = self.journals
        return numbered_views([CheckpointTimeline(journal, job=True), JobGraphView(journal)])

    def drawings(self) -> list[Drawing]:
        """Return the steps of the checkpoint in lanes."""
        return [race_picture(self._race)]

    def at(self, at_ms: float) -> tuple[str, list[str]]:
        """Return the sentences as of a moment. The verdict is that of the whole run."""
        _, said = super().at(at_ms)
        completed = ", ".join(map(str, self._race.completed)) or "none"
        whole = [f"In the whole run, these checkpoints complete: {completed}."]
        return self.verdict, [*said, *whole, *([self._race.failure] if self._race.failure else [])]
