"""What a call of the controller returns: a response at once, or a handle for one that waits for the
disk.

No client may learn what a crash can still remove. A response that rests on a record which is not synced yet
is held by a ``Waiting`` until it is. Refusals rest on records too, so they wait as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pravega_lab.errors import PravegaError


class RpcError(PravegaError):
    """Raised by a call that ends with a gRPC status other than OK.

    Attributes:
        code_name: Name of the gRPC status code, ``"NOT_FOUND"`` for example (pravega.md D7).
        details: Text for the person who made the call.
    """

    def __init__(self, code_name: str, details: str) -> None:
        super().__init__(f"{code_name}: {details}")
        self.code_name = code_name
        self.details = details


@dataclass(frozen=True, slots=True)
class Answer:
    """An encoded response message."""

    payload: bytes


Outcome = Answer | RpcError


class Waiting:
    """An outcome that is decided but not yet safe, or not decided yet.

    It is reported once, when ``settle`` or ``settle_with`` is called.
    """

    __slots__ = ("_callbacks", "_held", "outcome")

    def __init__(self, held: Outcome | None = None) -> None:
        self._held = held
        self._callbacks: list[Callable[[Outcome], None]] = []
        self.outcome: Outcome | None = None

    def add_done(self, callback: Callable[[Outcome], None]) -> None:
        """Call ``callback`` with the outcome as soon as it is safe, at once if it already is."""
        if self.outcome is None:
            self._callbacks.append(callback)
        else:
            callback(self.outcome)

    def settle(self, failure: BaseException | None = None) -> None:
        """Report the held outcome, or UNAVAILABLE if the store failed before the outcome was on disk."""
        assert self._held is not None or failure is not None
        self.settle_with(self._held if failure is None else _unavailable(failure))

    def settle_with(self, outcome: Outcome | None) -> None:
        """Report an outcome that was not known when the handle was made."""
        if self.outcome is not None:
            return
        self.outcome = outcome
        assert self.outcome is not None
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self.outcome)


def _unavailable(failure: BaseException) -> RpcError:
    return RpcError(
        "UNAVAILABLE", f"the store stopped before this was on disk ({failure}); ask again after a restart"
    )
