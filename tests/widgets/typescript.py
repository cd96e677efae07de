"""The TypeScript of a view as text, for tests that compare its tables and words with those in Python."""

from __future__ import annotations

from pathlib import Path

WIDGETS = Path(__file__).parents[2] / "widgets"


def typescript_of(view: str) -> str:
    """Return the sources of a view, one after another."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((WIDGETS / view).rglob("*.ts")))
