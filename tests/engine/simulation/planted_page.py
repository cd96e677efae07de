"""The tables of planted bugs in docs/simulation.md: the seeds that show them, and the rules they violate."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "simulation.md"
_ROW = re.compile(r"^\| `([\w.-]+)` \| .* \| (?:files, )?(\d+): (.+) \|$", re.MULTILINE)


def seeds_and_rules() -> dict[str, tuple[int, str]]:
    """Return seed and rule by the name of the bug, of the bugs for which the page has both."""
    return {name: (int(seed), rule) for name, seed, rule in _ROW.findall(PAGE.read_text())}
