"""Jars of Maven Central for what a benchmark compares with, fetched once into ``.cache`` of the checkout."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / ".cache"
FETCH_S_MAX = 600


class NoJarsError(Exception):
    """Raised when jars are neither there nor to be had. The message says why."""


def jars(pom: Path, library: Path, wanted: str) -> Path:
    """Return ``library`` with the runtime dependencies of a pom, fetched if ``wanted`` is not in it.

    Args:
        wanted: The name of a jar, as a pattern.

    Raises:
        NoJarsError: There is no Maven, or it could not fetch them.
    """
    if any(library.glob(wanted)):
        return library
    maven = shutil.which("mvn")
    if maven is None:
        raise NoJarsError(f"no jars in {library} and no Maven (mvn) on the PATH to fetch them")
    command = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
    command += [f"-DoutputDirectory={library}", "-DincludeScope=runtime"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_S_MAX)
    except subprocess.TimeoutExpired as error:
        raise NoJarsError(f"Maven did not fetch the jars within {FETCH_S_MAX} s") from error
    if done.returncode:
        raise NoJarsError(f"Maven could not fetch the jars: {(done.stdout + done.stderr)[-500:]}")
    return library
