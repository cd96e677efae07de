"""A worker: one process that hosts subtasks of a job on an asyncio loop.

It first connects to the driver and presents its epoch. Then it does what the driver says, until the driver
sends `end` or is lost. The driver calls peers, deploy, start, cancel, trigger, notify-complete,
notify-aborted, event, fail, sample and end. The worker calls ready, deployed, refused, state, ack, decline,
event, seen, ended and lost.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Mapping, Sequence
from contextlib import chdir, nullcontext
from typing import Any

import pyarrow.compute  # noqa: F401  # slow to load, so load it before the first record

from pravega_lab.portable.waiting import gather

from ...flow.checkpoint.plan import TaskAck
from ...flow.clock import steady_clock
from ...flow.elements import SubtaskId
from ...flow.errors import JobCancelledError, Reason
from ...flow.observer import NoObserver, Observation, Observer
from ...flow.subtask_states import SubtaskState
from ...flow.task.channels import Channel
from ...flow.task.deployment import Deployer, RestorePlan
from ...flow.task.hosting import LocalHost, LocalWire, Running
from ...flow.task.subtask import Subtask, SubtaskSettings
from ..driver.graphs import unpacked
from ..driver.placement import JobSpec, WorkerSpec, worker_of
from ..errors import FrameError
from ..wire.channels import IncomingEnd, OutgoingEnd
from ..wire.frames import Frame, Hello, Kind
from ..wire.greeting import Guest
from ..wire.links import Link, call_of
from ..wire.values import error_from_told, error_to_told
from .peers import Peers

CONNECT_S = 30.0


def run_worker(spec: WorkerSpec, index: int) -> None:
    """Run a worker until it ends. The caller must not be in an event loop.

    Raises:
        JobCancelledError: the driver is lost, or has ended this epoch.
    """
    with chdir(spec.folder) if os.path.isdir(spec.folder) else nullcontext():
        asyncio.run(Worker(spec, index).run())


class DriverGateway:
    """Send calls and observations to the driver.

    It is a `subtask.MasterGateway` and an `observer.Observer`.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._seen: list[Observation] = []

    def state_changed(
        self, subtask: SubtaskId, attempt: int, state: SubtaskState, error: BaseException | None
    ) -> None:
        """Report the state of an attempt."""
        self.call("state", subtask, attempt, state, error_to_told(error))

    def acknowledge(self, subtask: SubtaskId, attempt: int, checkpoint_id: int, ack: TaskAck) -> None:
        """Acknowledge a checkpoint."""
        self.call("ack", subtask, attempt, checkpoint_id, ack)

    def decline(
        self, subtask: SubtaskId, attempt: int, checkpoint_id: int, reason: Reason, message: str
    ) -> None:
        """Decline a checkpoint."""
        self.call("decline", subtask, attempt, checkpoint_id, reason, message)

    def operator_event(self, subtask: SubtaskId, attempt: int, operator_id: str, event: Any) -> None:
        """Send an event to the coordinator of an operator."""
        self.call("event", subtask, attempt, operator_id, event)

    def call(self, name: str, *args: Any) -> None:
        """Send a call to the driver, after all earlier observations."""
        self.flush()
        self._link.call(name, *args)

    def observe(self, observation: Observation) -> None:
        """Keep an observation until the end of this turn of the loop, or until the next call."""
        if not self._seen:
            asyncio.get_running_loop().call_soon(self.flush)
        self._seen.append(observation)

    def flush(self) -> None:
        """Send the observations that were kept."""
        if self._seen:
            seen, self._seen = self._seen, []
            self._link.call("seen", seen)


class WorkerDeployer(Deployer):
    """Create the subtasks of this worker only. Channels to other workers end in sockets."""

    def prepare(self, peers: Peers, index: int, workers: int) -> None:
        """Take what is known only after the worker has connected."""
        self._peers, self._index, self._workers = peers, index, workers
        self.deployment = self._count = 0
        self.ends: dict[int, OutgoingEnd | IncomingEnd] = {}

    def begin(self, deployment: int) -> None:
        """Begin a deployment. All workers number its channels in the same order."""
        self.deployment, self._count, self.ends = deployment, 0, {}

    def is_mine(self, subtask: SubtaskId) -> bool:
        """Return whether the subtask runs in this worker."""
        return self._worker_of(subtask) == self._index

    def _worker_of(self, subtask: SubtaskId) -> int:
        return worker_of(self.graph.vertex(subtask.vertex), subtask, self._workers)

    def channel(self, producer: SubtaskId, consumer: SubtaskId, input: int, index: int) -> Channel:
        """Return a channel within this worker, or the end of a channel to another worker."""
        number, self._count = self._count, self._count + 1
        sends, takes = self.is_mine(producer), self.is_mine(consumer)
        args = (producer, consumer, input, index, self.capacity, self.wire)
        if sends == takes:
            return Channel(*args)
        peer = self._peers.link(self._worker_of(consumer if sends else producer))
        kind = OutgoingEnd if sends else IncomingEnd
        end = kind(*args, deployment=self.deployment, number=number, send=peer.send)
        self.ends[number] = end
        return end


class _Attempt:
    """An attempt in this worker, created and perhaps started."""

    def __init__(self, subtask: Subtask, life: Any) -> None:
        self.subtask, self.life = subtask, life
        self.running: Running | None = None


class Worker:
    """Host the subtasks of one worker. ``index`` counts from 0."""

    def __init__(self, spec: WorkerSpec, index: int) -> None:
        self._spec, self._index = spec, index
        self._attempts: dict[SubtaskId, _Attempt] = {}
        self._ends: dict[tuple[int, int], OutgoingEnd | IncomingEnd] = {}  # by deployment and number
        self._made: dict[int, list[_Attempt]] = {}  # by deployment, until it starts
        self._helpers: set[asyncio.Task[None]] = set()
        self._unloadable: Exception | None = None
        self._host = LocalHost()

    async def run(self) -> None:
        """Run until the driver ends the epoch.

        Raises:
            JobCancelledError: the driver is lost.
        Exception: what loading the job raised. The driver was notified, and has ended the epoch.
        """
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        spec = self._spec
        job = self._unpacked()
        guest = Guest(spec.token, self._from_driver, self._driver_lost)
        async with asyncio.timeout(CONNECT_S):
            self._driver = await guest.dial(spec.host, spec.port)
        self._peers = Peers(spec, self._index, self._from_peer, self._peer_lost)
        port = await self._peers.listen(self._driver.local_host)
        self._gateway = DriverGateway(self._driver)
        if job is not None:
            self._deployer = self._make_deployer(job)
        try:
            await self._introduce(guest, port)
            await self._over
            if self._unloadable is not None:
                raise self._unloadable
        finally:
            await self._stop_all()
            self._peers.close()
            self._driver.close()

    def _unpacked(self) -> JobSpec | None:
        try:
            return unpacked(self._spec.work)
        except Exception as error:  # a module is missing here, for example
            self._unloadable = error
            return None

    async def _introduce(self, guest: Guest, port: int) -> None:
        try:
            await guest.introduce(self._hello(port))
        except OSError as error:
            raise JobCancelledError(f"worker {self._index} lost its driver: {error}") from error

    def _hello(self, port: int) -> Hello:
        spec = self._spec
        return Hello(spec.epoch, self._index, os.getpid(), port, self._driver.local_host)

    def _make_deployer(self, job: JobSpec) -> WorkerDeployer:
        config = job.config
        observer: Observer = self._gateway if job.is_watched else NoObserver()
        deployer = WorkerDeployer(
            job.graph,
            LocalWire(),
            self._gateway,
            observer,
            steady_clock(),
            lambda: uuid.uuid4().hex,
            config.channel_capacity,
            config.exactly_once,
            SubtaskSettings(
                job.files,
                job.shared_folder,
                config.checkpoints is not None,
                config.after_tasks_finish,
                config.end_rules,
                self._host.take_turn,
            ),
        )
        deployer.prepare(self._peers, self._index, self._spec.workers)
        return deployer

    async def _stop_all(self) -> None:
        for helper in self._helpers:
            helper.cancel()
        attempts = list(self._attempts.values())
        await gather(*(one.running.stop() for one in attempts if one.running is not None))
        for attempt in attempts:
            attempt.life.close()

    # -- the driver ----------------------------------------------------------------------------------------

    def _driver_lost(self, link: Link, why: str) -> None:
        if not self._over.done():
            self._over.set_exception(JobCancelledError(f"worker {self._index} lost its driver: {why}"))

    def _from_driver(self, link: Link, frame: Frame) -> None:
        name, args = call_of(frame)
        match name:
            case "peers":
                self._help(self._connect(*args))
            case "deploy":
                self._deploy(*args)
            case "start":
                self._start(*args)
            case "cancel":
                self._help(self._cancel(*args))
            case "end":
                if not self._over.done():
                    self._over.set_result(None)
            case _:
                self._call_subtask(name, *args)

    def _call_subtask(self, name: str, id: SubtaskId, number: int, *args: Any) -> None:
        attempt = self._attempts.get(id)
        if attempt is None or attempt.subtask.attempt != number:
            return  # the attempt has ended since
        subtask = attempt.subtask
        match name:
            case "trigger":
                subtask.trigger_checkpoint(*args)
            case "notify-complete":
                subtask.notify_complete(*args)
            case "notify-aborted":
                subtask.notify_aborted(*args)
            case "event":
                subtask.handle_event(*args)
            case "fail":
                subtask.fail(error_from_told(*args) or FrameError("the driver sent no error"))
            case "sample":
                subtask.sample(*args)
            case _:
                raise FrameError(f"the driver calls {name!r}, which this version does not know")

    def _help(self, coro: Any) -> None:
        task = asyncio.get_running_loop().create_task(coro)
        self._helpers.add(task)
        task.add_done_callback(self._helpers.discard)

    async def _connect(self, places: Sequence[tuple[str, int]]) -> None:
        if self._unloadable is not None:
            self._gateway.call(
                "lost",
                f"worker {self._index} cannot load the job: {self._unloadable!r}; whatever its functions and "
                "sources refer to must be importable in every worker",
            )
            return
        try:
            async with asyncio.timeout(CONNECT_S):
                await self._peers.connect(places)
        except (OSError, TimeoutError) as error:
            self._gateway.call("lost", f"worker {self._index} does not reach the others: {error!r}")
        else:
            self._gateway.call("ready")

    # -- subtasks ------------------------------------------------------------------------------------------

    def _deploy(self, number: int, attempts: Mapping[SubtaskId, int], plan: RestorePlan) -> None:
        deployer = self._deployer
        self._ends = {at: end for at, end in self._ends.items() if end.consumer not in attempts}
        deployer.begin(number)
        mine = {id: attempt for id, attempt in attempts.items() if deployer.is_mine(id)}
        try:
            made = deployer.deploy(mine, plan, elsewhere=attempts.keys())
        except Exception as error:  # a user's factory
            self._gateway.call("refused", number, error_to_told(error))
            return
        attempts_made = {id: _Attempt(subtask, life) for id, (subtask, life) in made.items()}
        self._attempts.update(attempts_made)
        self._made[number] = list(attempts_made.values())
        self._ends.update({(number, at): end for at, end in deployer.ends.items()})
        self._gateway.call("deployed", number)

    def _start(self, number: int) -> None:
        for attempt in self._made.pop(number, ()):
            id = attempt.subtask.id
            if self._attempts.get(id) is attempt:  # otherwise it was cancelled before it began
                name = f"{id}#{attempt.subtask.attempt}"
                attempt.running = self._host.start(name, self._live(id, attempt))

    async def _live(self, id: SubtaskId, attempt: _Attempt) -> None:
        await attempt.life
        self._ended(id, attempt)

    async def _cancel(self, id: SubtaskId, number: int) -> None:
        attempt = self._attempts.get(id)
        if attempt is None or attempt.subtask.attempt != number:
            return
        if attempt.running is not None:
            await attempt.running.stop()
        attempt.life.close()  # it may not have begun
        self._ended(id, attempt)

    def _ended(self, id: SubtaskId, attempt: _Attempt) -> None:
        if self._attempts.get(id) is attempt:
            del self._attempts[id]
            self._gateway.call("ended", id, attempt.subtask.attempt)

    # -- other workers -------------------------------------------------------------------------------------

    def _from_peer(self, link: Link, frame: Frame) -> None:
        if frame.kind in (Kind.HELLO, Kind.CALL):
            raise FrameError(f"{frame.kind.name} where elements of channels are expected")
        end = self._ends.get((frame.deployment, frame.channel))
        if end is not None:  # otherwise it belongs to a deployment that has ended
            end.receive(frame)

    def _peer_lost(self, peer: int, why: str) -> None:
        if not self._over.done():
            self._gateway.call("lost", f"worker {self._index} lost worker {peer}: {why}")
