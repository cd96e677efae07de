"""Texts in the room that a picture has for them: they are shortened or left out, and never cut."""

from __future__ import annotations


def common_start(names: list[str]) -> int:
    """Return the number of letters with which all ``names`` begin, cut back to the end of a word."""
    if len(names) < 2:
        return 0
    n = next((k for k, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1), 0)
    while n and names[0][n - 1].isalnum():
        n -= 1
    return n


def first_fit(n: int, *texts: str) -> str:
    """Return the first of several texts that has at most ``n`` letters, or "": no text is cut."""
    return next((text for text in texts if len(text) <= n), "")


def short_name(name: str, n: int, common: int, number: int) -> str:
    """Return ``name`` in at most ``n`` letters: whole, without the ``common`` letters that all names begin
    with, or as its number in the order of joining.
    """
    return first_fit(n, name, name[common:], f"{number}.")


def placed(rooms: list[int], *forms: str) -> tuple[int, str]:
    """Return the first of several forms of a label that one of the lines has room for, and that line."""
    fits = ((line, text) for text in forms for line, n in enumerate(rooms) if len(text) <= n)
    return next(fits, (0, ""))


def newest(n: int, most: int, what: str) -> str:
    """Return what a picture of at most ``most`` of ``n`` things says, or "" if it has all of them."""
    return f"the newest {most:,} of {n:,} {what}" if n > most else ""
