"""Errors of the engine over several processes."""

from __future__ import annotations

from pravega_lab.engine.flow.errors import JobError
from pravega_lab.errors import BadInputError, PravegaError


class FrameError(PravegaError):
    """Bytes on a socket that are no frame of this protocol, or not what is expected there; the connection
    ends."""


class NotEnoughSlotsError(BadInputError):
    """Spark can never run so many workers at a time; the message has both numbers."""


class WorkersNotStartedError(JobError):
    """Not all workers have come in time; the message says how many did, and what may help."""


class WorkerLostError(JobError):
    """A worker is gone, or cannot be reached any more; all that ran in the workers has ended with it."""


class RemoteError(JobError):
    """An exception in a worker whose class is not known here: its class, message and traceback."""


class RemoteTracebackError(Exception):
    """The cause of an error that came from a worker: the traceback there, as text."""
