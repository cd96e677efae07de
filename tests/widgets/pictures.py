"""What tests ask of a static picture."""

from __future__ import annotations

import re


def drawn(svg: str) -> str:
    """Return a picture without its style, which names every colour that a dark page shows differently."""
    return re.sub(r"<style>[^<]*</style>", "", svg)
