"""Stand-ins for classes of `threading` in a browser, on the page's event loop. See `threads`."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine, Sequence
from time import monotonic
from typing import Any, Self, TypeVar, cast

from pravega_lab.errors import BadInputError

T = TypeVar("T")

COLLECT_EVERY_S = 1.0
FULL_EVERY = 15


def run_here(call: Coroutine[Any, Any, T]) -> T:
    """Wait for a coroutine in a browser, while its event loop runs on, and return the result.

    Raises:
        BadInputError: This browser cannot suspend Python.
    """
    from pyodide.ffi import can_run_sync, run_sync  # type: ignore[import-not-found, unused-ignore]

    if not can_run_sync():
        call.close()
        raise BadInputError(
            "this browser cannot wait for a store in the page, because it does not suspend WebAssembly "
            "(JSPI): use Chromium, Chrome or Edge from version 137 on"
        )
    if gc.isenabled():
        gc.disable()
        _collect(1)
    result, error = run_sync(_outcome(call))
    if error is not None:
        raise error
    return cast(T, result)


async def _outcome(call: Coroutine[Any, Any, T]) -> tuple[T | None, BaseException | None]:
    """Return the result or the error of a call. The loop would report an error that leaves a task."""
    try:
        return await call, None
    except BaseException as error:
        return None, error


def _collect(nth: int) -> None:
    """Collect garbage from the event loop, now and again.

    In Pyodide 314.0.7 an automatic collection ends in a fatal error while a task is suspended, because
    CPython's incremental collector looks at stacks that are not there (Pyodide's issue 6464). A collection of
    the youngest generation or of all is safe.
    """
    gc.collect(2 if nth % FULL_EVERY == 0 else 0)
    asyncio.get_running_loop().call_later(COLLECT_EVERY_S, _collect, nth + 1)


class Event:
    """Stands in for ``threading.Event``."""

    def __init__(self) -> None:
        self._is_set = False
        self._waiting: list[asyncio.Future[None]] = []

    def is_set(self) -> bool:
        """Return whether it is set."""
        return self._is_set

    def set(self) -> None:
        """Set it, and wake all that wait."""
        self._is_set = True
        self.wake()

    def clear(self) -> None:
        """Let later calls of `wait` wait again."""
        self._is_set = False

    def wake(self) -> None:
        """Wake all that wait, whether it is set or not."""
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            _settle(one)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, at most ``timeout`` seconds. Return whether it is."""
        if not self._is_set:
            run_here(self._woken(timeout))
        return self._is_set

    async def _woken(self, timeout_s: float | None) -> None:
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()
        self._waiting.append(woken)
        timer = None if timeout_s is None else loop.call_later(max(timeout_s, 0.0), _settle, woken)
        try:
            await woken
        finally:
            if timer is not None:
                timer.cancel()
            if woken in self._waiting:
                self._waiting.remove(woken)


class Condition:
    """Stands in for ``threading.Condition``. Its lock does nothing: only who waits is interrupted."""

    def __init__(self) -> None:
        self._changed = Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def notify_all(self) -> None:
        """Let all that wait ask again."""
        self._changed.wake()

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait until something is so, at most ``timeout`` seconds. Return whether it is."""
        end = None if timeout is None else monotonic() + timeout
        while not predicate():
            left = None if end is None else end - monotonic()
            if left is not None and left <= 0:
                return False
            self._changed.wait(left)
        return True


class Thread:
    """Stands in for ``threading.Thread``: a task of the page's event loop that calls ``target``."""

    def __init__(
        self,
        target: Callable[..., object],
        name: str | None = None,
        daemon: bool | None = None,
        args: Sequence[Any] = (),
    ) -> None:
        self.name = name or "thread"
        self._target, self._args = target, args
        self._ended = Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, when the caller waits for something."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name=self.name)

    async def _run(self) -> None:
        try:
            self._target(*self._args)
        finally:
            self._ended.set()

    def is_alive(self) -> bool:
        """Return whether it has begun and not ended."""
        return self._task is not None and not self._ended.is_set()

    def join(self, timeout: float | None = None) -> None:
        """Wait until it has ended, at most ``timeout`` seconds."""
        self._ended.wait(timeout)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
