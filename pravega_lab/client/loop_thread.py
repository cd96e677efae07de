"""Run the event loop of the synchronous client: one daemon thread per process, started on first use.

A forked child inherits neither the thread nor its loop. `loop_thread` starts new ones there, and what the
parent has opened raises (`keep_to_this_process`). In a browser there is no thread: the caller is suspended
while the page's own loop runs (`pravega_lab.portable.threads`).
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent import futures
from concurrent.futures import CancelledError
from typing import Any, Generic, NoReturn, Protocol, TypeAlias, TypeVar
from weakref import WeakSet, finalize

from pravega_lab.errors import BadInputError, PravegaError
from pravega_lab.portable.alone import IS_BROWSER
from pravega_lab.portable.threads import run_here
from pravega_lab.portable.waiting import wait

T = TypeVar("T")
Undo: TypeAlias = Callable[[T], Coroutine[Any, Any, object] | None]
"""Takes back what a call returned."""

EXIT_S = 1.0
INTERRUPT_S = 5.0
FORK_S = 10.0


class _Call(Generic[T]):
    """Runs one coroutine on the loop, and lets one other thread wait for its end.

    This takes half as long as ``asyncio.run_coroutine_threadsafe``, which needs two futures and one more turn
    of the loop.
    """

    __slots__ = ("_call", "_error", "_leaving", "_result", "_task", "done")

    def __init__(self, call: Coroutine[Any, Any, T]) -> None:
        self._call = call
        self._error: BaseException | None = None
        self._task: asyncio.Task[None] | None = None
        self.done = threading.Lock()  # released at the end
        self.done.acquire()

    def begin(self) -> None:
        """Begin (called by the loop)."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        try:
            self._result = await self._call
        except BaseException as error:
            self._error = error
            if not isinstance(error, Exception | asyncio.CancelledError):
                raise
        finally:
            self.done.release()

    def leave(self, undo: Undo[T] | None, report: Callable[[], object]) -> None:
        """Cancel the coroutine, and call ``report`` when it has ended (called by the loop).

        A result that the coroutine returns all the same goes to ``undo`` before.
        """
        if self._task is None:  # the interrupt came before `begin`
            self.begin()
        assert self._task is not None
        loop = asyncio.get_running_loop()
        self._leaving = loop.create_task(self._leave(self._task, undo, report))
        # Not before its first step, which would leave the coroutine without an end.
        loop.call_soon(self._task.cancel)

    async def _leave(
        self, task: asyncio.Task[None], undo: Undo[T] | None, report: Callable[[], object]
    ) -> None:
        try:
            await wait([task])
            if self._error is None and undo is not None:
                undoing = undo(self._result)
                if undoing is not None:
                    await undoing
        finally:
            report()

    def outcome(self) -> T:
        """Return what the coroutine returned, or raise what it raised. Called once, after the end."""
        error, self._error = self._error, None
        if error is None:
            return self._result
        try:
            if isinstance(error, asyncio.CancelledError):
                raise CancelledError from error
            raise error
        finally:
            del error, self  # else they would keep each other alive


class _Wait:
    """Lets one other thread wait until the loop reports something, without a task."""

    __slots__ = ("_begin", "done", "is_good")

    def __init__(self, begin: Callable[[Callable[[bool], None]], None]) -> None:
        self._begin = begin
        self.is_good = False
        self.done = threading.Lock()  # released at the end
        self.done.acquire()

    def begin(self) -> None:
        """Begin (called by the loop)."""
        try:
            self._begin(self._end)
        except BaseException:
            self._end(False)
            raise

    def _end(self, is_good: bool) -> None:
        if self.done.locked():
            self.is_good = is_good
            self.done.release()


class Loop(Protocol):
    """Describes what the synchronous client needs of `LoopThread`."""

    def run(self, call: Coroutine[Any, Any, T], undo: Undo[T] | None = None) -> T:
        """Run ``call`` to its end and return its result.

        Args:
            undo: Takes back the result, on the loop, if an interrupt of the caller comes when the call has
                ended already. If it returns a coroutine, that is run, too. Without ``undo`` such a result is
                lost.
        """
        ...

    def wait_for(self, begin: Callable[[Callable[[bool], None]], None]) -> bool:
        """Have the loop call ``begin(report)``, wait until it reports, and return what it reports.

        Return False if the loop cannot be waited for like this, and `run` has to be used.
        """
        ...

    def begin(self, call: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Run ``call()`` without waiting for its end."""
        ...

    def call_soon(self, call: Callable[[], object]) -> None:
        """Have the loop run ``call``, without waiting for it."""
        ...


class PageLoop:
    """Uses the event loop of a page in a browser, with the interface of `LoopThread`."""

    def __init__(self) -> None:
        self._begun: set[asyncio.Task[object]] = set()

    def run(self, call: Coroutine[Any, Any, T], undo: Undo[T] | None = None) -> T:
        """See `Loop.run`. ``undo`` is not needed: the caller runs in the thread of the loop."""
        return run_here(call)

    def wait_for(self, begin: Callable[[Callable[[bool], None]], None]) -> bool:
        """Return False: the page's loop runs only what is awaited."""
        return False

    def begin(self, call: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """See `LoopThread.begin`."""
        task = asyncio.get_running_loop().create_task(call())
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)

    def call_soon(self, call: Callable[[], object]) -> None:
        """See `LoopThread.call_soon`."""
        asyncio.get_running_loop().call_soon(call)


class LoopThread:
    """Runs an asyncio loop in a daemon thread. Call `run` from any other thread."""

    def __init__(self) -> None:
        self._process_id = os.getpid()
        self._loop = new_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="pravega-client", daemon=True)
        self._thread.start()

    def run(self, call: Coroutine[Any, Any, T], undo: Undo[T] | None = None) -> T:
        """See `Loop.run`.

        An interrupt of the caller cancels the call. The interrupt is raised when the call has ended and
        ``undo`` has taken its result, or after `INTERRUPT_S`.
        """
        if threading.current_thread() is self._thread:
            call.close()
            raise RuntimeError(
                "the synchronous client was called from its own loop; use the Async classes there"
            )
        begun = _Call(call)
        try:
            self._loop.call_soon_threadsafe(begun.begin)
            begun.done.acquire()
        except BaseException:
            left = threading.Lock()
            left.acquire()
            self._loop.call_soon_threadsafe(begun.leave, undo, left.release)
            left.acquire(timeout=INTERRUPT_S)
            raise
        return begun.outcome()

    def wait_for(self, begin: Callable[[Callable[[bool], None]], None]) -> bool:
        """See `Loop.wait_for`. This takes half as long as `run`."""
        if threading.get_ident() == self._thread.ident:
            return False
        wait = _Wait(begin)
        self._loop.call_soon_threadsafe(wait.begin)
        wait.done.acquire()
        return wait.is_good

    def begin(self, call: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Run ``call()`` without waiting for its end, from any thread. In a forked child this does nothing.

        While the interpreter exits, it waits up to `EXIT_S`, because the loop's thread may stop at any time.
        """
        if os.getpid() != self._process_id:
            return
        future = asyncio.run_coroutine_threadsafe(call(), self._loop)
        if not threading.main_thread().is_alive():
            futures.wait([future], EXIT_S)

    def call_soon(self, call: Callable[[], object]) -> None:
        """Have the loop run ``call``, without waiting for it."""
        self._loop.call_soon_threadsafe(call)

    def halt(self, over: threading.Lock) -> None:
        """Halt the loop between two of its steps until ``over`` is released. Return when it has halted.

        A step that takes longer than `FORK_S` is not waited for, nor is one that calls this itself.
        """
        if threading.get_ident() == self._thread.ident:
            return
        halted = threading.Lock()
        halted.acquire()

        def wait_until_over() -> None:
            halted.release()
            over.acquire()

        self._loop.call_soon_threadsafe(wait_until_over)
        halted.acquire(timeout=FORK_S)


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a loop of uvloop, which is faster and sends large blocks without a copy, else one of asyncio."""
    try:
        import uvloop
    except ImportError:  # on Windows, for example
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


_by_process: dict[int, Loop] = {}
_making = threading.Lock()
_forking: dict[int, threading.Lock] = {}  # by the thread that forks; released in the parent after the fork


def loop_thread() -> Loop:
    """Return the loop thread of this process."""
    found = _by_process.get(os.getpid())
    if found is not None:
        return found
    with _making:
        if os.getpid() not in _by_process:  # no other thread was faster
            _by_process[os.getpid()] = PageLoop() if IS_BROWSER else LoopThread()
        return _by_process[os.getpid()]


class _OfParent:
    """Takes the place, in a forked child, of what uses connections of the parent process."""

    def __init__(self, kept: object, what: str) -> None:
        self._kept = kept  # its transports would leave the epoll set that the child shares with the parent
        self._what = what

    def __getattr__(self, name: str) -> Any:
        raise self._error()

    def __call__(self, *_: object) -> Any:
        raise self._error()

    def _error(self) -> PravegaError:
        return PravegaError(f"this {self._what} was opened before fork: open another one in this process")

    async def close(self) -> None:
        """Do nothing: only the parent closes its connections."""

    async def __aexit__(self, *_: object) -> None:
        """Do nothing, as `close`."""


_of_this_process: WeakSet[Any] = WeakSet()


def keep_to_this_process(owner: object) -> None:
    """Have all calls of ``owner`` raise in a forked child, where its connections are those of the parent.

    Its attributes ``_core`` and ``_add`` are replaced there, so that a call in this process needs no check.
    """
    _of_this_process.add(owner)


class OfThisProcess:
    """Refuses to be pickled: connections do not move to the process that a pickle is sent to."""

    def __reduce__(self) -> NoReturn:
        raise BadInputError(
            f"a {type(self).__name__} cannot be pickled, and so not be sent to another process: send the "
            "address of the store and names, and call connect(uri) there"
        )


def close_when_dropped(owner: object, close: Callable[[], Coroutine[Any, Any, None]]) -> finalize[..., Any]:
    """Call ``close`` on the loop when nothing refers to ``owner`` any more: it would keep its connections.

    Return what `finalize` does. The end of the program closes nothing: threads may still wait in calls.
    """
    closing = finalize(owner, loop_thread().begin, close)
    closing.atexit = False
    return closing


def _halt_before_fork() -> None:
    """Let no step of the loop be interrupted by the fork: the child would never get the locks that it holds.

    A step that imports a module holds some, and the child may import the same module.
    """
    loop = _by_process.get(os.getpid())
    if isinstance(loop, LoopThread):
        over = _forking[threading.get_ident()] = threading.Lock()
        over.acquire()
        loop.halt(over)


def _continue_after_fork() -> None:
    over = _forking.pop(threading.get_ident(), None)
    if over is not None:
        over.release()


def _forget_parent() -> None:
    global _making
    _making = threading.Lock()
    _by_process.clear()
    _forking.clear()
    for owner in list(_of_this_process):
        for name in {"_core", "_add"} & vars(owner).keys():
            setattr(owner, name, _OfParent(getattr(owner, name), type(owner).__name__))
    _of_this_process.clear()


if not IS_BROWSER:
    os.register_at_fork(
        before=_halt_before_fork, after_in_parent=_continue_after_fork, after_in_child=_forget_parent
    )
