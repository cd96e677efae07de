"""binder/: what is generated is what it was generated from, and the small machine's limits reach Spark."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from pravega_lab.connector.spark.session.session import _local_settings

ROOT = Path(__file__).parents[2]
BINDER = ROOT / "binder"


@pytest.fixture(scope="module")
def pins() -> dict[str, Any]:
    return runpy.run_path(str(BINDER / "pins.py"))


@pytest.fixture(scope="module")
def pinned() -> dict[str, str]:
    return {name: line.split()[0] for name, line in requirements()}


def requirements() -> list[tuple[str, str]]:
    """Name and the rest of each requirement, its hashes included."""
    whole = (BINDER / "requirements.txt").read_text().replace("\\\n", " ").splitlines()
    lines = [line for line in whole if not line.startswith("#")]
    return [(name, rest) for name, _, rest in (line.partition("==") for line in lines)]


def test_requirements_are_the_projects_pins(pins: dict[str, Any], pinned: dict[str, str]) -> None:
    for requirement in pins["wanted"]():
        name = canonicalize_name(requirement.name)
        assert name in pinned, f"{requirement} is missing: make pins"
        assert requirement.specifier.contains(Version(pinned[name])), f"{requirement}: make pins"
    exact = {canonicalize_name(r.name) for r in pins["wanted"]() if str(r.specifier).startswith("==")}
    assert {"jupyterlab", "ipykernel", "ipywidgets", "anywidget", "plotly", "pyspark"} <= exact


def test_nothing_floats(pins: dict[str, Any], pinned: dict[str, str]) -> None:
    assert set(pins["pins"]()) == set(pinned), "what the project needs has changed: make pins"
    assert [name for name, rest in requirements() if not rest] == []


def test_every_requirement_has_hashes() -> None:
    """One requirement with a hash makes pip demand one of each."""
    without = [name for name, rest in requirements() if not re.search(r"--hash=sha256:[0-9a-f]{64}", rest)]
    assert without == []


def test_the_layout_is_that_of_the_first_tutorial() -> None:
    made = runpy.run_path(str(BINDER / "workspace.py"))
    assert (BINDER / "workspace.json").read_text() == made["text"](), "make pins"


def test_overrides_are_settings_that_jupyterlab_has() -> None:
    schemas = Path(sys.prefix) / "share/jupyter/lab/schemas"
    for plugin, settings in json.loads((BINDER / "overrides.json").read_text()).items():
        package, name = plugin.split(":")
        schema = json.loads((schemas / package / f"{name}.json").read_text())
        assert set(settings) <= set(schema["properties"])


def test_start_makes_it_fit_and_runs_what_it_is_given() -> None:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PRAVEGA_")}
    told = "echo $PRAVEGA_LAB_SPARK_MEMORY $PRAVEGA_LAB_SPARK_CORES"
    done = subprocess.run(
        [BINDER / "start", "sh", "-c", told], env=clean, capture_output=True, text=True, check=True
    )
    assert done.stdout == "480m 2\n"


def test_the_limits_reach_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRAVEGA_LAB_SPARK_MEMORY", "480m")
    monkeypatch.setenv("PRAVEGA_LAB_SPARK_CORES", "3")
    settings = _local_settings(None, True)
    assert (settings["spark.driver.memory"], settings["spark.master"]) == ("480m", "local[3]")
    assert _local_settings("1g", True)["spark.driver.memory"] == "1g"


def test_postbuild_says_what_it_needs() -> None:
    clean = {k: v for k, v in os.environ.items() if k != "NB_PYTHON_PREFIX"}
    done = subprocess.run([BINDER / "postBuild"], env=clean, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "NB_PYTHON_PREFIX" in done.stderr
