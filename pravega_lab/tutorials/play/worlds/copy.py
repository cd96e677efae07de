"""A job that copies a stream, in one of the ways of docs/connector-flow.md, while the stream scales."""

from __future__ import annotations

import asyncio
from typing import Any

from pravega_lab.engine.flow.master.job import Job
from pravega_lab.errors import PravegaError
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.ledger.observations import Acted
from pravega_lab.tutorials.copying.copy_job import Copying, Story
from pravega_lab.tutorials.play.catalogue import Scenario
from pravega_lab.tutorials.play.spec import RunSpec
from pravega_lab.tutorials.play.worlds.played import EXACT, NOT_DONE, Played, numbered_views
from pravega_lab.tutorials.recording.recorder import GROUP, START_MS, STREAM, Script
from pravega_lab.widgets.checkpoint_timeline.view import CheckpointTimeline
from pravega_lab.widgets.job_graph.view import JobGraph
from pravega_lab.widgets.ledger.view import LedgerView
from pravega_lab.widgets.live.view import View
from pravega_lab.widgets.segment_map.view import SegmentMap


def play(scenario: Scenario, spec: RunSpec) -> Played:
    """Run a scenario of this world."""
    acts = spec.acts if spec.acts is not None else scenario.acts
    story = Story(tuple((act.at_s, act.text) for act in acts), events=scenario.facts["events"])
    return _PlayedCopy(_CopyWorld(scenario.chosen(spec, "way"), story, spec.seed))


class _CopyWorld(Copying):
    """A run that survives acts that cannot be done, and notes what kept it from its end."""

    def run(self, script: Script, *, segments: int) -> Journal:
        self.problems: list[str] = []
        try:
            return super().run(script, segments=segments)
        except (PravegaError, AssertionError, TimeoutError) as error:
            self.problems.append(f"{type(error).__name__}: {error}".splitlines()[0])
            self.journal.live = False
            return self.journal

    async def _do(self, running: Job, act: str) -> None:
        verb, _, word = act.partition(" ")
        try:
            if verb == "fork":
                loop: Any = asyncio.get_running_loop()
                loop.reseed(f"{self.seed}/fork/{word}")
                self._note(f"other chances from here: {word}")
            else:
                await super()._do(running, act)
        except PravegaError as error:
            self._note(f"{NOT_DONE}{act}: {error}".splitlines()[0])

    def _note(self, text: str) -> None:
        self.journal.append(Acted(time_ms=self._now_ms(), text=text, target=GROUP))


class _PlayedCopy(Played):
    """The result of a run of `_CopyWorld`."""

    def __init__(self, world: _CopyWorld) -> None:
        found = world.ledger.verdict()
        super().__init__(
            journals=[world.journal, world.job.journal],
            verdict=found.sentence,
            first="" if found.sentence == EXACT else found.first,
            problems=world.problems,
            zero_ms=START_MS,
            targets={
                "subtasks": [str(n) for n in range(world.story.readers)],
                "segments": [str(n) for n in range(8)],
                "chances": [str(n) for n in range(1, 10)],
            },
            steps=world.pravega._loop.steps,
            virtual_s=world.pravega.now_s,
        )

    def views(self) -> list[View]:
        """Return segment map, job graph, checkpoint timeline and ledger."""
        stream, job = self.journals
        beside = stream if any(o.kind == "group" for o in stream.since()) else None
        return numbered_views(
            [
                SegmentMap(stream, stream=STREAM),
                CheckpointTimeline(job, job=True, beside=beside),
                JobGraph(job),
                LedgerView(stream),
            ]
        )
