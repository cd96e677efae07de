"""Every error of the project: one tree, and each says whether the thing happened.

``definite`` answers the question that a retry has to ask first:

* ``NO``: it did not happen. Trying again is safe.
* ``YES``: it happened, or is already so. Trying again changes nothing or fails the same way.
* ``UNKNOWN``: it may have happened, or a part of it; look it up before you try again.

A class says what is so as a rule; an error that knows better carries its own.

Messages state what was asked, what was found and the next step; the same values are attributes.
"""

from __future__ import annotations

from enum import Enum


class Definite(Enum):
    """Did the operation take effect?"""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class PravegaError(Exception):
    """Root of all errors that pravega_lab raises on purpose."""

    definite: Definite = Definite.NO


class BadInputError(PravegaError, ValueError):
    """Input that can never work; the message names it and the nearest thing that does."""


class ProtocolError(PravegaError):
    """The peer sent bytes that are no frame of Pravega's protocol; the connection is of no more use."""

    definite = Definite.UNKNOWN


class StoreUnavailableError(PravegaError):
    """No answer from the controller or a segment store within the time allowed."""

    definite = Definite.UNKNOWN


class NotFoundError(PravegaError):
    """The scope, stream, segment, table or transaction does not exist."""


class ScopeNotFoundError(NotFoundError):
    """There is no such scope."""


class StreamNotFoundError(NotFoundError):
    """There is no such stream."""


class SegmentNotFoundError(NotFoundError):
    """There is no such segment (any more)."""


class TransactionNotFoundError(NotFoundError):
    """There is no such transaction, or it was forgotten (24 h after it ended)."""


class AlreadyExistsError(PravegaError):
    """What was to be created is there already."""

    definite = Definite.YES


class NotEmptyError(PravegaError):
    """A scope that still holds streams, or a table that still holds keys, is not deleted."""


class StreamSealedError(PravegaError):
    """The stream is sealed: it can be read, not written."""


class StreamNotSealedError(PravegaError):
    """A stream has to be sealed before it is deleted."""


class SegmentSealedError(PravegaError):
    """The segment is sealed; its successors take the events."""


class TruncatedDataError(PravegaError):
    """Events at the wanted position were truncated away; ``resume_at`` is the first position left."""

    def __init__(self, message: str, resume_at: object = None) -> None:
        super().__init__(message)
        self.resume_at = resume_at


class EventTooLargeError(BadInputError):
    """An event above 8 MiB (pravega.md A11) on a path that cannot split it."""


class ConditionFailedError(PravegaError):
    """A conditional append, table update or attribute update met another state than expected."""


class ConditionUnknownError(ConditionFailedError):
    """The condition failed after an attempt whose answer was lost, and which may have happened."""

    definite = Definite.UNKNOWN


class AppendUnknownError(PravegaError):
    """The connection was lost with events on their way, and their segment was truncated away before the store
    could say which of them it had taken."""

    definite = Definite.UNKNOWN


class TransactionFailedError(PravegaError):
    """The transaction ended otherwise than asked: ``state`` says how (a `TransactionState`).

    ABORTED (also after a lease that ran out) or ABORTING: none of its events can be read. COMMITTING or
    COMMITTED (an abort that came late): they can. UNKNOWN: it never was, or its end is forgotten (24 h).
    """

    def __init__(self, message: str, state: object = None) -> None:
        super().__init__(message)
        self.state = state
        if isinstance(state, Enum) and state.name == "UNKNOWN":
            self.definite = Definite.UNKNOWN


class RefusedError(PravegaError):
    """The store refused in a way that has no class of its own; the message has its words."""


class AccessDeniedError(RefusedError):
    """The cluster does not take the credentials, or they do not allow this; nothing secret is repeated."""


class TlsError(PravegaError):
    """No safe connection: a certificate that cannot be trusted, or only one side speaks TLS."""


class ScaleRefusedError(RefusedError):
    """The controller refused to scale (pravega.md A5); the message names the rule."""


class StoreFullError(PravegaError):
    """The disk of the store is full: appends are refused, what is stored stays readable."""


class CorruptStoreError(PravegaError):
    """The log of the store is damaged in its middle; the message names file, offset and what to do."""


class SetupError(PravegaError):
    """The machine lacks something; the message says what, and the command that mends it."""


class SinkConflictError(PravegaError):
    """An exactly-once sink cannot tell, or cannot bring about, that a batch is in the stream once."""
