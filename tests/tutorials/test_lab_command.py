"""`pravega-lab lab` copies the tutorials and never changes one that is there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pravega_lab.errors import BadInputError
from pravega_lab.tutorials.lab_command import copy_tutorials


def test_tutorials_are_copied_once(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    names = copy_tutorials(folder)
    assert names[0] == "01-quickstart.ipynb"
    assert names == sorted(path.name for path in folder.iterdir())
    (folder / names[0]).write_text("my own")
    (folder / names[1]).unlink()
    assert copy_tutorials(folder) == [names[1]]
    assert (folder / names[0]).read_text() == "my own"


def test_a_copy_has_no_link_to_what_is_not_copied(tmp_path: Path) -> None:
    for name in copy_tutorials(tmp_path):
        assert "](../" not in (tmp_path / name).read_text(encoding="utf-8")
    assert "`pravega_lab/engine/store/metadata/epochs.py` makes successors" in source_of(
        tmp_path / "02-segments-and-keys.ipynb"
    )
    assert "the guide to TLS (`docs/howto/tls.md`)" in source_of(tmp_path / "15-shared-state.ipynb")


def source_of(notebook: Path) -> str:
    return "".join(line for cell in json.loads(notebook.read_text())["cells"] for line in cell["source"])


def test_jupyterlab_is_imported_once_by_its_own_process(tmp_path: Path) -> None:
    """To import it here, too, took three seconds before anything was printed."""
    program = f"""
import subprocess, sys
from pravega_lab.cli import main
subprocess.run = lambda command, **_: subprocess.CompletedProcess(command, 0)
assert main(["lab", {str(tmp_path / "mine")!r}]) == 0
assert "jupyterlab" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("16 tutorials copied to ")


def test_a_file_is_no_folder_for_them(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.touch()
    with pytest.raises(BadInputError, match=r"notes\.txt is a file: give the tutorials a folder"):
        copy_tutorials(path)
