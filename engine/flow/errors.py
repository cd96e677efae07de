"""Errors of the engine, on the project's tree.

Messages name the operator, subtask or checkpoint in the words of the field and say what can be done.
"""

from __future__ import annotations

from pravega_lab.errors import BadInputError, Definite, PravegaError


class JobError(PravegaError):
    """The job ended otherwise than it should."""


class InvalidJobGraphError(BadInputError):
    """A graph that can never run: a cycle, a uid twice, a parallelism above the key groups."""


class RestoreError(JobError):
    """The state does not fit the job; the message names the operator and what would let it through."""


class DamagedCheckpointError(JobError):
    """A checkpoint or savepoint that is no such thing, or is not whole; the message names the file."""


class SavepointError(JobError):
    """A savepoint could not be taken."""


class StopWithSavepointStoppingError(JobError):
    """The savepoint is there and good, but the job did not stop in order afterwards; ``path`` is the
    savepoint. Nothing restarts after this."""

    definite = Definite.YES

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class UserFunctionError(JobError):
    """A user's function raised; the message has operator, subtask, record, and the cause its traceback."""


class IllegalStateError(PravegaError, RuntimeError):
    """A call that the state of things does not allow; the message says which state it is in."""


class JobFailedError(JobError):
    """The job has failed and its restart strategy gave up; the cause is the last failure."""


class JobCancelledError(JobError):
    """The job was cancelled while somebody waited for something of it."""
