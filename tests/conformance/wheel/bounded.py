"""A limit for tests that wait in Rust code, where no signal arrives: `bounded` leaves them behind."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

TEST_TIMEOUT_S = 140


class WheelStalledError(Exception):
    """A call into the wheel did not come back: now and then one of its own threads panics, "must have
    connection" in segment/writer.rs, and nobody answers the call that waits for it."""


def bounded(test: Callable[..., None]) -> Callable[..., None]:
    """The test in a thread of its own, which is left behind when it takes longer than ``TEST_TIMEOUT_S``."""

    @functools.wraps(test)
    def in_thread(**arguments: Any) -> None:
        done: Future[None] = Future()

        def run() -> None:
            try:
                done.set_result(test(**arguments))
            except BaseException as error:  # a Rust panic and pytest's own outcomes are no Exception
                done.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        try:
            done.result(TEST_TIMEOUT_S)
        except TimeoutError as error:
            if done.done():
                raise
            raise WheelStalledError(f"{test.__name__} still runs after {TEST_TIMEOUT_S} s") from error

    return in_thread
