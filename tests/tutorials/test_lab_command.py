"""`pravega-lab lab` copies the tutorials and never changes one that is there."""

from __future__ import annotations

from pathlib import Path

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
