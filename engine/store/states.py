"""Which act is legal in which state, for streams and for transactions: two tables, read by everybody.

The controller asks ``after_stream`` and ``after_transaction`` before it acts, and the refusals they raise
list what would have been legal, from the same table. The upstream controller walks through CREATING,
SCALING, SEALING, ... because its steps are visible one by one (pravega.md A4); here each of those is one
atomic group of the log, so only the states in which a stream can be *seen* are left.
"""

from __future__ import annotations

from enum import Enum

from pravega_lab.errors import PravegaError


class StreamState(Enum):
    """What a stream is, as far as anybody can tell."""

    ACTIVE = "ACTIVE"
    SEALED = "SEALED"


class StreamAct(Enum):
    """What can be asked of a stream that exists."""

    UPDATE = "update"
    SCALE = "scale"
    TRUNCATE = "truncate"
    CREATE_TRANSACTION = "create a transaction on"
    SEAL = "seal"
    DELETE = "delete"


class TransactionState(Enum):
    """States of a transaction; the values are those of the wire (pravega.md A10)."""

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
"""(state, act) -> state afterwards (a deleted stream has none). What is not here is refused; A8."""

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
"""(state, act) -> state afterwards; A10. ABORTING is never seen here: an abort is one step."""


class IllegalMoveError(PravegaError):
    """The act is not legal in the present state; the message lists what is.

    Attributes:
        state, act: the pair that is not in the table.
    """

    def __init__(self, what: str, state: Enum, act: Enum, legal: list[Enum]) -> None:
        can = ", ".join(str(a.value).split(" ")[0] for a in legal) or "nothing"
        super().__init__(f"cannot {act.value} {what}: it is {state.name}, where one can: {can}")
        self.state = state
        self.act = act


def after_stream(what: str, state: StreamState, act: StreamAct) -> StreamState:
    """State of stream ``what`` after ``act``.

    Raises:
        IllegalMoveError: the table has no such move.
    """
    moved = STREAM_MOVES.get((state, act))
    if moved is None:
        raise IllegalMoveError(what, state, act, [a for s, a in STREAM_MOVES if s is state])
    return moved


def after_transaction(what: str, state: TransactionState, act: TransactionAct) -> TransactionState:
    """State of transaction ``what`` after ``act``.

    Raises:
        IllegalMoveError: the table has no such move.
    """
    moved = TRANSACTION_MOVES.get((state, act))
    if moved is None:
        raise IllegalMoveError(what, state, act, [a for s, a in TRANSACTION_MOVES if s is state])
    return moved
