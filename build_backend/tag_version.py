"""The version of what is built: a tag of git names it.

The build writes it into ``pravega_lab/_version.py``, so that a source archive and an installed package know
it without git:

- at the tag ``v1.2.3`` it is ``1.2.3``;
- five commits later it is ``1.2.4.dev5``;
- without git it is what the source archive contains;
- in a clone without tags it is `UNKNOWN`.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = "pravega_lab/_version.py"
UNKNOWN = "0.1.0.dev0"  # what pravega_lab/__init__.py says, too, where nothing was built


def version_of(described: str) -> str:
    """Return the version of what ``git describe --long`` prints, such as ``v1.2.3-5-g0123abc``."""
    found = re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)-(\d+)-g[0-9a-f]+", described)
    if found is None:
        return UNKNOWN
    major, minor, patch, commits = map(int, found.groups())
    return f"{major}.{minor}.{patch + 1}.dev{commits}" if commits else f"{major}.{minor}.{patch}"


def version(root: Path = ROOT) -> str:
    """Return the version of the files in ``root``."""
    if (root / ".git").exists():
        command = ["git", "describe", "--tags", "--long", "--match", "v[0-9]*"]
        try:
            described = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout
        except FileNotFoundError:  # no git on this machine
            described = ""
        return version_of(described.strip())
    written = (root / FILE).read_text() if (root / FILE).exists() else ""
    found = re.search(r'^__version__ = "(.+)"$', written, re.MULTILINE)
    return found[1] if found else UNKNOWN


def write_version(root: Path = ROOT) -> None:
    """Write the module that names the version, for setuptools and for the package."""
    said = '"""The version of this build. The build wrote it, from a tag."""'
    text = f'{said}\n\n__version__ = "{version(root)}"\n'
    path = root / FILE
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
