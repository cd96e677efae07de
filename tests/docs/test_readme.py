"""The lines of README run as they are printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_four_ways_are_offered_with_the_tutorials_that_run_in_a_browser(page: str) -> None:
    sys.path.insert(0, str(ROOT / "build_backend"))
    from build_lite import TUTORIALS

    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert "There are four ways to the lab" in text
    for way in ("**Read**", "in the browser**", "**Run on Binder**", "**Run at home**"):
        assert way in text
    assert f"{NUMBERS[len(TUTORIALS)]} of the tutorials in" in text


@pytest.mark.spark
def test_the_ten_lines_run_as_printed() -> None:
    lines = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert lines is not None
    done = subprocess.run(
        [sys.executable, "-c", lines.group(1)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    counts = [line.split()[-1] for line in done.stdout.splitlines() if re.match(r"\d+\s+\d+\s+\d+$", line)]
    assert sum(map(int, counts)) == 4, done.stdout
