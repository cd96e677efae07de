"""The table of the planted bugs of the store, which the modules `bugs` fill."""

from __future__ import annotations

from ..kernel.planted import Bug, Registering, Replacement, registering

__all__ = ["BUGS", "Replacement", "bug"]

BUGS: dict[str, Bug] = {}


def bug(name: str, scenario: str, checker: str) -> Registering:
    """Register a function that returns the replacements. Its docstring describes the bug."""
    return registering(BUGS, name, scenario, checker)
