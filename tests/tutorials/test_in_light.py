"""Tutorials of JupyterLite run without what a browser lacks, and their frames show what is stored.

Here the stand-ins are compared with pandas, cell by cell. The browser is in `tests/browser/test_lite.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tutorials.cells_in_light import cells_of, shown

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow

sys.path.insert(0, str(ROOT / "build_backend"))
from build_lite import TUTORIALS, WITH_LAB  # noqa: E402

#: `make lite-test` runs all that need no lab: the store of a lab waits as only a browser can.
NUMBERS = sorted({*TUTORIALS} - {*WITH_LAB}) if os.environ.get("PRAVEGA_LAB_LITE_ALL") else ("04", "08")


@pytest.mark.parametrize("number", NUMBERS)
def test_a_tutorial_shows_the_same_in_light(number: str) -> None:
    (path,) = (ROOT / "notebooks").glob(f"{number}-*.ipynb")
    command = [sys.executable, "-m", "tests.tutorials.cells_in_light", str(path)]
    env = {**os.environ, "PRAVEGA_LAB_BARS": "off"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    found = json.loads(done.stdout)[str(path)]
    for cell, one in zip(cells_of(path), found, strict=True):
        if "nbval-ignore-output" not in cell["metadata"].get("tags", ()):
            assert one == shown(cell["outputs"]), "".join(cell["source"])
