"""`pravega-lab demo` refuses what it cannot do before it begins, and says what a run has not shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from pravega_lab.cli import main
from pravega_lab.demo.command import _report
from pravega_lab.demo.history import Scales
from pravega_lab.demo.verdict import Verdict


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--speed", "3000"], "--speed 3000: give a number above 0, and at most 1000"),
        (["--speed", "nan"], "--speed nan: give a number above 0"),
        (["--events", "0"], "--events 0: give a number from 1 to"),
        (["--picture", "/proc/none/x.svg"], "pravega-lab demo: /proc/none: No such file or directory"),
    ],
)
def test_bad_input(
    words: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo", *words]) == 1
    assert told in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_exact_run_without_scaling_is_not_called_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    exact = Verdict(events=2000, hours=150, lost=0, doubled=0, wrong=0, out_of_order=0, late=0)
    assert _report(exact, [Scales(1, 1), Scales(0, 1)], killed=True) == 1
    said = capsys.readouterr().err
    assert "NOT SCALED" in said
    assert "lower --speed" in said
    assert "NOT EXACT" not in said
    assert _report(exact, [Scales(1, 1), Scales(1, 1)], killed=True) == 0
    assert capsys.readouterr().err == ""
