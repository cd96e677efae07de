"""What can go wrong with a reader group, in the tree of `pravega_lab.errors`."""

from __future__ import annotations

from pravega_lab.errors import NotFoundError, PravegaError, ProtocolError


class ReaderGroupNotFoundError(NotFoundError):
    """There is no such reader group (any more)."""


class StateLogError(ProtocolError):
    """The state log of a group holds an update that does not fit what came before it."""


class NoStateYetError(PravegaError):
    """The state log is empty: the group is being created, or its creator died before it wrote."""


class ReinitializationRequiredError(PravegaError):
    """The reader is no longer part of its group: reset, or declared offline. Create a new reader."""


class ReaderExistsError(PravegaError):
    """A reader of this id is online in the group: close it, or declare it offline, first."""


class ConfigMismatchError(PravegaError):
    """The group is there with another configuration."""


class TooManyCheckpointsError(PravegaError):
    """As many checkpoints as the group allows wait for readers (``max_outstanding_checkpoint_request``)."""


class CheckpointFailedError(PravegaError):
    """The checkpoint was cleared or cancelled before every reader had reported."""
