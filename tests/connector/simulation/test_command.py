"""``pravega-lab simulate``: what it prints, what it returns, what it refuses."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from pravega_lab.cli import main
from pravega_lab.connector.simulation import command
from pravega_lab.connector.simulation.command import parse_seeds
from pravega_lab.engine.simulation.kernel.faults import plan_of
from pravega_lab.errors import BadInputError


def test_seeds_are_a_range_with_both_ends() -> None:
    assert list(parse_seeds("3..5")) == [3, 4, 5]
    assert list(parse_seeds("7")) == [7]


@pytest.mark.parametrize("text", ["5..3", "a..b", "1-2", "", "-1"])
def test_other_seeds_are_refused(text: str) -> None:
    with pytest.raises(BadInputError, match=r"0\.\.199"):
        parse_seeds(text)


def test_more_seeds_than_a_range_can_count_are_refused() -> None:
    with pytest.raises(BadInputError, match="give at most"):
        parse_seeds(f"1..{10**30}")


class _Counted:
    """Many seeds, and how many of them were asked for."""

    asked = 0

    def __len__(self) -> int:
        return 1_000_000

    def __iter__(self) -> Iterator[int]:
        for seed in range(len(self)):
            self.asked += 1
            yield seed


@pytest.mark.slow
def test_seeds_are_taken_as_processes_need_them() -> None:
    """A list of them all took minutes and all memory, for a range that its user ends with Ctrl-C."""
    seeds = _Counted()
    results = command._results(cast("range", seeds), "log", None, 2, plan_of(""))
    assert next(results).seed == 0
    assert seeds.asked < 100_000


@pytest.mark.slow
def test_sigterm_leaves_nothing_behind() -> None:
    """The semaphores of the pool were left to a process of Python, which warned of them."""
    words = [sys.executable, "-u", "-m", "pravega_lab.cli", "simulate", "--scenario", "log", "--verbose"]
    pipe = subprocess.PIPE
    with subprocess.Popen([*words, "--jobs", "2"], stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        while "seed" not in (line := process.stdout.readline()) or line.startswith("simulating"):
            assert line, "it ended"
        process.terminate()
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (128 + signal.SIGTERM, "")


@pytest.mark.slow
def test_seeds_that_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--seeds", "0..3", "--jobs", "2", "--verbose"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("simulating seeds 0 to 3 at commit ")
    assert [line.split(" (")[0] for line in out[1:5]] == ["seed 0", "seed 1", "seed 2", "seed 3"]
    assert out[-1] == "4 seeds, no violation"
    assert re.fullmatch(r"[\d,]+ steps, [\d,]+ per second of CPU", out[5])
    assert re.search(r"steps, [\d,]+ messages\)", out[2])


@pytest.mark.slow
def test_jobs_that_read_files_run_in_processes_too(capsys: pytest.CaptureFixture[str]) -> None:
    """Those processes use pyarrow, which others leave out."""
    words = "simulate --scenario files --bug rows-of-group-again --seeds 1..2 --jobs 2"
    assert main(words.split()) == 1
    assert "--seeds 1 --scenario files --bug rows-of-group-again" in capsys.readouterr().out


def test_a_seed_that_fails_says_how_to_repeat_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "--seeds", "0..2", "--jobs", "1", "--bug", "versions-unchecked"]
    assert main(words) == 1
    out = capsys.readouterr().out
    repeat = "pravega-lab simulate --seeds 0 --scenario table --bug versions-unchecked"
    assert f"  repeat: {repeat}" in out
    assert "3 of 3 seeds failed" in out
    assert main(repeat.split()[1:]) == 1
    assert "table is linearizable" in capsys.readouterr().out


def test_the_journal_of_one_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journals = [tmp_path / "first", tmp_path / "second"]
    for journal in journals:
        assert main(["simulate", "--seeds", "5", "--journal", str(journal)]) == 0
    assert journals[0].read_bytes() == journals[1].read_bytes()
    assert journals[0].read_bytes().count(b"\n") > 20
    assert main(["simulate", "--seeds", "5..6", "--journal", "-"]) == 1
    assert "one seed" in capsys.readouterr().err
