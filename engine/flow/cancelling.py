"""Distinguish a task that is cancelled from a call that raised ``CancelledError`` by itself.

Code of users and of storage libraries may await a future that another part of the program cancels. The error
that they raise then is no request to the task that called them.
"""

from __future__ import annotations

import asyncio


def is_being_cancelled() -> bool:
    """Return whether the current task was asked to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
