"""A ``python3`` without pravega_lab, as Spark finds it on the ``PATH`` where no environment is activated."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]

_SCRIPT = """#!/bin/sh
PYTHONPATH=$(printf %s "$PYTHONPATH" | tr : '\\n' | grep -v {ours} | paste -sd: -)
export PYTHONPATH
exec {python} -S "$@"
"""


def make_other_python(folder: Path) -> Path:
    """Write ``folder/python3``, which runs the base interpreter without installed packages, and return it."""
    # The attribute is that of CPython's venv module; outside an environment it is sys.executable.
    base = getattr(sys, "_base_executable", sys.executable)
    program = folder / "python3"
    program.write_text(_SCRIPT.format(ours=shlex.quote(f"^{ROOT}"), python=shlex.quote(base)))
    program.chmod(0o755)
    return program
