"""Distinguish a task that is cancelled from a call that raised ``CancelledError`` by itself.

Code of users and of storage libraries may await a future that another part of the program cancels. The error
that they raise then is no request to the task that called them.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from traceback import walk_tb

from pravega_lab.errors import PravegaError
from pravega_lab.portable.waiting import is_being_cancelled


def is_request_to_end(error: BaseException) -> bool:
    """Return whether the error is a request to the current task to end."""
    return isinstance(error, asyncio.CancelledError) and is_being_cancelled()


def is_interrupt(error: BaseException) -> bool:
    """Return whether the error comes from a signal, such as Ctrl-C, and ends the program.

    A function of a job may call ``sys.exit()``. That fails its job, and not the program of which the job is a
    part. The handler of a signal runs in the main thread, within whatever runs there. Without a handler of
    Python, which a worker process does not have, a ``KeyboardInterrupt`` comes from a function.
    """
    if isinstance(error, KeyboardInterrupt):
        is_handled = signal.getsignal(signal.SIGINT) not in (signal.SIG_DFL, signal.SIG_IGN)
        return is_handled and threading.current_thread() is threading.main_thread()
    if not isinstance(error, SystemExit):
        return False
    handlers = [getattr(signal.getsignal(one), "__code__", None) for one in signal.valid_signals()]
    return any(frame.f_code in handlers for frame, _ in walk_tb(error.__traceback__))


def is_to_be_explained(error: BaseException) -> bool:
    """Return whether a function of a user that does not wait has raised this, and nobody said where."""
    return not (isinstance(error, PravegaError) or is_interrupt(error))


def ends_program(error: BaseException) -> bool:
    """Return whether the error ends the program, or collects a coroutine, and is no failure.

    Every other error is a failure, also one that is no `Exception`, such as a panic of an extension in Rust.
    """
    return isinstance(error, GeneratorExit) or is_interrupt(error)


def is_failure(error: BaseException) -> bool:
    """Return whether what a call raised is a failure of the call: neither this task nor the program ends."""
    return not (is_being_cancelled() or ends_program(error))


def message_of(error: BaseException) -> str:
    """Return the message of an error, or its class if it has none, such as a ``CancelledError``.

    An error of a user may fail to say its message. It must not keep the failure from being reported.
    """
    try:
        return str(error) or repr(error)
    except Exception:
        return f"{type(error).__name__}, whose message cannot be read"
