"""The table of tutorials: its counts are those of the notebooks, and a report is read rightly."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.notebooks.tutorial_table import NOTEBOOKS, PAGE, Result, counts, results, table

REPORT = """<testsuites><testsuite>
<testcase file="notebooks/02-x.ipynb" name="Cell 0" time="1.5"/>
<testcase file="notebooks/02-x.ipynb" name="Cell 1" time="0.5">{}</testcase>
<testcase file="tests/notebooks/test_notebooks.py" name="test_other" time="9"/>
</testsuite></testsuites>"""


@pytest.mark.parametrize("notebook", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_counts_of_the_page_are_those_of_the_notebook(notebook: Path) -> None:
    line = next(line for line in PAGE.read_text().splitlines() if f"/{notebook.name})" in line)
    found = counts(notebook)
    said = re.split(r" *\| *", line.strip("| "))[1:5]
    wanted = [found.predictions, found.facts, found.exercises, found.minutes]
    assert said == list(map(str, wanted)), "make notebooks && python -m tests.notebooks.tutorial_table"


def test_a_later_report_wins_and_other_tests_do_not_count(tmp_path: Path) -> None:
    first, second = tmp_path / "1.xml", tmp_path / "2.xml"
    first.write_text(REPORT.format("<failure/>"))
    second.write_text(REPORT.format(""))
    assert results([first]) == {"02-x.ipynb": Result(2, 1, 2.0)}
    assert results([first, second]) == {"02-x.ipynb": Result(2, 0, 2.0)}


def test_a_tutorial_without_a_report_is_named() -> None:
    with pytest.raises(SystemExit, match=r"no report has 01-quickstart\.ipynb, .*: run `make notebooks`"):
        table({})
