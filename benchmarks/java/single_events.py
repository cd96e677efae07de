"""The released Java client for `benchmarks.per_event`: compiled and run from ``java/SingleEvents.java``."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.conformance.real_pravega import NoRealPravegaError, jars

SOURCE = Path(__file__).parent / "SingleEvents.java"
FLAGS = ["-Xmx1g", "--add-opens", "java.base/java.nio=ALL-UNNAMED"]
QUIET = '<configuration><root level="OFF"/></configuration>'


@contextmanager
def java_client() -> Iterator[list[str]]:
    """The command that runs the program. Raises `NoRealPravegaError` where that cannot be."""
    if shutil.which("javac") is None:
        raise NoRealPravegaError("it needs a Java 17 compiler (javac) on the PATH")
    library = f"{jars()}/*"
    with tempfile.TemporaryDirectory() as classes:
        subprocess.run(["javac", "-nowarn", "-cp", library, "-d", classes, str(SOURCE)], check=True)
        logging = Path(classes) / "logback.xml"
        logging.write_text(QUIET)
        logback = f"-Dlogback.configurationFile=file:{logging}"
        yield ["java", *FLAGS, logback, "-cp", f"{classes}:{library}", "SingleEvents"]


def seconds_of_java(
    command: Sequence[str], uri: str, scope: str, numbers: Sequence[int], streams: Sequence[str]
) -> tuple[float, float, float]:
    """Return the seconds to write the last stream, and to read it with one reader and with eight.

    The JVM warms up with the streams before. ``numbers``: of events, of bytes per event, and of keys.
    """
    call = [*command, uri, scope, *map(str, numbers), *streams]
    done = subprocess.run(call, check=True, capture_output=True, text=True, timeout=600)
    written, one, eight = map(float, done.stdout.splitlines()[-1].split())
    return written, one, eight
