"""The runner of `make test`: stages run at the same time, and the last line names what was skipped."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.run_stages import REPORTS, verdict
from tests.waiting import wait_until

ROOT = Path(__file__).parent.parent
RUNNER = ROOT / "tests" / "run_stages.py"
MAKEFILE = r"""
first:
	@echo this is the first; python tests_of_first.py
second:
	@echo this is the second; touch second.done
needs-second:
	@for i in $$(seq 200); do test -e second.done && exit 0; sleep 0.05; done; exit 1
broken:
	@echo 1 passed, 1 failed; exit 3
left-out:
	@echo "SKIPPED: a Binder's tutorials (no Chromium)"
"""
UNSTEADY = """
import pathlib
import pytest

class TestFile:
    @pytest.mark.parametrize("word", ["a b", "c[d]"])
    def test_is_there(self, word):
        tried = pathlib.Path(word)
        if not tried.exists():
            tried.touch()
            assert False

def test_that_passes():
    assert not pathlib.Path("passed").exists()
    pathlib.Path("passed").touch()
"""
TESTS = """
import pytest

@pytest.mark.parametrize("n", range(12))
def test_view(n):
    pytest.skip("no Chromium")

def test_pravega():
    pytest.skip("no Java")

@pytest.mark.xfail(strict=True)
def test_known():
    assert False

def test_that_runs():
    pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with stages of its own."""
    pytest_of = (
        f"{sys.executable} -m pytest -q -p no:cacheprovider --junitxml=$${REPORTS}/$@.xml test_first.py"
    )
    text = MAKEFILE.replace("python tests_of_first.py", f'{pytest_of} -o addopts=""')
    (tmp_path / "Makefile").write_text(text)
    (tmp_path / "test_first.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def start(project: Path, *stages: str, before: str = "pass") -> subprocess.Popen[str]:
    """The runner with the stages of ``project``; ``before`` is code that runs first."""
    code = (
        "import signal, sys, pathlib, tests.run_stages as r; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "  # programs in the background ignore it
        f"r.ROOT = pathlib.Path.cwd(); {before}; sys.argv = ['run_stages', *sys.argv[1:]]; sys.exit(r.main())"
    )
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("PRAVEGA_LAB_TEST", "PYTEST_"))}
    environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # nbval alone takes two seconds to import
    return subprocess.Popen(
        [sys.executable, "-c", code, "--name", "make test", *stages],
        cwd=project,
        env={**environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def make(project: Path, *stages: str, before: str = "pass") -> tuple[int, list[str]]:
    """The exit code and the lines of the stages of ``project``."""
    runner = start(project, *stages, before=before)
    said, _ = runner.communicate(timeout=240)
    return runner.returncode, said.splitlines()


def test_nothing_skipped_is_all_checks_passed(project: Path) -> None:
    code, lines = make(project, "second")
    assert code == 0
    assert lines[-1] == "make test: all checks passed"


def test_a_stage_says_how_much_of_the_processors_it_used(project: Path) -> None:
    (project / "busy.py").write_text("import time\nwhile time.process_time() < 0.8:\n    pass\n")
    with (project / "Makefile").open("a") as file:
        file.write(f"busy:\n\t@{sys.executable} busy.py\n")
    _, lines = make(project, "busy", "second")
    assert any(re.match(r"  busy +passed +\d+ s, +1 s of processors", line) for line in lines)
    assert any(re.match(r"  second +passed +\d+ s, +0 s of processors", line) for line in lines)


@pytest.mark.slow
def test_the_last_line_counts_what_was_skipped_by_reason(project: Path) -> None:
    """It said "all checks passed" here."""
    code, lines = make(project, "first", "left-out")
    assert code == 0
    assert lines[-1] == (
        "make test: passed, but SKIPPED: 12 first tests (no Chromium), 1 first test (no Java), "
        "a Binder's tutorials (no Chromium)"
    )


def test_a_stage_that_fails_fails_the_run_and_the_others_run_all_the_same(project: Path) -> None:
    code, lines = make(project, "broken", "second", "left-out")
    assert code == 1
    assert lines[-1] == "make test: FAILED: broken; SKIPPED: a Binder's tutorials (no Chromium)"
    assert "this is the second" in lines
    assert any(
        re.fullmatch(r"  broken +FAILED +\d+ s, +\d+ s of processors  1 passed, 1 failed", line)
        for line in lines
    )


def unsteady(project: Path, tests: str) -> None:
    """Give ``project`` the stage ``unsteady``, and the target that runs some of its tests again."""
    (project / "test_unsteady.py").write_text(tests)
    pytest_of = f"{sys.executable} -m pytest -q -p no:cacheprovider -o junit_family=xunit1 -o addopts=''"
    with (project / "Makefile").open("a") as file:
        file.write(f"unsteady:\n\t@{pytest_of} --junitxml=$${REPORTS}/$@.xml test_unsteady.py\n")
        file.write(f"again:\n\t@{pytest_of} @$(TESTS)\n")


@pytest.mark.slow
def test_what_passes_when_it_is_run_again_is_named_as_unsteady(project: Path) -> None:
    """The second run has only the tests that failed: the third one would fail there."""
    unsteady(project, UNSTEADY)
    code, lines = make(project, "unsteady", "second")
    assert code == 0
    named = "test_unsteady.py::TestFile::test_is_there"
    assert lines[-1] == (
        f"make test: passed, but UNSTEADY, passed only when run again: {named}[a b], {named}[c[d]]"
    )


@pytest.mark.slow
def test_what_fails_twice_fails_the_run(project: Path) -> None:
    unsteady(project, "def test_that_fails(): assert False")
    code, lines = make(project, "unsteady")
    assert code == 1
    assert lines[-1] == "make test: FAILED: unsteady"
    assert "=== unsteady again starts" in lines


@pytest.mark.slow
def test_many_failures_are_not_tried_again(project: Path) -> None:
    parameters = "import pytest\n@pytest.mark.parametrize('n', range(6))\n"
    unsteady(project, f"{parameters}def test_that_fails(n): assert False")
    code, lines = make(project, "unsteady")
    assert code == 1
    assert "=== unsteady again starts" not in lines


def test_two_stages_run_at_the_same_time_and_their_outputs_are_apart(project: Path) -> None:
    code, lines = make(project, "needs-second", "second")
    assert code == 0
    begins = lines.index(next(line for line in lines if line.startswith("=== second =")))
    assert lines[begins + 1] == "this is the second"


@pytest.mark.parametrize(("idle_share", "ends_first"), [(0, "third"), (2, "one")])
def test_a_third_stage_starts_if_the_processors_are_idle(
    project: Path, idle_share: int, ends_first: str
) -> None:
    with (project / "Makefile").open("a") as file:
        file.write("one:\n\t@sleep 1.5\ntwo:\n\t@sleep 3\nthird:\n")
    before = f"r.LOOK_S, r.IDLE_SHARE = 0.2, {idle_share}"
    _, lines = make(project, "one", "two", "third", before=before)
    ends = [line.split()[1] for line in lines if re.match(r"=== \S+ passed after", line)]
    assert ends[0] == ends_first
    assert sorted(ends) == ["one", "third", "two"]


@pytest.mark.slow
def test_the_summary_has_pytests_counts(project: Path) -> None:
    _, lines = make(project, "first")
    assert any(
        re.fullmatch(
            r"  first +passed +\d+ s, +\d+ s of processors  1 passed, 13 skipped, 1 xfailed in \S+s", line
        )
        for line in lines
    )


def test_ctrl_c_ends_the_stages_as_ctrl_c_would(project: Path) -> None:
    """A test run that is ended in another way leaves servers behind."""
    sleeper = "import signal, time; open('begun', 'w'); time.sleep(100)"
    ends = f"try:\n exec({sleeper!r})\nexcept KeyboardInterrupt:\n open('cleaned', 'w')\n"
    (project / "sleeper.py").write_text(ends)
    with (project / "Makefile").open("a") as file:
        file.write(f"sleeps:\n\t@{sys.executable} sleeper.py\n")
    runner = start(project, "sleeps")
    wait_until((project / "begun").exists)
    runner.send_signal(signal.SIGINT)
    runner.communicate(timeout=60)
    assert runner.returncode != 0
    assert (project / "cleaned").exists()


def test_verdicts() -> None:
    from collections import Counter

    assert verdict("make check", [], Counter()) == "make check: all checks passed"
    assert verdict("make test", ["unit", "spark"], Counter()) == "make test: FAILED: unit, spark"


def test_every_marker_has_a_target() -> None:
    text = (ROOT / "Makefile").read_text()
    targets = {word for line in re.findall(r"^([a-z][a-z -]*):", text, re.MULTILINE) for word in line.split()}
    markers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
    names = {marker.split(":")[0].replace("_", "-") for marker in markers} - {
        "tutorials"
    }  # a part of notebooks
    assert names <= targets


def test_make_test_runs_every_stage() -> None:
    [stages] = re.findall(r"^STAGES := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    wanted = {
        *("docs", "lint", "types", "js", "unit", "real-pravega"),
        *("spark", "notebooks", "browser", "installed"),
    }
    assert set(stages.split()) == wanted
