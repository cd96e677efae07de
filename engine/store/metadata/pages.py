"""Pages of a list of names (pravega.md D7, E3-11).

Lists are in the order of names. A page carries a token, which is the last name in it. The page after the
last one is empty and repeats the token, which is how the official clients notice the end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

PAGE_LENGTH_MAX = 1000


def page_of(
    names: Sequence[str], token: str, wanted: Callable[[str], bool] = lambda name: True
) -> tuple[list[str], str]:
    """Return the next names after ``token`` that are wanted, and the token of the next page."""
    page: list[str] = []
    for name in names[bisect_right(names, token) :]:
        if len(page) == PAGE_LENGTH_MAX:
            break
        if wanted(name):
            page.append(name)
    return page, page[-1] if page else token
