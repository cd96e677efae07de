"""Errors about operations of which nobody knows whether they happened."""

from __future__ import annotations

from copy import copy

from pravega_lab.errors import Definite, PravegaError


def uncertain(error: PravegaError, why: str) -> PravegaError:
    """Return a copy of the error whose ``definite`` is UNKNOWN. Its message ends with the reason."""
    changed = copy(error)
    changed.args = (f"{error}. {why}",)
    changed.definite = Definite.UNKNOWN
    return changed
