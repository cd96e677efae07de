"""A run of the page that went wrong is explained: the acts that are enough, and the moment that decides."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pravega_lab.cli import main
from pravega_lab.observe.journal.journal import Journal
from pravega_lab.observe.ledger.observations import Acted, LedgerOffended
from pravega_lab.tutorials.play.catalogue import SCENARIOS
from pravega_lab.tutorials.play.explained import CLOSE_S, FUTURES, LABEL_MAX, Explaining, failures_of
from pravega_lab.tutorials.play.messages import Player
from pravega_lab.tutorials.play.spec import Act, RunSpec, parse_link
from pravega_lab.tutorials.play.steps import steps_of
from pravega_lab.tutorials.play.worlds.played import Played
from pravega_lab.widgets.drawings.sequence_picture import STEPS_MAX

STORY = tuple(
    Act(2.0 * n, text) for n, text in enumerate(("checkpoint", "kill eva", "offline eva", "split 0"))
)
LIKELY_FROM_THE_START = "scenario=finished-task&seed=3&finishing=before"


def imagined(needed: set[str], fails_from_s: float) -> Callable[[RunSpec], Played]:
    """Return a function that runs a story, which loses events with certain acts and without an early fork."""

    def run(spec: RunSpec) -> Played:
        acts = spec.acts or ()
        is_saved = any(act.text.startswith("fork") and act.at_s < fails_from_s for act in acts)
        is_wrong = needed <= {act.text for act in acts} and not is_saved
        return Played(verdict="3 lost" if is_wrong else "exact", virtual_s=20.0)

    return run


def explained(spec: RunSpec, run: Callable[[RunSpec], Played]) -> Explaining:
    explaining = Explaining(spec, run)
    known = 0.0
    for _ in range(200):
        explaining.step()
        assert 0 < explaining.progress <= 1
        known = max(known, explaining.progress)
        if explaining.is_over:
            return explaining
    raise AssertionError("the search has no end")


@pytest.mark.parametrize(
    "needed", [set(), {"offline eva"}, {"checkpoint", "split 0"}, {act.text for act in STORY}]
)
def test_only_the_acts_that_are_needed_stay(needed: set[str]) -> None:
    found = explained(RunSpec("reader-dies", 3, acts=STORY), imagined(needed, 7.3))
    assert {act.text for act in found.found.acts or ()} == needed
    said = found.sentences()[0]
    for act in needed:
        assert act in said
    assert found.at_s is not None
    assert 0 <= found.at_s - 7.3 <= CLOSE_S
    assert f"0 of {FUTURES} futures go wrong that begin right before it" in found.sentences()[1]


def test_a_future_has_other_chances_and_no_later_act() -> None:
    """A run that goes wrong with an act at second 4 is saved by everything that begins earlier."""
    found = explained(RunSpec("reader-dies", 3, acts=STORY), imagined({"offline eva"}, 0.0))
    assert found.at_s is not None
    assert 0 <= found.at_s - 4.0 <= CLOSE_S
    assert [share.failed for share in found.curve if share.at_s < 4.0] == [0] * sum(
        share.at_s < 4.0 for share in found.curve
    )


def test_what_is_likely_from_the_start_is_said_to_be() -> None:
    found = explained(RunSpec("split", 3, acts=()), imagined(set(), 0.0))
    assert found.sentences() == [
        "The story has no acts: the order of steps and the delays alone make the run go wrong.",
        "The failure was likely from the start: 4 of 4 futures go wrong that begin at second 0.",
    ]
    assert found.runs == 1 + FUTURES


def test_a_run_that_did_not_go_wrong_has_nothing_to_explain() -> None:
    found = explained(RunSpec("split", 3), lambda _: Played(verdict="exact"))
    assert found.sentences() == ["The run did not go wrong, so there is nothing to explain."]
    assert found.drawings() == []
    assert found.as_text() == found.sentences()[0]


def test_a_search_that_was_stopped_tells_what_it_has_found() -> None:
    stopped = Explaining(RunSpec("reader-dies", 3, acts=STORY), imagined({"offline eva"}, 7.3))
    for _ in range(20):
        stopped.step()
    assert not stopped.is_over
    assert "offline eva" in stopped.sentences()[0]
    assert stopped.sentences()[1].startswith("The search was stopped")


def test_a_failure_is_known_by_its_words() -> None:
    assert failures_of(Played(verdict="2 lost, 1 out of order")) == ["lost", "out of order"]
    assert failures_of(Played(verdict="exact", problems=["The last checkpoint does not complete."])) == [
        "The last checkpoint does not complete."
    ]
    assert failures_of(Played(verdict="12 not yet known")) == []


def test_the_story_is_told_up_to_the_first_offending_event() -> None:
    journal = Journal("a run")
    for n in range(100):
        journal.append(Acted(time_ms=1_000 + n, text="kill-store" if n % 2 else "split 0"))
    journal.append(LedgerOffended(time_ms=2_000, ledger="x", what="lost", column="read", event="17"))
    journal.append(Acted(time_ms=3_000, text="later"))
    steps = steps_of(Played(journals=[journal], zero_ms=1_000))
    assert len(steps) == STEPS_MAX
    assert steps[0].time_us == 0
    assert any("steps are left out" in step.what for step in steps)
    assert (steps[-1].what, steps[-1].fails, steps[-1].time_us) == ("event 17: lost", True, 1_000_000)


def test_long_words_are_cut_in_the_picture_alone() -> None:
    act = f"kill-store, and the reason has {'many ' * 20}words"
    journal = Journal("a run")
    journal.append(Acted(time_ms=1_000, text=act))
    explaining = Explaining(RunSpec("finished-task", 1))
    explaining.played = Played(journals=[journal], zero_ms=1_000)
    assert act in explaining.as_text()
    [drawing] = explaining.drawings()
    assert f"{act[: LABEL_MAX - 1]}…</text>" in drawing.svg
    assert f"{act}</text>" not in drawing.svg
    assert act in " ".join(drawing.words)


@pytest.mark.slow
def test_the_page_and_the_command_explain_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    player = Player()
    run = {"scenario": "finished-task", "seed": 3, "switches": {"finishing": "before"}}
    first = json.loads(player.answer(json.dumps({"do": "explain", "run": run, "runs": 1})))
    assert (first["is_over"], first["runs"]) == (False, 1)
    whole = json.loads(player.answer(json.dumps({"do": "explain", "run": run, "runs": 100})))
    assert whole["is_over"]
    assert whole["link"] == f"{LIKELY_FROM_THE_START}&act="
    for drawing in whole["drawings"]:
        assert ElementTree.fromstring(drawing["svg"]).tag.endswith("svg")
    assert len(whole["drawings"]) == 2

    page = tmp_path / "why.html"
    words = ["simulate", "--scenario", "finished-task", "--explain", "3", "--set", "finishing=before"]
    assert main([*words, "--output", str(page)]) == 1
    out = capsys.readouterr().out
    for sentence in whole["said"]:
        assert sentence in out
    [repeat] = re.findall(r"^repeat: pravega-lab (.*)$", out, re.MULTILINE)
    assert parse_link(whole["link"]).acts == ()
    assert repeat.endswith("--act ''")
    html = page.read_text()
    assert html.count("<svg") == 2
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
    assert main(["simulate", "--scenario", "finished-task", "--explain", "3"]) == 0
    assert "nothing to explain" in capsys.readouterr().out


def test_every_scenario_that_can_be_forked_says_so() -> None:
    for scenario in SCENARIOS.values():
        assert "fork" in [verb.name for verb in scenario.verbs] or not scenario.acts
