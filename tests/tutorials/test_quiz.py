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
SHARE = 0.6  # of an answer's words that its cell may lack: answers are in words of their own


def parts() -> dict[str, str]:
    """Return the questions about each tutorial, as text, by the name of its file."""
    _, *found = re.split(r"^## ", (ROOT / "docs" / "quiz.md").read_text(), flags=re.MULTILINE)
    return {re.findall(r"\]\(\.\./notebooks/([^)]+)\)", part)[0]: part for part in found}


def cells(path: Path) -> dict[str, dict[str, str]]:
    """Return each cell's text with its outputs, by the heading above the text, by the cell's id."""
    heading, found = "", {}
    for cell in json.loads(path.read_text())["cells"]:
        text, parts = "".join(cell["source"]), {}
        if cell["cell_type"] == "markdown":
            before, *rest = re.split(r"^#+ +(.+)$", without_code(text), flags=re.MULTILINE)
            pairs = [(heading, before), *zip(rest[::2], rest[1::2], strict=True)]
            parts = {above: below for above, below in pairs if below.strip()}
            heading = [heading, *rest[::2]][-1]
        else:
            parts[heading] = text + json.dumps(cell.get("outputs", ""))
        found[cell["id"]] = parts
    return found


def without_code(text: str) -> str:
    """Return Markdown without fences, whose comments look like headings."""
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def stems(text: str) -> set[str]:
    """Return the beginnings of the words of ``text`` that say something."""
    return {word[:5] for word in re.findall(r"[a-z_]{4,}", text.lower())} - {"that", "this", "which", "with"}


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
        headings = list(known[cell_id])
        assert heading in headings, f"{question} Cell {cell_id} is in {headings}, not in {heading!r}"
        there = known[cell_id][heading]
        wrong = [number for number in NUMBER.findall(answer) if plain(number) not in plain(there)]
        assert not wrong, f"{question} Cell {cell_id} does not contain {wrong}"
        said = stems(answer)
        missing = said - stems(there)
        assert len(missing) <= SHARE * len(said), f"{question} Cell {cell_id} does not say {missing}"
