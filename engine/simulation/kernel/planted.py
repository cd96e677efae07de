"""Planted bugs: the pieces of code that they replace, and how a run gets the right ones back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Replacement = tuple[Any, str, Any]  # owner, name of the attribute, replacement

_REPLACED: list[Replacement] = []  # with what was there before


@dataclass(frozen=True)
class Bug:
    """A planted bug. ``scenario`` shows it soonest, and ``checker`` is one that has to report it or ""."""

    name: str
    what: str
    scenario: str
    checker: str
    replacements: Callable[[], list[Replacement]]

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Plant the bug while the block runs, or until the step at which the run's plan withdraws it."""
        with replaced(self.replacements()):
            yield


Registering = Callable[[Callable[[], list[Replacement]]], None]


def registering(bugs: dict[str, Bug], name: str, scenario: str, checker: str = "") -> Registering:
    """Return a decorator that puts a bug into ``bugs``.

    It decorates a function that returns the replacements, and whose docstring describes the bug.
    """

    def register(replacements: Callable[[], list[Replacement]]) -> None:
        what = " ".join((replacements.__doc__ or "").split())
        bugs[name] = Bug(name, what, scenario, checker, replacements)

    return register


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
