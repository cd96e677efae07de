"""Names shortened to the room that a picture has for them."""

from __future__ import annotations


def common_start(names: list[str]) -> int:
    """Return the number of letters with which all ``names`` begin, cut back to the end of a word."""
    if len(names) < 2:
        return 0
    n = next((k for k, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1), 0)
    while n and names[0][n - 1].isalnum():
        n -= 1
    return n


def squeezed(name: str, n: int, common: int) -> str:
    """Return ``name`` in at most ``n`` letters.

    A longer name first loses its ``common`` leading letters, which all names share, then its middle.
    """
    text = name if len(name) <= n else name[common:]
    return text if len(text) <= n else f"{text[: n // 2]}…{text[len(text) - (n - 1) // 2 :]}"
