"""Accessibility by axe-core: what it finds on a page, by WCAG 2.2 A and AA and by its best practices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

AXE = Path(__file__).parents[2] / "node_modules/axe-core/axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = """async ([tags, where]) => {
  const place = where ? { include: [where] } : document;
  const found = await axe.run(place, { runOnly: tags, resultTypes: ["violations"], preload: false });
  const of = (nodes) => nodes.map((n) => n.html.slice(0, 160)).join(" | ");
  return found.violations.map((v) => `${v.id}: ${v.help}: ${of(v.nodes)}`);
}"""


def violations(page: Any, where: str = "") -> list[str]:
    """The rules that a page breaks, with the elements that break them; `make browser` installs axe-core.

    Args:
        where: A selector: only these elements are judged. JupyterLab around our views is not ours.
    """
    page.evaluate(AXE.read_text())
    return list(page.evaluate(RUN, [TAGS, where]))
