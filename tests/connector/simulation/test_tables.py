"""The tables of smallest runs and of moments say what they leave out, and whether they reach their aim."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.connector.simulation import small_runs, turning_points
from pravega_lab.connector.simulation.families import ALL_BUGS
from pravega_lab.engine.simulation.kernel.faults import Fault, Happened
from pravega_lab.engine.simulation.kernel.run import Result

PAGE = """
| `clock-believed` | What is wrong. | 6: the rule |
| `older-request-gives-way` | What is wrong. | a test of the queue |
| `hand-over-forgotten` | What is wrong. | files, 1: exactly once |
"""


def test_the_seed_of_the_smallest_run_is_tried_first_the_next_time() -> None:
    row = "| `clock-believed` | 700,066 | 21 | 3 | 25,308 | 1,200 | 53 | 20.3 |\n"
    other = "| `clock-believed` | 8 | 21 | 3 | a fault | 16 of 40 | 40 of 40 | 396 |\n"
    known = {"clock-believed": 700_066, "hand-over-forgotten": 1}
    assert small_runs.known_seeds(PAGE + row + other) == known


def test_rows_of_other_bugs_stay_when_one_is_searched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / small_runs.PAGE
    page.parent.mkdir()
    text = (small_runs.ROOT / small_runs.PAGE).read_text(encoding="utf-8")
    page.write_text(text, encoding="utf-8")
    rows = small_runs.rows_of(text)
    better = rows[3] | {"after": rows[3]["after"] + 1}
    monkeypatch.setattr(small_runs, "ROOT", tmp_path)
    monkeypatch.setattr(small_runs, "rows", lambda bugs, *_: [better])
    small_runs.main([rows[3]["bug"], "--write"])
    again = small_runs.rows_of(page.read_text(encoding="utf-8"))
    assert again == [*rows[:3], better, *rows[4:]]
    for made, with_rows in ((text, rows), (page.read_text(encoding="utf-8"), again)):
        assert small_runs.table(with_rows, ALL_BUGS, made) in made


def test_bugs_that_no_seed_shows_are_named() -> None:
    assert small_runs.known_seeds(PAGE) == {"clock-believed": 6, "hand-over-forgotten": 1}
    row = {"bug": "clock-believed", "seed": 6, "before": 3, "after": 1, "steps_before": 9, "steps_after": 8}
    bugs = ["clock-believed", "older-request-gives-way", "hand-over-forgotten", "jumps-uncapped"]
    said = small_runs.table([row | {"runs": 4, "cpu_s": 0.5}], bugs, PAGE).splitlines()[0]
    for words in ("1 others are not in the table", "for `hand-over-forgotten`, `jumps-uncapped`."):
        assert words in said


@pytest.mark.parametrize(("known", "far", "code"), [(40, 2, 0), (40, 3, 1), (39, 0, 1)])
def test_the_moments_reach_their_aim_or_not(
    known: int, far: int, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def row(n: int, **found: Any) -> str:
        base = {"bug": ALL_BUGS[n], "seed": n, "steps_after": 100, "what": "cut", "fail": ["1 of 40"] * 2}
        return json.dumps(base | {"likely": False, "moment": None} | found) + "\n"

    lines = [row(n, moment=50, turning=44 if n < far else 45) for n in range(known)]
    lines += [row(known, likely=True), row(known + 1)]
    runs, keep = tmp_path / "runs.jsonl", tmp_path / "moments.jsonl"
    keep.write_text("".join(lines))
    runs.write_text("".join([*lines, row(known + 2, steps_after=9_000)]))
    assert turning_points.main(["--runs", str(runs), "--keep", str(keep)]) == code
    said = capsys.readouterr().out.splitlines()[0]
    assert f"The moment of {known} planted bugs is known." in said
    assert f"in {known - far} of them" in said
    for words in (
        "1 other runs were likely",
        "In the remaining 1 no such",
        "1 runs have more than 5,000 steps",
    ):
        assert words in said


def test_other_seeds_are_shrunk_if_a_run_needs_many_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeds 3, 5, 8 and 9 show the bug, and draw 40, 30, 20 and 25 faults. That of seed 8 needs few."""
    drawn, needs = {3: 40, 5: 30, 8: 20, 9: 25}, {3: 15, 5: 4, 8: 4, 9: 12}
    tried: list[int] = []

    def run_any(seed: int, scenario: str, bug: str) -> Result:
        happened = [Happened(Fault("part", "kind", n), 0, 0) for n in range(drawn.get(seed, 0))]
        return Result(seed, scenario, bug, problems=["kept: no"] if seed in drawn else [], happened=happened)

    def shrunk_row(result: Result, bug: str, seconds: float) -> small_runs.Row:
        tried.append(result.seed)
        return {"bug": bug, "seed": result.seed, "after": needs[result.seed], "runs": 10, "cpu_s": 1.5}

    monkeypatch.setattr(small_runs, "run_any", run_any)
    monkeypatch.setattr(small_runs, "_shrunk_row", shrunk_row)
    monkeypatch.setattr(small_runs, "checker_of", lambda bug: "kept")
    row = small_runs.smallest("ack-before-sync", range(20), 1.0)
    assert tried == [3, 8]
    assert row == {"bug": "ack-before-sync", "seed": 8, "after": 4, "runs": 20, "cpu_s": 3.0}
    needs[8] = needs[5] = 13
    tried.clear()
    row = small_runs.smallest("ack-before-sync", range(20), 1.0)
    assert tried == [3, 8, 9, 5]
    assert row is not None
    assert (row["seed"], row["after"], row["runs"]) == (9, 12, 40)
    assert small_runs.smallest("ack-before-sync", range(3), 1.0) is None
