"""Define the errors of reader groups, in the tree of `pravega_lab.errors`."""

from __future__ import annotations

from pravega_lab.errors import Definite, NotFoundError, PravegaError, ProtocolError


class ReaderGroupNotFoundError(NotFoundError):
    """Raised when a reader group never existed or was deleted."""


class StateLogError(ProtocolError):
    """Raised when the state log of a group holds an update that does not fit the earlier ones."""


class ReinitializationRequiredError(PravegaError):
    """Raised when the group was reset, or the reader was declared offline. Create a new reader."""


class ReaderExistsError(PravegaError):
    """Raised when a reader of this id is online in the group. Close it, or declare it offline, first."""


class ConfigMismatchError(PravegaError):
    """Raised when the group exists with another configuration."""


class TooManyCheckpointsError(PravegaError):
    """Raised when as many checkpoints as the group allows wait for readers.

    The limit is ``max_outstanding_checkpoint_request`` of the group's configuration.
    """


class CheckpointFailedError(PravegaError):
    """Raised when a checkpoint was cleared or cancelled before every reader had reported."""


class CheckpointTimeoutError(PravegaError, TimeoutError):
    """Raised when readers have not reported for a checkpoint in time. The checkpoint is still in progress."""

    definite = Definite.UNKNOWN
