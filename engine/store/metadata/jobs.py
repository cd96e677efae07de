"""Calls that take several steps, so that other calls and appends continue in between: deletions of much.

A job is a generator. Each ``yield`` ends a step and receives the time of the next one. The return value is
the response. The first step runs within the call, and each further step in a tick of the controller.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator

from google.protobuf.message import Message

from pravega_lab.errors import PravegaError

from .metadata import Metadata
from .replies import Answer, RpcError, Waiting

Steps = Generator[None, int, Message]

Release = Callable[[Message | PravegaError], Answer | Waiting]
"""Turns the response or the error of a call into what the caller receives once it is on disk."""


class Jobs:
    """The jobs that have begun, each with the handle that its caller waits on. They take turns."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        self._waiting: deque[tuple[Steps, Release, Waiting]] = deque()

    @property
    def are_waiting(self) -> bool:
        """Return whether a job has more steps."""
        return bool(self._waiting)

    def begin(self, steps: Steps, release: Release) -> Answer | Waiting:
        """Run the first step of a job. Return its response, or a handle if there are more steps.

        Raises:
            RpcError: The job ended with an error that need not wait for the disk.
        """
        ended = _ended(lambda: next(steps))
        if ended is not None:
            return release(ended)
        handle = Waiting()
        self._waiting.append((steps, release, handle))
        return handle

    def step(self, now_ms: int) -> None:
        """Run the next step of the job that waits longest."""
        if not self._waiting:
            return None
        steps, release, handle = self._waiting.popleft()
        ended = _ended(lambda: steps.send(now_ms))
        if ended is None:
            self._waiting.append((steps, release, handle))
            return None
        try:
            outcome = release(ended)
        except RpcError as error:
            return handle.settle_with(error)
        if isinstance(outcome, Answer):
            return handle.settle_with(outcome)
        return outcome.add_done(handle.settle_with)


def _ended(step: Callable[[], None]) -> Message | PravegaError | None:
    try:
        step()
    except StopIteration as end:
        response: Message = end.value
        return response
    except PravegaError as error:
        return error
    return None
