"""A picture that is made once, of what is known: an SVG where it can be seen, and the same in words.

It needs no kernel, no JavaScript and no widget: notebooks, pages and mail show it alike.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from pravega_lab.widgets.picture import Picture


class Drawing:
    """An SVG with its text alternative.

    Args:
        picture: What is drawn; its title is the short name for a screen reader.
        words: The same in words, a line each: shown where no picture can be, and the description in the SVG.
    """

    def __init__(self, picture: Picture, words: list[str]) -> None:
        self.words = list(words)
        description = f"</title>\n<desc>{escape(chr(10).join(self.words))}</desc>"
        self.svg = picture.svg().replace("</title>", description, 1)

    def save(self, path: str | Path) -> Path:
        """Write the SVG; returns its path."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.svg, encoding="utf-8")
        return path

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return "\n".join(self.words)
