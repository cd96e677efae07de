"""A picture that is drawn once from known values: an SVG where it can be shown, and the same in words.

It needs no kernel, no JavaScript and no widget. Notebooks, pages and mail show it alike. Notebooks
receive it as HTML, because an SVG has no alternative text there.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from ..live.still import still
from ..svg.picture import Picture


class Drawing:
    """An SVG with its text alternative.

    Args:
        picture: The marks; its title is the short name for a screen reader.
        words: The same in words, one line each. They are shown where no picture can be, and describe the SVG.
    """

    def __init__(self, picture: Picture, words: list[str]) -> None:
        self.words = list(words)
        description = f"</title>\n<desc>{escape(chr(10).join(self.words))}</desc>"
        self.svg = picture.svg().replace("</title>", description, 1)

    def save(self, path: str | Path) -> Path:
        """Write the SVG and return its path."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.svg, encoding="utf-8")
        return path

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/html": still(self.svg, repr(self)), "text/plain": repr(self)}

    def __repr__(self) -> str:
        return "\n".join(self.words)
