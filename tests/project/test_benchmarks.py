"""Each benchmark explains itself, and a tiny run of it ends with figures for everything it measures."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks.common.run import Machine, Run, in_turns, in_words, number
from benchmarks.flink import job as flink_job
from benchmarks.java import single_events

ROOT = Path(__file__).parents[2]
COMMANDS = sorted(
    path.relative_to(ROOT / "benchmarks").with_suffix("").as_posix().replace("/", ".")
    for pattern in ("*.py", "spark/*.py")  # other folders have the processes that benchmarks start
    for path in (ROOT / "benchmarks").glob(pattern)
    if "def main()" in path.read_text()
)

# Command, what it is told so that it takes seconds, how many lines of figures it gives.
TINY = [
    ("client", "--stores memory --events 3000 --single-events 5", 3),
    ("per_event", "--stores memory --events 3000 --single-events 5 --no-java", 13),
    ("wheel", "--stores memory,durable --events 300 --waiting-events 20", 7),
    ("segments", "--stores memory --events 4000 --few 2 --many 8", 12),
    ("start_up", "", 8),
    ("group_observer", "--rate 200 --seconds 1", 5),
    ("kafka", "--no-kafka --no-spark --events 3000 --single-events 5 --rate 1000 --seconds 0.5", 10),
]
TINY_SPARK = [
    ("spark_read", "--events 5000 --segments 2", 10),
    ("spark.micro_batch", "--seconds 1", 5),
]


def test_what_is_compiled_in_java_is_there() -> None:
    sources = flink_job.HERE / "Counting.java", flink_job.HERE / "pom.xml", single_events.SOURCE
    assert all(source.is_file() for source in sources), sources


def run(command: str, *arguments: str) -> str:
    call = [sys.executable, "-m", f"benchmarks.{command}", *arguments]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, timeout=250, check=False)
    said = done.stdout[-1000:] + done.stderr[-3000:]  # a JVM explains on its output why it ends
    assert done.returncode == 0, said
    return done.stdout


HELP = """
import importlib, sys
for name in sys.argv[1:]:
    main = importlib.import_module(f"benchmarks.{name}").main
    sys.argv = [f"{name}.py", "--help"]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, name
"""


def test_each_says_what_it_measures() -> None:
    """In one process: they import the same."""
    call = [sys.executable, "-c", HELP, *COMMANDS]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    said = re.findall(r"^usage: ([\w.]+)\.py", done.stdout, re.MULTILINE)
    assert said == COMMANDS


def run_tiny(command: str, arguments: str, n_figures: int) -> None:
    found = json.loads(run(command, "--rounds", "1", "--cold", "--json", *arguments.split()))
    assert len(found["figures"]) == n_figures, [(f["what"], f["where"]) for f in found["figures"]]
    for figure in found["figures"]:
        assert len(figure["values"]) == 1
        assert figure["values"][0] > 0 or figure["where"] == "difference"
    assert found["machine"]["cores"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(("command", "arguments", "n_figures"), TINY)
def test_a_tiny_run_ends_with_figures(command: str, arguments: str, n_figures: int) -> None:
    run_tiny(command, arguments, n_figures)


@pytest.mark.slow
def test_a_store_with_tier_2_survives_kills() -> None:
    assert "0 lost, 0 doubled, 0 out of order" in run("kills", "--kills", "3", "--rebuild-every", "3")


@pytest.mark.spark
@pytest.mark.parametrize(("command", "arguments", "n_figures"), TINY_SPARK)
def test_a_tiny_run_on_spark_ends_with_figures(command: str, arguments: str, n_figures: int) -> None:
    run_tiny(command, arguments, n_figures)


def test_ratios_are_taken_round_by_round() -> None:
    run = Run("a title")
    for ours, theirs in [(2.0, 1.0), (30.0, 10.0), (400.0, 100.0)]:
        run.add("speed", "ours", ours)
        run.add("speed", "theirs", theirs)
    assert run.ratio("speed, ours : theirs", ("speed", "ours"), ("speed", "theirs")) == 3.0
    assert run.ratio("nothing", ("speed", "ours"), ("speed", "nobody")) is None
    run.target("ours is faster", 3.0, 1.0)
    text = run.as_text(Machine.now().until_now())
    assert "| speed, ours : theirs | ratio | 2 | 3 | 4 |" in text
    assert "reached: ours is faster: 3, wanted ≥ 1" in text


@pytest.mark.parametrize(("found", "at_least", "code"), [(3, True, 0), (3, False, 1)])
def test_a_missed_target_is_an_exit_code_if_asked(
    found: float, at_least: bool, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run("a title")
    run.target("something", found, 2, at_least=at_least)
    assert run.finish(Namespace(json=False, check=True)) == code
    assert run.finish(Namespace(json=True, check=False)) == 0
    assert ("MISSED: something: 3" in capsys.readouterr().out) == bool(code)


def test_nobody_always_comes_after_the_same_other() -> None:
    assert [in_turns(["a", "b", "c"], turn) for turn in (0, 1, 4)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["b", "c", "a"],
    ]


def test_a_noisy_machine_is_named() -> None:
    quiet = {**Machine.now().until_now(), "is_noisy": False}
    assert "NOISY" not in in_words(quiet)
    assert "NOISY" in in_words({**quiet, "is_noisy": True})
    assert "others used 40% of the cores" in in_words({**quiet, "others": 0.4})


def test_what_a_benchmark_starts_is_not_counted_among_others() -> None:
    before = Machine.now()
    subprocess.run([sys.executable, "-c", "sum(range(30_000_000))"], check=True)
    found = Machine.now()
    assert found.own - before.own > 10  # hundredths of a second


def test_figures_have_the_digits_that_mean_something() -> None:
    found = [number(value) for value in (1234567.8, 456.78, 12.345, 0.01234)]
    assert found == ["1,234,568", "456.8", "12.3", "0.0123"]


@pytest.mark.slow
def test_a_small_attack_ends_with_a_row() -> None:
    found = json.loads(run("attacks", "a-huge-stream", "--size", "0.01", "--json"))
    [row] = found["rows"]
    assert row["lost"] == 0
    assert "asks for 100000 segments; the store allows 1000" in row["told"]
    assert not [fault for fault in row["faults"] if "ms" not in fault]
