"""Jars are there when all of them are: several processes of a test run ask for them at the same time."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conformance import real_pravega
from tests.conformance.real_pravega import RealPravega, jars
from tests.waiting import wait_until

MAVEN = """#!/bin/sh
for word in "$@"; do case "$word" in -DoutputDirectory=*) out="${word#*=}";; esac; done
mkdir -p "$out"
touch "$out/pravega-standalone-0.13.0.jar"
echo fetched >> FOLDER/begun
while [ ! -e FOLDER/go ]; do sleep 0.05; done
touch "$out/needed-too.jar"
"""


def test_half_of_the_jars_are_no_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second process began with those that Maven had copied by then."""
    (tmp_path / "bin").mkdir()
    maven = tmp_path / "bin" / "mvn"
    maven.write_text(MAVEN.replace("FOLDER", str(tmp_path)))
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", f"{maven.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(real_pravega, "JARS", tmp_path / "pravega" / "lib")
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(jars)
        wait_until((tmp_path / "begun").exists)
        was_there = RealPravega.has_jars()
        second = pool.submit(jars)
        (tmp_path / "go").touch()
        found = [sorted(path.name for path in asked.result(60).iterdir()) for asked in (first, second)]
    assert not was_there
    assert found == [["needed-too.jar", "pravega-standalone-0.13.0.jar"]] * 2
    assert (tmp_path / "begun").read_text() == "fetched\n"
