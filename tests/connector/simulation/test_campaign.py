"""A campaign that was stopped goes on where it was."""

from __future__ import annotations

import logging
import re
import sys
import warnings
from pathlib import Path

import pytest

from pravega_lab.connector.simulation import campaign
from pravega_lab.connector.simulation.families import run_any
from pravega_lab.connector.simulation.processes import quiet
from pravega_lab.engine.simulation.explain.rules import rules_of
from pravega_lab.engine.simulation.kernel.faults import plan_of
from pravega_lab.errors import BadInputError


def test_a_campaign_that_was_stopped_goes_on_where_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run() -> tuple[list[list[str]], list[str]]:
        assert campaign.main(["3..4", "--scenarios", "log,damage", "--jobs", "1", "--log", str(log)]) == 0
        table = [line.split("|") for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
        # The fifth column is a speed.
        return [row[:5] + row[6:] for row in table], log.read_text().splitlines()

    log = tmp_path / "runs.jsonl"
    whole, lines = run()
    assert len(lines) == 4
    # A kill cut the last line short; two runs are missing.
    log.write_text("\n".join(lines[:2]) + "\n" + lines[2][:20])
    again, restored = run()
    assert again == whole
    assert restored[:2] == lines[:2]
    assert len(restored) == 4


def test_scenarios_that_take_long_may_have_fewer_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["3..5", "--scenarios", "log,damage", "--jobs", "1", "--at-most", "damage=1"]
    assert campaign.main(asked) == 0
    said = capsys.readouterr().out
    assert (
        "Seeds 3 to 5 of each scenario: 4 runs, 0 of them with a violation. Of `damage`, the first 1." in said
    )
    assert re.search(r"^\| `log` \| 3 \|.*\n\| `damage` \| 1 \|", said, re.MULTILINE)


@pytest.mark.parametrize("wrong", ["damge=1", "damage", "damage=-1", "damage=1,"])
def test_a_wrong_limit_is_refused_with_the_scenarios(wrong: str) -> None:
    with pytest.raises(BadInputError, match=r"SCENARIO=NUMBER.*damage"):
        campaign.main(["3..5", "--at-most", wrong])


def test_a_process_of_a_campaign_sees_errors_that_are_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "lastResort", logging.lastResort)
    monkeypatch.setattr(logging.root.manager, "disable", 0)
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    with warnings.catch_warnings():
        quiet()
        plan = plan_of("tier 2/half an upload/1, without=segments, without=txn, rounds=1")
        assert "logged" in rules_of(run_any(28, "tiers", "failed-upload-recorded", plan))
