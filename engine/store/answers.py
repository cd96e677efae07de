"""What a call of the controller gives back: an answer now, or a handle for one that waits for the disk.

Decides one thing: nobody is told what a crash can still remove. An answer that rests on a record which is
not synced yet is held by a ``Waiting`` until it is. Refusals rest on records too, so they wait alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pravega_lab.errors import PravegaError


class RpcError(PravegaError):
    """A call that ends with a gRPC status other than OK.

    Attributes:
        code_name: name of the gRPC status code, ``"NOT_FOUND"`` for example (pravega.md D7, last paragraph).
        details: text for the human at the other end.
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
    """An outcome that is decided and not yet told; it is told once, when ``settle`` is called.

    ``add_done(callback)`` calls back with the ``Outcome``: at once if it is already settled.
    """

    __slots__ = ("_callbacks", "_held", "outcome")

    def __init__(self, held: Outcome) -> None:
        self._held = held
        self._callbacks: list[Callable[[Outcome], None]] = []
        self.outcome: Outcome | None = None

    def add_done(self, callback: Callable[[Outcome], None]) -> None:
        """Call ``callback`` with the outcome as soon as it may be told."""
        if self.outcome is None:
            self._callbacks.append(callback)
        else:
            callback(self.outcome)

    def settle(self, failure: BaseException | None = None) -> None:
        """Tell the held outcome, or UNAVAILABLE when the store failed before it was safe."""
        if self.outcome is not None:
            return
        self.outcome = self._held if failure is None else _unavailable(failure)
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self.outcome)


def _unavailable(failure: BaseException) -> RpcError:
    return RpcError(
        "UNAVAILABLE", f"the store stopped before this was on disk ({failure}); ask again after a restart"
    )
