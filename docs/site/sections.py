"""The order of the pages: which page is in which section. A page that no section names is a guide."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ["api/index", "options", "glossary", "spec/README", "map", "../CHANGELOG", "README <../README>"]
EXPLANATION = [
    "architecture",
    "engine",
    "connector-flow",
    "simulation",
    "differences",
    "performance",
    "compare/kafka",
    "compare/flink",
    "compare/pravega",
    "../CONTRIBUTING",
    "../SECURITY",
]
#: Pages about the tutorials, after them.
AFTER_TUTORIALS = ["quiz", "tutorial-results"]
#: How-to guides that come first, in the order in which a new user needs them.
FIRST_GUIDES = ["install", "client", "spark", "tables", "cluster", "store"]
SECTIONS = ["tutorials", "guides", "reference", "explanation"]


def pages(section: str) -> list[str]:
    """Return the pages of ``section``, as paths relative to ``docs/`` without their endings.

    A page with another title in the navigation than its own is ``title <path>``.
    """
    if section == "index":
        return SECTIONS
    if section == "tutorials":
        notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
        return [*(f"../notebooks/{path.stem}" for path in notebooks), *AFTER_TUTORIALS]
    if section == "guides":
        taken = {*SECTIONS, *AFTER_TUTORIALS, *REFERENCE, *EXPLANATION, *FIRST_GUIDES, "index"}
        others = [path.stem for path in sorted((ROOT / "docs").glob("*.md")) if path.stem not in taken]
        steps = [f"howto/{path.stem}" for path in sorted((ROOT / "docs" / "howto").glob("*.md"))]
        return [*FIRST_GUIDES, *steps, *others]
    if section == "reference":
        return REFERENCE
    if section == "explanation":
        return EXPLANATION
    return []


def place(entry: str) -> str:
    """Return the path of an entry of `pages`, without a title."""
    return entry.partition("<")[2].rstrip(">") or entry


def _add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Give the page of a section its list of pages, which the site's navigation follows."""
    folder, _, name = page.rpartition("/")
    listed = pages(name) if folder == "docs" else []
    if page == "docs/spec/README":
        specs = sorted(path.stem for path in (ROOT / "docs" / "spec").glob("*.md"))
        listed = [name for name in specs if name != "README"]
    if listed:
        entries = "\n".join(listed)
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{entries}\n```\n"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("source-read", _add_contents)
    return {"parallel_read_safe": True}
