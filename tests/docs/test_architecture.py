"""docs/architecture.md agrees with the code: its picture and table of packages, and every line that it links.

A link to a line carries, as its title, a text that this line contains. After a change that moves lines,
``python -m tests.docs.test_architecture`` writes the new numbers into the page.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.project.test_tidy import ARROWS, graph, home

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
LINE = re.compile(r'\]\(\.\./(?P<path>[\w/.-]+)#L(?P<line>\d+) "(?P<text>[^"]+)"\)')
ROW = re.compile(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", re.MULTILINE)
PACKAGES_MAX = 12


def top(module: str) -> str | None:
    """Return the package at the top level that contains ``module``, None for the modules at the root."""
    part = home(module)
    if part == "pyspark_pravega":
        return "connector"
    folder = part.partition(".")[0]
    return folder if (ROOT / "pravega_lab" / folder).is_dir() else None


def arrows(name: dict[str, str | None]) -> dict[str, set[str]]:
    """Return for each name the names that its modules import, the name itself left out."""
    found: dict[str, set[str]] = {one: set() for one in name.values() if one is not None}
    for module, targets in graph().items():
        for target in targets:
            here, there = name[module], name[target]
            if here is not None and there is not None and here != there:
                found[here].add(there)
    return found


def packages() -> dict[str, set[str]]:
    return arrows({module: top(module) for module in graph()})


def parts() -> dict[str, set[str]]:
    """Return the parts of ``engine`` and ``connector``, and what each imports of these two packages."""
    names = {module: home(module) for module in graph()}
    return arrows({m: n if n.startswith(("engine.", "connector.")) else None for m, n in names.items()})


def reachable(edges: dict[str, set[str]], starts: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(starts)
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += edges[one]
    return found


def reduced(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return ``edges`` without those that follow from others (the transitive reduction)."""
    return {
        one: {
            target
            for target in targets
            if all(target not in reachable(edges, edges[other]) for other in targets - {target})
        }
        for one, targets in edges.items()
    }


def drawn(number: int) -> dict[str, set[str]]:
    """Return the nodes and arrows of the page's picture ``number``, counted from 0."""
    picture = re.findall(r"```mermaid\nflowchart TD\n(.*?)```", PAGE.read_text(), re.DOTALL)[number]
    found: dict[str, set[str]] = {}
    for line in picture.splitlines():
        source, _, target = line.strip().partition(" --> ")
        found.setdefault(source, set())
        if target:
            found[source].add(target)
            found.setdefault(target, set())
    return found


def test_the_picture_shows_the_packages_and_their_arrows() -> None:
    found = packages()
    assert len(found) <= PACKAGES_MAX
    assert drawn(0) == reduced(found)


def test_the_table_lists_every_import_between_packages() -> None:
    rows = {name: set(re.findall(r"`(\w+)`", imported)) for name, imported in ROW.findall(PAGE.read_text())}
    assert rows == packages()


def test_the_second_picture_shows_the_parts_of_engine_and_connector() -> None:
    assert drawn(1) == reduced(parts())


def test_every_part_that_may_be_imported_exists() -> None:
    assert set(ARROWS) == {home(module) for module in graph()} - {"connector", "engine"}


LINKS = [found.groups() for found in LINE.finditer(PAGE.read_text())]


@pytest.mark.parametrize(("path", "line", "text"), LINKS, ids=[f"{path}: {text}" for path, _, text in LINKS])
def test_a_link_leads_to_the_line_that_decides(path: str, line: str, text: str) -> None:
    lines = (ROOT / path).read_text().splitlines()
    assert text in lines[int(line) - 1], (
        f"line {line} of {path} does not contain {text!r}; run python -m tests.docs.test_architecture"
    )


def test_the_page_links_lines_at_all() -> None:
    assert len(LINKS) >= 20


def number(found: re.Match[str]) -> str:
    """Return the link with the number of the first line that contains its text."""
    path, text = found["path"], found["text"]
    lines = (ROOT / path).read_text().splitlines()
    numbers = [n for n, line in enumerate(lines, 1) if text in line]
    if not numbers:
        raise SystemExit(f"no line of {path} contains {text!r}")
    return f'](../{path}#L{numbers[0]} "{text}")'


if __name__ == "__main__":
    PAGE.write_text(LINE.sub(number, PAGE.read_text()))
    sys.stdout.write(f"wrote {len(LINKS)} line numbers into {PAGE.relative_to(ROOT)}\n")
