"""Test protocol, client, store and engine on each Python here, and compare journals of simulated runs.

    python tests/pythons.py [3.12 3.14]

Run by ``make pythons``. Without arguments it takes every Python that `VERSIONS` names and that is on the PATH
or installed by pyenv. Each has an environment in ``.venvs``. More than a hundred simulated runs must have the
same journals on all of them, and on Pyodide under Node where ``make js`` installed it. Exits non-zero if a
test fails, if journals differ, if a requested Python is not there, or if there is none at all.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
TOOLS = (
    "grpcio-tools",
    "hypothesis",
    "psutil",
    "pytest",
    "pytest-rerunfailures",
    "pytest-timeout",
    "pytest-xdist",
)
TESTS = ("protocol", "client", "engine/store", "engine/flow", "project/test_extras.py", "portable")
SEEDS = 8  # of each scenario


def find(version: str) -> Path | None:
    """Return the interpreter of a version such as ``3.12``, None if there is none."""
    on_path = shutil.which(f"python{version}")
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    installed = sorted(pyenv.glob(f"versions/{version}.*/bin/python"), reverse=True)
    candidates = [*installed, *([Path(on_path)] if on_path else [])]
    return next((path for path in candidates if _is(path, version)), None)


def _is(path: Path, version: str) -> bool:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.strip() == version


def requirements() -> list[str]:
    """Return the base dependencies, the extras ``fast`` and ``pandas``, and the test tools."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    tools = [line for line in extras["dev"] if re.split(r"[<>=; ]", line)[0] in TOOLS]
    return [*project["dependencies"], *extras["fast"], *extras["pandas"], *tools]


def run_tests(python: Path, version: str) -> bool:
    """Install the requirements for one Python, run the tests, and return whether all passed."""
    environment = ROOT / ".venvs" / version
    if not (environment / "bin" / "python").exists():
        subprocess.run([python, "-m", "venv", environment], check=True)
    own = environment / "bin" / "python"
    pip: list[str | Path] = [own, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    if subprocess.run([*pip, *requirements()], check=False).returncode != 0:
        return False
    tests = [str(ROOT / "tests" / name) for name in TESTS]
    command: list[str | Path] = [own, "-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider", "-n", "2"]
    marks = "not slow and not real_pravega and not spark and not browser"
    return subprocess.run([*command, *tests, "-m", marks], cwd=ROOT, check=False).returncode == 0


def journals(version: str) -> dict[str, str]:
    """Return hashes of the journals of simulated runs on one Python, whose environment is there."""
    own = ROOT / ".venvs" / version / "bin" / "python"
    done = subprocess.run([own, ROOT / "tests/journals.py", str(SEEDS)], stdout=subprocess.PIPE, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def browsers_journals(version: str) -> dict[str, str] | None:
    """Return the hashes on Pyodide, with protobuf from the environment of a version; None without Pyodide."""
    here = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    node = shutil.which("node", path=here)
    if node is None or not (ROOT / "node_modules" / "pyodide").is_dir():
        return None
    code = "import google.protobuf, pathlib; print(pathlib.Path(google.protobuf.__file__).parents[1])"
    own = ROOT / ".venvs" / version / "bin" / "python"
    google = subprocess.run([own, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    command: list[str | Path] = [node, ROOT / "tests" / "pyodide.mjs", ROOT, google, str(SEEDS)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(version: str, runs: dict[str, str], reference: dict[str, str]) -> str:
    """Say how many journals are those of the first Python, and return "passed" or "FAILED"."""
    different = [name for name, journal in runs.items() if journal != reference[name]]
    print(f"pythons: {version}: {len(runs) - len(different)} of {len(runs)} journals are the same")
    if different:
        print(f"pythons: {version}: other journals than on the first Python: {', '.join(different)}")
    return "FAILED" if different else "passed"


def main(asked: list[str]) -> int:
    """Test on the versions asked for, or on all there are, and return the exit code."""
    found = {version: find(version) for version in asked or VERSIONS}
    results = {}
    reference: dict[str, str] = {}
    for version, python in found.items():
        if python is None:
            results[version] = "not here"
            continue
        print(f"pythons: {version}", flush=True)
        results[version] = "passed" if run_tests(python, version) else "FAILED"
        if results[version] == "passed":
            runs = journals(version)
            reference = reference or runs
            results[version] = compare(version, runs, reference)
    passed = next((version for version, result in results.items() if result == "passed"), None)
    if passed is not None:
        in_browser = browsers_journals(passed)
        results["Pyodide"] = "not here" if in_browser is None else compare("Pyodide", in_browser, reference)
    print("pythons:", ", ".join(f"{version} {result}" for version, result in results.items()))
    wrong = {"FAILED", "not here"} if asked else {"FAILED"}
    return int(
        bool(wrong & {result for name, result in results.items() if name in found or result == "FAILED"})
        or "passed" not in results.values()
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
