"""A failing run becomes a small one that violates the same rule, and the small one is told as a story."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pravega_lab.cli import main
from pravega_lab.connector.simulation.explaining import shrunk, story
from pravega_lab.connector.simulation.families import checker_of, run_any, scenario_of_bug
from pravega_lab.engine.simulation.explain.picture import sequence_svg
from pravega_lab.engine.simulation.explain.rules import rule_of, rules_of
from pravega_lab.engine.simulation.explain.shrink import Shrinker, shrink
from pravega_lab.engine.simulation.explain.story import names_in
from pravega_lab.engine.simulation.kernel.faults import Fault, Happened, Plan, plan_of
from pravega_lab.engine.simulation.kernel.run import Result
from pravega_lab.errors import BadInputError

# Bugs whose runs are short, of each world.
FAST = ("clock-believed", "torn-tail-accepted", "notify-before-metadata", "mailbox-1.11.0")


def failing(bug: str) -> tuple[int, str, str]:
    """Return the first seed that shows a bug, its scenario and the bug."""
    scenario, checker = scenario_of_bug(bug), checker_of(bug)
    for seed in range(100):
        if any(problem.startswith(checker) for problem in run_any(seed, scenario, bug).problems):
            return seed, scenario, bug
    raise AssertionError(f"{bug} passed 100 seeds")


@pytest.mark.parametrize("bug", FAST)
def test_a_planted_bug_needs_few_faults(bug: str) -> None:
    case = failing(bug)
    shrinker = shrunk(case, jobs=1, seconds=60)
    assert shrinker is not None
    assert len(shrinker.faults) <= 10
    assert len(shrinker.faults) <= len(shrinker.first.happened)
    told = story(shrinker, case)
    assert shrinker.rule in rules_of(told.result)
    assert tuple(one.fault for one in told.result.happened) == shrinker.faults
    sentences = told.sentences()
    assert sentences[-1].split(": ", 1)[1].startswith("A rule is violated: ")
    times = [float(said[1].replace(",", "")) for s in sentences if (said := re.match(r"At ([\d,.]+) ms", s))]
    assert times == sorted(times)
    picture = ElementTree.fromstring(sequence_svg(told))
    assert picture.find("{*}desc").text == " ".join(sentences)  # type: ignore[union-attr]
    assert len(picture.findall("{*}g")) == len(told.moments)


def imagined(plan: Plan, needed: set[Fault], faults: list[Fault]) -> Result:
    """Return a run that fails if all needed faults happen."""
    happened = [fault for fault in faults if plan.faults is None or fault in plan.faults]
    problems = ["kept: no"] if needed <= set(happened) else []
    return Result(1, "x", problems=problems, plan=plan, happened=[Happened(f, 0, 0) for f in happened])


@pytest.mark.parametrize("needed", [{3}, {0, 99}, {5, 6, 7, 50}, set(range(10, 18))])
def test_only_the_faults_that_are_needed_stay(needed: set[int]) -> None:
    faults = [Fault("part", f"kind {n % 3}", n) for n in range(100)]
    wanted = {faults[n] for n in needed}
    shrinker = Shrinker(imagined(Plan(), wanted, faults), "kept")
    shrink(shrinker, lambda plans: [imagined(plan, wanted, faults) for plan in plans], lambda: False)
    assert set(shrinker.faults) == wanted
    assert shrinker.runs < 700


def test_a_search_ends_when_it_is_enough() -> None:
    faults = [Fault("part", "kind", n) for n in range(100)]
    shrinker = Shrinker(imagined(Plan(), set(faults), faults), "kept")
    asked = count()
    shrink(shrinker, lambda plans: [imagined(p, set(faults), faults) for p in plans], lambda: next(asked) > 4)
    assert shrinker.runs <= 5
    assert len(shrinker.faults) == 100


def test_a_fault_that_is_left_out_is_still_counted() -> None:
    """What happens in a run with all of its faults named is the run without a plan."""
    free = run_any(3, "everything", None)
    named = run_any(3, "everything", None, Plan(frozenset(one.fault for one in free.happened)))
    assert named.journal.to_bytes() == free.journal.to_bytes()
    [first, *_] = [one.fault for one in free.happened if one.fault.kind == "application crash"]
    others = frozenset(one.fault for one in free.happened) - {first}
    without = run_any(3, "everything", None, Plan(others))
    assert first not in [one.fault for one in without.happened]
    assert without.faults["application crash"] < free.faults["application crash"]


def test_a_plan_is_a_word_of_the_command_line() -> None:
    plan = Plan(
        frozenset({Fault("tier 2", "half an upload", 2), Fault("w", "x", 1)}), frozenset({"a"}), 2, 5, 7
    )
    assert plan_of(plan.to_text()) == plan
    assert plan_of("") == Plan()
    assert plan_of(Plan(frozenset()).to_text()) == Plan(frozenset())
    with pytest.raises(BadInputError, match="'rounds=x'"):
        plan_of("rounds=x")


def test_rules_and_names_of_problems() -> None:
    assert rule_of("nothing is doubled: writer0.1|a|4| stands at") == "nothing is doubled"
    assert rule_of("AssertionError: nothing waits for ever: for 30 s") == "nothing waits for ever"
    assert rule_of("recovered is no state between submissions 5 and 7: x") == rule_of(
        "recovered is no state between submissions 11 and 12: y"
    )
    assert names_in("x: map #2[0] took checkpoint 3 of writer0.1|a|4|xx") == [
        "map #2[0]",
        "checkpoint 3",
        "writer0.1|a|4",
    ]


@pytest.mark.slow
def test_the_command_explains_and_its_plan_repeats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, journal = tmp_path / "x.html", tmp_path / "x.journal"
    seed, scenario, bug = failing("ack-before-sync")
    words = ["--explain", str(seed), "--scenario", scenario, "--jobs", "1"]
    options = ["--bug", bug, "--output", str(page), "--journal", str(journal), "--seconds", "3"]
    assert main(["simulate", *words, *options]) == 1
    out = capsys.readouterr().out
    assert "violates the rule: nothing acknowledged is lost" in out
    assert " ms: The store starts, for the first time." in out
    html = page.read_text()
    assert "<svg" in html
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
    [repeat] = re.findall(r"^repeat: pravega-lab simulate (.*) --plan '(.*)'$", out, re.MULTILINE)
    again = tmp_path / "again"
    assert main(["simulate", *repeat[0].split(), "--plan", repeat[1], "--journal", str(again)]) == 1
    assert again.read_bytes() == journal.read_bytes()
    assert main(["simulate", *words]) == 0
    assert "nothing to explain" in capsys.readouterr().out


def test_a_search_that_stops_at_many_faults_begins_again_in_another_order() -> None:
    """In the order of the seed all of twelve faults are needed, and in that of a variant only two."""
    faults = [Fault("part", f"kind {n % 3}", n) for n in range(100)]

    def run(plans: Sequence[Plan]) -> list[Result]:
        few = [plan.variant == 2 for plan in plans]
        return [
            imagined(plan, {faults[n] for n in ((3, 4) if is_few else range(10, 22))}, faults)
            for plan, is_few in zip(plans, few, strict=True)
        ]

    shrinker = Shrinker(run([Plan()])[0], "kept")
    seen: list[int] = []
    shrink(shrinker, run, lambda: seen.append(len(shrinker.faults)) is not None)
    assert shrinker.faults == (faults[3], faults[4])
    assert seen == sorted(seen, reverse=True)  # whenever the search is stopped, it has its smallest run


@pytest.mark.parametrize("toss", ["0", "4", "5"])
def test_many_faults_are_left_out_one_by_one_where_few_together_cannot(toss: str) -> None:
    """Each fault that is left out ends the failure with 30 %: what happens later is different without it."""
    faults = [Fault("part", f"kind {n % 3}", n) for n in range(60)]
    needed = {faults[5], faults[50]}
    kept = set(faults)

    def run(plan: Plan) -> Result:
        result = imagined(plan, needed, faults)
        happened = {one.fault for one in result.happened}
        digest = sha256(f"{toss}{sorted(map(str, happened))}{plan.variant}".encode()).digest()
        has_luck = int.from_bytes(digest[:4], "big") / 2**32 < 0.7 ** len(kept - happened)
        if not result.problems or not has_luck or plan.variant is not None:
            return replace(result, problems=[])
        kept.intersection_update(happened)
        return result

    shrinker = Shrinker(imagined(Plan(), needed, faults), "kept")
    shrink(shrinker, lambda plans: [run(plan) for plan in plans], lambda: shrinker.runs > 300)
    assert needed <= set(shrinker.faults)
    assert len(shrinker.faults) <= 10


def test_a_job_with_many_faults_is_begun_again_with_a_few_of_its_own() -> None:
    """In the first order of steps every fault is needed. In another one a late fault is, and little work."""
    faults = [Fault("part", f"kind {n % 3}", n) for n in range(60)]
    needed = {faults[50]}

    def run(plan: Plan) -> Result:
        is_afresh = plan.variant is not None and plan.messages == 0
        result = imagined(plan, needed if is_afresh else {*faults}, faults)
        return replace(result, scenario="flow", problems=result.problems if is_afresh else [])

    first = replace(imagined(Plan(), needed, faults), scenario="flow")
    shrinker = Shrinker(first, "kept")
    shrink(shrinker, lambda plans: [run(plan) for plan in plans], lambda: shrinker.runs > 300)
    assert set(shrinker.faults) == needed
    assert shrinker.best.plan.messages == 0
