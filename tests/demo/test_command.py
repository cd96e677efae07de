"""`pravega-lab demo` refuses what it cannot do before it begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from pravega_lab.cli import main


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
