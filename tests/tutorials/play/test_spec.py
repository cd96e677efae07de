"""The link of a run: what it says comes back, and what is malformed is refused with a reason."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.tutorials.play.catalogue import SCENARIOS, scenario_of
from pravega_lab.tutorials.play.commands import command_of
from pravega_lab.tutorials.play.spec import Act, RunSpec, parse_link

# The page's own reader and writer of links have the same lines (tests/widgets/js/play_link.test.ts).
LINKS: list[str] = json.loads((Path(__file__).parent / "links.json").read_text())


@pytest.mark.parametrize("link", LINKS)
def test_a_link_comes_back(link: str) -> None:
    assert parse_link(f"#{link}").link() == link


def test_a_link_says_everything_that_decides() -> None:
    run = parse_link(
        "scenario=reader-dies&seed=7&bug=dead-as-done&declared=with-position&act=13+kill+eva&at=12.5"
    )
    assert run == RunSpec(
        "reader-dies", 7, "dead-as-done", {"declared": "with-position"}, (Act(13.0, "kill eva"),), 12.5
    )
    assert parse_link("scenario=split&act=").acts == ()
    assert parse_link("scenario=split").acts is None
    assert command_of(replace(run, at_s=None)) == (
        "pravega-lab simulate --seeds 7 --scenario reader-dies --bug dead-as-done --set "
        "declared=with-position "
        "--act '13 kill eva'"
    )


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("", "a name has small letters"),
        ("scenario=../../etc", "a name has small letters"),
        ("scenario=split&seed=-1", "a seed is a whole number"),
        ("scenario=split&seed=99999999999999999999", "a seed is a whole number"),
        ("scenario=split&at=later", "a number of virtual seconds"),
        ("scenario=split&at=nan", "a number of virtual seconds"),
        ("scenario=split&act=kill", "write a virtual second and what is done"),
        ("scenario=split&act=3+<script>", "write a virtual second and what is done"),
        ("scenario=split" + "&act=1+checkpoint" * 41, "40 at most"),
    ],
)
def test_a_malformed_link_is_refused(link: str, reason: str) -> None:
    with pytest.raises(BadInputError, match=reason):
        parse_link(link)


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("scenario=splitt", "did you mean split"),
        ("scenario=split&bug=ack-before-sync", "cannot show 'ack-before-sync'"),
        ("scenario=split&way=b1", "has no switch 'way'"),
        ("scenario=flip-27-gap&way=z", "it is one of b1, b2"),
        ("scenario=split&act=3+explode", "is none of"),
    ],
)
def test_what_a_scenario_does_not_have_is_refused(link: str, reason: str) -> None:
    with pytest.raises(BadInputError, match=reason):
        scenario_of(parse_link(link))


def test_the_story_of_each_scenario_may_be_written_as_acts() -> None:
    for scenario in SCENARIOS.values():
        scenario_of(RunSpec(scenario.name, acts=scenario.acts))
