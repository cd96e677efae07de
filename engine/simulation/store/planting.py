"""How a bug is planted, and the table of all planted bugs. The modules `bugs` fill it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..kernel.planted import Replacement, replaced

__all__ = ["BUGS", "Bug", "Replacement", "bug"]


@dataclass(frozen=True)
class Bug:
    """A planted bug. ``scenario`` shows it soonest, and ``checker`` is one that has to report it."""

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


BUGS: dict[str, Bug] = {}


def bug(name: str, scenario: str, checker: str) -> Callable[[Callable[[], list[Replacement]]], None]:
    """Register a function that returns the replacements. Its docstring describes the bug."""

    def register(replacements: Callable[[], list[Replacement]]) -> None:
        what = " ".join((replacements.__doc__ or "").split())
        BUGS[name] = Bug(name, what, scenario, checker, replacements)

    return register
