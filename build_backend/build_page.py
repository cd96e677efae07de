"""Build the page on which the simulation runs in a browser: static files that load nothing from other hosts.

    python build_backend/build_page.py [FOLDER]        # build/play

The folder gets Pyodide's runtime (npm's package), our Python reduced to what runs there, protobuf's pure
Python, the bundles of the views, and the page. Equal sources give equal bytes. `make site` runs
``npm ci --ignore-scripts`` and ``bundle_views.py`` before.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "pravega_lab" / "tutorials" / "play" / "page"
RUNTIME = ROOT / "node_modules" / "pyodide"
RUNTIME_FILES = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)
MODULES = ("main", "worker", "service_worker")
VIEWS = ("segment_map", "reader_board", "checkpoint_timeline", "job_graph", "ledger")
# Packages that need processes, sockets, Spark or Jupyter, by the beginning of their path.
LEFT_OUT = (
    "connector/spark", "demo", "engine/cluster", "lab", "pyspark_pravega", "terminal", "discovery",
    "testing/commit_kills", "testing/proxy", "testing/plugin", "datasets", "widgets/lab_panel",
)  # fmt: skip
TIME = (2020, 1, 1, 0, 0, 0)  # of every file in the archive, so that equal sources give equal bytes


def build(folder: Path) -> list[Path]:
    """Build the page into a folder, which is emptied first, and return its files.

    Raises:
        FileNotFoundError: Pyodide or the bundles of the views are not here; the message says how to get them.
    """
    bundles = ROOT / "widgets" / "bundles"
    for needed, how in ((RUNTIME, "npm ci --ignore-scripts"), (bundles / "ledger.js", "make setup")):
        if not needed.exists():
            raise FileNotFoundError(f"{needed} is not here: run `{how}` first, or `make site`")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "views").mkdir(parents=True)
    (folder / "pyodide").mkdir()
    for name in RUNTIME_FILES:
        shutil.copyfile(RUNTIME / name, folder / "pyodide" / name)
    for name in (*(f"{view}.js" for view in VIEWS), "style.css"):
        shutil.copyfile(bundles / name, folder / "views" / name)
    for name in ("index.html", "page.css"):
        shutil.copyfile(PAGE / name, folder / name)
    (folder / "catalogue.json").write_text(_catalogue(), encoding="utf-8")
    _pack(folder / "python.zip")
    _bundle(folder, ("main", "worker"), {})
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = ["./", *(path.relative_to(folder).as_posix() for path in files)]
    digest = sha256(b"".join(sha256(path.read_bytes()).digest() for path in files)).hexdigest()[:16]
    _bundle(folder, ("service_worker",), {"FILES": json.dumps(names), "DIGEST": json.dumps(digest)})
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _bundle(folder: Path, modules: tuple[str, ...], constants: dict[str, str]) -> None:
    esbuild = [_node(), str(ROOT / "node_modules" / "esbuild" / "bin" / "esbuild")]
    options = [
        "--bundle",
        "--format=esm",
        "--target=es2022",
        "--charset=utf8",
        "--minify",
        "--log-level=warning",
    ]
    options += [f"--define:{name}={value}" for name, value in constants.items()]
    entries = [str(PAGE / f"{module}.ts") for module in modules]
    subprocess.run([*esbuild, *entries, f"--outdir={folder}", *options], cwd=ROOT, check=True)


def _node() -> str:
    sys.path.insert(0, str(Path(__file__).parent))
    from bundle_views import _node as node_and_npm

    return str(node_and_npm()[0][0])


def _catalogue() -> str:
    """Return the scenarios as JSON, as another process of this Python describes them."""
    where = "pravega_lab.tutorials.play.messages"
    code = f"import json; from {where} import catalogue; print(json.dumps(catalogue()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def _pack(path: Path) -> None:
    """Pack our modules and protobuf's, in the order of their names."""
    found = dict([*ours(LEFT_OUT, ("widgets/bundles/",)), *_protobuf(), _about()])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(found):
            entry = zipfile.ZipInfo(name, TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, found[name])


def ours(left_out: Sequence[str], data: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of the package; ``engine`` and ``widgets`` are links in a checkout.

    Args:
        left_out: Modules and packages that are not wanted, by the beginning of their path.
        data: Folders whose files are wanted, too. All others have modules only.
    """
    package = ROOT / "pravega_lab"
    for top in (package, package / "engine", package / "widgets"):
        for path in sorted(top.rglob("*")):
            name = path.relative_to(package).as_posix()
            linked = top == package and name.split("/")[0] in ("engine", "widgets")
            is_data = name.startswith(tuple(data)) and path.suffix in (".js", ".css", ".gz", ".json", ".zip")
            wanted = path.suffix == ".py" or is_data
            if path.is_file() and wanted and not linked and not name.startswith(tuple(left_out)):
                yield f"pravega_lab/{name}", path.read_bytes()


def _protobuf() -> Iterator[tuple[str, bytes]]:
    import google.protobuf

    google_folder = Path(google.protobuf.__file__).parents[1]
    for path in sorted((google_folder / "protobuf").rglob("*.py")):
        if "compiler" not in path.parts:
            yield f"google/{path.relative_to(google_folder).as_posix()}", path.read_bytes()


def version() -> str:
    """Return the version of the package, without importing it."""
    sys.path.insert(0, str(Path(__file__).parent))
    from tag_version import version as of_tag

    return of_tag()


def _about() -> tuple[str, bytes]:
    """Return the metadata from which a report reads our version."""
    text = f"Metadata-Version: 2.1\nName: pravega-lab\nVersion: {version()}\n"
    return f"pravega_lab-{version()}.dist-info/METADATA", text.encode()


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "play"
    try:
        made = build(target)
    except FileNotFoundError as error:
        sys.exit(f"build_page: {error}")
    size = sum(path.stat().st_size for path in made)
    print(f"build_page: {len(made)} files, {size / 1e6:.1f} MB, in {target}")
