"""Waiting for several things at once, in an order that is the same on every Python.

asyncio's `gather`, `wait`, `wait_for` and `shield` differ between versions of Python in the number of steps
that they take. A simulated run, whose seed decides about every step, then differs as well. The functions of
this module take the same steps everywhere: one for each input that ends, also if it had ended before, and one
for each waiter that is woken. The project uses them in place of asyncio's, in simulation and outside it.
`asyncio.sleep`, `asyncio.timeout`, `asyncio.Event` and `asyncio.Lock` take the same steps on every version,
and are used as they are.
"""

from __future__ import annotations

import asyncio
from asyncio import ALL_COMPLETED, FIRST_COMPLETED
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from typing import Any, Literal, TypeVar, overload

__all__ = [
    "ALL_COMPLETED",
    "FIRST_COMPLETED",
    "call_all",
    "cancel_all",
    "gather",
    "shield",
    "wait",
    "wait_for",
]

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
F = TypeVar("F", bound="asyncio.Future[Any]")


@overload
def gather(first: Awaitable[A], second: Awaitable[B], /) -> asyncio.Future[tuple[A, B]]: ...
@overload
def gather(*awaitables: Awaitable[T], return_exceptions: Literal[False] = ...) -> asyncio.Future[list[T]]: ...
@overload
def gather(*awaitables: Awaitable[T], return_exceptions: bool) -> asyncio.Future[list[T | BaseException]]: ...
def gather(*awaitables: Awaitable[Any], return_exceptions: bool = False) -> asyncio.Future[Any]:
    """Run awaitables together, and return a future of their results, in the order of the arguments.

    Cancelling the future cancels all that still run, and it ends when they have ended.

    Args:
        return_exceptions: Return errors and cancellations among the results. Otherwise the future fails with
            the first of them, and the others run on.
    """
    loop = asyncio.get_running_loop()
    if not awaitables:
        empty: asyncio.Future[Any] = loop.create_future()
        empty.set_result([])
        return empty
    # The same awaitable twice is one input.
    known = {awaitable: asyncio.ensure_future(awaitable) for awaitable in dict.fromkeys(awaitables)}
    return _Gathered(loop, [known[a] for a in awaitables], list(known.values()), return_exceptions)


class _Gathered(asyncio.Future[Any]):
    """The future of `gather`."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        results: list[asyncio.Future[Any]],
        inputs: list[asyncio.Future[Any]],
        return_exceptions: bool,
    ) -> None:
        super().__init__(loop=loop)
        self._results = results
        self._left = len(inputs)
        self._return_exceptions = return_exceptions
        self._is_cancelling = False
        for one in inputs:
            one.add_done_callback(self._ended)

    def cancel(self, msg: Any | None = None) -> bool:
        if self.done():
            return False
        # Not `any`, which would stop at the first.
        cancelled = [one.cancel(msg=msg) for one in dict.fromkeys(self._results)]
        self._is_cancelling |= any(cancelled)
        return any(cancelled)

    def _ended(self, one: asyncio.Future[Any]) -> None:
        self._left -= 1
        error = _error_of(one)
        if self.done():
            return
        if error is not None and not self._return_exceptions:
            self.set_exception(error)
        elif not self._left:
            if self._is_cancelling:
                # The waiting task sees the cancellation also where inputs ended in another way.
                self.set_exception(asyncio.CancelledError())
            else:
                self.set_result([_outcome(each) for each in self._results])


def _outcome(future: asyncio.Future[Any]) -> Any:
    error = _error_of(future)
    return future.result() if error is None else error


def _error_of(future: asyncio.Future[Any]) -> BaseException | None:
    """Return the error of a future that has ended, which marks it as seen; None if it has a result."""
    return asyncio.CancelledError() if future.cancelled() else future.exception()


async def wait(
    futures: Iterable[F],
    *,
    timeout: float | None = None,
    return_when: str = ALL_COMPLETED,
) -> tuple[set[F], set[F]]:
    """Wait for futures or tasks, and return those that ended and those that did not. None is cancelled.

    Args:
        timeout: Seconds to wait at most, or None. It raises nothing.
        return_when: ``ALL_COMPLETED`` or ``FIRST_COMPLETED``.

    Raises:
        ValueError: There is nothing to wait for, or ``return_when`` is neither of the two.
    """
    inputs = list(dict.fromkeys(futures))
    if not inputs:
        raise ValueError("wait() needs at least one future or task")
    if return_when not in (ALL_COMPLETED, FIRST_COMPLETED):
        raise ValueError(f"return_when is {return_when!r}: use ALL_COMPLETED or FIRST_COMPLETED")
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[None] = loop.create_future()
    timer = None if timeout is None else loop.call_later(timeout, _wake, waiter)
    left = 1 if return_when == FIRST_COMPLETED else len(inputs)

    def ended(_: asyncio.Future[Any]) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            if timer is not None:
                timer.cancel()
            _wake(waiter)

    for one in inputs:
        one.add_done_callback(ended)
    try:
        await waiter
    finally:
        if timer is not None:
            timer.cancel()
        for one in inputs:
            one.remove_done_callback(ended)
    done = {one for one in inputs if one.done()}
    return done, set(inputs) - done


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


async def wait_for(awaitable: Awaitable[T], timeout: float) -> T:
    """Return the result of ``awaitable``, which is cancelled after ``timeout`` seconds.

    A caller that is cancelled cancels it too. Both wait until it has ended. The caller then receives the
    cancellation, whatever the outcome is.

    Raises:
        TimeoutError: It did not end in time.
    """
    running = asyncio.ensure_future(awaitable)
    try:
        await wait([running], timeout=timeout)
    except asyncio.CancelledError:
        if not running.done():
            await _cancel(running)
        _error_of(running)  # no other code looks at it
        raise
    if running.done():
        return running.result()
    await _cancel(running)
    try:
        return running.result()
    except asyncio.CancelledError as cancelled:
        raise TimeoutError from cancelled


async def _cancel(running: asyncio.Future[Any]) -> None:
    """Cancel, and wait until it has ended."""
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    running.add_done_callback(lambda _: _wake(over))
    running.cancel()
    await over


async def call_all(*calls: Callable[[], Awaitable[object]]) -> None:
    """Await one call after the other, also after one that raises or is cancelled. Raise the last error."""
    async with AsyncExitStack() as stack:
        for call in reversed(calls):
            stack.push_async_callback(call)


async def cancel_all(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks, and wait until they have ended.

    Those of another loop are left alone. The end of `asyncio.run` has cancelled them, and a wait would have
    no end.
    """
    loop = asyncio.get_running_loop()
    tasks = tuple(task for task in tasks if task.get_loop() is loop)
    for task in tasks:
        task.cancel()
    await gather(*tasks, return_exceptions=True)


def shield(awaitable: Awaitable[T]) -> asyncio.Future[T]:
    """Return a future with the outcome of ``awaitable``, which runs on when the future is cancelled."""
    inner = asyncio.ensure_future(awaitable)
    if inner.done():
        return inner
    outer: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def inner_ended(_: asyncio.Future[T]) -> None:
        if outer.cancelled():
            _error_of(inner)  # no other code looks at it
        elif inner.cancelled():
            outer.cancel()
        elif (error := inner.exception()) is not None:
            outer.set_exception(error)
        else:
            outer.set_result(inner.result())

    def outer_ended(_: asyncio.Future[T]) -> None:
        inner.remove_done_callback(inner_ended)

    inner.add_done_callback(inner_ended)
    outer.add_done_callback(outer_ended)
    return outer


def cancellations() -> int:
    """Return how often the current task was asked to end; 0 outside of a task."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # the loop has ended, and the calling coroutine is collected
        return 0
    return 0 if task is None else task.cancelling()


def is_being_cancelled() -> bool:
    """Return whether the current task was asked to end."""
    return cancellations() > 0
