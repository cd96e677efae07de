"""Deployments: attempts of subtasks on their way to workers and there, as the job master sees them.

A deployment has two steps, so that no element reaches a worker before the channel exists there. First every
worker creates its subtasks and reports that. Then all subtasks start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from ...flow.elements import Barrier, SubtaskId
from ...flow.subtask_states import SubtaskState
from ...flow.task.deployment import Deployer, RestorePlan
from ..errors import WorkerLostError
from ..wire.values import error_to_told
from .epoch import Epoch
from .placement import worker_of


class Deployment:
    """A deployment has attempts that start together, each in its worker.

    ``number`` identifies the deployment in calls to and from the workers. ``epoch`` is None until
    ``acquire`` has returned the workers. A subtask that does not end within ``cancel_timeout_s`` after its
    cancellation ends the epoch.
    """

    def __init__(
        self,
        acquire: Callable[[], Awaitable[Epoch]],
        cancel_timeout_s: float,
        local: Deployer,
        number: int,
        attempts: Mapping[SubtaskId, int],
        plan: RestorePlan,
        workers: int,
    ) -> None:
        self._acquire, self.cancel_timeout_s, self.number = acquire, cancel_timeout_s, number
        self.epoch: Epoch | None = None
        self._gateway, self._graph = local.gateway, local.graph
        self._attempts, self._plan = dict(attempts), plan
        self._workers = workers
        self.tasks = {
            id: RemoteSubtask(self, id, attempt, worker_of(local.graph.vertex(id.vertex), id, workers))
            for id, attempt in attempts.items()
        }
        self._waits_for = set(range(workers))
        self._made: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to send the attempts to the workers."""
        self._task = asyncio.get_running_loop().create_task(self._ship(), name=f"deployment {self.number}")

    async def _ship(self) -> None:
        try:
            self.epoch = epoch = await self._acquire()
            if epoch.is_over:  # the epoch may end before this turn of the loop
                raise WorkerLostError(f"epoch {epoch.number} ended before subtasks were sent there")
            for worker in range(self._workers):
                epoch.call(worker, "deploy", self.number, self._attempts, self._part(worker))
            for task in self.tasks.values():
                task.shipped()
            await self._made
        except Exception as error:
            self.fail(error)
            return
        for worker in range(self._workers):
            epoch.call(worker, "start", self.number)

    def _part(self, worker: int) -> RestorePlan:
        """Return the part of the plan that the subtasks of a worker restore."""
        here: dict[str, set[int]] = {}
        for id, task in self.tasks.items():
            if task.worker == worker:
                for operator in self._graph.vertex(id.vertex).operators:
                    here.setdefault(operator.operator_id, set()).add(id.index)
        states = {
            (operator, index): state
            for (operator, index), state in self._plan.states.items()
            if index in here.get(operator, ())
        }
        return replace(self._plan, states=states)

    def answered(self, worker: int, error: BaseException | None) -> None:
        """Note that a worker has created its subtasks, or could not."""
        self._waits_for.discard(worker)
        if self._made.done():
            return
        if error is not None:
            self._made.set_exception(error)
        elif not self._waits_for:
            self._made.set_result(None)

    def fail(self, error: BaseException) -> None:
        """End all attempts.

        The master receives one failure per region, because it counts each as a failure of the job.
        """
        if not self._made.done():
            self._made.cancel()
        left = dict(self.tasks)
        for region in self._graph.regions():
            ids = [id for id in region if id in left]
            if ids:
                task = left[ids[0]]
                self._gateway.state_changed(task.id, task.attempt, SubtaskState.FAILED, error)
        for task in left.values():
            task.has_ended()

    def abandon(self) -> None:
        """Cancel the deployment before a worker has received it."""
        if self._task is not None:
            self._task.cancel()


class RemoteSubtask:
    """Represent one attempt in a worker.

    It is a `hosting.TaskHandle`. Calls wait until the attempt was sent to the worker.
    """

    def __init__(self, deployment: Deployment, id: SubtaskId, attempt: int, worker: int) -> None:
        self.id, self.worker = id, worker
        self._deployment, self._attempt = deployment, attempt
        self._early: list[tuple[str, tuple[Any, ...]]] | None = []
        self._over = asyncio.Event()

    @property
    def attempt(self) -> int:
        """Return the number of the attempt, from 0."""
        return self._attempt

    async def live(self) -> None:
        """Wait until the attempt has ended. If this call is cancelled, it ends the attempt first."""
        try:
            await self._over.wait()
        except asyncio.CancelledError:
            await self._end()
            raise

    async def _end(self) -> None:
        deployment = self._deployment
        if deployment.epoch is None:
            deployment.abandon()
            self.has_ended()
        if self._over.is_set():
            return
        self._call("cancel")
        timeout_s = deployment.cancel_timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                await self._over.wait()
        except TimeoutError:
            assert deployment.epoch is not None
            deployment.epoch.end(
                WorkerLostError(f"{self.id} did not end within {timeout_s:g} s of being cancelled")
            )

    def shipped(self) -> None:
        """Send the calls that waited: the worker has received the attempt."""
        early, self._early = self._early or [], None
        for name, args in early:
            self._call(name, *args)

    def has_ended(self) -> None:
        """Note that the attempt has ended."""
        self._deployment.tasks.pop(self.id, None)
        self._over.set()

    def _call(self, name: str, *args: Any) -> None:
        if self._early is not None:
            self._early.append((name, args))
        elif self._deployment.epoch is not None:
            self._deployment.epoch.call(self.worker, name, self.id, self._attempt, *args)

    # -- hosting.TaskHandle --------------------------------------------------------------------------------

    def trigger_checkpoint(self, barrier: Barrier) -> None:
        """Trigger a checkpoint; see `hosting.TaskHandle`."""
        self._call("trigger", barrier)

    def notify_complete(self, checkpoint_id: int) -> None:
        """Notify the attempt that a checkpoint is complete."""
        self._call("notify-complete", checkpoint_id)

    def notify_aborted(self, checkpoint_id: int, latest_id: int) -> None:
        """Notify the attempt that a checkpoint was aborted."""
        self._call("notify-aborted", checkpoint_id, latest_id)

    def handle_event(self, operator_id: str, event: Any) -> None:
        """Send an event of a coordinator to an operator."""
        self._call("event", operator_id, event)

    def fail(self, error: BaseException) -> None:
        """Fail the attempt."""
        self._call("fail", error_to_told(error))

    def sample(self, now_ms: int) -> None:
        """Ask for a sample of throughput and channels."""
        self._call("sample", now_ms)
