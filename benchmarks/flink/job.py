"""The job of `benchmarks.flow` on a released Flink: mini clusters in one JVM that runs `flink/Counting.java`.

The jars lie in ``.cache/flink-benchmark`` of the checkout; where they are missing Maven fetches them once
(38 jars, 63 MB).
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.common import maven
from benchmarks.common.maven import NoJarsError, jars

VERSION = "2.2.1"
HERE = Path(__file__).parent
CACHE = maven.CACHE / "flink-benchmark"
COMPILE_S_MAX = 120
FLAGS = ["-Xmx1g"]
OPENED = ["java.lang", "java.util", "java.net", "java.time"]


class NoFlinkError(Exception):
    """There is no Java, no Maven, or no jar: the message says which."""


class FlinkJob:
    """``with FlinkJob() as flink``: one JVM for all runs, so that a round to warm up does warm it up.

    Raises:
        NoFlinkError: it cannot be had.
    """

    def __enter__(self) -> Self:
        opens = [word for package in OPENED for word in ("--add-opens", f"java.base/{package}=ALL-UNNAMED")]
        command = ["java", *FLAGS, *opens, "-cp", classpath(), "Counting"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def run(
        self, folder: str, *, records: int, keys: int, parallelism: int, interval_ms: int, fails: bool = False
    ) -> dict[str, Any]:
        """seconds (first to last record), cpu_s (of the JVM), checkpoints_ms, recovery_ms (if it fails)."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        words = [records, keys, parallelism, interval_ms, str(fails).lower(), folder]
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("the JVM of the Flink job ended: run it by hand to see why")
        found: dict[str, Any] = json.loads(answer)
        return found


def classpath() -> str:
    """Of our compiled job and Flink, fetched and compiled if need be."""
    if shutil.which("javac") is None:
        raise NoFlinkError("it needs a Java 17 compiler (javac) on the PATH")
    library, classes = _jars(), CACHE / "classes"
    source = HERE / "Counting.java"
    made = classes / "Counting.class"
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        command = ["javac", "-nowarn", "-cp", f"{library}/*", "-d", str(classes), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_S_MAX)
        assert done.returncode == 0, done.stderr[-4000:]
    return f"{classes}:{library}/*"


def _jars() -> Path:
    try:
        return jars(HERE / "pom.xml", CACHE / "lib", f"flink-connector-files-{VERSION}.jar")
    except NoJarsError as error:
        raise NoFlinkError(str(error)) from error
