"""The wheel is built without a word that a new user would take for an error."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUNDLES = ROOT / "widgets" / "bundles"


def copy_checkout(target: Path) -> None:
    """The files that git knows and the bundles, which a set-up has made."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name, follow_symlinks=False)
    shutil.copytree(BUNDLES, target / "widgets" / "bundles", dirs_exist_ok=True)


@pytest.mark.slow
def test_building_the_wheel_prints_no_warning(tmp_path: Path) -> None:
    """setuptools warned that a folder of data without ``__init__`` "would be ignored"."""
    copy_checkout(tmp_path / "checkout")
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), "."],
        cwd=tmp_path / "checkout",
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert [line for line in done.stdout.splitlines() if "warning" in line.lower()] == []


def test_node_takes_only_typescript_of_the_project_for_modules() -> None:
    """JupyterLab runs its yarn.js with Node. It printed itself and failed where the environment was here,
    because the checkout declared all JavaScript below it as modules.
    """
    assert "type" not in json.loads((ROOT / "package.json").read_text())
    listed = subprocess.run(["git", "ls-files", "*.ts"], cwd=ROOT, capture_output=True, text=True, check=True)
    for folder in sorted({(ROOT / name).parent for name in listed.stdout.splitlines()}):
        nearest = next(
            path for above in (folder, *folder.parents) if (path := above / "package.json").exists()
        )
        assert json.loads(nearest.read_text()).get("type") == "module", folder


@pytest.mark.slow
def test_setting_up_prints_no_warning(tmp_path: Path) -> None:
    """setuptools warned about the strict editable installation, in a box, on every set-up."""
    copy_checkout(tmp_path / "checkout")
    pattern = r"^\texport (.*); \$\(call install,\$\(PY\),-e "
    install = re.findall(pattern, (ROOT / "Makefile").read_text(), re.MULTILINE)
    variables = dict(word.split("=", 1) for word in install[0].split())
    code = f"import with_views; with_views.build_editable({str(tmp_path)!r}, {{'editable_mode': 'strict'}})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / "checkout",
        env={**os.environ, "PYTHONPATH": "build_backend", **variables},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "!!" not in done.stderr
