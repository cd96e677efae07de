"""Fetch the jars of a released server with Maven, once per checkout, also when several processes ask."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.spark.jvm import QUICK_START

FETCH_S_MAX = 600


class FetchError(Exception):
    """The jars cannot be had; the message says why."""


def fetch(pom: Path, jars: Path, is_there: Callable[[], bool]) -> None:
    """Put the jars that ``pom`` names into the folder ``jars``, all of them or none.

    Processes that ask at the same time wait for the first one. ``is_there`` says whether it has fetched them.

    Raises:
        FetchError: There is no Maven, or it failed.
    """
    maven = shutil.which("mvn")
    if maven is None:
        raise FetchError(f"no jars in {jars} and no Maven (mvn) on the PATH to fetch them")
    jars.parent.mkdir(parents=True, exist_ok=True)
    with (jars.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_there():
            return
        part = jars.with_name(f"{jars.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        command = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
        command += [f"-DoutputDirectory={part}", "-DincludeScope=runtime"]
        environ = {"MAVEN_OPTS": QUICK_START, **os.environ}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=FETCH_S_MAX)
        if done.returncode:
            raise FetchError(f"Maven could not fetch the jars: {(done.stdout + done.stderr)[-500:]}")
        shutil.rmtree(jars, ignore_errors=True)
        part.rename(jars)
