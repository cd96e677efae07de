"""Refuse a release whose tag is not the version that is built, or that the changelog does not name.

python build_backend/check_tag.py v0.1.0
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tag_version import ROOT, version


def faults(tag: str, root: Path = ROOT) -> list[str]:
    """Return what speaks against a release under ``tag``, a sentence each."""
    if not re.fullmatch(r"v\d+\.\d+\.\d+", tag):
        return [f"the tag of a release is 'v1.2.3', not {tag!r}"]
    wanted, built = tag.removeprefix("v"), version(root)
    found = [] if built == wanted else [f"what is built has version {built}: push the tag with its commit"]
    dated = rf"^## \[{re.escape(wanted)}\] - \d{{4}}-\d\d-\d\d$"
    if not re.search(dated, (root / "CHANGELOG.md").read_text(), re.MULTILINE):
        found.append(f"CHANGELOG.md has no heading '## [{wanted}] - date'")
    return found


if __name__ == "__main__":
    for fault in (said := faults(sys.argv[1])):
        print(f"release {sys.argv[1]}: {fault}", file=sys.stderr)
    sys.exit(bool(said))
