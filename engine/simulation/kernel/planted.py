"""The pieces of code that planted bugs replace, and how a run gets the right ones back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

Replacement = tuple[Any, str, Any]  # owner, name of the attribute, replacement

_REPLACED: list[Replacement] = []  # with what was there before


@contextmanager
def replaced(replacements: Sequence[Replacement]) -> Iterator[None]:
    """Replace attributes while the block runs, or until `withdraw` is called in it."""
    first = len(_REPLACED)
    try:
        for owner, attribute, wrong in replacements:
            _REPLACED.append((owner, attribute, getattr(owner, attribute)))
            setattr(owner, attribute, wrong)
        yield
    finally:
        _restore(_REPLACED[first:])
        del _REPLACED[first:]


def withdraw() -> None:
    """Put the right pieces back now. Calls of wrong ones that have begun go on to their end."""
    _restore(_REPLACED)


def _restore(replacements: Sequence[Replacement]) -> None:
    for owner, attribute, right in reversed(replacements):
        setattr(owner, attribute, right)
