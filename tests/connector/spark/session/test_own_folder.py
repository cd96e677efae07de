"""Temporary folders of a session: what a killed process leaves is deleted by the next one."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pravega_lab.connector.spark.source.hold import own_folder

PROGRAM = """
import sys
from pravega_lab.connector.spark.source.hold import own_folder
print(own_folder("mine-"), flush=True)
sys.stdin.read()
"""


def test_only_the_folder_of_a_killed_process_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    foreign = tmp_path / "mine-foreign"
    foreign.mkdir()
    pipe = subprocess.PIPE
    owners = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM], stdin=pipe, stdout=pipe, text=True, env={"TMPDIR": str(tmp_path)}
        )
        for _ in range(2)
    ]
    killed, living = (Path(owner.stdout.readline().strip()) for owner in owners)  # type: ignore[union-attr]
    (killed / "table").mkdir()
    owners[0].kill()
    owners[0].wait()
    assert killed.exists()

    found = Path(own_folder("mine-"))
    assert sorted(tmp_path.iterdir()) == sorted([foreign, living, found])
    assert Path(own_folder("mine-")) != found
    assert found.exists()
    owners[1].communicate()
    assert not living.exists()
