"""Define the error of a state log that has no state yet, in the tree of `pravega_lab.errors`."""

from __future__ import annotations

from pravega_lab.errors import PravegaError


class NoStateYetError(PravegaError):
    """Raised when the log is empty: its creator is still at work, or died before it wrote the first state."""
