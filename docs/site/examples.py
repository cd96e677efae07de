"""Examples of the reference: ``docs/site/examples/`` has a file per page, and tests run it from the top.

A line that is not indented names what the lines below it show. The page of the reference has its names in the
order of the examples. ``uri`` is a controller, ``registry_uri`` a schema registry, ``folder`` an empty folder
and ``recording`` the path of a recorded run.
"""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent / "examples"


class Example(NamedTuple):
    """The lines that show one name, or several names that only make sense together."""

    names: list[str]
    text: str


def examples(page: str) -> list[Example]:
    """Return the examples of a page of the reference, in the order in which they run."""
    path = FOLDER / f"{page}.txt"
    found: list[Example] = []
    for part in re.split(r"^(?=\w)", path.read_text(), flags=re.MULTILINE) if path.exists() else ():
        names, _, text = part.partition("\n")
        if names:
            found.append(Example(names.split(", "), dedent(text).strip("\n") + "\n"))
    return found


def pages() -> list[str]:
    """Return the pages that have examples."""
    return sorted(path.stem for path in FOLDER.glob("*.txt"))
