"""``pravega-lab lab``: JupyterLab on the tutorials, in a folder of the user's."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from pravega_lab.errors import BadInputError, MissingExtraError, SetupError

SOURCE = Path(__file__).parent / "notebooks"
FOLDER = "~/pravega-lab"
PORT_MAX = 65_535
LINK = re.compile(r"\[([^\]\n]+)\]\(\.\./([^)\s]+)\)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument(
        "folder", nargs="?", default=FOLDER, help=f"where the tutorials go (default {FOLDER})"
    )
    parser.add_argument("--port", type=int, default=8888, help="of JupyterLab, or the next free one")
    passed_on = "an option of JupyterLab, such as --jupyter=--allow-root; may be repeated"
    parser.add_argument("--jupyter", action="append", default=[], metavar="OPTION", help=passed_on)
    parser.add_argument("--no-browser", action="store_true", help="print the address instead of opening it")


def copy_tutorials(folder: Path) -> list[str]:
    """Copy the tutorials that the folder lacks, and return their names. What is there stays as it is.

    Raises:
        BadInputError: The folder is a file.
        SetupError: This installation has no tutorials.
    """
    if folder.is_file():
        raise BadInputError(f"{folder} is a file: give the tutorials a folder")
    found = sorted(SOURCE.glob("[0-9][0-9]-*.ipynb"))
    if not found:
        raise SetupError(f"there are no tutorials in {SOURCE}: install pravega-lab again")
    folder.mkdir(parents=True, exist_ok=True)
    lacking = [path for path in found if not (folder / path.name).exists()]
    for path in lacking:
        text = LINK.sub(_named, path.read_text(encoding="utf-8"))
        (folder / path.name).write_text(text, encoding="utf-8")
    return [path.name for path in lacking]


def _named(link: re.Match[str]) -> str:
    """Return the path of a file instead of a link to it: what links lead to in a checkout is not copied."""
    label, path = link[1], link[2]
    path = f"`{'' if path.startswith(('docs/', 'pravega_lab/')) else 'pravega_lab/'}{path}`"
    return path if path.endswith(f"/{label}`") else f"{label} ({path})"


def trust(folder: Path, names: list[str]) -> None:
    """Have JupyterLab show the stored pictures of notebooks that were not run here yet."""
    import nbformat
    from nbformat.sign import NotebookNotary

    notary = NotebookNotary()
    for name in names:
        notary.sign(nbformat.read(folder / name, as_version=4))


def run(args: argparse.Namespace) -> int:
    """Copy the tutorials, start JupyterLab on the first one, and return its exit code when it ends."""
    if not 0 <= args.port <= PORT_MAX:
        raise BadInputError(f"--port {args.port} is not a port: give 1 to {PORT_MAX}, or 0 for a free one")
    if find_spec("jupyterlab") is None:  # to import it takes seconds, and the process below does it
        raise MissingExtraError("jupyterlab")
    folder = Path(args.folder).expanduser().resolve()
    new = copy_tutorials(folder)
    trust(folder, new)
    print(f"{len(new)} tutorials copied to {folder}", flush=True)
    first = min(path.name for path in folder.glob("[0-9][0-9]-*.ipynb"))
    options = [f"--port={args.port}", *(["--no-browser"] if args.no_browser else [])]
    command = [sys.executable, "-m", "jupyterlab", *options, *args.jupyter, first]
    try:
        environ = {"PRAVEGA_LAB_VIEWS": "right", **os.environ}
        return subprocess.run(command, cwd=folder, env=environ, check=False).returncode
    except KeyboardInterrupt:
        return 0
