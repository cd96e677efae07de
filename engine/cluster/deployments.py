"""Subtasks on their way to workers and there, as the job master sees them.

A deployment is made in two steps, so that no element reaches a worker before its channel: every worker makes
its subtasks and says so, then all of them start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pravega_lab.engine.cluster.epoch import Epoch
from pravega_lab.engine.cluster.errors import WorkerLostError
from pravega_lab.engine.cluster.placement import worker_of
from pravega_lab.engine.cluster.values import error_to_told
from pravega_lab.engine.flow.deployment import Deployer, RestorePlan
from pravega_lab.engine.flow.elements import Barrier, SubtaskId
from pravega_lab.engine.flow.graph import JobVertex
from pravega_lab.engine.flow.life import SubtaskState as Life

if TYPE_CHECKING:
    from pravega_lab.engine.cluster.driver import Driver


class Deployment:
    """Attempts that start together. ``epoch``: where they are, once there are workers."""

    def __init__(
        self,
        driver: Driver,
        local: Deployer,
        number: int,
        vertices: Sequence[JobVertex],
        attempts: Mapping[SubtaskId, int],
        plan: RestorePlan,
        workers: int,
    ) -> None:
        self.driver, self.number = driver, number
        self.epoch: Epoch | None = None
        self._gateway, self._graph = local.gateway, local.graph
        self._vertices, self._attempts, self._plan = list(vertices), dict(attempts), plan
        self._workers = workers
        self.tasks = {
            id: RemoteSubtask(self, id, attempt, worker_of(local.graph.vertex(id.vertex), id, workers))
            for id, attempt in attempts.items()
        }
        self._waits_for = set(range(workers))
        self._made: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._ship(), name=f"deployment {self.number}")

    async def _ship(self) -> None:
        try:
            self.epoch = epoch = await self.driver.acquire()
            if epoch.is_over:  # between its last word and this turn
                raise WorkerLostError(f"epoch {epoch.number} ended before subtasks were sent there")
            names = [vertex.name for vertex in self._vertices]
            for worker in range(self._workers):
                epoch.call(worker, "deploy", self.number, names, self._attempts, self._part(worker))
            for task in self.tasks.values():
                task.shipped()
            await self._made
        except Exception as error:
            self.fail(error)
            return
        for worker in range(self._workers):
            epoch.call(worker, "start", self.number)

    def _part(self, worker: int) -> RestorePlan:
        """Of the plan, what the subtasks of a worker restore."""
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
        """A worker has made its subtasks, or cannot."""
        self._waits_for.discard(worker)
        if self._made.done():
            return
        if error is not None:
            self._made.set_exception(error)
        elif not self._waits_for:
            self._made.set_result(None)

    def fail(self, error: BaseException) -> None:
        """All of it has ended. Each region is told once, so that it counts as one failure."""
        if not self._made.done():
            self._made.cancel()
        left = dict(self.tasks)
        for region in self._graph.regions():
            ids = [id for vertex in region for id in vertex.subtasks if id in left]
            if ids:
                task = left[ids[0]]
                self._gateway.state_changed(task.id, task.attempt, Life.FAILED, error)
        for task in left.values():
            task.has_ended()

    def abandon(self) -> None:
        """Nobody wants it any more, and no worker has it yet."""
        if self._task is not None:
            self._task.cancel()


class RemoteSubtask:
    """A `hosting.TaskHandle`: one attempt in a worker. Calls wait until it was sent there."""

    def __init__(self, deployment: Deployment, id: SubtaskId, attempt: int, worker: int) -> None:
        self.id, self.worker = id, worker
        self._deployment, self._attempt = deployment, attempt
        self._early: list[tuple[str, tuple[Any, ...]]] | None = []
        self._over = asyncio.Event()

    @property
    def attempt(self) -> int:
        return self._attempt

    async def live(self) -> None:
        """Until the attempt has ended; cancelled, it ends the attempt first."""
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
        timeout_s = deployment.driver.cancel_timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                await self._over.wait()
        except TimeoutError:
            assert deployment.epoch is not None
            deployment.epoch.end(
                WorkerLostError(f"{self.id} did not end within {timeout_s:g} s of being cancelled")
            )

    def shipped(self) -> None:
        """The worker has been told of it: what waited follows."""
        early, self._early = self._early or [], None
        for name, args in early:
            self._call(name, *args)

    def has_ended(self) -> None:
        self._deployment.tasks.pop(self.id, None)
        self._over.set()

    def _call(self, name: str, *args: Any) -> None:
        if self._early is not None:
            self._early.append((name, args))
        elif self._deployment.epoch is not None:
            self._deployment.epoch.call(self.worker, name, self.id, self._attempt, *args)

    # -- hosting.TaskHandle --------------------------------------------------------------------------------

    def trigger_checkpoint(self, barrier: Barrier) -> None:
        self._call("trigger", barrier)

    def notify_complete(self, checkpoint_id: int) -> None:
        self._call("notify-complete", checkpoint_id)

    def notify_aborted(self, checkpoint_id: int, latest_id: int) -> None:
        self._call("notify-aborted", checkpoint_id, latest_id)

    def handle_event(self, operator_id: str, event: Any) -> None:
        self._call("event", operator_id, event)

    def fail(self, error: BaseException) -> None:
        self._call("fail", error_to_told(error))

    def sample(self, now_ms: int) -> None:
        self._call("sample", now_ms)
