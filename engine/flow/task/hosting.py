"""Where subtasks run and how messages travel: the interfaces, and their versions for one process.

The simulation and the cluster have versions of their own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from pravega_lab.portable.waiting import wait

from ..elements import Barrier, SubtaskId
from ..errors import StuckSubtaskError
from .channels import Deliver

if TYPE_CHECKING:
    from .deployment import Deployer, RestorePlan


STOP_S = 180.0
"""How long an attempt may run on after it was cancelled. Source: Flink's ``task.cancellation.timeout``."""


class Running(Protocol):
    """An attempt that was started."""

    async def stop(self) -> None:
        """Cancel the attempt, and return when nothing of it runs any more.

        Raises:
            StuckSubtaskError: the attempt has not ended in time.
        """


class TaskHost(Protocol):
    """Starts attempts of subtasks."""

    def start(self, name: str, coro: Coroutine[Any, Any, None]) -> Running:
        """Run ``coro``, the life of one attempt; ``name`` is for logs."""

    def take_turn(self) -> asyncio.Future[None] | None:
        """Return a future that is done when the caller, an attempt, may process another element.

        The caller may set it, too. None: after everything that is ready now has run.
        """


class TaskHandle(Protocol):
    """What the job master has of an attempt: `subtask.Subtask`, or its proxy for another process.

    No method waits.
    """

    @property
    def attempt(self) -> int:
        """Return the number of the attempt."""

    def trigger_checkpoint(self, barrier: Barrier) -> None:
        """Begin a checkpoint in the subtask."""

    def notify_complete(self, checkpoint_id: int) -> None:
        """Notify the subtask that a checkpoint is complete."""

    def notify_aborted(self, checkpoint_id: int, latest_id: int) -> None:
        """Notify the subtask that a checkpoint was aborted; ``latest_id`` is the newest complete one."""

    def handle_event(self, operator_id: str, event: Any) -> None:
        """Pass an event of an operator coordinator to its operator."""

    def fail(self, error: BaseException) -> None:
        """Fail the subtask with ``error``."""

    def sample(self, now_ms: int) -> None:
        """Let the subtask report throughput and channel contents to its observer."""


class TaskDeployer(Protocol):
    """Creates attempts: in this process (`deployment.Deployer`), or in others."""

    def deploy(
        self, attempts: Mapping[SubtaskId, int], plan: RestorePlan
    ) -> Mapping[SubtaskId, tuple[TaskHandle, Coroutine[Any, Any, None]]]:
        """Create the attempts of these subtasks, and return each with the coroutine that is its life.

        The subtasks are whole regions: no channel leads to a subtask that is not among them.
        The coroutine ends with the attempt; cancelling it ends the attempt first.
        """


class Home(Protocol):
    """A place other than this event loop for all subtasks of a job."""

    def deployer(self, local: Deployer) -> TaskDeployer:
        """Return what creates attempts there. ``local`` has the graph, the gateway and the observer."""


class _LocalTask:
    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task
        self._is_stuck = False

    async def stop(self) -> None:
        self._task.cancel()
        if not self._task.done() and not self._is_stuck:
            await wait([self._task], timeout=STOP_S)
        if not self._task.done():
            self._is_stuck = True
            raise StuckSubtaskError(
                f"{self._task.get_name()} has not ended {STOP_S:g} s after it was cancelled. Its code "
                "ignores cancellations, and it may still write: end the process"
            )
        if not self._task.cancelled():
            self._task.exception()  # it was reported; asyncio need not say it again


class Turns:
    """Gives turns to the subtasks of one event loop, one in each iteration of the loop.

    An iteration runs everything that is ready. If each subtask processed a batch in every iteration, what a
    thread or a socket has delivered would wait for a batch of every subtask.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_giving = False

    def next(self) -> asyncio.Future[None]:
        """Return a future that is done when the caller's turn has come."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.append(turn)
        if not self._is_giving:
            self._is_giving = True
            loop.call_soon(self._give, loop)
        return turn

    def _give(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # set or cancelled otherwise
                turn.set_result(None)
                break
        self._is_giving = bool(self._waiting)
        if self._is_giving:
            loop.call_soon(self._give, loop)


class LocalHost:
    """Runs each attempt as a task of the running loop."""

    def __init__(self) -> None:
        self._turns = Turns()

    def take_turn(self) -> asyncio.Future[None]:
        """Return the turn of the caller; see `Turns`."""
        return self._turns.next()

    def start(self, name: str, coro: Coroutine[Any, Any, None]) -> Running:
        """Start the task of an attempt."""
        return _LocalTask(asyncio.get_running_loop().create_task(coro, name=name))


class LocalWire:
    """Delivers data at once and calls in the loop's next turn. It loses nothing."""

    def data(self, lane: str, deliver: Deliver, *args: object) -> None:
        """Deliver at once."""
        deliver(*args)

    def call(self, lane: str, deliver: Deliver, *args: object, may_be_lost: bool = False) -> None:
        """Deliver in the loop's next turn."""
        asyncio.get_running_loop().call_soon(deliver, *args)
