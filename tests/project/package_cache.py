"""Installing out of uv's package cache, without a word to an index where the cache has everything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

UV = [sys.executable, "-m", "uv"]


def install(python: Path, *asked: str, cwd: Path, env: dict[str, str]) -> str:
    """Install packages with uv, and return where they came from: ``package cache`` or ``package index``.

    uv asks an index about each package that its cache has, and builds again what the index reports as
    changed. Offline it takes what is there. What the cache lacks fails at once, and is then fetched.

    Raises:
        subprocess.CalledProcessError: The packages could not be installed with the index either.
    """
    command = [*UV, "pip", "install", "-q", "--python", str(python)]
    offline = subprocess.run(
        [*command, "--offline", *asked], cwd=cwd, env=env, stderr=subprocess.DEVNULL, check=False
    )
    if offline.returncode == 0:
        return "package cache"
    subprocess.run([*command, *asked], cwd=cwd, env=env, check=True)
    return "package index"
