"""Refuse a release whose tag is not the version that the files name.

    python build_backend/check_tag.py v0.1.0

A version is chosen by a tag, and written in three files beforehand, because an archive without git has to
know it too: pyproject.toml, ``pravega_lab/__init__.py`` and CITATION.cff. The changelog has to have its
release.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def versions(root: Path = ROOT) -> dict[str, str]:
    """Return the version that each file names, by the name of the file."""
    module, citation = "pravega_lab/__init__.py", "CITATION.cff"
    return {
        "pyproject.toml": tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"],
        module: _named(r'^__version__ = "(.+)"$', (root / module).read_text()),
        citation: _named(r"^version: (.+)$", (root / citation).read_text()),
    }


def faults(tag: str, root: Path = ROOT) -> list[str]:
    """Return what speaks against a release under ``tag``, a sentence each."""
    if not re.fullmatch(r"v\d+\.\d+\.\d+", tag):
        return [f"the tag of a release is 'v1.2.3', not {tag!r}"]
    wanted = tag.removeprefix("v")
    found = [f"{file} names version {known}" for file, known in versions(root).items() if known != wanted]
    dated = rf"^## \[{re.escape(wanted)}\] - \d{{4}}-\d\d-\d\d$"
    if not re.search(dated, (root / "CHANGELOG.md").read_text(), re.MULTILINE):
        found.append(f"CHANGELOG.md has no heading '## [{wanted}] - date'")
    return found


def _named(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else "none"


if __name__ == "__main__":
    for fault in (said := faults(sys.argv[1])):
        print(f"release {sys.argv[1]}: {fault}", file=sys.stderr)
    sys.exit(bool(said))
