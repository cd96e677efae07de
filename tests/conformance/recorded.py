"""Files of recorded answers: ``### `` and the name of a case, then the lines that it said."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_HEAD = "### "


def recorded(file: Path) -> dict[str, list[str]]:
    """The lines of each case."""
    found: dict[str, list[str]] = {}
    for line in file.read_text().splitlines():
        if line.startswith(_HEAD):
            found[line.removeprefix(_HEAD)] = []
        else:
            found[list(found)[-1]].append(line)
    return found


def print_case(name: str, lines: Iterable[str]) -> None:
    """As `recorded` reads it."""
    print(_HEAD + name)
    print("".join(f"{line}\n" for line in lines), end="", flush=True)
