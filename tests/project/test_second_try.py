"""What is tried again of a stage of `make test` that failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import second_try

REPORT = """<testsuites><testsuite>
<testcase classname="tests.a.test_page" name="test_opens" file="tests/a/test_page.py"/>
<testcase classname="tests.a.test_page" name="test_draws[a]" file="tests/a/test_page.py"><failure/></testcase>
<testcase classname="tests.a.test_page.TestSide" name="test_b" file="tests/a/test_page.py"><error/></testcase>
</testsuite></testsuites>"""
FAILED = ["tests/a/test_page.py::test_draws[a]", "tests/a/test_page.py::TestSide::test_b"]


@pytest.mark.parametrize(
    ("stage", "tried"),
    [("unit", FAILED), ("browser", ["tests/a/test_page.py"])],  # its tests continue on one page
)
def test_failed_tests_are_tried_again(tmp_path: Path, stage: str, tried: list[str]) -> None:
    (tmp_path / f"{stage}.xml").write_text(REPORT)
    found = second_try.targets(stage, tmp_path)
    assert found is not None
    target, named = found
    assert named == FAILED
    assert target == ["again", f"TESTS={tmp_path / f'{stage}.again'}"]
    assert (tmp_path / f"{stage}.again").read_text().splitlines() == tried


def test_stages_of_several_commands_are_tried_again_as_a_whole(tmp_path: Path) -> None:
    assert second_try.targets("notebooks", tmp_path) == (["notebooks"], ["notebooks"])


def test_a_stage_that_failed_before_its_tests_or_in_many_is_not_tried_again(tmp_path: Path) -> None:
    assert second_try.targets("unit", tmp_path) is None
    case = '<testcase classname="t" name="test_{n}" file="t.py"><failure/></testcase>'
    many = "".join(case.format(n=n) for n in range(second_try.TESTS_MAX + 1))
    (tmp_path / "unit.xml").write_text(f"<testsuites><testsuite>{many}</testsuite></testsuites>")
    assert second_try.targets("unit", tmp_path) is None
