"""The tutorials as files: what each has to have, and that nbval sees a number that was changed."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.tutorials.learning.book import exercises
from tests.notebooks.kernel_runs import run_file

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"
TUTORIALS = sorted(
    path for number in {n.split(".")[0] for n in exercises()} for path in NOTEBOOKS.glob(f"{number}-*.ipynb")
)
# A verdict of each, by a number in it.
VERDICTS = (
    pytest.param("02-segments-and-keys.ipynb", "1652", id="02"),
    pytest.param("03-reader-groups.ipynb", "303", id="03"),
    pytest.param("04-break-it.ipynb", "329", id="04"),
    pytest.param("05-time-travel.ipynb", "408", id="05"),
    pytest.param("06-spark-pipelines.ipynb", "4000", id="06", marks=pytest.mark.spark),
    pytest.param("07-two-kinds-of-checkpoint.ipynb", "2244", id="07"),
    pytest.param("08-the-flip-27-gap.ipynb", "43", id="08"),
    pytest.param("09-final-checkpoints.ipynb", "129", id="09"),
    pytest.param("12-a-race-in-the-coordinator.ipynb", "657", id="12"),
    pytest.param("13-streaming-and-batch.ipynb", "1092", id="13", marks=pytest.mark.spark),
    pytest.param("14-retention-and-tiers.ipynb", "1000000", id="14"),
    pytest.param("15-shared-state.ipynb", "203", id="15"),
    pytest.param("10-stop-with-savepoint.ipynb", "25", id="10", marks=pytest.mark.spark),
    pytest.param("11-exactly-once-end-to-end.ipynb", "28", id="11"),
    pytest.param("16-streams-as-tables.ipynb", "2455", id="16", marks=pytest.mark.spark),
)
sys.path.insert(0, str(ROOT / "docs/site"))
reference: Any = import_module("reference_pages")
# Public besides the modules of the reference: described in docs/options.md and docs/browser.md.
ALSO_PUBLIC = ("pravega_lab.cli", "pravega_lab.portable.frames")
Notebook = dict[str, Any]
Failures = dict[str, list[int]]


def read(path: Path) -> Notebook:
    found: Notebook = json.loads(path.read_text())
    return found


def code(notebook: Notebook) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def is_volatile(cell: dict[str, Any]) -> bool:
    return "nbval-ignore-output" in cell["metadata"].get("tags", [])


@pytest.fixture(params=TUTORIALS, ids=lambda path: path.name)
def tutorial(request: pytest.FixtureRequest) -> Notebook:
    return read(request.param)


def test_there_is_a_notebook_for_every_exercise() -> None:
    asked = {
        n for path in TUTORIALS for n in re.findall(r'check\("([\d.]+)"', path.read_text().replace("\\", ""))
    }
    assert asked == set(exercises())


def test_a_tutorial_opens_with_what_it_is_for_and_ends_with_facts_exercises_and_a_reset(
    tutorial: Notebook,
) -> None:
    opening = source(tutorial["cells"][0])
    for words in ("What you will be able to say", "**Minutes:**", "**Before:**"):
        assert words in opening
    texts = [source(cell) for cell in code(tutorial)]
    assert sum("predict(" in text for text in texts) >= 5
    facts = max(i for i, text in enumerate(texts) if "assert " in text)
    checks = [i for i, text in enumerate(texts) if text.startswith("check(")]
    assert 2 <= len(checks) <= 4
    assert facts < checks[0]
    # Alone in the cell of a restarted kernel, `reset(lab)` is `%reset` of IPython, which deletes variables.
    assert texts[-1].startswith("from pravega_lab.tutorials import reset\n\nreset(")


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.name[:2])
def test_a_tutorial_ends_with_what_to_read_and_with_what_real_systems_do(path: Path) -> None:
    texts = [source(cell) for cell in read(path)["cells"] if cell["cell_type"] == "markdown"]
    [closing] = [text for text in texts if "**What to read in the code**" in text]
    to_read, _, differently = closing.partition("**What to read in the code**")[2].partition("\n\n")
    links = re.findall(r"\]\(([^)]+)\)", to_read)
    assert len(links) == 3
    assert all((NOTEBOOKS / link).is_file() for link in links)
    assert re.match(r"\*\*What real systems do differently\*\*: .{80}", differently, re.DOTALL)


def test_its_pictures_need_no_kernel(tutorial: Notebook) -> None:
    outputs = [output.get("data", {}) for cell in code(tutorial) for output in cell["outputs"]]
    is_still = ["image/svg+xml" in data or "plab-still" in str(data.get("text/html")) for data in outputs]
    assert sum(is_still) >= 3
    assert not any("application/vnd.jupyter.widget-view+json" in data for data in outputs)
    assert "widgets" not in tutorial["metadata"]


def test_every_cell_was_run_in_order_and_none_failed(tutorial: Notebook) -> None:
    cells = code(tutorial)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    kinds = {output["output_type"] for cell in cells for output in cell["outputs"]}
    assert "error" not in kinds
    names = {o.get("name") for cell in cells if not is_volatile(cell) for o in cell["outputs"]}
    assert "stderr" not in names


def test_no_segment_is_taken_for_a_heading(tutorial: Notebook) -> None:
    texts = [source(cell) for cell in tutorial["cells"] if cell["cell_type"] == "markdown"]
    assert not [line for text in texts for line in text.splitlines() if re.match(r"#+\w", line)]


def test_it_imports_only_public_names(tutorial: Notebook) -> None:
    """The modules of the package `tutorials` are the tutorials' own jobs and pictures."""
    listed = {module for modules in reference.MODULES.values() for module in modules}
    found = [pair for cell in code(tutorial) for pair in imported(source(cell))]
    assert found
    for module, name in found:
        if not module.startswith("pravega_lab.tutorials."):
            assert module in listed or module in ALSO_PUBLIC, (
                f"{module} is private: give {name} a public name"
            )
            assert name in reference.public_names(import_module(module)), f"{module}.{name} is private"


def imported(text: str) -> Iterator[tuple[str, str]]:
    """What a cell imports from the package: modules and names in them."""
    lines = ["" if line.startswith(("%", "!")) else line for line in text.splitlines()]
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pravega_lab":
            yield from ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] == "pravega_lab")


def test_facts_are_not_hidden_from_the_comparison(tutorial: Notebook) -> None:
    """Set-up, pictures and what depends on time may differ from run to run; no verdict."""
    for cell in filter(is_volatile, code(tutorial)):
        assert not re.search(r"\bassert |\b(predict|compare|check)\(", source(cell)), source(cell)


@pytest.mark.slow
@pytest.mark.tutorials
@pytest.mark.parametrize(("name", "number"), VERDICTS)
def test_a_changed_number_fails(
    name: str, number: str, kept_runs: Path, failures_of_kept: Failures, tmp_path: Path
) -> None:
    cells = code(with_number_changed(name, number))
    if name in failures_of_kept:
        failed = failures_of_kept[name]
    else:
        stored = nbval([NOTEBOOKS / name], f"--keep-runs={kept_runs}")
        assert stored[name] == []
        changed = write_changed(tmp_path, name, number)
        failed = nbval([changed], f"--reuse-runs={kept_runs}")[name]
    assert failed == [len(cells) - 1]  # and no other cell


@pytest.fixture(scope="module")
def kept_runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the tutorials' runs: that of `make notebooks`, or an empty one."""
    given: Path | None = request.config.getoption("--reuse-runs", None)
    return given.resolve() if given is not None else tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def failures_of_kept(kept_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Failures:
    """The cells that fail in the changed copies of all tutorials whose run is kept."""
    folder = tmp_path_factory.mktemp("changed")
    verdicts = [(str(case.values[0]), str(case.values[1])) for case in VERDICTS]
    kept = [(name, number) for name, number in verdicts if run_file(kept_runs, Path(name)).exists()]
    changed = [write_changed(folder, name, number) for name, number in kept]
    return nbval(changed, f"--reuse-runs={kept_runs}") if changed else {}


def with_number_changed(name: str, number: str) -> Notebook:
    """The tutorial up to the cell that shows ``number``, which is one more there."""
    whole = read(NOTEBOOKS / name)
    shows = next(i for i, cell in enumerate(whole["cells"]) if number in json.dumps(cell.get("outputs", [])))
    changed = {**whole, "cells": whole["cells"][: shows + 1]}
    outputs = json.dumps(changed["cells"][-1]["outputs"]).replace(number, str(int(number) + 1))
    changed["cells"][-1]["outputs"] = json.loads(outputs)
    return changed


def write_changed(folder: Path, name: str, number: str) -> Path:
    path = folder / name
    path.write_text(json.dumps(with_number_changed(name, number)))
    return path


def nbval(notebooks: list[Path], runs: str) -> Failures:
    """The cells that fail, per notebook, when they are compared as `make notebooks` does."""
    command = [sys.executable, "-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["-p", "tests.notebooks.kernel_runs", runs, "--timeout=600"]
    command += ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=240"]
    command += ["--rootdir", str(notebooks[0].parent)]  # failures are named from here
    command += [
        "-c",
        str(ROOT / "pyproject.toml"),
        f"--nbval-sanitize-with={Path(__file__).with_name('nbval.ini')}",
    ]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [*command, *map(str, notebooks)],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert "error" not in done.stdout.splitlines()[-1], done.stdout
    failed: Failures = {path.name: [] for path in notebooks}
    for name, cell in re.findall(r"^FAILED .*?([^/ ]+\.ipynb)::Cell (\d+)", done.stdout, re.MULTILINE):
        failed[name].append(int(cell))
    return failed
