"""docs/map.md: every file that it names is there, and every tutorial and page is on it."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
MAP = DOCS / "map.md"


def named() -> set[Path]:
    return {(DOCS / link).resolve() for link in re.findall(r"\]\(([^)#]+)\)", MAP.read_text())}


def test_every_file_named_is_there() -> None:
    missing = sorted(str(path.relative_to(DOCS.parent)) for path in named() if not path.is_file())
    assert not missing, f"docs/map.md names files that are gone: {missing}"


def test_every_tutorial_answers_a_question() -> None:
    tutorials = (DOCS.parent / "notebooks").glob("[0-9][0-9]-*.ipynb")
    silent = sorted(path.name for path in tutorials if path.resolve() not in named())
    assert not silent, f"give these tutorials a row in docs/map.md, question, tutorial and file: {silent}"


def test_a_row_has_a_question_and_two_files() -> None:
    rows = [line.split("|")[1:-1] for line in MAP.read_text().splitlines() if re.match(r"\| [^Q-]", line)]
    assert len(rows) > 10
    for row in rows:
        question, *files = (cell.strip() for cell in row)
        assert question.endswith("?"), question
        assert [len(re.findall(r"\]\(", cell)) for cell in files] == [1, 1], row
