"""A run is a function of its seed on every Python, also where only the standard library and protobuf are.

The reference is this process, which has numpy and pyarrow.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journals import hashes
from tests.light import PROTOBUF, protobuf_alone
from tests.pythons import VERSIONS, find

ROOT = Path(__file__).parents[3]
SEEDS = 1  # `make pythons` compares more
THIS = f"{sys.version_info.major}.{sys.version_info.minor}"
LIGHT = """
import sys
sys.path.append(sys.argv.pop(1))
sys.path.append(sys.argv.pop(1))
from tests.journals import main
main(sys.argv[1:])
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def reference() -> dict[str, str]:
    return hashes(range(1, 1 + SEEDS))


@pytest.fixture(scope="module")
def protobuf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to import from in which there is only protobuf."""
    return protobuf_alone(tmp_path_factory.mktemp("protobuf"))


@pytest.mark.parametrize("version", VERSIONS)
def test_on_the_standard_library_and_protobuf(
    version: str, reference: dict[str, str], protobuf: Path
) -> None:
    python = Path(sys.executable) if version == THIS else find(version)
    if python is None:
        pytest.skip(f"Python {version} is not on this machine")
    command = [python, "-I", "-S", "-c", LIGHT, protobuf, ROOT, str(SEEDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == reference


def test_in_a_browsers_python(reference: dict[str, str], protobuf: Path) -> None:
    """Pyodide runs CPython 3.14, compiled to WebAssembly, as a page does."""
    node = shutil.which("node", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if node is None or not (ROOT / "node_modules/pyodide").is_dir():
        pytest.skip("the runtime of Pyodide is not here: make js installs it")
    command = [node, ROOT / "tests/pyodide.mjs", ROOT, PROTOBUF, str(SEEDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == reference
