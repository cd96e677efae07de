"""Two tables of legal acts: what can be done with a stream, and with a transaction, in each state.

The controller calls ``after_stream`` and ``after_transaction`` before it acts. The errors that they raise
list the legal acts from the same tables. The upstream controller passes through CREATING, SCALING, SEALING
and more, because its steps are visible one by one (pravega.md A4). Here each of these is one atomic change
of the log, so only the states in which a stream can be *seen* are left.
"""

from __future__ import annotations

from enum import Enum

from pravega_lab.errors import PravegaError


class StreamState(Enum):
    """The state of a stream, as clients see it."""

    ACTIVE = "ACTIVE"
    SEALED = "SEALED"


class StreamAct(Enum):
    """What can be asked of an existing stream."""

    UPDATE = "update"
    SCALE = "scale"
    TRUNCATE = "truncate"
    CREATE_TRANSACTION = "create a transaction on"
    SEAL = "seal"
    DELETE = "delete"


class TransactionState(Enum):
    """The states of a transaction, with the values of the wire (pravega.md A10)."""

    UNKNOWN = 0
    OPEN = 1
    COMMITTING = 2
    COMMITTED = 3
    ABORTING = 4
    ABORTED = 5


class TransactionAct(Enum):
    """What can be done with a transaction."""

    PING = "ping"
    COMMIT = "commit"
    MERGE = "merge the segments of"
    ABORT = "abort"
    FORGET = "forget"


STREAM_MOVES: dict[tuple[StreamState, StreamAct], StreamState] = {
    (StreamState.ACTIVE, StreamAct.UPDATE): StreamState.ACTIVE,
    (StreamState.ACTIVE, StreamAct.SCALE): StreamState.ACTIVE,
    (StreamState.ACTIVE, StreamAct.TRUNCATE): StreamState.ACTIVE,
    (StreamState.ACTIVE, StreamAct.CREATE_TRANSACTION): StreamState.ACTIVE,
    (StreamState.ACTIVE, StreamAct.SEAL): StreamState.SEALED,
    (StreamState.SEALED, StreamAct.SEAL): StreamState.SEALED,
    (StreamState.SEALED, StreamAct.DELETE): StreamState.SEALED,
}
"""(state, act) -> the next state (a deleted stream has none). Other pairs are refused.

Source: pravega.md A8.
"""

_T = TransactionState
_A = TransactionAct
TRANSACTION_MOVES: dict[tuple[TransactionState, TransactionAct], TransactionState] = {
    (_T.OPEN, _A.PING): _T.OPEN,
    (_T.OPEN, _A.COMMIT): _T.COMMITTING,
    (_T.COMMITTING, _A.COMMIT): _T.COMMITTING,
    (_T.COMMITTED, _A.COMMIT): _T.COMMITTED,
    (_T.COMMITTING, _A.MERGE): _T.COMMITTED,
    (_T.OPEN, _A.ABORT): _T.ABORTED,
    (_T.ABORTED, _A.ABORT): _T.ABORTED,
    (_T.COMMITTED, _A.FORGET): _T.UNKNOWN,
    (_T.ABORTED, _A.FORGET): _T.UNKNOWN,
}
"""(state, act) -> the next state (pravega.md A10). ABORTING does not occur: here an abort is one step."""


class IllegalMoveError(PravegaError):
    """Raised when an act is not legal in the present state. The message lists the legal acts.

    Attributes:
        state, act: The pair that is not in the table.
    """

    def __init__(self, what: str, state: Enum, act: Enum, legal: list[Enum]) -> None:
        can = ", ".join(str(a.value).split(" ")[0] for a in legal) or "nothing"
        super().__init__(f"cannot {act.value} {what}: it is {state.name}, where one can: {can}")
        self.state = state
        self.act = act


def after_stream(what: str, state: StreamState, act: StreamAct) -> StreamState:
    """Return the state of stream ``what`` after ``act``.

    Raises:
        IllegalMoveError: The table has no such move.
    """
    moved = STREAM_MOVES.get((state, act))
    if moved is None:
        raise IllegalMoveError(what, state, act, [a for s, a in STREAM_MOVES if s is state])
    return moved


def after_transaction(what: str, state: TransactionState, act: TransactionAct) -> TransactionState:
    """Return the state of transaction ``what`` after ``act``.

    Raises:
        IllegalMoveError: The table has no such move.
    """
    moved = TRANSACTION_MOVES.get((state, act))
    if moved is None:
        raise IllegalMoveError(what, state, act, [a for s, a in TRANSACTION_MOVES if s is state])
    return moved
