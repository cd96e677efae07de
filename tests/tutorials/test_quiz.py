"""The questions about the tutorials: ten for each, and each answer is in the cell that it names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "notebooks").glob("*.ipynb"))
QUESTION = re.compile(
    r"\*\*(\d+)\. ([^\n]+\?[^\n]*)\*\*\n\n<details><summary>Answer</summary>\n\n(.+?)\n\n</details>",
    re.DOTALL,
)
PLACE = re.compile(r"(.+\.) \(In \*(.+)\*, cell `([\w-]+)`\.\)", re.DOTALL)
NUMBER = re.compile(r"\d[\d,]*\d")


def parts() -> dict[str, str]:
    """Return the questions about each tutorial, as text, by the name of its file."""
    _, *found = re.split(r"^## ", (ROOT / "docs" / "quiz.md").read_text(), flags=re.MULTILINE)
    return {re.findall(r"\]\(\.\./notebooks/([^)]+)\)", part)[0]: part for part in found}


def cells(path: Path) -> dict[str, tuple[str, str]]:
    """Return the last heading up to each cell, and the cell's text with its outputs, by its id."""
    heading, found = "", {}
    for cell in json.loads(path.read_text())["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            outside_code = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
            heading = [heading, *re.findall(r"^#+ +(.+)$", outside_code, re.MULTILINE)][-1]
        found[cell["id"]] = heading, text + json.dumps(cell.get("outputs", ""))
    return found


def plain(text: Any) -> str:
    """Return ``text`` without the commas of its numbers."""
    return re.sub(r"(?<=\d),(?=\d)", "", str(text))


def test_every_tutorial_has_a_part() -> None:
    assert list(parts()) == [path.name for path in TUTORIALS]


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.name[:2])
def test_ten_questions_are_answered_by_the_cells_that_they_name(path: Path) -> None:
    questions = QUESTION.findall(parts()[path.name])
    assert [int(number) for number, _, _ in questions] == list(range(1, 11))
    assert len({question for _, question, _ in questions}) == 10
    known = cells(path)
    for _, question, text in questions:
        found = PLACE.fullmatch(" ".join(text.split()))
        assert found, f"{question} An answer ends with '(In *part*, cell `id`.)'"
        answer, heading, cell_id = found.groups()
        assert cell_id in known, f"{question} {path.name} has no cell {cell_id}"
        assert heading == known[cell_id][0], f"{question} Cell {cell_id} is in part {known[cell_id][0]!r}"
        numbers = NUMBER.findall(answer)
        wrong = [number for number in numbers if plain(number) not in plain(known[cell_id][1])]
        assert not wrong, f"{question} Cell {cell_id} does not contain {wrong}"
