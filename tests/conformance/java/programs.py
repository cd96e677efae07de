"""Our own Java programs in this folder, compiled against the jars of a released Pravega 0.13.0 and run.

Skips, in words, where there is no Java compiler or the jars cannot be had.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self

import pytest

from tests.conformance.compiled import compiled
from tests.conformance.real_pravega import LOGBACK as LOGBACK_OF_SERVER
from tests.conformance.real_pravega import NoRealPravegaError, jars

SOURCES = Path(__file__).parent
# Standard output is for answers.
LOGBACK = LOGBACK_OF_SERVER.replace("<encoder>", "<target>System.err</target><encoder>")


def java_command(program: str) -> list[str]:
    """How to run ``program``, the full name of a class under `java/`. Skips the test if that cannot be."""
    try:
        classes, library = _classes()
    except NoRealPravegaError as error:
        why = f"NOT COMPARED WITH THE JAVA CLIENT: {error}"
        print(why, file=sys.stderr)
        pytest.skip(why)
    flags = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "--add-opens", "java.base/java.nio=ALL-UNNAMED"]
    flags.append(f"-Dlogback.configurationFile=file:{classes}/logback.xml")
    return ["java", *flags, "-cp", f"{classes}:{library}", program]


def run_java(program: str, *args: str, given: str = "", timeout_s: float = 60) -> str:
    """What a program prints that is given ``given``."""
    done = subprocess.run(
        [*java_command(program), *args], input=given, capture_output=True, text=True, timeout=timeout_s
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


class JavaProgram:
    """A running program that is told lines and answers lines; ended when left."""

    def __init__(self, program: str, *args: str) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the object
        self._process = subprocess.Popen(
            [*java_command(program), *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def next_line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise AssertionError(f"the program ended: {self._errors.read().decode()[-4000:]}")
        return line.rstrip("\n")

    @contextmanager
    def within(self, limit_s: float) -> Iterator[None]:
        """The program is killed, so that it has no next line, if this is not left within ``limit_s``."""
        timer = threading.Timer(limit_s, self._process.kill)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def ask(self, line: str) -> str:
        self.tell(line)
        return self.next_line()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._errors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


@functools.cache
def _classes() -> tuple[str, str]:
    """Where our programs are, and the released client with all it needs."""
    if shutil.which("javac") is None:
        raise NoRealPravegaError("it needs a Java 17 compiler (javac) on the PATH")
    library = jars()
    return str(compiled(SOURCES.rglob("*.java"), library, LOGBACK)), f"{library}/*"
