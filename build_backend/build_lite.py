"""Build JupyterLite with the tutorials that need no process and no Spark: static files, from no other host.

    python build_backend/build_lite.py --download WHEELS    # the packages of the kernel, from the index
    python build_backend/build_lite.py WHEELS [FOLDER]      # build/lite; nothing is downloaded

It runs in an environment of its own, with the group ``lite`` of pyproject.toml. `make lite` makes that
environment. The kernel is Pyodide, and its packages are named in Pyodide's lock file, with their sums: the
browser gets them from the site, all at once, when the kernel starts. Equal sources give equal wheels.
"""

from __future__ import annotations

import base64
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(Path(__file__).parent))

from build_page import LEFT_OUT, RUNTIME, RUNTIME_FILES, TIME, ours, version  # noqa: E402

#: Tutorials that need no other process, no socket and no Spark, except for cells with the tag `NEEDS_SPARK`.
TUTORIALS = ("04", "02", "03", "07", "08", "09", "11", "12", "13")
#: The tag of cells that are left out. What follows them needs none of their names.
NEEDS_SPARK = "needs-spark"
LEFT_OUT_HERE = (
    "*The rest of this section is not here. It needs Spark, pandas and pyarrow, which a browser does not"
    " have: run this tutorial at home or on Binder.*"
)
#: Those that start a lab. The browser suspends Python while the store in the page works.
WITH_LAB = ("02", "03")
#: What the kernel needs besides what it lists by itself.
PACKAGES = ("pravega-lab", "protobuf", "ipywidgets", "anywidget")
KERNEL = ("micropip", "piplite", "ipykernel", "comm", "pyodide-kernel", "jedi", "ipython")
#: Of the wheel, besides the modules: the recorded runs of the tutorials, and what the views are drawn with.
DATA = ("tutorials/recording/recorded/", "widgets/bundles/", "first_flights")
#: Parts of the package that need processes, sockets or Spark, by the beginning of their path.
ABSENT = tuple(sorted({*LEFT_OUT} - {"testing/commit_kills", "lab", "terminal", "datasets"}))
KERNEL_EXTENSION = "@jupyterlite/pyodide-kernel-extension"


def download(folder: Path) -> None:
    """Get the wheels of the group ``lite-kernel``, which have no machine code, into a folder."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    anywhere = ["--platform=any", "--implementation=py", "--abi=none", "--python-version=3.14"]
    options = ["-q", "--no-deps", "--only-binary=:all:", *anywhere, "-d", str(folder)]
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "pip", "download", *options, *groups["lite-kernel"]], check=True)


def build(wheels: Path, folder: Path) -> None:
    """Build the site into a folder, which is emptied first.

    Args:
        wheels: The folder that `download` filled.
        folder: Where the site goes.

    Raises:
        FileNotFoundError: The wheels or Pyodide are not here; the message says how to get them.
        RuntimeError: JupyterLite's own build failed; the message is its output.
    """
    for needed in (wheels, RUNTIME):
        if not needed.exists():
            raise FileNotFoundError(f"{needed} is not here: run `make lite`, which gets it")
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as made:
        source = Path(made)
        _pyodide(source / "static" / "pyodide", wheels)
        _settings(source)
        _tutorials(source / "notebooks")
        options = ["--apps=lab", "--no-sourcemaps", "--no-unused-shared-packages", "--contents=notebooks"]
        where = [f"--lite-dir={source}", f"--output-dir={folder}", "--source-date-epoch=1577836800"]
        command = [Path(sys.executable).with_name("jupyter-lite"), "build", *options, *where]
        done = subprocess.run(command, cwd=source, check=False, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(
                f"jupyter lite build ended with {done.returncode}:\n{done.stdout}{done.stderr}"
            )


def _pyodide(folder: Path, wheels: Path) -> None:
    """Put Pyodide, the wheels of the kernel and ours into a folder, with a lock file that names them."""
    folder.mkdir(parents=True)
    for name in RUNTIME_FILES:
        shutil.copyfile(RUNTIME / name, folder / name)
    extension = Path(sys.prefix) / "share" / "jupyter" / "labextensions" / KERNEL_EXTENSION
    for name in ("piplite", "ipykernel", "pyodide_kernel"):
        (wheel,) = (extension / "static" / "pypi").glob(f"{name}-*.whl")
        shutil.copyfile(wheel, folder / wheel.name)
    for wheel in wheels.glob("*.whl"):
        shutil.copyfile(wheel, folder / wheel.name)
    _our_wheel(folder)
    lock = json.loads((folder / "pyodide-lock.json").read_text(encoding="utf-8"))
    entries = [_entry(wheel) for wheel in sorted(folder.glob("*.whl"))]
    known = {entry["name"] for entry in entries}
    for entry in entries:  # packages for terminals and servers are not there, and never imported
        entry["depends"] = sorted(set(entry["depends"]) & known)
    lock["packages"] = {entry["name"]: entry for entry in entries}
    (folder / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")


def _entry(wheel: Path) -> dict[str, Any]:
    """Return what Pyodide's lock file says about a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = next(name for name in names if name.count("/") == 1 and name.endswith(".dist-info/METADATA"))
        lines = archive.read(about).decode().partition("\n\n")[0].splitlines()
    fields = [line.partition(": ")[::2] for line in lines]
    needed = [value for name, value in fields if name == "Requires-Dist" and "extra ==" not in value]
    tops = {name.split("/")[0].removesuffix(".py") for name in names if name.endswith(".py")}
    return {
        "name": _plain(dict(fields)["Name"]),
        "version": dict(fields)["Version"],
        "file_name": wheel.name,
        "install_dir": "site",
        "sha256": sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": sorted(top for top in tops if top.isidentifier()),
        "depends": [_plain(re.split(r"[^\w.-]", one)[0]) for one in needed],
        "unvendored_tests": False,
    }


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _our_wheel(folder: Path) -> None:
    """Pack our package without what needs processes, sockets or Spark."""
    found = dict(ours(ABSENT, DATA))
    about = f"pravega_lab-{version()}.dist-info"
    needs = "".join(f"Requires-Dist: {name}\n" for name in PACKAGES[1:])
    text = f"Metadata-Version: 2.1\nName: pravega-lab\nVersion: {version()}\n{needs}"
    found[f"{about}/METADATA"] = text.encode()
    found[f"{about}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: build_lite\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = io.StringIO()
    for name, content in sorted(found.items()):
        digest = base64.urlsafe_b64encode(sha256(content).digest()).decode().rstrip("=")
        record.write(f"{name},sha256={digest},{len(content)}\n")
    found[f"{about}/RECORD"] = f"{record.getvalue()}{about}/RECORD,,\n".encode()
    with zipfile.ZipFile(folder / f"pravega_lab-{version()}-py3-none-any.whl", "w") as archive:
        for name, content in sorted(found.items()):
            archive.writestr(zipfile.ZipInfo(name, TIME), content, zipfile.ZIP_DEFLATED, 9)


def _settings(folder: Path) -> None:
    kernel = {
        "disablePyPIFallback": True,
        "loadPyodideOptions": {"packages": [*KERNEL, *PACKAGES]},
    }
    data = {
        "appName": "pravega_lab",
        "exposeAppInBrowser": True,
        "enableMemoryStorage": True,
        "litePluginSettings": {f"{KERNEL_EXTENSION}:kernel": kernel},
    }
    config = {"jupyter-lite-schema-version": 0, "jupyter-config-data": data}
    (folder / "jupyter-lite.json").write_text(json.dumps(config), encoding="utf-8")
    shutil.copyfile(ROOT / "binder" / "overrides.json", folder / "overrides.json")


def _tutorials(folder: Path) -> None:
    """Copy the tutorials, for the kernel that is there."""
    folder.mkdir()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        if path.name.startswith(TUTORIALS):
            book = json.loads(path.read_text(encoding="utf-8"))
            book["cells"] = cells_for_browser(book["cells"])
            _join_lines(book["cells"])
            book["metadata"]["kernelspec"] = {
                "display_name": "Python (Pyodide)",
                "language": "python",
                "name": "python",
            }
            (folder / path.name).write_text(json.dumps(book), encoding="utf-8")


def _join_lines(cells: list[dict[str, Any]]) -> None:
    """Join the lines of each stored output, as a Jupyter server does. Without one, commas join them."""
    for output in (output for cell in cells for output in cell.get("outputs", ())):
        data = output.get("data", {})
        for kind, lines in data.items():
            if isinstance(lines, list) and not kind.endswith("json"):
                data[kind] = "".join(lines)


def cells_for_browser(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the cells of a tutorial without those that need Spark. A sentence replaces the first ones."""
    said = {"cell_type": "markdown", "id": "left-out", "metadata": {}, "source": [LEFT_OUT_HERE]}
    kept: list[dict[str, Any]] = []
    for cell in cells:
        if NEEDS_SPARK not in cell["metadata"].get("tags", ()):
            kept.append(cell)
        elif said not in kept:
            kept.append(said)
    return kept


def main() -> None:
    """Run the command."""
    arguments = sys.argv[1:]
    if arguments[0] == "--download":
        download(Path(arguments[1]))
        return
    folder = Path(arguments[1]) if len(arguments) > 1 else ROOT / "build" / "lite"
    try:
        build(Path(arguments[0]).resolve(), folder.resolve())
    except (FileNotFoundError, RuntimeError) as error:
        sys.exit(f"build_lite: {error}")
    files = [path for path in folder.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    print(f"build_lite: {len(files)} files, {size / 1e6:.1f} MB, in {folder}")


if __name__ == "__main__":
    main()
