"""`Player`: answers the messages of the page, which are JSON in both directions.

=========  ===================================================  =============================================
do         with                                                 the answer
=========  ===================================================  =============================================
run        run (see `spec.made_of`)                             views, drawings, verdict, rule, targets, link
at         at_ms                                                verdict and sentences as of that moment
search     run, seeds                                           seeds tried so far, found: a seed or null
explain    run, runs                                            progress; when it is over: sentences, drawings
report     -                                                    page (HTML), journal (JSON lines), command
=========  ===================================================  =============================================

The page repeats ``search`` until a seed is found, and ``explain`` until it is over, so that it can show how
far the search is, and stop it.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pravega_lab.connector.simulation.bugs import FORM_OF
from pravega_lab.errors import PravegaError
from pravega_lab.portable.alone import without_loop
from pravega_lab.tutorials.play.catalogue import SCENARIOS, Scenario, scenario_of
from pravega_lab.tutorials.play.commands import command_of
from pravega_lab.tutorials.play.explained import Explaining
from pravega_lab.tutorials.play.lessons import LESSONS, OUTCOMES
from pravega_lab.tutorials.play.player import planted_bugs, play
from pravega_lab.tutorials.play.rules import rule_of
from pravega_lab.tutorials.play.spec import RunSpec, made_of
from pravega_lab.tutorials.play.worlds.played import WRONG, Played

if TYPE_CHECKING:
    from pravega_lab.widgets.drawings.drawing import Drawing

RACE_BUGS = {"mailbox-1.11.0": "The coordinator of Flink 1.11.0: it asks the tasks alone (FLINK-18641)."}


def catalogue() -> dict[str, Any]:
    """Return scenarios, lessons and outcomes as JSON values, for the page before Python has started."""
    return {
        "scenarios": [_described(scenario) for scenario in SCENARIOS.values()],
        "lessons": [asdict(lesson) for lesson in LESSONS],
        "outcomes": OUTCOMES,
    }


def _described(scenario: Scenario) -> dict[str, Any]:
    return {
        "name": scenario.name,
        "title": scenario.title,
        "words": scenario.words,
        "acts": [str(act) for act in scenario.acts],
        "switches": [
            {"name": s.name, "label": s.label, "options": list(s.options.items())} for s in scenario.switches
        ],
        "bugs": [_bug_described(scenario, name) for name in scenario.bugs],
        "verbs": [
            {"name": v.name, "label": v.label, "targets": v.targets, "value": v.value} for v in scenario.verbs
        ],
    }


def _bug_described(scenario: Scenario, name: str) -> dict[str, Any]:
    """Return a bug with the switches that show it."""
    bug = planted_bugs().get(name)
    ways = {"way": FORM_OF[name]} if name in FORM_OF else dict(scenario.for_bugs)
    return {"name": name, "what": bug.what if bug else RACE_BUGS[name], "switches": ways}


class Player:
    """Keeps the last run, about which the page asks."""

    def __init__(self) -> None:
        self._spec: RunSpec | None = None
        self._played: Played | None = None
        self._explaining: tuple[RunSpec, Explaining] | None = None

    def answer(self, text: str) -> str:
        """Return the answer to a message. An error of the project is an answer with ``error``, a sentence."""
        content = json.loads(text)
        try:
            with without_loop():
                answer = getattr(self, f"_{content['do']}")(content)
        except PravegaError as error:
            answer = {"error": str(error)}
        return json.dumps(answer)

    def _run(self, content: dict[str, Any]) -> dict[str, Any]:
        spec = made_of(content["run"])
        scenario = scenario_of(spec)
        began = time.perf_counter()
        played = play(spec)
        seconds = time.perf_counter() - began
        self._spec, self._played = spec, played
        bug = planted_bugs().get(spec.bug)
        return {
            "link": spec.link(),
            "acts": [str(act) for act in (spec.acts if spec.acts is not None else scenario.acts)],
            "views": [
                {"module": view.script, "settings": dict(view._settings), "payload": _payload(view)}
                for view in played.views()
            ],
            "drawings": [_drawn(drawing) for drawing in played.drawings()],
            "standing": played.standing,
            "verdict": played.verdict,
            "first": played.first,
            "problems": played.problems,
            "targets": played.targets,
            "zero_ms": played.zero_ms,
            "steps": played.steps,
            "seconds": seconds,
            "virtual_s": played.virtual_s,
            "rule": rule_of(scenario, bug),
        }

    def _at(self, content: dict[str, Any]) -> dict[str, Any]:
        assert self._played is not None, "run comes first"
        verdict, said = self._played.at(float(content["at_ms"]))
        return {"verdict": verdict, "said": said}

    def _search(self, content: dict[str, Any]) -> dict[str, Any]:
        """Try some seeds, from that of the run on."""
        spec = made_of(content["run"])
        tried = 0
        for seed in range(spec.seed, spec.seed + int(content["seeds"])):
            found = play(RunSpec(spec.scenario, seed, spec.bug, spec.switches, spec.acts))
            tried += 1
            if found.standing == WRONG:
                return {"tried": tried, "found": seed}
        return {"tried": tried, "found": None}

    def _explain(self, content: dict[str, Any]) -> dict[str, Any]:
        """Continue to explain a run, or begin. With 0 runs, return what was found so far."""
        spec = made_of(content["run"])
        if self._explaining is None or self._explaining[0] != spec:
            self._explaining = spec, Explaining(spec)
        explaining, runs = self._explaining[1], int(content["runs"])
        for _ in range(runs):
            explaining.step()
        if runs and not explaining.is_over:
            return {"runs": explaining.runs, "progress": explaining.progress, "is_over": False}
        self._explaining = None
        return {
            "runs": explaining.runs,
            "progress": explaining.progress,
            "is_over": True,
            "said": explaining.sentences(),
            "drawings": [_drawn(drawing) for drawing in explaining.drawings()],
            "link": explaining.found.link(),
            "at_s": explaining.at_s,
        }

    def _report(self, content: dict[str, Any]) -> dict[str, Any]:
        from pravega_lab.widgets.live.export import export

        assert self._played is not None, "run comes first"
        assert self._spec is not None
        with TemporaryDirectory() as folder:
            views = self._played.views()
            path = export(views, Path(folder) / "run.html") if views else None
            page = path.read_text(encoding="utf-8") if path else _page_of(self._played)
        return {
            "page": page,
            "journal": self._played.journal_lines(),
            "command": command_of(self._spec),
            "name": f"{self._spec.scenario}-{self._spec.seed}",
        }


def _payload(view: Any) -> dict[str, Any]:
    found: dict[str, Any] = view.snapshot(live=False).to_json()
    return found


def _drawn(drawing: Drawing) -> dict[str, Any]:
    return {"svg": drawing.svg, "words": drawing.words}


def _page_of(played: Played) -> str:
    pictures = "\n".join(drawing.svg for drawing in played.drawings())
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>A run</title>\n{pictures}\n</html>\n'
    )
