"""What lives exactly as long as a job: its state, its background tasks, and its stop-with-savepoint."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine

from pravega_lab.portable.waiting import wait

from ..checkpoint.pending import Request
from ..checkpoint.stop import StopState, StopWithSavepoint
from ..closing import CLOSING_S
from ..errors import IllegalStateError
from ..observer import JobStateChanged, Observer
from .job_state import JobState, check_move

_log = logging.getLogger(__name__)


class JobLife:
    """One job's state, its background tasks, and the stop-with-savepoint that is under way.

    ``over`` is set when the job is over. ``done`` is completed after everything that ran for the job has
    ended, too; ``failure`` is what it ended with.
    """

    def __init__(self, observer: Observer, now_ms: Callable[[], int]) -> None:
        self.state = JobState.CREATED
        self.failure: BaseException | None = None
        self.over = asyncio.Event()
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.stop: StopWithSavepoint | None = None
        self.stop_request: Request | None = None
        self.stop_ended: asyncio.Future[None] | None = None
        self._observer, self._now_ms = observer, now_ms
        self._background: list[asyncio.Task[None]] = []

    def move(self, state: JobState, reason: str = "") -> None:
        """Change the state and report it to the observer.

        Raises:
            IllegalStateError: the state cannot follow the present one.
        """
        check_move(self.state, state)
        self.state = state
        self._observer.observe(JobStateChanged(self._now_ms(), state.value, reason))

    def check_not_stopping(self) -> None:
        """Check that no stop-with-savepoint is under way.

        Raises:
            IllegalStateError: one is.
        """
        if self.is_stopping and not self.state.is_terminal:
            raise IllegalStateError(
                "a stop with a savepoint is under way: wait for its outcome before you ask for another one"
            )

    def begin_stop(self, stop: StopWithSavepoint) -> None:
        """Note that a stop-with-savepoint is under way.

        Raises:
            IllegalStateError: another one is.
        """
        self.check_not_stopping()
        self.stop, self.stop_ended = stop, asyncio.get_running_loop().create_future()

    def end_stop(self) -> None:
        """Complete ``stop_ended``: the subtasks of the job that stops have ended, well or not."""
        if self.stop_ended is not None and not self.stop_ended.done():
            self.stop_ended.set_result(None)

    @property
    def is_stopping(self) -> bool:
        """Return whether a stop-with-savepoint is under way whose outcome is not known yet."""
        return self.stop is not None and self.stop.state is not StopState.FINAL

    def in_background(self, coro: Coroutine[None, None, None], what: str) -> asyncio.Task[None]:
        """Run ``coro`` in a task that `join_background` waits for; ``what`` names it."""
        task = asyncio.get_running_loop().create_task(coro, name=f"master {what}")
        self._background = [t for t in self._background if not t.done()]
        self._background.append(task)
        return task

    async def join_background(self) -> None:
        """Wait for all background tasks but the calling one, also for those that start during the wait.

        Those that take longer than `CLOSING_S` are cancelled and logged: a store that does not answer must
        not keep the job from ending.
        """
        while pending := [t for t in self._background if not t.done() and t is not asyncio.current_task()]:
            _, late = await wait(pending, timeout=CLOSING_S)
            if late:
                names = ", ".join(task.get_name() for task in pending if task in late)
                _log.error("The job is over, and after %d s this still ran: %s", CLOSING_S, names)
                for task in pending:
                    task.cancel()
                return
