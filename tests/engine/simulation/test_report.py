"""``pravega-lab simulate --report SEED``: problems, versions, steps, log, and how to repeat the run."""

from __future__ import annotations

import logging
import re
from importlib import metadata
from pathlib import Path

import pytest

from pravega_lab.cli import main
from pravega_lab.engine.simulation.kernel.journal import Entry
from pravega_lab.engine.simulation.kernel.report import STEPS_MAX, Log, chosen, run_and_report, subjects
from pravega_lab.engine.simulation.store.scenarios import run_seed

SECTIONS = ["Repeat it", "Versions", "What was drawn", "What went wrong", "Order of steps", "Log"]


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.slow
def test_the_report_of_a_job_that_failed(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--scenario", "flow", "--bug", "notify-before-metadata"]
    assert main(["simulate", "--report", "1", *words, "--output", "-"]) == 1
    text = capsys.readouterr().out
    found = sections(text)
    assert list(found) == SECTIONS
    assert text.startswith("# Seed 1 of scenario flow: commit after completion: ")
    repeat = f"pravega-lab simulate --seeds 1 {' '.join(words)}"
    assert repeat in found["Repeat it"]
    assert f"pravega_lab: {metadata.version('pravega-lab')}, commit " in found["Versions"]
    for name in ("Python", "numpy", "pyarrow", "System"):
        assert f"- {name}: " in found["Versions"]
    assert "1. commit after completion: " in found["What went wrong"]
    task = re.search(r"after completion: (.+?) was told", text)
    assert task is not None
    steps = found["Order of steps"]
    assert f"subtask={task[1]}" in steps
    assert "notify-complete" in steps
    assert "CheckpointPending" in steps
    assert "CheckpointCompleted" not in steps  # that is what is wrong
    listed = steps.split("The very last:")[0].splitlines()
    numbers = [int(line.split()[0]) for line in listed if re.match(r" +\d+ +\d", line)]
    assert numbers == sorted(numbers)
    assert 10 < len(numbers) <= STEPS_MAX
    assert main(repeat.split()[1:]) == 1
    assert found["What went wrong"].split("1. ")[1].splitlines()[0] in capsys.readouterr().out


def test_the_report_of_the_race_in_the_coordinator(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--scenario", "race", "--bug", "mailbox-1.11.0"]
    assert main(["simulate", "--report", "14", *words, "--output", "-"]) == 1
    found = sections(capsys.readouterr().out)
    assert "1. complete: " in found["What went wrong"]
    assert f"pravega-lab simulate --seeds 14 {' '.join(words)}" in found["Repeat it"]
    steps = [line for line in found["Order of steps"].splitlines() if "checkpoint_id=2" in line]
    assert 5 < len(steps) <= 9
    assert "FINALIZE_CHECKPOINT_FAILURE" in steps[-2]
    assert main(["simulate", "--seeds", "14", "--scenario", "race"]) == 0  # as it is now


def test_the_report_of_a_seed_that_passed_goes_to_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", "--report", "5"]) == 0
    assert capsys.readouterr().out == "seed 5: no violation; the report is in report-5.md\n"
    found = sections((tmp_path / "report-5.md").read_text())
    assert list(found) == [s for s in SECTIONS if s != "What went wrong"]
    assert "the last" in found["Order of steps"]


def test_all_but_the_versions_is_a_function_of_the_seed() -> None:
    texts = [run_and_report(lambda: run_seed(0, "table", "versions-unchecked"), "x")[1] for _ in range(2)]
    assert texts[0] == texts[1]
    assert "table is linearizable" in texts[0]


def test_what_is_logged_is_in_it() -> None:
    with Log() as log:
        logging.getLogger("pravega_lab.x").warning("it is %s\nand more", "late")
        logging.getLogger("pravega_lab.x").info("nothing")
    logging.getLogger("pravega_lab.x").warning("after")
    assert log.lines == ["WARNING pravega_lab.x: it is late"]


def test_steps_are_those_of_the_first_violation() -> None:
    assert subjects(["consistent cut: count-4[1] took checkpoint 3"]) == ["count-4[1]", "checkpoint 3"]
    entries = [
        Entry(k, k, "life 0", "Aligned", {"about": {"subtask": f"a-{k % 3}[0]", "checkpoint_id": 1}})
        for k in range(300)
    ]
    mine = chosen(entries, ["x: a-1[0] is wrong", "y: a-2[0] too"])
    assert {entry.seq % 3 for entry in mine} == {1}
    assert len(mine) == STEPS_MAX
    assert chosen(entries, []) == entries[-STEPS_MAX:]


def test_output_wants_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--output", "x.md"]) == 1
    assert "--report SEED" in capsys.readouterr().err
