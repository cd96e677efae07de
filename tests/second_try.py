"""Run again what failed in a stage of `make test`, by itself, on a machine that has nothing else to do.

A test that fails beside another stage and passes alone is unsteady: either it depends on the speed of
the machine, or it found a race. The close of `make test` names it, so that somebody looks for the cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

TESTS_MAX = 5
"""With more failed tests than this, a stage is not tried again: something is broken."""

WHOLE_STAGES = ("notebooks", "installed")
"""Stages of several commands. What comes after the one that failed has not run, so all of the stage does."""


ORDERED_STAGES = ("browser",)
"""Stages in which the tests of a module continue on one page, so that the whole module is tried again."""


def failed_tests(report: Path) -> list[str]:
    """Return the tests that failed in a report of pytest (``junit_family=xunit1``), as pytest's arguments."""
    found: dict[str, None] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            file = case.get("file", "")
            module = file.removesuffix(".py").replace("/", ".")
            classes = case.get("classname", "").removeprefix(module).strip(".")
            inside = [part for part in classes.split(".") if part]
            found["::".join([file, *inside, case.get("name", "")])] = None
    return list(found)


def targets(stage: str, reports: Path) -> tuple[Sequence[str], list[str]] | None:
    """Return what to try again of a stage that failed, or None if nothing should be.

    Returns:
        The target of the Makefile with its variables, and the names of what is tried: tests, or the stage.
    """
    if stage in WHOLE_STAGES:
        return [stage], [stage]
    report = reports / f"{stage}.xml"
    tests = failed_tests(report) if report.exists() else []
    if not 0 < len(tests) <= TESTS_MAX or not all("::" in test and "\n" not in test for test in tests):
        return None
    named = reports / f"{stage}.again"
    tried = dict.fromkeys(test.partition("::")[0] for test in tests) if stage in ORDERED_STAGES else tests
    named.write_text("\n".join(tried))
    return ["again", f"TESTS={named}"], tests
