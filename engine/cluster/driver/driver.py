"""The driver: it listens, has workers started, distributes subtasks, and decides which messages count.

Workers receive an epoch number when they are started. Messages over a connection of an older epoch are
ignored. A worker that was given up can therefore acknowledge nothing, and is not notified of a checkpoint to
commit.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any

from pravega_lab.portable.waiting import shield

from ...flow.elements import SubtaskId
from ...flow.files import working_folder
from ...flow.master.config import JobConfig
from ...flow.observer import NoObserver
from ...flow.task.deployment import Deployer, RestorePlan
from ..errors import FrameError, WorkerLostError, WorkersNotStartedError
from ..wire.frames import TOKEN_BYTES, Frame, Hello
from ..wire.greeting import accepting
from ..wire.links import Link, call_of
from ..wire.values import error_from_told
from .deployments import Deployment, RemoteSubtask
from .epoch import Epoch, WorkerInfo
from .graphs import packed
from .launching import Launcher
from .placement import JobSpec, WorkerSpec

SLOTS_S = 0.2
SUSPECT_S = 0.5


class Driver:
    """Run the subtasks of a job in workers.

    It is a `hosting.Home`. ``host`` is the address where workers connect.
    """

    def __init__(
        self,
        launcher: Launcher,
        workers: int,
        config: JobConfig,
        *,
        host: str,
        start_timeout_s: float,
        cancel_timeout_s: float,
    ) -> None:
        self._launcher, self._workers, self._config, self._host = launcher, workers, config, host
        self._start_timeout_s, self._cancel_timeout_s = start_timeout_s, cancel_timeout_s
        self._folder = working_folder()  # of all epochs: the program may change its folder later
        self._token = secrets.token_bytes(TOKEN_BYTES)
        self._server: asyncio.Server | None = None
        self._port = 0
        self._epoch: Epoch | None = None
        self._number = 0
        self._starting: asyncio.Task[Epoch] | None = None
        self._deployments: list[Deployment] = []
        self._deployed = 0
        self._work = b""
        self._local: Deployer | None = None
        self._is_closed = False

    async def listen(self) -> None:
        """Listen for workers on a free port.

        Raises:
            OSError: ``host`` is not an address of this machine.
        """
        loop = asyncio.get_running_loop()
        make: Callable[[], Link] = lambda: accepting(self._token, self._greet)  # noqa: E731
        self._server = await loop.create_server(make, self._host, 0)
        self._port = self._server.sockets[0].getsockname()[1]

    @property
    def workers(self) -> list[WorkerInfo]:
        """Return the workers of the current epoch that have connected."""
        return [] if self._epoch is None else self._epoch.infos

    @property
    def epoch(self) -> int:
        """Return how often workers were started."""
        return self._number

    async def close(self) -> None:
        """End the workers, and accept no more connections."""
        self._is_closed = True
        if self._starting is not None:
            self._starting.cancel()
        if self._epoch is not None:
            self._epoch.end(WorkerLostError("the job is over"))
            await self._gone(self._epoch)
        if self._server is not None:
            self._server.close()

    # -- epochs --------------------------------------------------------------------------------------------

    async def acquire(self) -> Epoch:
        """Return the current epoch of workers, or start one and wait until its workers are ready.

        Raises:
            WorkersNotStartedError, WorkerLostError: the workers did not get ready.
        """
        if self._epoch is not None and not self._epoch.is_over and self._epoch.ready.done():
            return self._epoch
        if self._starting is None or self._starting.done():
            self._starting = asyncio.get_running_loop().create_task(self._begin(), name="driver epoch")
        return await shield(self._starting)

    async def _begin(self) -> Epoch:
        if self._epoch is not None:
            await self._gone(self._epoch)
        await self._slots()
        self._number += 1
        epoch = self._epoch = Epoch(self._number, self._workers, self._over)
        spec = WorkerSpec(
            self._host, self._port, self._token, epoch.number, self._workers, self._folder, self._work
        )
        epoch.launched = self._launcher.launch(spec, _from_any_thread(epoch.lost))
        try:
            async with asyncio.timeout(self._start_timeout_s):
                await shield(epoch.ready)
        except TimeoutError:
            error = epoch.not_started(self._start_timeout_s, self._launcher.late)
            epoch.end(WorkerLostError(str(error)))
            raise error from None
        return epoch

    async def _slots(self) -> None:
        """Wait until there are enough slots: Spark replaces a lost executor after a while."""
        slots = 0
        try:
            async with asyncio.timeout(self._start_timeout_s):
                while (slots := await asyncio.to_thread(self._launcher.slots)) < self._workers:
                    await asyncio.sleep(SLOTS_S)
        except TimeoutError:
            raise WorkersNotStartedError(
                f"{slots} of {self._workers} slots were there within {self._start_timeout_s:g} s: executors "
                "are missing; add some, or ask for fewer workers="
            ) from None

    async def _gone(self, epoch: Epoch) -> None:
        if epoch.launched is not None:
            await epoch.launched.stop()
            epoch.launched = None  # not before: if this wait is cancelled, `close` stops the workers

    def _over(self, epoch: Epoch, error: WorkerLostError) -> None:
        for deployment in [d for d in self._deployments if d.epoch is epoch]:
            deployment.fail(error)

    # -- hosting.Home --------------------------------------------------------------------------------------

    def deployer(self, local: Deployer) -> Driver:
        """Encode the job for the workers, and return this driver as the deployer.

        Raises:
            BadInputError: something in the graph cannot be sent to another process.
        """
        self._local = local
        is_watched = not isinstance(local.observer, NoObserver)
        base = local.base
        self._work = packed(JobSpec(local.graph, self._config, base.files, base.shared_folder, is_watched))
        return self

    def deploy(
        self, attempts: Mapping[SubtaskId, int], plan: RestorePlan
    ) -> dict[SubtaskId, tuple[RemoteSubtask, Coroutine[Any, Any, None]]]:
        """Send attempts to workers; see `hosting.TaskDeployer`."""
        assert self._local is not None
        self._deployed += 1
        self._deployments = [d for d in self._deployments if d.tasks]
        deployment = Deployment(
            self.acquire,
            self._cancel_timeout_s,
            self._local,
            self._deployed,
            attempts,
            plan,
            self._workers,
        )
        self._deployments.append(deployment)
        deployment.start()
        return {id: (task, task.live()) for id, task in deployment.tasks.items()}

    # -- calls of workers --------------------------------------------------------------------------------

    def _greet(self, link: Link, hello: Hello) -> None:
        epoch = self._epoch
        if epoch is None or hello.epoch != epoch.number or not epoch.expects(hello.worker):
            raise FrameError(f"worker {hello.worker} of epoch {hello.epoch} is not expected (any more)")
        worker = hello.worker
        link.take_over(
            lambda _link, frame: self._hear(epoch, worker, frame),
            lambda _link, why: epoch.worker_lost(worker, why),
        )
        epoch.came(link, hello)

    def _hear(self, epoch: Epoch, worker: int, frame: Frame) -> None:
        name, args = call_of(frame)
        if epoch.is_over or epoch is not self._epoch:
            return
        assert self._local is not None
        gateway = self._local.gateway
        match name:
            case "ready":
                epoch.is_ready(worker)
            case "lost":
                # The lost worker's own connection to the driver will soon report a more precise reason.
                asyncio.get_running_loop().call_later(SUSPECT_S, epoch.lost, *args)
            case "deployed" | "refused":
                self._deployed_by(worker, *args)
            case "ended":
                self._ended(*args)
            case "seen":
                for observation in args[0]:
                    self._local.observer.observe(observation)
            case "state":
                gateway.state_changed(args[0], args[1], args[2], error_from_told(args[3]))
            case "ack":
                gateway.acknowledge(*args)
            case "decline":
                gateway.decline(*args)
            case "event":
                gateway.operator_event(*args)
            case _:
                raise FrameError(f"worker {worker} calls {name!r}, which this version does not know")

    def _deployed_by(self, worker: int, number: int, told: Any = None) -> None:
        for deployment in self._deployments:
            if deployment.number == number:
                deployment.answered(worker, error_from_told(told))

    def _ended(self, id: SubtaskId, attempt: int) -> None:
        for deployment in self._deployments:
            task = deployment.tasks.get(id)
            if task is not None and task.attempt == attempt:
                task.has_ended()


def _from_any_thread(call: Callable[[str], None]) -> Callable[[str], None]:
    loop = asyncio.get_running_loop()

    def later(why: str) -> None:
        with suppress(RuntimeError):  # the loop is closed because the job has ended
            loop.call_soon_threadsafe(call, why)

    return later
