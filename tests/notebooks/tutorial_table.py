"""Write the results of the tutorials into docs/tutorial-results.md, one row each.

    make notebooks && python -m tests.notebooks.tutorial_table

The counts come from the notebooks, and the comparison and the times from the reports of `make notebooks`.
Where several reports have a tutorial, the latest one counts. ``--reports FOLDER`` names another folder.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial-results.md"
NOTEBOOKS = ROOT / "notebooks"
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->"
COLUMNS = ("Tutorial", "Predictions", "Facts", "Exercises", "Minutes to read", "Cells", "Differ", "Run, s")


@dataclass(frozen=True)
class Counts:
    """What a notebook contains: predictions, asserted facts, exercises, and the minutes that it promises."""

    predictions: int
    facts: int
    exercises: int
    minutes: str


@dataclass(frozen=True)
class Result:
    """What nbval said: how many cells it ran, how many of them failed, and the seconds that all took."""

    cells: int
    failed: int
    run_s: float


def counts(notebook: Path) -> Counts:
    """Return what ``notebook`` contains."""
    cells = json.loads(notebook.read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    minutes = re.search(r"\*\*Minutes:\*\* (\d+)", text)
    found = [len(re.findall(pattern, code, re.M)) for pattern in (r"\bpredict\(", r"^ *assert ", r"^check\(")]
    return Counts(*found, minutes[1] if minutes else "–")


def results(reports: Iterable[Path]) -> dict[str, Result]:
    """Return the results in JUnit reports of nbval, by the name of the notebook; a later report wins."""
    found: dict[str, Result] = {}
    for report in reports:
        cells: dict[str, list[tuple[bool, float]]] = {}
        for case in ElementTree.parse(report).iter("testcase"):
            name = Path(case.get("file", "")).name
            if name.endswith(".ipynb"):
                failed = case.find("failure") is not None or case.find("error") is not None
                cells.setdefault(name, []).append((failed, float(case.get("time", 0))))
        found |= {
            name: Result(len(told), sum(failed for failed, _ in told), sum(time_s for _, time_s in told))
            for name, told in cells.items()
        }
    return found


def row(notebook: Path, result: Result) -> str:
    """Return the line of a tutorial."""
    found = counts(notebook)
    link = f"[{notebook.stem}](../notebooks/{notebook.name})"
    numbers = [found.predictions, found.facts, found.exercises, found.minutes]
    return (
        f"| {link} | "
        + " | ".join(map(str, [*numbers, result.cells, result.failed, round(result.run_s)]))
        + " |"
    )


def table(found: dict[str, Result]) -> str:
    """Return the table.

    Raises:
        SystemExit: A tutorial is in no report.
    """
    notebooks = sorted(NOTEBOOKS.glob("*.ipynb"))
    if missing := [path.name for path in notebooks if path.name not in found]:
        raise SystemExit(f"no report has {', '.join(missing)}: run `make notebooks` first")
    lines = [
        f"| {' | '.join(COLUMNS)} |",
        "|---|" + "--:|" * 7,
        *(row(path, found[path.name]) for path in notebooks),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table; exit with 1 if a cell differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reports", type=Path, default=ROOT / "build" / "reports", metavar="FOLDER")
    reports = parser.parse_args().reports.glob("notebooks-*.xml")
    found = results(sorted(reports, key=lambda path: path.stat().st_mtime))
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{table(found)}{END}{rest.partition(END)[2]}")
    differ = sum(result.failed for result in found.values())
    print(f"{PAGE.relative_to(ROOT)}: {len(found)} tutorials, {differ} cells differ")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
