"""Compile our Java programs against released jars, once per checkout, also when several processes ask."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

COMPILE_S_MAX = 120


def compiled(sources: Iterable[Path], library: Path, logback: str = "") -> Path:
    """Return a folder beside ``library``, a folder of jars: the classes of ``sources`` and a ``logback.xml``.

    A change of a source, or of the text ``logback``, makes a new folder in place of the old one. Processes
    that ask at the same time wait for the first one.
    """
    ordered = sorted(sources)
    texts = [logback.encode(), *(path.read_bytes() for path in ordered)]
    digest = hashlib.sha256(b"\0".join(texts)).hexdigest()[:12]
    classes = library.parent / f"classes-{digest}"
    with (library.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not classes.exists():
            made = library.parent / f"making-{digest}"
            shutil.rmtree(made, ignore_errors=True)
            command = ["javac", "-nowarn", "-cp", f"{library}/*", "-d", str(made), *map(str, ordered)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_S_MAX)
            assert done.returncode == 0, done.stderr[-4000:]
            (made / "logback.xml").write_text(logback)
            for old in library.parent.glob("classes-*"):
                shutil.rmtree(old)
            made.rename(classes)
    return classes
