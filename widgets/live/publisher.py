"""The thread that brings a view up to date: at most ten times a second, and only the latest state.

A browser has no threads. There, the event loop of the page does the same between cells.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from pravega_lab.portable.alone import IS_BROWSER

from .pace import PERIOD_MS, Pace
from .payload import Payload

ERRORS_MAX = 20


class Publisher:
    """Runs while a page shows the view. A page's hello starts it again.

    Args:
        produce: Returns the next update (the whole state when its argument is true), or ``None`` when
            nothing is new. Only the publisher's thread calls it.
        send: Sends an update. Any thread may call it.
        growing: Returns whether more can come. When not, the thread ends once the pages are up to date.
    """

    def __init__(
        self,
        produce: Callable[[bool], Payload | None],
        send: Callable[[int, Payload], None],
        growing: Callable[[], bool],
    ) -> None:
        self.errors: list[BaseException] = []
        self.sent = 0
        self.sent_bytes = 0
        self._produce, self._send, self._growing = produce, send, growing
        self._pace = Pace()
        self._lock = threading.Lock()
        self._snapshot_wanted = False
        self._closed = False
        self._seq = 0
        self._woken = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_ticking = False  # where there are no threads
        self._rest_sent = False

    def hello(self, page: str, seen: bool = True) -> None:
        """Note that a page shows the view and wants the whole state; ``seen``: that it is in sight there."""
        with self._lock:
            self._snapshot_wanted = True
            self._pace.heard(page, now_ms=_now_ms(), seen=seen)
            self._start()
        self._woken.set()

    def here(self, page: str, seen: bool = True) -> None:
        """Note that a page still shows the view; ``seen``: that it is in sight there."""
        with self._lock:
            self._pace.heard(page, now_ms=_now_ms(), seen=seen)
            self._start()

    def bye(self, page: str) -> None:
        """Note that a page no longer shows the view."""
        with self._lock:
            self._pace.left(page, now_ms=_now_ms())

    def answered(self, seq: int) -> None:
        """Note that a page has drawn update ``seq``."""
        with self._lock:
            self._pace.answered(seq, now_ms=_now_ms())

    def close(self) -> None:
        """End for good; return when the thread has ended."""
        self._closed = True
        self._woken.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(5)

    @property
    def running(self) -> bool:
        """Whether the thread runs."""
        return self._is_ticking or (self._thread is not None and self._thread.is_alive())

    def _start(self) -> None:
        if self._closed or self.running or not (self._snapshot_wanted or self._growing()):
            return
        self._rest_sent = False
        if IS_BROWSER:
            self._is_ticking = True
            asyncio.get_running_loop().call_soon(self._tick)
            return
        self._thread = threading.Thread(target=self._run, name="pravega-lab-view", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while self._step():
            self._woken.wait(_until_next_period_s())
            self._woken.clear()

    def _tick(self) -> None:
        if self._step():
            asyncio.get_running_loop().call_later(_until_next_period_s(), self._tick)

    def _step(self) -> bool:
        """Send what is due; return whether there is a next step. After False, `hello` starts it again."""
        while not self._closed:
            with self._lock:
                now_ms = _now_ms()
                wanted = self._pace.wanted(now_ms=now_ms)
                more = self._snapshot_wanted or self._growing()
                if not wanted or (not more and self._rest_sent):
                    self._thread, self._is_ticking = None, False
                    return False
                due = not more or self._pace.may_send(now_ms=now_ms)
            if due:
                self._publish()
            self._rest_sent = not more  # send the last state, and that no more will come
            if more:
                return True
        return False

    def _publish(self) -> None:
        with self._lock:
            everything, self._snapshot_wanted = self._snapshot_wanted, False
        try:
            payload = self._produce(everything)
            if payload is None:
                return
            self._seq += 1
            with self._lock:
                self._pace.sent(self._seq, now_ms=_now_ms())
            self._send(self._seq, payload)
            self.sent += 1
            self.sent_bytes += payload.n_bytes
        except Exception as error:  # a thread has no caller: View.errors shows it
            self.errors = [*self.errors, error][-ERRORS_MAX:]
            with self._lock:
                self._snapshot_wanted |= everything


def _now_ms() -> int:
    return int(time.monotonic() * 1000)


def _until_next_period_s() -> float:
    return PERIOD_MS / 1000 - time.monotonic() % (PERIOD_MS / 1000)
