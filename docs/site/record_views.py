"""Run tutorials and keep the rows of their views for the documentation site: ``record_views.py [NAME …]``.

Run it after a tutorial has other views than before. The notebooks themselves stay as they are.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from recorded_view import FOLDER

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 240


def pack(name: str, kept: Path) -> int:
    """Write the recordings of a folder as those of a tutorial, and return how many boards there are."""
    boards = [json.loads(path.read_text()) for path in sorted(kept.glob("*.json"))]
    if boards:
        FOLDER.mkdir(exist_ok=True)
        text = json.dumps(boards, separators=(",", ":")).encode()
        (FOLDER / f"{name}.json.gz").write_bytes(gzip.compress(text, mtime=0))
    return len(boards)


def record(name: str) -> int:
    """Run a tutorial, keep its views, and return how many boards it showed."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "kept"
        kept.mkdir()
        names = {"PRAVEGA_LAB_RECORDINGS": str(kept), "PRAVEGA_LAB_BARS": "off"}
        command = [sys.executable, "-m", "nbconvert", "--log-level=ERROR", "--to", "notebook", "--execute"]
        options = [f"--output-dir={folder}", f"--ExecutePreprocessor.timeout={TIMEOUT_S}"]
        path = ROOT / "notebooks" / f"{name}.ipynb"
        subprocess.run([*command, *options, str(path)], env={**os.environ, **names}, cwd=ROOT, check=True)
        return pack(name, kept)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or [path.stem for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]:
        print(f"{wanted}: {record(wanted)} boards", flush=True)
