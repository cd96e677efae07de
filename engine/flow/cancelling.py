"""Distinguish a task that is cancelled from a call that raised ``CancelledError`` by itself.

Code of users and of storage libraries may await a future that another part of the program cancels. The error
that they raise then is no request to the task that called them.
"""

from __future__ import annotations

import asyncio


def cancellations() -> int:
    """Return how often the current task was asked to end; 0 outside of a task."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # the loop has ended, and the calling coroutine is collected
        return 0
    return 0 if task is None else task.cancelling()


def is_request_to_end(error: BaseException) -> bool:
    """Return whether the error is a request to the current task to end."""
    return isinstance(error, asyncio.CancelledError) and is_being_cancelled()


def is_being_cancelled() -> bool:
    """Return whether the current task was asked to end."""
    return cancellations() > 0


def message_of(error: BaseException) -> str:
    """Return the message of an error, or its class if it has none, such as a ``CancelledError``."""
    return str(error) or repr(error)
