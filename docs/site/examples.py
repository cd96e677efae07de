"""Examples of the reference: ``docs/site/examples/`` has a file per page, and tests run it from the top.

A line that is not indented names what the lines below it show. ``uri`` is a controller, ``folder`` an empty
folder and ``recording`` the path of a recorded run.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "examples"


def examples(page: str) -> dict[str, str]:
    """Return the example of each name of a page of the reference; the names of one example share it."""
    path = FOLDER / f"{page}.txt"
    found: dict[str, str] = {}
    names: list[str] = []
    for line in path.read_text().splitlines() if path.exists() else ():
        if line and not line.startswith(" "):
            names = line.split(", ")
            found |= dict.fromkeys(names, "")
        else:
            for name in names:
                found[name] += f"{line[4:]}\n"
    return {name: f"{text.strip()}\n" for name, text in found.items()}


def pages() -> list[str]:
    """Return the pages that have examples."""
    return sorted(path.stem for path in FOLDER.glob("*.txt"))
