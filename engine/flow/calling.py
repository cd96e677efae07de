"""Call what a user or a connector has written: it may be async, and it may raise anything."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any


async def value_of(given: Any) -> Any:
    """Return what a call has returned, after waiting for it if it is awaitable."""
    return await given if isawaitable(given) else given


def begin(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function, and return what it returns: its result, or for `end` what to wait for.

    Raises:
        RuntimeError: the function raised `GeneratorExit`. asyncio would take it for the collection of the
            calling coroutine, and nothing would report it.
    """
    try:
        return function(*args)
    except GeneratorExit as error:
        raise RuntimeError(f"it raised GeneratorExit: {error}") from error


async def end(waits: Awaitable[Any]) -> Any:
    """Wait for what `begin` has returned. Raises as `begin` does."""
    caller = _running_task()
    try:
        return await waits
    except GeneratorExit as error:
        if _running_task() is not caller:  # this coroutine is collected
            raise
        raise RuntimeError(f"it raised GeneratorExit: {error}") from error


async def call(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function, which may be async, and return its result. Raises as `begin` does."""
    given = begin(function, *args)
    return await end(given) if isawaitable(given) else given


def _running_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs
        return None
