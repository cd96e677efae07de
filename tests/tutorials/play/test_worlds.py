"""The runs of the page: what each scenario shows, that a run is its link, and what the page is told of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.cli import main
from pravega_lab.tutorials.play.catalogue import SCENARIOS
from pravega_lab.tutorials.play.lessons import LESSONS, Step
from pravega_lab.tutorials.play.messages import Player, catalogue
from pravega_lab.tutorials.play.player import planted_bugs, play
from pravega_lab.tutorials.play.spec import Act, RunSpec, parse_link
from pravega_lab.tutorials.play.worlds.played import Played

SHOWN = [  # a link, how the run ends, and a word of its verdict
    ("scenario=race&seed=14", "exact", "exact"),
    ("scenario=race&seed=14&bug=mailbox-1.11.0", "wrong", "failed"),
    ("scenario=race&seed=14&bug=mailbox-1.11.0&act=0.1+fork+1", "exact", "exact"),
]


STEPS = [(lesson.name, n, step) for lesson in LESSONS for n, step in enumerate(lesson.steps, 1)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n", "step"), STEPS, ids=[f"{name}-{n}" for name, n, _ in STEPS])
def test_a_step_of_a_lesson_ends_as_it_says(name: str, n: int, step: Step) -> None:
    found = play(parse_link(step.link))
    if step.right == "waits":
        assert "not yet known" in found.verdict
        assert "does not complete" in found.problems[0]
    else:
        assert step.right in found.verdict, (found.verdict, found.problems)
        assert not found.problems


@pytest.mark.slow
@pytest.mark.parametrize(("link", "standing", "word"), SHOWN)
def test_what_a_scenario_shows(link: str, standing: str, word: str) -> None:
    found = play(parse_link(link))
    assert (found.standing, word in found.verdict) == (standing, True), (found.verdict, found.problems)


def entries(found: Played) -> str:
    return found.journal_lines()


def before(found: Played, second: float) -> list[Any]:
    until_ms = found.zero_ms + 1000 * second
    return [o for journal in found.journals for o in journal.since() if o.time_ms < until_ms]


def test_a_run_is_its_link_and_a_fork_is_the_same_up_to_its_moment() -> None:
    run = RunSpec("reader-dies", 5)
    first, again = play(run), play(run)
    assert entries(first) == entries(again)
    fork = play(RunSpec("reader-dies", 5, acts=(*SCENARIOS["reader-dies"].acts[:1], Act(9.0, "kill dot"))))
    assert before(fork, 9.0) == before(first, 9.0)
    assert entries(fork) != entries(first)
    assert "does not complete" in fork.problems[0]  # nobody has declared the dead reader offline


DIGESTS = """
import json
from hashlib import sha256
from pravega_lab import portable
from pravega_lab.tutorials.play.catalogue import SCENARIOS
from pravega_lab.tutorials.play.player import play
from pravega_lab.tutorials.play.spec import RunSpec

assert not portable.HAVE_ARRAYS
runs = {name: play(RunSpec(name, 3)).journal_lines() for name in SCENARIOS}
print(json.dumps({name: sha256(lines.encode()).hexdigest() for name, lines in runs.items()}))
"""


@pytest.mark.slow
def test_a_link_shows_the_same_run_where_there_are_no_arrays_as_on_the_page() -> None:
    env = {**os.environ, "PRAVEGA_LAB_ARRAYS": "off", "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(
        [sys.executable, "-c", DIGESTS], env=env, capture_output=True, text=True, check=True
    )
    here = {name: sha256(entries(play(RunSpec(name, 3))).encode()).hexdigest() for name in SCENARIOS}
    assert json.loads(done.stdout) == here


def test_the_race_is_seen_as_a_job_and_forks_like_the_others() -> None:
    run = RunSpec("race", 14, "mailbox-1.11.0")
    first, fork = play(run), play(RunSpec("race", 14, "mailbox-1.11.0", acts=(Act(0.08, "fork 1"),)))
    assert [view.script for view in first.views()] == ["checkpoint_timeline", "job_graph"]
    assert before(fork, 0.08) == before(first, 0.08) != []
    assert entries(fork) != entries(first)
    assert "Checkpoint 1 has waited" in " ".join(first.at(first.zero_ms + 65)[1])


def test_a_job_loses_what_is_dropped_and_survives_a_kill() -> None:
    run = RunSpec("finished-task", 1, acts=(Act(1.0, "kill bills[0]"), Act(1.2, "fork 2")))
    killed = play(run)
    assert killed.standing == "exact"
    lane = next(lane for lane in killed.targets["channels"] if lane.startswith("orders"))
    drops = tuple(
        Act(0.5 + n / 200, f"drop {lane} records") for n in range(10)
    )  # one of them finds a message
    hurt = play(RunSpec("finished-task", 1, acts=drops))
    assert (hurt.standing, "lost" in hurt.verdict) == ("wrong", True)


def test_an_act_that_cannot_be_done_is_noted_and_the_run_goes_on() -> None:
    found = play(RunSpec("split", 1, acts=(Act(2.0, "split 7"), Act(2.5, "fork 1"), Act(3.0, "cut dot"))))
    said = [getattr(o, "text", "") for o in found.journals[0].since()]
    assert "not done: split 7: segment 7 is not active; active are 0, 1" in said
    assert found.standing == "exact"


def test_the_page_is_told_of_a_run() -> None:
    player = Player()

    def ask(**content: Any) -> dict[str, Any]:
        return dict(json.loads(player.answer(json.dumps(content))))

    told = ask(do="run", run={"scenario": "reader-dies", "seed": 3, "bug": "dead-as-done"})
    assert [view["module"] for view in told["views"]] == ["segment_map", "reader_board", "ledger"]
    assert {view["settings"]["clock"] for view in told["views"]} == {"page"}
    assert told["standing"] == "wrong"
    assert "go_offline" in told["rule"]["where"] or told["rule"]["wrong"]
    moment = ask(do="at", at_ms=told["zero_ms"] + 13_500)
    assert any("eva" in sentence for sentence in moment["said"])
    report = ask(do="report")
    assert report["command"] == "pravega-lab simulate --seeds 3 --scenario reader-dies --bug dead-as-done"
    assert report["page"].startswith("<!doctype html>")
    assert json.loads(report["journal"].splitlines()[0])["journal"] == 1
    assert ask(do="search", run={"scenario": "race", "seed": 13, "bug": "mailbox-1.11.0"}, seeds=3) == {
        "tried": 2, "found": 14,
    }  # fmt: skip
    assert "there is no scenario" in ask(do="run", run={"scenario": "nothing"})["error"]


def test_a_run_with_a_problem_is_not_called_exact(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = Played(verdict="exact", problems=["The job is still running after 60 virtual seconds."])
    monkeypatch.setattr("pravega_lab.tutorials.play.player.play", lambda spec: stuck)
    assert main(["simulate", "--scenario", "finished-task", "--seeds", "3"]) == 1
    first, problem, *_ = capsys.readouterr().out.splitlines()
    assert first.endswith(": not at its end")
    assert problem == f"  {stuck.problems[0]}"


def test_the_catalogue_names_bugs_that_there_are() -> None:
    for scenario in catalogue()["scenarios"]:
        assert scenario["title"]
        for bug in scenario["bugs"]:
            assert bug["name"] in planted_bugs() or scenario["name"] == "race"
            assert bug["what"].endswith(".")


@pytest.mark.parametrize(
    ("scenario", "act", "said"),
    [
        ("reader-dies", "13 kill bob", "not done: kill bob: there is no program 'bob'; there are "),
        ("finished-task", "0.1 kill bob", "not done: kill bob: "),
        (
            "finished-task",
            "9 kill orders[0]",
            "not done: kill orders[0] at second 9: the run ended at second 3.2",
        ),
        ("race", "9 fork 1", "not done: fork 1 at second 9: the run ended at second 0.2"),
    ],
)
def test_the_command_says_which_act_was_not_done(
    capsys: pytest.CaptureFixture[str], scenario: str, act: str, said: str
) -> None:
    """Such a run is exact, because nothing happened; the command has not done what it was asked for."""
    assert main(["simulate", "--scenario", scenario, "--seeds", "3", "--act", act]) == 1
    printed = capsys.readouterr().out
    assert said in printed
    assert printed.endswith("an act of --act was not done in 1 of 1 seeds\n")


def test_a_fork_needs_no_number_in_a_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--scenario", "finished-task", "--seeds", "1", "--act", "0.1 fork"]) == 0
    assert "all exact" in capsys.readouterr().out


def test_the_command_plays_a_run_and_prints_its_link(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "--scenario", "reader-dies", "--seeds", "3", "--set", "declared=with-position"]
    assert main(words) == 0
    assert "1 seeds, all exact" in capsys.readouterr().out
    assert main([*words, "--act", "13 kill eva", "--link", "https://example.org/play/"]) == 0
    link = "scenario=reader-dies&seed=3&declared=with-position&act=13+kill+eva"
    assert capsys.readouterr().out == f"https://example.org/play/#{link}\n"
    assert main(["simulate", "--scenario", "race", "--seeds", "14", "--act", "0.1 fork 1"]) == 0
    assert main(["simulate", "--scenario", "full", "--link"]) == 1
    assert main(["simulate", "--scenario", "split", "--set", "load"]) == 1
