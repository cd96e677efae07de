"""Errors of the engine in several processes."""

from __future__ import annotations

from pravega_lab.errors import BadInputError, PravegaError

from ..flow.errors import JobError


class FrameError(PravegaError):
    """Raised when bytes on a socket are not a frame of this protocol, or not one that is expected.

    The connection ends.
    """


class NotEnoughSlotsError(BadInputError):
    """Raised when so many workers can never run at a time. The message has both numbers."""


class WorkersNotStartedError(JobError):
    """Raised when not all workers have connected in time.

    The message says how many did, and what may help.
    """


class WorkerLostError(JobError):
    """Raised when a worker has ended or cannot be reached.

    All subtasks in the workers of its epoch have ended with it.
    """


class RemoteError(JobError):
    """Raised for an exception in a worker whose class is not loaded here, or needs more than a message.

    It has the class, message and traceback.
    """


class RemoteTracebackError(Exception):
    """The cause of an error that came from a worker: it has the traceback there, as text."""
