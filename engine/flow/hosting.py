"""Where subtasks run and how messages travel: in this process. The simulation has its own of both."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pravega_lab.engine.flow.channels import Deliver
from pravega_lab.engine.flow.elements import Barrier, SubtaskId
from pravega_lab.engine.flow.graph import JobVertex

if TYPE_CHECKING:
    from pravega_lab.engine.flow.deployment import Deployer, RestorePlan


class Running(Protocol):
    """An attempt that was started."""

    async def stop(self) -> None:
        """Cancel it; return when nothing of it runs any more."""


class TaskHost(Protocol):
    """Starts attempts of subtasks."""

    def start(self, name: str, coro: Coroutine[Any, Any, None]) -> Running: ...


class TaskHandle(Protocol):
    """What the job master has of an attempt: `subtask.Subtask` itself, or what stands for one elsewhere. None
    of these waits."""

    @property
    def attempt(self) -> int: ...

    def trigger_checkpoint(self, barrier: Barrier) -> None: ...

    def notify_complete(self, checkpoint_id: int) -> None: ...

    def notify_aborted(self, checkpoint_id: int, latest_id: int) -> None: ...

    def handle_event(self, operator_id: str, event: Any) -> None: ...

    def fail(self, error: BaseException) -> None: ...

    def sample(self, now_ms: int) -> None: ...


class TaskDeployer(Protocol):
    """Makes attempts: here (`deployment.Deployer`), or in other processes."""

    def deploy(
        self, vertices: Sequence[JobVertex], attempts: Mapping[SubtaskId, int], plan: RestorePlan
    ) -> Mapping[SubtaskId, tuple[TaskHandle, Coroutine[Any, Any, None]]]:
        """Each with the coroutine that is its life: it ends with the attempt, and ends it when cancelled."""


class Home(Protocol):
    """A place other than this event loop for all of a job's subtasks."""

    def deployer(self, local: Deployer) -> TaskDeployer:
        """``local`` has the graph, the gateway to the master and the observer."""


class _LocalTask:
    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    async def stop(self) -> None:
        self._task.cancel()
        if not self._task.done():
            await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # it was reported; asyncio need not say it again


class LocalHost:
    """Tasks of the running loop."""

    def start(self, name: str, coro: Coroutine[Any, Any, None]) -> Running:
        return _LocalTask(asyncio.get_running_loop().create_task(coro, name=name))


class LocalWire:
    """Delivers at once (data) or in the loop's next turn (calls); loses nothing."""

    def data(self, lane: str, deliver: Deliver, *args: object) -> None:
        deliver(*args)

    def call(self, lane: str, deliver: Deliver, *args: object, may_be_lost: bool = False) -> None:
        asyncio.get_running_loop().call_soon(deliver, *args)
